//! The tool calls of a run, as the report lists them.

use super::room::{Room, short};
use crate::model::{ReportTool, ToolCall, ToolStatus};
use std::collections::HashMap;
use std::time::Duration;

/// The tool calls of a run, as many as there is room for.
#[derive(Debug, Default)]
pub(super) struct Tools {
    calls: Vec<ReportTool>,
    /// When each call was first seen.
    started: Vec<Duration>,
    /// The index of each call, by id.
    index: HashMap<String, usize>,
    /// How many of them belong to earlier turns.
    earlier: usize,
    /// How many of this turn's calls are running.
    running: usize,
    room: Room,
    /// How many events were about calls that found no room.
    omitted: u64,
}

impl Tools {
    /// Adds or changes a call. Returns its duration if this ended it.
    pub(super) fn update(&mut self, call: &ToolCall, now: Duration) -> Option<Duration> {
        // An id that is used again in a later turn is another call, unless it is the late end of one that was running.
        let ended_late = |index: usize| call.status.is_final() && !self.calls[index].status.is_final();
        let known = self.index.get(&call.id).copied();
        let known = known.filter(|index| *index >= self.earlier || ended_late(*index));
        let index = known.unwrap_or(self.calls.len());
        if known.is_none() {
            if !self.room.take(call.id.len()) {
                self.omitted += 1;
                return None;
            }
            self.index.insert(call.id.clone(), index);
            self.calls.push(ReportTool::new(call.id.clone(), call.status));
            self.started.push(now);
        }
        let entry = &mut self.calls[index];
        replace(&mut entry.parent, call.parent.as_ref(), &mut self.room);
        replace(&mut entry.name, call.name.as_ref(), &mut self.room);
        let ran = known.is_some() && !entry.status.is_final();
        entry.exit_code = call.exit_code.or(entry.exit_code);
        entry.status = call.status;
        if index >= self.earlier {
            self.running = self.running + usize::from(!call.status.is_final()) - usize::from(ran);
        }
        let ended = call.status.is_final() && (ran || known.is_none());
        ended.then(|| now.saturating_sub(self.started[index]))
    }

    pub(super) fn set_duration(&mut self, id: &str, millis: u64) {
        if let Some(index) = self.index.get(id) {
            self.calls[*index].duration_ms = Some(millis);
        }
    }

    /// Another turn starts in the same process.
    pub(super) fn next_turn(&mut self) {
        self.earlier = self.calls.len();
        self.running = 0;
    }

    pub(super) fn any_running(&self) -> bool {
        self.running > 0
    }

    /// The last tool of this turn that was denied, by its name if that is known.
    pub(super) fn denied(&self) -> Option<String> {
        let denied = self.calls[self.earlier..].iter().rfind(|call| call.status == ToolStatus::Denied)?;
        Some(denied.name.clone().unwrap_or_else(|| denied.id.clone()))
    }

    /// All calls, in the order in which they started.
    pub(super) fn calls(&self) -> &[ReportTool] {
        &self.calls
    }

    pub(super) fn omitted(&self) -> u64 {
        self.omitted
    }
}

/// Replaces a name by one that came later, if there is room for what is longer about it.
fn replace(kept: &mut Option<String>, new: Option<&String>, room: &mut Room) {
    if let Some(new) = short(new).filter(|new| kept.as_ref() != Some(new)) {
        let grown = new.len().saturating_sub(kept.as_ref().map_or(0, String::len));
        if room.grow(grown) {
            *kept = Some(new.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_calls_without_end_are_counted_and_not_kept() {
        let mut tools = Tools::default();
        for number in 0..20_000 {
            tools.update(&ToolCall::new(format!("{number:0>200}"), ToolStatus::Running), Duration::ZERO);
        }
        let kept = tools.calls().len();
        assert!((5000..6000).contains(&kept), "{kept} ids of 200 bytes are about a mebibyte");
        assert_eq!(kept as u64 + tools.omitted(), 20_000);
        assert!(tools.any_running());
        for _ in 0..20_000 {
            let mut call = ToolCall::new(format!("{:0>200}", 0), ToolStatus::Succeeded);
            call.name = Some("x".repeat(1000));
            tools.update(&call, Duration::ZERO);
            call.name = Some("x".repeat(2000));
            tools.update(&call, Duration::ZERO);
        }
        assert!(tools.calls()[0].name.as_ref().is_none_or(|name| name.len() == 1000), "a longer one is not kept");
        assert_eq!(tools.calls()[0].status, ToolStatus::Succeeded, "what is kept still changes");
    }
}
