//! The notices with which the driver explains what it did not do.

use super::input::{AdapterInput, EventSink};
use crate::model::{AnsweredBy, EventKind, InputRejected, LogLevel, RejectedInput, ReportSession, SessionChoice};
use std::time::Duration;

pub(super) fn warn(text: String, now: Duration, sink: &mut dyn EventSink) {
    sink.emit(EventKind::notice(LogLevel::Warn, text).into(), now);
}

/// What a caller sends is never dropped silently.
pub(super) fn reject(rejected: InputRejected, now: Duration, sink: &mut dyn EventSink) {
    sink.emit(EventKind::InputRejected(rejected).into(), now);
}

pub(super) fn message_not_sent(text: &str, reason: &str, now: Duration, sink: &mut dyn EventSink) {
    reject(InputRejected::new(RejectedInput::Message, text, reason), now, sink);
}

/// How the session that the agent reports differs from the chosen one, or that it does not say. A resume that started
/// over must never look like one that worked.
pub(super) fn other_session(chosen: &SessionChoice, reported: Option<&ReportSession>) -> Option<String> {
    let resumed = reported.and_then(|session| session.resumed);
    let used = reported.map_or("a session that it did not name", |session| session.id.as_str());
    match (chosen, resumed) {
        (SessionChoice::Fresh(Some(id)), _) => (reported?.id != *id)
            .then(|| format!("the session has the id {used}: the agent did not use the requested id {id}")),
        (SessionChoice::Fresh(None), _) | (_, Some(true)) => None,
        (SessionChoice::Resume(id) | SessionChoice::Fork(id), Some(false)) => {
            Some(format!("the session {id} was not resumed: the agent worked in {used}, without its history"))
        }
        (SessionChoice::Resume(id) | SessionChoice::Fork(id), None) => {
            Some(format!("the agent did not say whether it resumed {id}: it worked in {used}, perhaps a new session"))
        }
        (SessionChoice::MostRecent, Some(false)) => {
            Some(format!("no session was continued: the agent worked in {used}, a new one"))
        }
        (SessionChoice::MostRecent, None) => {
            Some(format!("the agent did not say whether it continued a session: it worked in {used}"))
        }
    }
}

pub(super) fn turn_not_started(prompt: &str, reason: &str, now: Duration, sink: &mut dyn EventSink) {
    reject(InputRejected::new(RejectedInput::NextTurn, prompt, reason), now, sink);
}

/// An input that its caller waits for was not sent.
pub(super) fn not_sent(input: &AdapterInput, reason: &str, now: Duration, sink: &mut dyn EventSink) {
    match input {
        AdapterInput::Message(text) => message_not_sent(text, reason, now, sink),
        AdapterInput::NextTurn(turn) => turn_not_started(&turn.prompt, reason, now, sink),
        AdapterInput::Answer(answered) if answered.by == AnsweredBy::Caller => {
            reject(InputRejected::answer(Some(answered.id.clone()), Some(answered.number), reason), now, sink);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resume_is_never_unknown_without_a_warning() {
        let resume = || SessionChoice::Resume("old".to_owned());
        let fresh = |id: Option<&str>| SessionChoice::Fresh(id.map(str::to_owned));
        for (chosen, id, resumed, warning) in [
            (resume(), Some("old"), Some(true), None),
            (resume(), Some("old"), None, Some("did not say whether it resumed old")),
            (resume(), Some("new"), Some(false), Some("old was not resumed: the agent worked in new")),
            (resume(), None, None, Some("did not say whether it resumed old")),
            (SessionChoice::Fork("old".to_owned()), Some("new"), Some(true), None),
            (SessionChoice::Fork("old".to_owned()), Some("new"), None, Some("did not say")),
            (SessionChoice::MostRecent, Some("new"), None, Some("did not say whether it continued")),
            (SessionChoice::MostRecent, Some("new"), Some(false), Some("no session was continued")),
            (fresh(None), Some("new"), None, None),
            (fresh(Some("mine")), Some("mine"), None, None),
            (fresh(Some("mine")), Some("new"), None, Some("did not use the requested id mine")),
            (fresh(Some("mine")), None, None, None),
        ] {
            let reported = id.map(|id| ReportSession::new(id, resumed));
            let text = other_session(&chosen, reported.as_ref());
            let matches = match (&text, warning) {
                (Some(text), Some(warning)) => text.contains(warning),
                (text, warning) => text.is_none() && warning.is_none(),
            };
            assert!(matches, "{chosen:?} {reported:?}: {text:?}");
        }
    }
}
