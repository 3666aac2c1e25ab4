//! How a turn changes the entry of its session. Pure: this module does no I/O.

use std::path::PathBuf;

use super::entry::SessionEntry;
use std::time::SystemTime;
use wharf_core::model::{Labels, Outcome, Usage};
use wharf_core::turn::add;

/// A turn that has ended, with everything that its session needs to know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionTurn {
    /// The id of the adapter that ran it.
    pub adapter: String,
    /// The version of the adapter.
    pub adapter_version: String,
    /// The agent's version, if it is known.
    pub agent_version: Option<String>,
    /// The id of the session to resume. None for a fresh session, and for a fork, which is a new session.
    pub requested_id: Option<String>,
    /// Whether the resume really resumed; none if the agent did not say.
    pub resumed: Option<bool>,
    /// The id that the agent named; the last one if it named several.
    pub new_id: Option<String>,
    /// The folder that the agent worked in.
    pub workspace: PathBuf,
    /// The labels of its run.
    pub labels: Labels,
    /// The model that answered.
    pub model: Option<String>,
    /// How the turn ended.
    pub outcome: Outcome,
    /// What the turn used.
    pub usage: Option<Usage>,
    /// What the session has used so far, according to the agent.
    pub session_usage: Option<Usage>,
    /// The id of its run; none if it was not recorded.
    pub run: Option<String>,
    /// When the turn ended.
    pub ended: SystemTime,
}

impl SessionTurn {
    /// The ids by which the session of this turn may be known, best first. The id that the agent named is preferred to
    /// the requested one; and a resume that did not resume has not changed the requested session.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &str> {
        self.new_id.as_deref().into_iter().chain(self.resumed_id())
    }

    /// The session that this turn resumed.
    fn resumed_id(&self) -> Option<&str> {
        self.requested_id.as_deref().filter(|_| self.resumed != Some(false))
    }

    /// The session's entry after this turn, from the one before it. None if there is nothing to remember: the session
    /// is not known and the agent did not name one, so there may be none.
    pub(super) fn merge(&self, known: Option<&SessionEntry>) -> Option<SessionEntry> {
        let mut ids = match (known, &self.new_id) {
            (Some(known), _) => known.ids.clone(),
            (None, Some(_)) => self.resumed_id().map(str::to_owned).into_iter().collect(),
            (None, None) => return None,
        };
        if let Some(id) = &self.new_id {
            put_last(&mut ids, id);
        }
        let mut runs = known.map(|known| known.runs.clone()).unwrap_or_default();
        if let Some(run) = &self.run {
            put_last(&mut runs, run);
        }
        let mut labels = known.map(|known| known.labels.clone()).unwrap_or_default();
        labels.extend(self.labels.clone());
        let usage_before = known.map(|known| known.usage.clone()).unwrap_or_default();
        Some(SessionEntry {
            id: ids.last()?.clone(),
            ids,
            adapter: self.adapter.clone(),
            adapter_version: self.adapter_version.clone(),
            agent_version: self.agent_version.clone().or_else(|| known?.agent_version.clone()),
            workspace: self.workspace.clone(),
            model: self.model.clone().or_else(|| known?.model.clone()),
            outcome: self.outcome,
            turns: known.map_or(0, |known| known.turns).saturating_add(1),
            usage: self.usage.as_ref().map_or(usage_before.clone(), |usage| add(&usage_before, usage)),
            session_usage: self.session_usage.clone().or_else(|| known?.session_usage.clone()),
            created: known.map_or(self.ended, |known| known.created),
            // Turns may be remembered in a different order than they ended.
            updated: known.map_or(self.ended, |known| known.updated.max(self.ended)),
            runs,
            labels,
        })
    }
}

/// Makes this id the last one, wherever it was before: an agent may return to an earlier id.
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
        for (known, requested, resumed, new, expected) in [
            ("", "", None, "a", "a"),
            ("a", "a", Some(true), "a", "a"),
            ("a", "a", Some(true), "b", "a b"),
            ("a b", "a", Some(true), "c", "a b c"),
            ("a b", "b", None, "a", "b a"),
            ("a b", "b", None, "", "a b"),
            // Started without wharf.
            ("", "x", Some(true), "y", "x y"),
            ("", "x", None, "y", "x y"),
            // It did not resume, so these are two sessions.
            ("", "x", Some(false), "y", "y"),
            // Nothing shows that there is a session.
            ("", "x", None, "", ""),
            ("", "", None, "", ""),
        ] {
            let known = (!known.is_empty()).then(|| {
                let mut entry = turn("", known, 1).merge(None).expect("a session with an id");
                entry.ids = known.split(' ').map(str::to_owned).collect();
                entry
            });
            let turn = SessionTurn { resumed, ..turn(requested, new, 2) };
            let merged = turn.merge(known.as_ref());
            let ids = merged.as_ref().map(|entry| entry.ids.join(" ")).unwrap_or_default();
            assert_eq!(ids, expected, "{known:?} after {turn:?}");
            assert_eq!(merged.as_ref().map(|entry| &entry.id), merged.as_ref().and_then(|entry| entry.ids.last()));
        }
    }

    #[test]
    fn the_requested_session_is_not_a_candidate_if_it_was_not_resumed() {
        for (requested, resumed, new, expected) in [
            ("a", Some(true), "b", "b a"),
            ("a", None, "b", "b a"),
            ("a", None, "", "a"),
            ("a", Some(false), "b", "b"),
            ("a", Some(false), "", ""),
        ] {
            let turn = SessionTurn { resumed, ..turn(requested, new, 1) };
            assert_eq!(turn.candidates().collect::<Vec<_>>().join(" "), expected, "{turn:?}");
        }
    }

    #[test]
    fn what_a_turn_does_not_report_stays_as_it_was() {
        let mut session_usage = Usage::default();
        session_usage.input = Some(7);
        let full = SessionTurn {
            agent_version: Some("1.2.3".to_owned()),
            model: Some("large".to_owned()),
            session_usage: Some(session_usage),
            run: Some("first".to_owned()),
            ..turn("", "a", 10)
        };
        let before = full.merge(None).expect("a session with an id");
        let empty = SessionTurn { outcome: Outcome::Failed, ..turn("a", "", 5) };
        let after = empty.merge(Some(&before)).expect("a known session");
        assert_eq!(after, SessionEntry { outcome: Outcome::Failed, turns: 2, ..before });
    }
}
