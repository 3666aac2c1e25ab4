//! The items that wait to be taken: groups frames into batches, and repairs invalid UTF-8.

use std::collections::VecDeque;

use super::item::{BATCH_SIZE, Batch, Frames, HEAD_SIZE, Item};

/// How much memory is kept for partial lines.
const KEPT: usize = 4 << 10;

/// Items in the order of the stream. The last batch is open: frames are added to it until it is full or taken.
#[derive(Debug, Default)]
pub(super) struct Output {
    items: VecDeque<Item>,
}

impl Output {
    pub(super) fn take(&mut self) -> Option<Item> {
        self.items.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn push(&mut self, item: Item) {
        self.items.push_back(item);
    }

    /// How many bytes fit into the open batch, or into a new one if none is open.
    pub(super) fn room(&self) -> usize {
        match self.items.back() {
            Some(Item::Batch(Batch { data: Frames::Text(text), .. })) => BATCH_SIZE.saturating_sub(text.len()),
            Some(Item::Batch(Batch { data: Frames::Bytes(bytes), .. })) => BATCH_SIZE.saturating_sub(bytes.len()),
            _ => BATCH_SIZE,
        }
    }

    /// Adds one or more complete lines.
    pub(super) fn lines(&mut self, offset: u64, lines: &[u8]) {
        let (text, repaired) = self.open_text(offset, lines.len());
        if let Ok(lines) = simdutf8::basic::from_utf8(lines) {
            text.push_str(lines);
            return;
        }
        for line in split_inclusive(lines) {
            if let Ok(line) = simdutf8::basic::from_utf8(line) {
                text.push_str(line);
            } else {
                text.push_str(&String::from_utf8_lossy(line));
                *repaired += 1;
            }
        }
    }

    /// Adds a line that was assembled from several pushes. If it starts a batch, its memory becomes the batch, so that
    /// a long line is not copied. `line` is empty afterwards.
    pub(super) fn own_line(&mut self, offset: u64, line: &mut Vec<u8>) {
        if line.len() <= self.room() && matches!(self.items.back(), Some(Item::Batch(_))) {
            self.lines(offset, line);
            // Most runs wait most of the time, so the memory of a long line is freed.
            line.clear();
            line.shrink_to(KEPT);
            return;
        }
        // The check of the standard library, because only that keeps the memory without unsafe code.
        let (text, repaired) = match String::from_utf8(std::mem::take(line)) {
            Ok(text) => (text, 0),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), 1),
        };
        self.push(Item::Batch(Batch { offset, data: Frames::Text(text), repaired }));
    }

    /// Adds a body without newlines, and the "\n" after it.
    pub(super) fn body(&mut self, offset: u64, body: &[u8]) {
        self.lines(offset, body);
        let (text, _) = self.open_text(offset, 0);
        text.push('\n');
    }

    /// Adds bytes without frames.
    pub(super) fn raw(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.room() == 0 || !matches!(self.items.back(), Some(Item::Batch(_))) {
                self.push(Item::Batch(Batch { offset, data: Frames::Bytes(Vec::new()), repaired: 0 }));
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.room()));
            if let Some(Item::Batch(Batch { data: Frames::Bytes(batch), .. })) = self.items.back_mut() {
                batch.extend_from_slice(now);
            }
            offset += now.len() as u64;
            bytes = later;
        }
    }

    /// The text of the open batch and its count of repairs. Opens a new batch if none is open or if `incoming` bytes do
    /// not fit.
    fn open_text(&mut self, offset: u64, incoming: usize) -> (&mut String, &mut usize) {
        let fits = matches!(self.items.back(), Some(Item::Batch(_))) && incoming <= self.room();
        if !fits {
            self.push(Item::Batch(Batch { offset, data: Frames::Text(String::new()), repaired: 0 }));
        }
        match self.items.back_mut() {
            Some(Item::Batch(Batch { data: Frames::Text(text), repaired, .. })) => (text, repaired),
            _ => unreachable!("a stream of lines has only batches of text, and one was just opened"),
        }
    }
}

/// A frame that is not passed on: only its length and its first bytes are kept.
#[derive(Debug)]
pub(super) struct Skipped {
    offset: u64,
    length: u64,
    head: Vec<u8>,
}

impl Skipped {
    pub(super) fn new(offset: u64) -> Skipped {
        Skipped { offset, length: 0, head: Vec::new() }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let room = HEAD_SIZE - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    pub(super) fn oversized(self) -> Item {
        Item::Oversized { offset: self.offset, length: self.length, head: self.head() }
    }

    pub(super) fn broken(self) -> Item {
        Item::Broken { offset: self.offset, length: self.length, head: self.head() }
    }

    /// The first bytes as text. A character that is cut at their end is omitted, not repaired: the stream was valid.
    fn head(&self) -> String {
        let cut = self.length > self.head.len() as u64;
        let mut text = String::with_capacity(self.head.len());
        let mut chunks = self.head.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let incomplete = || std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            let cut_here = cut && chunks.peek().is_none() && incomplete();
            if !chunk.invalid().is_empty() && !cut_here {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }
}

/// Lines with their "\n"; the last one may have none.
fn split_inclusive(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|byte| *byte == b'\n')
}
