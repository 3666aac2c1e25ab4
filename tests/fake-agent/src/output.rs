//! What it writes, as a whole or a few bytes at a time.

use std::io::{self, Write};

/// Stdout or stderr, without a buffer of its own for `pace` to be what the pipe sees.
pub(crate) struct Output<W> {
    stream: W,
    name: &'static str,
    /// So many bytes a write; none: as many as there are.
    pace: Option<usize>,
}

impl<W: Write> Output<W> {
    /// A stream that is called so in errors.
    pub(crate) fn new(stream: W, name: &'static str) -> Output<W> {
        Output { stream, name, pace: None }
    }

    /// From here on so many bytes a write; 0 lifts it.
    pub(crate) fn set_pace(&mut self, bytes: usize) {
        self.pace = Some(bytes).filter(|bytes| *bytes > 0);
    }

    /// Writes all, flushing after each piece.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let pace = self.pace.unwrap_or(bytes.len()).max(1);
        let result: io::Result<()> = bytes.chunks(pace).try_for_each(|piece| {
            self.stream.write_all(piece)?;
            self.stream.flush()
        });
        result.map_err(|error| format!("{}: {error}", self.name))
    }

    /// Writes a block over and over until so many bytes are out.
    pub(crate) fn flood(&mut self, line: &str, bytes: u64) -> Result<(), String> {
        // Large enough to be bound by the pipe and not by the calls.
        let lines_a_block = (BLOCK / line.len()).max(1);
        let block = line.repeat(lines_a_block);
        let mut lines_left = bytes.div_ceil(line.len() as u64);
        while lines_left > 0 {
            let lines = usize::try_from(lines_left).map_or(lines_a_block, |left| left.min(lines_a_block));
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

    /// Remembers each write.
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
    fn the_pace_is_the_size_of_a_write() {
        let mut output = Output::new(Writes::default(), "it");
        for (pace, sizes) in [(0, vec![5]), (1, vec![1; 5]), (2, vec![2, 2, 1]), (9, vec![5]), (0, vec![5])] {
            output.stream.0.clear();
            output.set_pace(pace);
            output.write(b"12345").expect("it cannot fail");
            assert_eq!(output.stream.0, sizes, "{pace}");
        }
        output.write(b"").expect("it cannot fail");
    }

    #[test]
    fn a_flood_is_whole_lines_and_no_shorter_than_asked() {
        for (bytes, written) in [(0, 0), (1, 10), (10, 10), (11, 20), (1_000_000, 1_000_000), (200_005, 200_010)] {
            let mut output = Output::new(Vec::new(), "it");
            output.flood("123456789\n", bytes).expect("it cannot fail");
            assert_eq!(output.stream.len(), written);
            assert!(output.stream.chunks(10).all(|line| line == b"123456789\n"));
        }
    }
}
