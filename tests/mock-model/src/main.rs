//! The mock model as a program: serves a scenario until Ctrl-C, after printing its address.

use clap::Parser;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use wharf_mock_model::{Scenario, Server};

/// Serve a scenario on loopback until Ctrl-C, and print the address.
#[derive(Debug, Parser)]
#[command(name = "wharf-mock-model")]
struct Args {
    /// The scenario, a JSON file.
    scenario: PathBuf,
    /// Write every request to this file, one JSON line each.
    record: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let file = args.scenario.display();
    let scenario: Scenario = match std::fs::read(&args.scenario).map(|bytes| serde_json::from_slice(&bytes)) {
        Ok(Ok(scenario)) => scenario,
        Ok(Err(error)) => return fail(&format!("{file} is not a scenario: {error}")),
        Err(error) => return fail(&format!("cannot read {file}: {error}")),
    };
    match Server::start(scenario, args.record.as_deref()).await {
        Ok(server) => {
            let _ = writeln!(std::io::stdout(), "{}", server.url());
            let _ = tokio::signal::ctrl_c().await;
            ExitCode::SUCCESS
        }
        Err(error) => fail(&format!("cannot start the server: {error}")),
    }
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "wharf-mock-model: {message}");
    ExitCode::FAILURE
}
