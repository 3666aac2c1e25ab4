//! A request of ours that failed, and what becomes of its turn.

use super::request::Step;
use super::{Change, Dialect, RpcError, Session};
use crate::{Effects, ErrorClass, Failure, Json, LogLevel, Outcome};

impl<D: Dialect> Session<D> {
    /// The agent answered with an error.
    pub(super) fn failed(&mut self, step: Step, error: RpcError<'_>, out: &mut Effects) {
        let failure = self.dialect.failure(&error);
        let mut message = failure.message.clone();
        if let Step::Change(change) = &step
            && let Some(model) = change.new_model().filter(|model| !message.contains(model))
        {
            message = format!("the agent rejected the model {model}: {message}");
        }
        let is_handshake = step == Step::Initialize;
        if is_handshake {
            message = format!("the program rejected the ACP handshake: {message}");
        }
        let class = match step {
            _ if self.turn.is_none() => return,
            Step::Prompt if self.is_cancelling => {
                self.transcript.end_turn(out);
                return out.turn_ended(Outcome::Cancelled, None);
            }
            _ if error.needs_login() => ErrorClass::Auth,
            // Some agents claim it and do not have it.
            Step::Resume(id) if error.is_unknown_method() => return self.rpc.queue(Step::Load(id)),
            Step::Change(Change { optional: true, setting, .. }) => {
                return out.notice(LogLevel::Warn, format!("the {setting} could not be set: {message}"));
            }
            Step::Change(Change { setting: "model", .. }) if !error.is_unknown_method() => ErrorClass::UnknownModel,
            Step::Change(_) => ErrorClass::InvalidOption,
            Step::Load(_) | Step::Resume(_) | Step::Fork(_) => ErrorClass::NoSession,
            Step::Authenticate(_) => ErrorClass::Auth,
            Step::Initialize if failure.class == ErrorClass::Other => ErrorClass::Protocol,
            Step::Initialize | Step::New | Step::Prompt => failure.class,
        };
        let mut failure = if class == failure.class {
            Failure { message, ..failure }
        } else {
            Failure::new(class, message).code(failure.code).status(failure.http_status)
        };
        if class == ErrorClass::Auth {
            let agent = Json::parse(&self.agent);
            failure = self.dialect.explain_login(failure, self.version.as_deref(), agent.get("authMethods"));
        }
        if is_handshake && class == ErrorClass::Protocol {
            self.reject(failure, out);
        } else {
            self.fail(failure, out);
        }
    }

    /// The failure of a turn that has no session, because of what failed before.
    pub(super) fn no_session(&self) -> Failure {
        let Some(first) = &self.failure else {
            return Failure::new(ErrorClass::Protocol, "there is no session to continue");
        };
        Failure { message: format!("there is no session to continue: {}", first.message), ..first.clone() }
    }

    /// The process does not speak the protocol as we do.
    pub(super) fn reject(&mut self, failure: Failure, out: &mut Effects) {
        if self.rpc.is_unused() {
            return self.fail(failure, out);
        }
        self.failure.get_or_insert_with(|| failure.clone());
        self.rpc.clear_queue();
        out.transport_failed(failure);
    }

    pub(super) fn fail(&mut self, failure: Failure, out: &mut Effects) {
        self.failure.get_or_insert_with(|| failure.clone());
        self.rpc.clear_queue();
        self.transcript.end_turn(out);
        out.failed(failure);
    }
}
