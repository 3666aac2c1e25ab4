//! Splits a stream into lines, each ended by "\n".

use memchr::{memchr, memrchr};

use super::output::{Output, Skipped};

/// Splits at "\n". Between two pushes it holds the start of one line, never more than the limit.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    /// The start of a line whose end was not read yet.
    partial: Vec<u8>,
    /// A line beyond the limit, while it is being skipped.
    skipped: Option<Skipped>,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Lines {
        Lines { limit, partial: Vec::new(), skipped: None }
    }

    pub(super) fn push(&mut self, mut position: u64, mut bytes: &[u8], output: &mut Output) {
        while !bytes.is_empty() {
            let used = if self.skipped.is_some() {
                self.skip(bytes, output)
            } else if self.partial.is_empty() {
                self.complete_lines(position, bytes, output)
            } else {
                self.end_of_line(position, bytes, output)
            };
            position += used as u64;
            bytes = &bytes[used..];
        }
    }

    pub(super) fn finish(&mut self, position: u64, output: &mut Output) {
        if let Some(skipped) = self.skipped.take() {
            output.push(skipped.oversized());
        } else if !self.partial.is_empty() {
            output.own_line(position - self.partial.len() as u64, &mut self.partial);
        }
    }

    /// At the start of a line: takes as many lines as fit into the batch. Returns how many bytes it used.
    fn complete_lines(&mut self, position: u64, bytes: &[u8], output: &mut Output) -> usize {
        // A line that ends within this window is within the limit, whatever else the window contains.
        let window = &bytes[..bytes.len().min(self.limit.saturating_add(1))];
        let fitting = &window[..window.len().min(output.room())];
        // A line that does not fit into the open batch starts the next one.
        if let Some(end) = memrchr(b'\n', fitting).or_else(|| memchr(b'\n', window)) {
            output.lines(position, &window[..=end]);
            return end + 1;
        }
        if window.len() > self.limit {
            self.skipped = Some(Skipped::new(position));
            return 0;
        }
        self.partial.extend_from_slice(window);
        window.len()
    }

    /// In a line that started in an earlier push.
    fn end_of_line(&mut self, position: u64, bytes: &[u8], output: &mut Output) -> usize {
        let start = position - self.partial.len() as u64;
        let room = self.limit.saturating_add(1) - self.partial.len();
        let window = &bytes[..bytes.len().min(room)];
        if let Some(end) = memchr(b'\n', window) {
            self.partial.extend_from_slice(&window[..=end]);
            output.own_line(start, &mut self.partial);
            return end + 1;
        }
        if window.len() == room {
            let mut skipped = Skipped::new(start);
            skipped.add(&self.partial);
            self.skipped = Some(skipped);
            // Replaced, not cleared: this frees the memory.
            self.partial = Vec::new();
            return 0;
        }
        self.partial.extend_from_slice(window);
        window.len()
    }

    /// How much memory the partial line takes.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.partial.capacity()
    }

    /// In a line beyond the limit. Returns how many bytes it used.
    fn skip(&mut self, bytes: &[u8], output: &mut Output) -> usize {
        let end = memchr(b'\n', bytes);
        if let Some(mut skipped) = self.skipped.take() {
            skipped.add(&bytes[..end.unwrap_or(bytes.len())]);
            if end.is_some() {
                output.push(skipped.oversized());
            } else {
                self.skipped = Some(skipped);
            }
        }
        end.map_or(bytes.len(), |end| end + 1)
    }
}
