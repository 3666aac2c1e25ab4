//! The smallest program: run one turn, print what the agent says, then print how the turn ended.
//!
//! ```text
//! cargo run -p wharf --features bundled --example hello -- claude "What is in this folder?"
//! ```

#![expect(clippy::print_stdout, reason = "an example prints")]

use wharf::event::EventKind;
use wharf::{Host, Result, RunOptions, Turn};

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let adapter = args.next().unwrap_or_else(|| "claude".to_owned());
    let prompt = args.next().unwrap_or_else(|| "What is in this folder?".to_owned());

    // The user's configuration and folders. `Host::new` takes your own.
    let host = Host::from_env()?;
    let adapter = host.adapter(&adapter).await?;

    let mut run = host.start(&adapter, Turn::new(prompt), RunOptions::default()).await?;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::RunStarted(started) => println!("run {} uses {}", started.run, started.agent.program),
            // `TextDelta` has the same text while it is being written. A sub-agent's text has a parent.
            EventKind::Message(message) if message.parent.is_none() => println!("{}", message.text),
            EventKind::Tool(call) if call.status.is_final() => println!("tool {} {}", call.id, call.status),
            EventKind::Report(report) => {
                println!("{}: {} tool calls", report.outcome, report.tools.len());
                if let Some(usage) = report.usage {
                    // `None` is unknown, not zero.
                    println!("tokens: {:?} in, {:?} out", usage.input, usage.output);
                }
                if let Some(error) = report.error {
                    println!("{}: {}; retry: {:?}", error.class, error.message, error.retry);
                }
            }
            _ => {}
        }
    }
    Ok(())
}
