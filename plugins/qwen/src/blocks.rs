//! Streamed blocks: which id a part of a text has, and which texts a retry makes void.
//!
//! A line names its message only when the first block starts, and a message has blocks of one kind only: what follows is
//! another message, which the stream does not announce. So the ids are ours. The line with the whole text confirms the block
//! of its kind that started first.

use wharf_adapter::{Effects, Event};

/// The kinds of text that are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Text,
    Thinking,
}

/// A text that was streamed in part.
#[derive(Debug)]
struct Block {
    /// The tool call of the sub-agent that writes it.
    owner: Option<String>,
    kind: BlockKind,
    id: String,
}

/// The texts of the current model call.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    count: u32,
    /// Those whose whole text has not come.
    open: Vec<Block>,
    /// The ids of the agent's own texts that were reported whole and are void if the call is retried.
    whole: Vec<String>,
}

impl Blocks {
    /// A block starts.
    pub(crate) fn start(&mut self, owner: Option<&str>, kind: BlockKind) {
        self.count += 1;
        let id = format!("block-{}", self.count);
        self.open.push(Block { owner: owner.map(str::to_owned), kind, id });
    }

    /// The id of the block that is being written.
    pub(crate) fn current(&mut self, owner: Option<&str>, kind: BlockKind) -> &str {
        let is_it = |block: &Block| block.kind == kind && block.owner.as_deref() == owner;
        let at = self.open.iter().rposition(is_it).unwrap_or_else(|| {
            self.start(owner, kind);
            self.open.len() - 1
        });
        &self.open[at].id
    }

    /// The whole text has come: the id under which it was streamed, if it was.
    pub(crate) fn confirm(&mut self, owner: Option<&str>, kind: BlockKind) -> Option<String> {
        let is_it = |block: &Block| block.kind == kind && block.owner.as_deref() == owner;
        let at = self.open.iter().position(is_it)?;
        Some(self.open.remove(at).id)
    }

    /// The agent's own text was reported whole.
    pub(crate) fn reported(&mut self, id: &str) {
        self.whole.push(id.to_owned());
    }

    /// The model call has ended: what it wrote is valid.
    pub(crate) fn keep(&mut self) {
        self.whole.clear();
    }

    /// The model call is retried: what the agent wrote in it is void.
    pub(crate) fn void(&mut self, out: &mut Effects) {
        for id in self.whole.drain(..) {
            out.emit(Event::Discard(id.into()));
        }
        self.open.retain(|block| {
            if block.owner.is_none() {
                out.emit(Event::Discard((&block.id).into()));
            }
            block.owner.is_some()
        });
    }
}
