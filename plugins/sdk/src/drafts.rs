//! Streamed text that is not confirmed yet.

use crate::json::same;
use crate::{Effects, Event, Text};

/// Texts that were streamed in part, and whose whole text has not come. An agent that retries a model call streams the text
/// again under another id: then the drafts of that call are void. Each draft has an owner, the agent or a sub-agent.
#[derive(Debug, Default)]
pub struct Drafts(Vec<Draft>);

#[derive(Debug)]
struct Draft {
    owner: Option<String>,
    id: String,
}

impl Drafts {
    /// A part of a text was streamed. Called for every delta.
    pub fn add(&mut self, owner: Option<&str>, id: &str) {
        if !self.0.iter().any(|draft| same(&draft.id, id)) {
            self.0.push(Draft { owner: owner.map(str::to_owned), id: id.to_owned() });
        }
    }

    /// The whole text has come. Returns whether a part of it was streamed before.
    pub fn confirm(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|draft| draft.id != id);
        self.0.len() < before
    }

    /// A model call has ended: what this owner streamed is valid.
    pub fn keep(&mut self, owner: Option<&str>) {
        self.0.retain(|draft| draft.owner.as_deref() != owner);
    }

    /// A model call failed and is retried: what this owner streamed is void.
    pub fn void(&mut self, owner: Option<&str>, out: &mut Effects) {
        self.0.retain(|draft| {
            let is_void = draft.owner.as_deref() == owner;
            if is_void {
                out.emit(Event::Discard(Text::from(draft.id.as_str())));
            }
            !is_void
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect;

    #[test]
    fn a_retry_voids_only_what_its_agent_streamed_and_did_not_confirm() {
        let mut drafts = Drafts::default();
        for (owner, id) in [(None, "a"), (None, "b"), (Some("sub"), "c"), (None, "b")] {
            drafts.add(owner, id);
        }
        assert!(drafts.confirm("a") && !drafts.confirm("a"));
        let mut out = Effects::default();
        drafts.void(None, &mut out);
        assert_eq!(out.into_vec(), [Effect::Emit(Event::Discard(Text::from("b")))]);
        drafts.keep(Some("sub"));
        let mut out = Effects::default();
        drafts.void(Some("sub"), &mut out);
        assert!(out.is_empty());
    }
}
