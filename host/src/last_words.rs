//! What a guest last said on its stderr. The text of a panic stands at the end, however much was said before it, so
//! that the end is what is kept; a guest that talks without end costs no memory.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};

/// How many bytes are kept.
const KEPT: usize = 4 << 10;

/// The end of a stream. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastWords(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
struct Words {
    bytes: VecDeque<u8>,
    /// Something was said before what is kept.
    cut: bool,
}

impl LastWords {
    /// The text, from its first whole line on where it was cut.
    pub(crate) fn text(&self) -> String {
        let mut words = self.words();
        let cut = words.cut;
        let bytes = words.bytes.make_contiguous();
        let start = if cut { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) } else { 0 };
        let text = String::from_utf8_lossy(&bytes[start..]);
        if cut { format!("… {}", text.trim()) } else { text.trim().to_owned() }
    }

    fn say(&self, said: &[u8]) {
        let mut words = self.words();
        words.bytes.extend(&said[said.len().saturating_sub(KEPT)..]);
        let over = words.bytes.len().saturating_sub(KEPT);
        words.cut |= over > 0 || said.len() > KEPT;
        words.bytes.drain(..over);
    }

    fn words(&self) -> MutexGuard<'_, Words> {
        // Whatever a writer left there is still the end of the stream.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncWrite for LastWords {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, said: &[u8]) -> Poll<io::Result<usize>> {
        self.say(said);
        Poll::Ready(Ok(said.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for LastWords {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LastWords {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        let line = "x".repeat(99) + "\n";
        for (said, kept) in [
            (vec![], String::new()),
            (vec!["panicked\n"], "panicked".to_owned()),
            (vec!["in ", "pieces\n"], "in pieces".to_owned()),
            (vec![&*line.repeat(100), "panicked\n"], format!("… {}panicked", line.repeat(40))),
            (vec![&*line.repeat(100)], format!("… {}", line.repeat(40).trim_end())),
        ] {
            let words = LastWords::default();
            for piece in said {
                words.say(piece.as_bytes());
            }
            assert_eq!(words.text(), kept);
        }
    }

    #[test]
    fn one_long_line_is_kept_by_its_end() {
        let words = LastWords::default();
        (0..10_000).for_each(|_| words.say("é".as_bytes()));
        assert!(words.text().starts_with('…') && words.text().ends_with('é'));
        assert!(words.words().bytes.len() <= KEPT);
    }
}
