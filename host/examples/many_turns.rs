//! Several turns in one process of the agent: nothing is started or loaded again between them.
//!
//! ```text
//! cargo run -p wharf --features bundled --example many_turns -- claude
//! ```

#![expect(clippy::print_stdout, reason = "an example prints")]

use wharf::event::EventKind;
use wharf::recording::RunFilter;
use wharf::{Delivery, Host, NextTurn, Result, RunOptions, Turn};

const PROMPTS: [&str; 3] = ["What is in this folder?", "Which file is the largest?", "Say it in one word."];

#[tokio::main]
async fn main() -> Result<()> {
    let adapter = std::env::args().nth(1).unwrap_or_else(|| "claude".to_owned());
    let host = Host::from_env()?;
    let adapter = host.adapter(&adapter).await?;

    let mut options = RunOptions::default();
    options.keep_alive = true;
    options.labels.insert("task".to_owned(), "42".to_owned());
    // Two tenants in one process: each of their runs gets its own key and its own state folder, and sees no other's.
    //     options.labels.insert("tenant".to_owned(), tenant.name);
    //     options.variables.insert("ANTHROPIC_API_KEY".to_owned(), tenant.key.into());
    //     options.state_dir = Some(tenant.folder);

    let mut prompts = PROMPTS.into_iter();
    let mut turn = Turn::new(prompts.next().unwrap_or_default());
    // The agent's stdin stays open, for the next prompt.
    turn.messages = true;
    let mut run = host.start(&adapter, turn, options).await?;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Message(message) if message.parent.is_none() => println!("{}", message.text),
            EventKind::TurnStarted { prompt } => println!("> {prompt}"),
            EventKind::TurnEnded(_) => {
                let ticket = match prompts.next() {
                    Some(prompt) => run.next_turn(NextTurn::new(prompt)),
                    None => run.finish_after_turn(),
                };
                if let Delivery::Refused(reason) = ticket.await {
                    println!("no further turn: {reason}");
                }
            }
            // One report for all turns: the outcome and the answer of the last, the usage and the tools of all.
            EventKind::Report(report) => println!("{}: {:?}", report.outcome, report.usage),
            _ => {}
        }
    }

    let mut filter = RunFilter::default();
    filter.labels.insert("task".to_owned(), "42".to_owned());
    println!("runs of task 42: {}", host.runs().list(&filter)?.len());
    Ok(())
}
