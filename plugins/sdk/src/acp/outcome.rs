//! How a turn ended, and what it used: the response to its prompt.

use super::usage::Tokens;
use super::{Dialect, Session};
use crate::{Effects, ErrorClass, Event, Failure, Json, Outcome, UsageScope};

impl<D: Dialect> Session<D> {
    /// The prompt was answered.
    pub(super) fn prompted(&mut self, result: Json<'_>, out: &mut Effects) {
        let mut wrote = false;
        let stop = result.get("stopReason").name();
        let scope = self.dialect.usage_scope();
        let mut tokens = Tokens::read(result).filter(|tokens| !tokens.is_zero());
        if let Some(tokens) = &mut tokens {
            if scope == UsageScope::Delta {
                *tokens = tokens.since(std::mem::replace(&mut self.used_before, *tokens));
            }
            wrote = tokens.has_output();
        }
        let of_dialect = self.dialect.outcome(wrote, &mut self.transcript, out);
        // The last call may have been one of an earlier turn, if this turn has not completed.
        let is_whole = stop != Some("cancelled") && of_dialect.is_none() && !self.transcript.has_tools();
        match tokens {
            Some(_) if self.dialect.counts_last_call_only() && !is_whole => {
                out.emit(Event::UsageUnavailable(
                    "the agent reports only the tokens of its last model call".to_owned(),
                ));
            }
            Some(tokens) => {
                for (model, tokens) in tokens.by_model(result, self.model.clone()) {
                    out.usage(tokens.into_usage::<D>(scope, model));
                }
            }
            None if self.transcript.has_usage() => {}
            None => out.emit(Event::UsageUnavailable("the agent does not report tokens".to_owned())),
        }
        let is_silent = D::SILENCE_FAILS && !self.transcript.has_output();
        self.transcript.end_turn(out);
        let outcome = match stop {
            Some("cancelled") => Outcome::Cancelled,
            Some("refusal") => Outcome::Refused("the model declined to answer".to_owned()),
            Some("max_tokens") => Outcome::Limit("max-tokens".to_owned()),
            Some("max_turn_requests") => Outcome::Limit("max-turns".to_owned()),
            _ if is_silent => {
                let message = "the agent ended the turn without a word, which is how it reports a failed model call";
                Outcome::Failed(Failure::new(ErrorClass::Provider, message))
            }
            _ => of_dialect.unwrap_or(Outcome::Completed),
        };
        out.turn_ended(outcome, None);
    }
}
