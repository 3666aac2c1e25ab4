//! Output, at once or a few bytes at a time.

use std::io::{self, Write};

/// Stdout or stderr, unbuffered, so that each write reaches the pipe as it is.
pub(crate) struct Output<W> {
    stream: W,
    name: &'static str,
    /// The size of a write; none means everything at once.
    chunk: Option<usize>,
}

impl<W: Write> Output<W> {
    /// `name` is used in error messages.
    pub(crate) fn new(stream: W, name: &'static str) -> Output<W> {
        Output { stream, name, chunk: None }
    }

    /// Sets the size of a write; 0 removes the limit.
    pub(crate) fn set_chunk(&mut self, bytes: usize) {
        self.chunk = Some(bytes).filter(|bytes| *bytes > 0);
    }

    /// Writes everything, with a flush after each chunk.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let chunk = self.chunk.unwrap_or(bytes.len()).max(1);
        let result: io::Result<()> = bytes.chunks(chunk).try_for_each(|chunk| {
            self.stream.write_all(chunk)?;
            self.stream.flush()
        });
        result.map_err(|error| format!("{}: {error}", self.name))
    }

    /// Repeats a line until at least this many bytes are written.
    pub(crate) fn flood(&mut self, line: &str, bytes: u64) -> Result<(), String> {
        // Large blocks, so that the pipe is the bottleneck and not the number of calls.
        let lines_per_block = (BLOCK / line.len()).max(1);
        let block = line.repeat(lines_per_block);
        let mut lines_left = bytes.div_ceil(line.len() as u64);
        while lines_left > 0 {
            let lines = usize::try_from(lines_left).map_or(lines_per_block, |left| left.min(lines_per_block));
            self.write(&block.as_bytes()[..lines * line.len()])?;
            lines_left -= lines as u64;
        }
        Ok(())
    }
}

const BLOCK: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the size of each write.
    #[derive(Default)]
    struct Writes(Vec<usize>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_chunk_is_the_size_of_a_write() {
        let mut output = Output::new(Writes::default(), "test");
        for (chunk, sizes) in [(0, vec![5]), (1, vec![1; 5]), (2, vec![2, 2, 1]), (9, vec![5]), (0, vec![5])] {
            output.stream.0.clear();
            output.set_chunk(chunk);
            output.write(b"12345").expect("it cannot fail");
            assert_eq!(output.stream.0, sizes, "{chunk}");
        }
        output.write(b"").expect("it cannot fail");
    }

    #[test]
    fn a_flood_consists_of_complete_lines_and_has_at_least_the_size() {
        for (bytes, written) in [(0, 0), (1, 10), (10, 10), (11, 20), (1_000_000, 1_000_000), (200_005, 200_010)] {
            let mut output = Output::new(Vec::new(), "test");
            output.flood("123456789\n", bytes).expect("it cannot fail");
            assert_eq!(output.stream.len(), written);
            assert!(output.stream.chunks(10).all(|line| line == b"123456789\n"));
        }
    }
}
