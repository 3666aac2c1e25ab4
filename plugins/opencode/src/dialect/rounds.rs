//! How many calls of the model a turn had, as far as the updates show it.

/// The calls of a turn. The protocol does not say where one ends: a message after a tool, or another message, is another
/// call.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The message that is being written.
    message: Option<String>,
    /// How many messages there were since the last tool.
    in_a_row: u64,
    /// How many tools have started, and whether one has ended.
    tools: u32,
    tool_ended: bool,
    /// Whether there was more than one call, or may have been.
    several: bool,
}

impl Rounds {
    /// A part of a message. Returns how many messages came in a row, without a tool between them.
    pub(super) fn message_chunk(&mut self, id: Option<&str>) -> u64 {
        let is_new = self.in_a_row == 0 || (id.is_some() && self.message.as_deref() != id);
        if is_new {
            self.in_a_row += 1;
            self.several |= self.message.is_some() || self.tools > 0;
            self.message = id.map(str::to_owned).or_else(|| self.message.take());
        }
        self.in_a_row
    }

    /// A tool call starts or changes.
    pub(super) fn tool(&mut self, starts: bool, has_ended: bool) {
        self.in_a_row = 0;
        if starts {
            self.tools += 1;
            // Another one after the end of the first is of the same call, or of the next.
            self.several |= self.tool_ended;
        }
        self.tool_ended |= has_ended;
    }

    /// Whether there was certainly one call.
    pub(super) fn is_one(&self) -> bool {
        !self.several
    }

    /// The message that was written last.
    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_after_a_tool_or_another_message_is_another_call() {
        let mut one = Rounds::default();
        assert_eq!((one.message_chunk(Some("a")), one.message_chunk(Some("a"))), (1, 1));
        assert!(one.is_one());
        one.tool(true, false);
        one.tool(false, true);
        assert!(one.is_one(), "a tool that ends the turn belongs to its call");
        assert_eq!(one.message_chunk(Some("b")), 1);
        assert!(!one.is_one());
        assert_eq!((one.message_chunk(Some("c")), one.message()), (2, Some("c")));
        let mut silent = Rounds::default();
        silent.tool(true, false);
        silent.tool(true, true);
        assert!(silent.is_one());
        silent.tool(true, false);
        assert!(!silent.is_one());
    }
}
