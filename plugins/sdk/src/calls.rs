//! The tool calls that have not ended.

use crate::json::same;
use crate::{Effects, ToolCall, ToolStatus};

/// The open tool calls of an agent, in the order in which they started, each with what the adapter keeps about it. At the
/// end of a turn those that are left are closed, so that no report shows a tool that still runs.
#[derive(Debug)]
pub struct Calls<T = ()>(Vec<(String, T)>);

impl<T> Default for Calls<T> {
    fn default() -> Calls<T> {
        Calls(vec![])
    }
}

impl<T> Calls<T> {
    /// A call has started. If it is open already, what was kept about it is replaced.
    pub fn open(&mut self, id: &str, state: T) {
        match self.get_mut(id) {
            Some(known) => *known = state,
            None => self.0.push((id.to_owned(), state)),
        }
    }

    /// What is kept about an open call.
    pub fn get(&self, id: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| same(known, id)).map(|(_, state)| state)
    }

    /// The same, for a change.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.0.iter_mut().find(|(known, _)| same(known, id)).map(|(_, state)| state)
    }

    /// A call has ended. Returns what was kept about it.
    pub fn close(&mut self, id: &str) -> Option<T> {
        let at = self.0.iter().position(|(known, _)| same(known, id))?;
        Some(self.0.remove(at).1)
    }

    /// The open calls.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(id, state)| (id.as_str(), state))
    }

    /// Nothing runs any more: every open call was cancelled.
    pub fn cancel(&mut self, out: &mut Effects) {
        self.end(out, |_, _| Some(ToolStatus::Cancelled));
    }

    /// Ends every open call with the status that is given for it. Calls without one stay open.
    pub fn end(&mut self, out: &mut Effects, status: impl Fn(&str, &T) -> Option<ToolStatus>) {
        self.0.retain(|(id, state)| {
            let status = status(id, state);
            if let Some(status) = status {
                out.tool(ToolCall::new(id, status));
            }
            status.is_none()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, Event};

    fn ended(out: Effects) -> Vec<(String, ToolStatus)> {
        let tools = out.into_vec().into_iter().filter_map(|effect| match effect {
            Effect::Emit(Event::Tool(call)) => Some((crate::testing::inline(&call.id).to_owned(), call.status)),
            _ => None,
        });
        tools.collect()
    }

    #[test]
    fn calls_that_are_left_are_closed_in_their_order() {
        let mut calls = Calls::default();
        for (id, nested) in [("c", false), ("a", true), ("b", false), ("d", false)] {
            calls.open(id, nested);
        }
        assert_eq!(calls.close("b"), Some(false));
        assert_eq!(calls.close("b"), None);
        let mut out = Effects::default();
        calls.end(&mut out, |_, nested| (!nested).then_some(ToolStatus::Denied));
        assert_eq!(ended(out), [("c".to_owned(), ToolStatus::Denied), ("d".to_owned(), ToolStatus::Denied)]);
        let mut out = Effects::default();
        calls.cancel(&mut out);
        assert_eq!(ended(out), [("a".to_owned(), ToolStatus::Cancelled)]);
    }

    #[test]
    fn a_call_that_starts_again_keeps_its_place() {
        let mut calls = Calls::default();
        calls.open("a", 1);
        calls.open("b", 2);
        calls.open("a", 3);
        assert_eq!(calls.iter().collect::<Vec<_>>(), [("a", &3), ("b", &2)]);
    }
}
