//! Lines, each ended by "\n".

use memchr::{memchr, memrchr};

use super::output::{Output, Skipped};

/// Cuts at "\n". Between two pushes it holds the beginning of one line, never more than the limit.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// A line beyond the limit, while it passes.
    skipped: Option<Skipped>,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Lines {
        Lines { limit, begun: Vec::new(), skipped: None }
    }

    pub(super) fn push(&mut self, mut position: u64, mut bytes: &[u8], output: &mut Output) {
        while !bytes.is_empty() {
            let used = if self.skipped.is_some() {
                self.skip(bytes, output)
            } else if self.begun.is_empty() {
                self.whole_lines(position, bytes, output)
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
        } else if !self.begun.is_empty() {
            output.own_line(position - self.begun.len() as u64, &mut self.begun);
        }
    }

    /// At the start of a line: as many as the batch takes, in one go. Gives how many bytes it used.
    fn whole_lines(&mut self, position: u64, bytes: &[u8], output: &mut Output) -> usize {
        // A line that ends within this window is within the limit, whatever else stands in the window.
        let window = &bytes[..bytes.len().min(self.limit.saturating_add(1))];
        let fitting = &window[..window.len().min(output.room())];
        // What does not fit the open batch goes line by line into the next, which is open from then on.
        if let Some(end) = memrchr(b'\n', fitting).or_else(|| memchr(b'\n', window)) {
            output.lines(position, &window[..=end]);
            return end + 1;
        }
        if window.len() > self.limit {
            self.skipped = Some(Skipped::new(position));
            return 0;
        }
        self.begun.extend_from_slice(window);
        window.len()
    }

    /// In a line that an earlier push began.
    fn end_of_line(&mut self, position: u64, bytes: &[u8], output: &mut Output) -> usize {
        let start = position - self.begun.len() as u64;
        let room = self.limit.saturating_add(1) - self.begun.len();
        let window = &bytes[..bytes.len().min(room)];
        if let Some(end) = memchr(b'\n', window) {
            self.begun.extend_from_slice(&window[..=end]);
            output.own_line(start, &mut self.begun);
            return end + 1;
        }
        if window.len() == room {
            let mut skipped = Skipped::new(start);
            skipped.add(&self.begun);
            self.skipped = Some(skipped);
            // Not cleared: the memory goes back.
            self.begun = Vec::new();
            return 0;
        }
        self.begun.extend_from_slice(window);
        window.len()
    }

    /// How much memory the line that was begun takes.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.begun.capacity()
    }

    /// In a line beyond the limit.
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
