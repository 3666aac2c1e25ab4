//! The plan: the command line that an adapter built, checked against the grants.

use crate::error::{Error, Result};
use crate::guest::{Adapter, Environment, Instance, Launch, PromptDelivery};
use std::collections::HashSet;
use std::path::{Component, Path};
use wharf_core::model::{
    Arg, Binary, Capability, ErrorClass, Failure, Plan, Retry, SessionChoice, Transport, Turn, UnsupportedSetting,
};
use wharf_core::policy::{Denial, Grants, transports};

/// The transports for a turn, in the order in which they are tried; at least one.
pub(crate) fn choose_transports<'b>(
    id: &str,
    binary: &'b Binary,
    turn: &Turn,
    keep_alive: bool,
) -> Result<Vec<&'b Transport>> {
    let chosen = transports(binary, turn, keep_alive)?;
    if chosen.is_empty() {
        return Err(Error::adapter(format!("the adapter {id} violated the interface: it named no transport")));
    }
    Ok(chosen)
}

/// Lets the adapter build its command line, and checks it.
pub(crate) async fn plan(
    adapter: &Adapter,
    instance: &mut Instance,
    turn: &Turn,
    binary: &Binary,
    grants: &Grants,
    environment: &Environment,
    transport: &Transport,
) -> Result<Plan> {
    let id = &adapter.info().id;
    let plan = plan_unchecked(id, instance, turn, binary, transport).await?;
    let denied = |denial: Denial| {
        Error::adapter(format!("the adapter {id} requested {denial}")).with_hint(format!(
            "`wharf adapters show {}` prints what it requests and the grants to add",
            adapter.name()
        ))
    };
    grants.run_program(&binary.program, |name| environment.program_path(name)).map_err(denied)?;
    for (name, _) in &plan.variables {
        grants.set_variable(name).map_err(denied)?;
    }
    Ok(plan)
}

/// Lets the adapter build its command line for something that will not be started.
pub(crate) async fn plan_unchecked(
    id: &str,
    instance: &mut Instance,
    turn: &Turn,
    binary: &Binary,
    transport: &Transport,
) -> Result<Plan> {
    let launch = instance
        .build_args(turn, binary, &transport.name)
        .await?
        .map_err(|failure| not_built(id, "build the command line", &failure))?;
    let prompt = instance.build_prompt().await?.map_err(|failure| not_built(id, "build the prompt", &failure))?;
    check_files(id, &launch)?;
    let mut plan = Plan::new(binary.program.clone());
    plan.args = binary.leading_args.iter().map(Arg::text).collect();
    plan.args.extend(launch.args);
    match prompt {
        PromptDelivery::Stdin(bytes) => plan.stdin = bytes,
        PromptDelivery::StdinOpen(bytes) => (plan.stdin, plan.stdin_open) = (bytes, true),
        PromptDelivery::InProtocol => plan.stdin_open = true,
        PromptDelivery::Args(args) => plan.args.extend(args.into_iter().map(Arg::text)),
    }
    plan.variables = launch.variables;
    plan.files = launch.files;
    plan.framing = launch.framing;
    plan.exit_behavior = launch.exit_behavior;
    plan.transport.clone_from(&transport.name);
    (plan.stop_signal, plan.stop_ms) = (launch.stop_signal, launch.stop_ms);
    plan.enforced = enforced(id, &launch.enforced, turn)?;
    plan.unsupported = launch.unsupported;
    plan.unsupported.extend(not_enforced(turn, &plan.enforced));
    plan.instructions = launch.instructions;
    if turn.session == SessionChoice::Fresh(None) {
        // The adapter cannot use the id that it was offered, which no caller asked for.
        plan.unsupported.retain(|setting| setting.name != "session");
    }
    plan.no_messages = why_no_messages(plan.stdin_open, &transport.capabilities).map(str::to_owned);
    Ok(plan)
}

/// The rules of the turn's policy that the agent enforces itself.
fn enforced(id: &str, positions: &[u32], turn: &Turn) -> Result<Vec<usize>> {
    let position = |position: &u32| {
        let position = *position as usize;
        (position < turn.policy.len()).then_some(position).ok_or_else(|| {
            Error::adapter(format!("the adapter {id} violated the interface: the policy has no rule {position}"))
        })
    };
    positions.iter().map(position).collect()
}

/// The rules of the policy that nobody enforces.
fn not_enforced(turn: &Turn, enforced: &[usize]) -> Vec<UnsupportedSetting> {
    let left = turn.policy.iter().enumerate().filter(|(position, _)| !enforced.contains(position));
    left.map(|(_, rule)| UnsupportedSetting {
        name: "policy".to_owned(),
        reason: format!("the agent does not enforce the rule `{rule}`"),
    })
    .collect()
}

