//! An agent's own program against the mock model, without wharf: to see what it prints and what it sends.

use crate::agent::{Call, Login};
use crate::args::ByHandArgs;
use crate::log;
use crate::subject::Subject;
use crate::testbed::Testbed;
use std::process::Stdio;
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
    let own = if args.args.is_empty() { subject.agent.by_hand(&args.prompt) } else { args.args.clone() };
    command.args(own).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    if !args.args.is_empty() {
        command.stdin(Stdio::inherit());
    }
    log(&format!("by hand: {command:?}"));
    let status = command.status().map_err(|error| format!("cannot start {}: {error}", subject.program().display()))?;
    for request in model.all_requests() {
        let kind = if request.is_side_request { " (no step: it has no tools)" } else { "" };
        log(&format!("by hand: the model got {} {}{kind}", request.method, request.path));
    }
    log(&format!("by hand: {status}; files and requests.jsonl are in {}", testbed.folder().display()));
    Ok(status.success())
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
