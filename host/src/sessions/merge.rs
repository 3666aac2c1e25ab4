//! What a turn makes of the entry of its session. Pure: the file is not touched here.

use std::path::PathBuf;

use super::SessionEntry;
use crate::event::{Outcome, Usage};
use crate::usage;

/// A turn that is over, as far as its session is concerned.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionTurn {
    /// The adapter that ran it.
    pub adapter: String,
    /// Its version.
    pub adapter_version: String,
    /// The runtime's version, where it is known.
    pub runtime_version: Option<String>,
    /// The id of the session that was to be resumed. None for a fresh session, and for a fork, which is a fresh one.
    pub wanted_id: Option<String>,
    /// Whether the resume really resumed, where the runtime tells.
    pub resumed: Option<bool>,
    /// The id that the runtime named, the last one where it named several.
    pub new_id: Option<String>,
    /// The folder that the agent worked in.
    pub workspace: PathBuf,
    /// The model that answered.
    pub model: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// What it used.
    pub usage: Option<Usage>,
    /// What the runtime says the session has used so far.
    pub session_usage: Option<Usage>,
    /// Its run.
    pub run: Option<String>,
    /// When it ended, in seconds since 1970.
    pub ended: u64,
}

impl SessionTurn {
    /// The ids by which the session of this turn may be known, the best first. What the runtime says it is counts for
    /// more than what was wished; and a resume that did not resume has left the wanted session as it was.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &str> {
        self.new_id.as_deref().into_iter().chain(self.continued())
    }

    /// The session that this turn continued.
    fn continued(&self) -> Option<&str> {
        self.wanted_id.as_deref().filter(|_| self.resumed != Some(false))
    }

    /// The session's entry after this turn, from the one before it. None where there is nothing to be remembered: the
    /// session is not known and the runtime did not name it, so nothing says that there is one.
    pub(super) fn merge(&self, known: Option<&SessionEntry>) -> Option<SessionEntry> {
        let mut ids = match (known, &self.new_id) {
            (Some(known), _) => known.ids.clone(),
            (None, Some(_)) => self.continued().map(str::to_owned).into_iter().collect(),
            (None, None) => return None,
        };
        if let Some(id) = &self.new_id {
            put_last(&mut ids, id);
        }
        let usage_before = known.map(|known| known.usage.clone()).unwrap_or_default();
        Some(SessionEntry {
            id: ids.last()?.clone(),
            ids,
            adapter: self.adapter.clone(),
            adapter_version: self.adapter_version.clone(),
            runtime_version: self.runtime_version.clone().or_else(|| known?.runtime_version.clone()),
            workspace: self.workspace.clone(),
            model: self.model.clone().or_else(|| known?.model.clone()),
            outcome: self.outcome,
            turns: known.map_or(0, |known| known.turns).saturating_add(1),
            usage: self.usage.as_ref().map_or(usage_before.clone(), |usage| usage::add(&usage_before, usage)),
            session_usage: self.session_usage.clone().or_else(|| known?.session_usage.clone()),
            created: known.map_or(self.ended, |known| known.created),
            // Turns may be written down in another order than they ended.
            updated: known.map_or(0, |known| known.updated).max(self.ended),
            last_run: self.run.clone().or_else(|| known?.last_run.clone()),
        })
    }
}

/// Makes this id the last, wherever it was before: a runtime may come back to an id that it had left.
pub(super) fn put_last(ids: &mut Vec<String>, id: &str) {
    ids.retain(|other| other != id);
    ids.push(id.to_owned());
}

#[cfg(test)]
mod tests {
    use super::super::tests::turn;
    use super::*;

    #[test]
    fn the_ids_of_a_session_after_a_turn() {
        for (known, wanted, resumed, new, expected) in [
            ("", "", None, "a", "a"),
            ("a", "a", Some(true), "a", "a"),
            ("a", "a", Some(true), "b", "a b"),
            ("a b", "a", Some(true), "c", "a b c"),
            ("a b", "b", None, "a", "b a"),
            ("a b", "b", None, "", "a b"),
            // Begun outside wharf.
            ("", "x", Some(true), "y", "x y"),
            ("", "x", None, "y", "x y"),
            // It did not resume, so these are two sessions.
            ("", "x", Some(false), "y", "y"),
            // Nobody says that there is a session.
            ("", "x", None, "", ""),
            ("", "", None, "", ""),
        ] {
            let known = (!known.is_empty()).then(|| {
                let mut entry = turn("", known, 1).merge(None).expect("it has an id");
                entry.ids = known.split(' ').map(str::to_owned).collect();
                entry
            });
            let turn = SessionTurn { resumed, ..turn(wanted, new, 2) };
            let merged = turn.merge(known.as_ref());
            let ids = merged.as_ref().map(|entry| entry.ids.join(" ")).unwrap_or_default();
            assert_eq!(ids, expected, "{known:?} after {turn:?}");
            assert_eq!(merged.as_ref().map(|entry| &entry.id), merged.as_ref().and_then(|entry| entry.ids.last()));
        }
    }

    #[test]
    fn a_resume_that_did_not_resume_is_not_looked_for() {
        for (wanted, resumed, new, expected) in [
            ("a", Some(true), "b", "b a"),
            ("a", None, "b", "b a"),
            ("a", None, "", "a"),
            ("a", Some(false), "b", "b"),
            ("a", Some(false), "", ""),
        ] {
            let turn = SessionTurn { resumed, ..turn(wanted, new, 1) };
            assert_eq!(turn.candidates().collect::<Vec<_>>().join(" "), expected, "{turn:?}");
        }
    }

    #[test]
    fn what_a_turn_does_not_tell_stays_as_it_was() {
        let told = SessionTurn {
            runtime_version: Some("1.2.3".to_owned()),
            model: Some("large".to_owned()),
            session_usage: Some(Usage { input: Some(7), ..Usage::default() }),
            run: Some("first".to_owned()),
            ..turn("", "a", 10)
        };
        let before = told.merge(None).expect("it has an id");
        let silent = SessionTurn { outcome: Outcome::Failed, ..turn("a", "", 5) };
        let after = silent.merge(Some(&before)).expect("it is known");
        assert_eq!(after, SessionEntry { outcome: Outcome::Failed, turns: 2, ..before });
    }
}