/// Why the agent takes no messages in the middle of its turn, if so.
fn why_no_messages(stdin_open: bool, capabilities: &[Capability]) -> Option<&'static str> {
    if !capabilities.contains(&Capability::Steering) {
        return Some("this agent takes no messages while it works on a turn");
    }
    (!stdin_open).then_some("the agent's stdin does not stay open in such a turn")
}

/// Files must have plain names, arguments must name files that exist, and instructions must be in the workspace.
fn check_files(id: &str, launch: &Launch) -> Result<()> {
    let plain = |name: &str| {
        let allowed = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(allowed)
    };
    let violation = |what: String| Error::adapter(format!("the adapter {id} violated the interface: {what}"));
    if let Some((name, _)) = launch.files.iter().find(|(name, _)| !plain(name)) {
        return Err(violation(format!("{name:?} is not a valid name for a launch file")));
    }
    let inside = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if let Some(file) = launch.instructions.iter().find(|file| !inside(&file.path)) {
        return Err(violation(format!("{:?} is not a path inside the workspace", file.path)));
    }
    let args = launch.args.iter().chain(launch.variables.iter().map(|(_, value)| value));
    let files: HashSet<&str> = launch.files.iter().map(|(name, _)| name.as_str()).collect();
    match args.filter_map(|arg| arg.file.as_deref()).find(|name| !files.contains(name)) {
        Some(name) => Err(violation(format!("an argument names the launch file {name:?}, which does not exist"))),
        None => Ok(()),
    }
}

/// What the caller requested cannot be built. The agent itself is fine: looking at it would not help.
fn not_built(adapter: &str, attempt: &str, failure: &Failure) -> Error {
    if !matches!(failure.class, ErrorClass::InvalidOption | ErrorClass::ContextLength) {
        return refused(adapter, attempt, failure);
    }
    let error = Error::invalid(format!("the adapter {adapter} could not {attempt}: {}", failure.message));
    match &failure.retry {
        Retry::AfterUserAction { action } => error.with_hint(action.clone()),
        _ => error,
    }
}

/// The agent cannot be used, for a reason that the adapter gave.
pub(crate) fn refused(adapter: &str, attempt: &str, failure: &Failure) -> Error {
    let error = Error::agent(format!("the adapter {adapter} could not {attempt}: {}", failure.message));
    match &failure.retry {
        Retry::AfterUserAction { action } => error.with_hint(action.clone()),
        _ => error.with_hint(format!("`wharf doctor {adapter}` shows more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::model::{ExitBehavior, Framing};

    /// If each word were compared with each file, this would take minutes.
    #[test]
    fn many_words_and_many_files_are_each_looked_at_once() {
        let name = |number: u32| format!("file-{number}");
        let files = (0..200_000).map(|number| (name(number), vec![])).collect();
        let word = |number| Arg { text: String::new(), file: Some(name(number)) };
        let mut launch = Launch {
            args: (0..200_000).rev().map(word).collect(),
            variables: vec![],
            files,
            framing: Framing::Lines,
            exit_behavior: ExitBehavior::ByItself,
            stop_signal: None,
            stop_ms: None,
            unsupported: vec![],
            enforced: vec![],
            instructions: vec![],
        };
        let begun = std::time::Instant::now();
        check_files("a", &launch).expect("every file exists");
        launch.args.push(word(200_000));
        let error = check_files("a", &launch).expect_err("that one does not");
        assert!(error.to_string().contains("file-200000"), "{error}");
        assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{:?}", begun.elapsed());
    }

    #[test]
    fn what_the_caller_requested_is_not_the_agents_fault() {
        use crate::error::ErrorKind;
        for (class, kind, hint) in [
            (ErrorClass::InvalidOption, ErrorKind::InvalidInput, None),
            (ErrorClass::ContextLength, ErrorKind::InvalidInput, None),
            (ErrorClass::NotFound, ErrorKind::Agent, Some("`wharf doctor claude` shows more")),
        ] {
            let error = not_built("claude", "build the prompt", &Failure::new(class, "it is too long"));
            assert_eq!((error.kind(), error.hint()), (kind, hint), "{class}");
        }
    }

    #[test]
    fn an_agent_takes_messages_if_it_can_be_steered_and_its_stdin_stays_open() {
        let steering = [Capability::Duplex, Capability::Steering];
        for (open, capabilities, reason) in [
            (true, &steering[..], None),
            (false, &steering, Some("stdin does not stay open")),
            (true, &steering[..1], Some("takes no messages")),
            (false, &[], Some("takes no messages")),
        ] {
            let found = why_no_messages(open, capabilities);
            assert_eq!(found.is_some(), reason.is_some(), "{open} {capabilities:?}");
            assert!(found.unwrap_or_default().contains(reason.unwrap_or_default()), "{found:?}");
        }
    }
}
