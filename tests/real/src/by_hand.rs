//! An agent's own program against the mock model, without wharf: to see what it prints and what it sends.

mod acp;

use crate::agent::{ByHand, Call, Login};
use crate::args::ByHandArgs;
use crate::log;
use crate::subject::Subject;
use crate::testbed::Testbed;
use std::process::{Command, ExitStatus, Stdio};
use tokio::runtime::Handle;
use wharf_mock_model::{Scenario, Step};

/// Starts the program and passes its output on. True if it exited with 0.
pub(crate) fn run(args: &ByHandArgs, handle: &Handle) -> Result<bool, String> {
    let choice = args.selection.choices()?.into_iter().next().ok_or("no agent is selected")?;
    let subject = Subject::without_wharf(choice, &args.places);
    if !subject.is_installed() {
        return Err(format!("{} is not installed", subject.title()));
    }
    let testbed = Testbed::new(&subject, "by hand", handle)?;
    let model = testbed.model_of(scenario(args, &subject)?)?;
    let mut command = testbed.command(&subject.program(), &model.url(), Login::Key)?;
    command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let status = match (args.args.as_slice(), subject.agent.by_hand(subject.transport, &args.prompt)) {
        ([], ByHand::Once(own)) => status(command.args(own))?,
        ([], ByHand::Acp(own)) => acp::converse(command.args(own), &testbed.workspace, &args.prompt)?,
        (own, _) => status(command.args(own).stdin(Stdio::inherit()))?,
    };
    for request in model.all_requests() {
        let kind = if request.is_side_request { " (a side request: no step)" } else { "" };
        log(&format!("by hand: the model got {} {}{kind}", request.method, request.path));
    }
    log(&format!("by hand: {status}; files and requests.jsonl are in {}", testbed.folder().display()));
    Ok(status.success())
}

fn status(command: &mut Command) -> Result<ExitStatus, String> {
    log(&format!("by hand: {command:?}"));
    command.status().map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))
}

/// What the model answers.
fn scenario(args: &ByHandArgs, subject: &Subject) -> Result<Scenario, String> {
    let Some(path) = &args.model else {
        let call = args.shell.as_deref().map(|command| subject.agent.shell(command));
        let call = call.map(|Call { name, input }| Step::tool(name, input));
        return Ok(Scenario { steps: call.into_iter().chain([Step::text("Ahoy!")]).collect(), ..Scenario::default() });
    };
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{} is not a scenario: {error}", path.display()))
}
