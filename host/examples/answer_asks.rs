//! Answers the agent's asks by a policy, and looks at what came of each answer.
//!
//! ```text
//! cargo run -p wharf --features bundled --example answer_asks -- claude "Run the tests, then push"
//! ```

#![expect(clippy::print_stdout, reason = "an example prints")]

use wharf::ask::{Answer, Ask, AskKind, Decision};
use wharf::event::EventKind;
use wharf::{Approvals, Delivery, Host, Result, RunOptions, Turn};

/// Who may do what. An ask that is not answered in time counts as denied, so the policy needs no fallback.
fn decide(ask: &Ask) -> Answer {
    let (tool, input) = (ask.tool.as_deref().unwrap_or_default(), ask.detail.to_string());
    match ask.kind {
        AskKind::Permission if input.contains("git push") => {
            let answer = Answer::to(ask, Decision::Deny).by("release policy");
            // Tells the agent why, if the ask takes a text.
            if ask.free_text { answer.with_text("a person pushes, not an agent") } else { answer }
        }
        AskKind::Permission if ["Read", "Grep", "list_folder"].contains(&tool) => {
            Answer::to(ask, Decision::Allow).by("read-only policy")
        }
        // Nobody is here to answer a question, and other tools are not allowed.
        _ => Answer::to(ask, Decision::Deny).by("default policy"),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let adapter = args.next().unwrap_or_else(|| "claude".to_owned());
    let prompt = args.next().unwrap_or_else(|| "Run the tests, then push".to_owned());

    let host = Host::from_env()?;
    let adapter = host.adapter(&adapter).await?;
    let turn = Turn::new(prompt).with_approvals(Approvals::Ask);
    let mut run = host.start(&adapter, turn, RunOptions::default()).await?;
    while let Some(event) = run.next().await {
        match event.kind {
            // The answer is sent whether the ticket is awaited or not.
            EventKind::Ask(ask) => match run.answer(decide(&ask)).await {
                Delivery::Done => println!("answered: {}", ask.title),
                // For example, the agent has withdrawn the ask.
                Delivery::Refused(reason) => println!("not answered: {}: {reason}", ask.title),
                _ => println!("the run has ended"),
            },
            EventKind::AskAnswered(answered) => {
                println!("{}: {:?}, by {} {:?}", answered.id, answered.choice, answered.by, answered.name);
            }
            EventKind::Report(report) => println!("{}: {:?}", report.outcome, report.answer),
            _ => {}
        }
    }
    Ok(())
}
