//! The session over the protocol: what it needs, which model it has, and a process that has none.

use super::{INITIALIZED, NEW, answered, asking_turn, next_turn, receive, start};
use crate::outcomes;
use wharf_adapter::testing::{FakeHost, events, finish};
use wharf_adapter::{ErrorClass, Event, Failure, Outcome, Retry};

const NO_AUTH: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}}\n";

/// The failure of the first turn, and of a second one in the same process.
fn failures_of(version: &str) -> [Failure; 2] {
    let (mut adapter, _) = start(&asking_turn("Hi", "/w"));
    let initialized = format!(r#"{{"protocolVersion":1,"agentInfo":{{"name":"Copilot","version":"{version}"}}}}"#);
    receive(&mut adapter, &answered(1, &initialized));
    let mut effects = receive(&mut adapter, NO_AUTH);
    effects.extend(next_turn(&mut adapter, &asking_turn("Go on", "/w")));
    let failures = outcomes(&effects).into_iter().filter_map(|outcome| match outcome {
        Outcome::Failed(failure) => Some(failure),
        _ => None,
    });
    failures.collect::<Vec<_>>().try_into().expect("two failures")
}

#[test]
fn a_version_whose_protocol_ignores_a_providers_key_says_so() {
    let [old, _] = failures_of("1.0.60");
    assert!(old.message.contains("Copilot 1.0.60 needs a GitHub login"), "{}", old.message);
    assert!(matches!(&old.retry, Retry::AfterUserAction(action) if action.contains("COPILOT_GITHUB_TOKEN")));
    let [new, _] = failures_of("1.0.102");
    assert_eq!((new.class, new.message.as_str()), (ErrorClass::Auth, "Authentication required"));
}

#[test]
fn the_failure_of_a_second_turn_has_the_first_cause() {
    let [first, second] = failures_of("1.0.60");
    assert_eq!((second.class, &second.retry), (ErrorClass::Auth, &first.retry));
    assert!(second.message.contains(&first.message), "{}", second.message);
}

/// A custom provider has no list of models in the protocol: the environment names the model.
#[test]
fn a_turn_over_the_protocol_knows_its_model() {
    let (mut adapter, _) = start(&asking_turn("Hi", "/w"));
    receive(&mut adapter, INITIALIZED);
    receive(&mut adapter, NEW);
    let host = FakeHost::default().with_variable("COPILOT_MODEL", "mock-model");
    let effects = finish(&mut adapter, &host, 0);
    let models: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| if let Event::Session(session) = event { session.model.as_deref() } else { None })
        .collect();
    assert_eq!(models, ["mock-model"]);
}
