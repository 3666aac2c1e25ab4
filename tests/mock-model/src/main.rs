//! `wharf-mock-model SCENARIO [RECORD]`: serves a scenario until it is ended, after printing where.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use wharf_mock_model::{Scenario, Server};

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (scenario, record) = match words.as_slice() {
        [scenario] => (scenario, None),
        [scenario, record] => (scenario, Some(Path::new(record))),
        _ => return fail("usage: wharf-mock-model SCENARIO.json [RECORD.jsonl]"),
    };
    let scenario: Scenario = match std::fs::read(scenario).map(|bytes| serde_json::from_slice(&bytes)) {
        Ok(Ok(read)) => read,
        Ok(Err(why)) => return fail(&format!("{scenario} is not a scenario: {why}")),
        Err(why) => return fail(&format!("{scenario} cannot be read: {why}")),
    };
    match Server::start(scenario, record).await {
        Ok(server) => {
            let _ = writeln!(std::io::stdout(), "{}", server.url());
            let _ = tokio::signal::ctrl_c().await;
            ExitCode::SUCCESS
        }
        Err(why) => fail(&format!("the server cannot be started: {why}")),
    }
}

fn fail(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "wharf-mock-model: {why}");
    ExitCode::FAILURE
}
