//! Streamed blocks and open tool calls: the state that messages are read with.
//!
//! The id of a streamed block is its message and index, `msg_1/0`. The line with the whole block gets the same id.

use std::collections::BTreeSet;
use wharf_adapter::{Calls, Effects, Event, Json, Malformed, ToolStatus};

/// The message that is currently streamed.
#[derive(Default)]
pub(crate) struct Partial {
    message: String,
    model: Option<String>,
    /// Its text and thinking blocks so far.
    blocks: Vec<Block>,
    /// Index and id of the current block: the id is built once, not for each delta.
    streamed: Option<(u64, String)>,
    /// The ids of reported lines, by uuid: retractions name the uuid.
    lines: Vec<(String, String)>,
}

struct Block {
    index: u64,
    kind: BlockKind,
    /// Whether an assistant line has contained the whole block.
    ended: bool,
}

/// The kinds of blocks that are streamed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Text,
    Thinking,
}

impl Partial {
    /// A message starts. Unfinished blocks of the previous one are discarded.
    pub(crate) fn start(&mut self, message: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, model] = message.pick(["id", "model"])?;
        self.discard_pending(out);
        *self = Partial { message: id.string().unwrap_or_default(), model: model.string(), ..Partial::default() };
        Ok(())
    }

    /// A block starts.
    pub(crate) fn open(&mut self, index: u64, block: Json<'_>) {
        let kind = match block.get("type").name() {
            Some("text") => BlockKind::Text,
            Some("thinking") => BlockKind::Thinking,
            _ => return,
        };
        self.blocks.push(Block { index, kind, ended: false });
    }

    /// A delta of a block.
    pub(crate) fn delta(
        &mut self,
        index: u64,
        delta: Json<'_>,
        parent: Json<'_>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let [kind, text, thinking] = delta.pick(["type", "text", "thinking"])?;
        let streamed = self.streamed.take().filter(|(streamed, _)| *streamed == index);
        let (_, id) = self.streamed.insert(streamed.unwrap_or_else(|| (index, block_id(&self.message, index))));
        let parent = parent.filled();
        match kind.name().ok_or(Malformed)? {
            // A missing text is empty.
            "text_delta" => text.text().into_iter().for_each(|text| out.text_delta(&*id, parent.as_deref(), text)),
            "thinking_delta" => {
                thinking.text().into_iter().for_each(|text| out.thinking_delta(&*id, parent.as_deref(), text));
            }
            "input_json_delta" | "signature_delta" | "citations_delta" | "compaction_delta" => {}
            other => out.unknown(&format!("content_block_delta/{other}")),
        }
        Ok(())
    }

    /// The CLI discards this message, starting at a block.
    pub(crate) fn abandon(&mut self, from: u64, out: &mut Effects) {
        for block in std::mem::take(&mut self.blocks) {
            if block.index >= from {
                out.emit(Event::Discard(self.block_id(block.index).into()));
            }
        }
    }

    /// The id under which the line with this uuid was reported.
    pub(crate) fn id_of(&self, uuid: &str) -> String {
        self.lines.iter().find(|(line, _)| line == uuid).map_or(uuid, |(_, id)| id).to_owned()
    }

    /// The model of the message.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The id for a block of an assistant line, which ends the streamed block.
    pub(crate) fn confirm(&mut self, message: &str, kind: BlockKind, uuid: &str, out: &mut Effects) -> String {
        if message != self.message || self.message.is_empty() {
            // Sent again without streaming: the deltas are never completed.
            self.discard_pending(out);
            return if uuid.is_empty() { message.to_owned() } else { uuid.to_owned() };
        }
        let Some(block) = self.blocks.iter_mut().find(|block| block.kind == kind && !block.ended) else {
            return uuid.to_owned();
        };
        block.ended = true;
        let index = block.index;
        let id = self.block_id(index);
        self.lines.push((uuid.to_owned(), id.clone()));
        id
    }

    fn discard_pending(&mut self, out: &mut Effects) {
        for block in std::mem::take(&mut self.blocks) {
            if !block.ended {
                out.emit(Event::Discard(self.block_id(block.index).into()));
            }
        }
    }

    fn block_id(&self, index: u64) -> String {
        block_id(&self.message, index)
    }
}

/// The id of a streamed block.
fn block_id(message: &str, index: u64) -> String {
    format!("{message}/{index}")
}

/// The tool calls that have not ended, and those that ended as denied.
#[derive(Default)]
pub(crate) struct Tools {
    open: Calls<OpenTool>,
    /// Ended and reported as denied: the end of the turn lists them again.
    denied: BTreeSet<String>,
}

struct OpenTool {
    /// Whether a sub-agent made the call.
    nested: bool,
    /// Whether the CLI or the user denied it.
    denied: bool,
}

impl Tools {
    /// A call has started.
    pub(crate) fn open(&mut self, id: &str, nested: bool) {
        self.denied.remove(id);
        self.open.open(id, OpenTool { nested, denied: false });
    }

    /// Marks a call as denied. Returns whether it is open: then its result follows.
    pub(crate) fn deny(&mut self, id: &str) -> bool {
        let open = self.open.get_mut(id);
        open.map(|tool| tool.denied = true).is_some()
    }

    /// A call was reported as denied. Returns whether that is new.
    pub(crate) fn denied(&mut self, id: &str) -> bool {
        self.open.close(id);
        self.denied.insert(id.to_owned())
    }

    /// Removes a call that has ended. Returns whether it was denied.
    pub(crate) fn close(&mut self, id: &str) -> bool {
        self.open.close(id).is_some_and(|tool| tool.denied)
    }

    /// The turn is over: open calls of the agent itself never ran. Sub-agents in the background may continue.
    pub(crate) fn cancel_own(&mut self, out: &mut Effects) {
        self.open.end(out, |_, tool| (!tool.nested).then_some(ToolStatus::Cancelled));
    }

    /// The process has exited: no call runs any more.
    pub(crate) fn cancel_all(&mut self, out: &mut Effects) {
        self.open.cancel(out);
    }
}
