//! The end of a guest's stderr. The text of a panic is at the end, no matter how much was written before it; a guest
//! that writes without end costs no memory.

use bytes::Bytes;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wharf_core::stream::Tail;

/// How many bytes are kept.
const LIMIT: usize = 4 << 10;

/// The end of a stream. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct StderrTail(Arc<Mutex<Tail>>);

impl Default for StderrTail {
    fn default() -> StderrTail {
        StderrTail(Arc::new(Mutex::new(Tail::new(LIMIT))))
    }
}

impl StderrTail {
    /// The text; "… " before it says that something is missing.
    pub(crate) fn text(&self) -> String {
        let tail = self.lock();
        let text = tail.text();
        if tail.is_truncated() { format!("… {}", text.trim()) } else { text.trim().to_owned() }
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        // After a panic of a writer it is still the end of the stream.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncWrite for StderrTail {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.lock().push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for StderrTail {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for StderrTail {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    /// A stream that takes everything at once. The default has a task that writes in the background, and a guest could
    /// count how long it is busy.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

/// How many bytes a guest may write at once.
const PERMIT: usize = 64 << 10;

impl OutputStream for StderrTail {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.lock().push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[async_trait]
impl Pollable for StderrTail {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pieces: &[&str]) -> String {
        let tail = StderrTail::default();
        for piece in pieces {
            tail.lock().push(piece.as_bytes());
        }
        tail.text()
    }

    #[test]
    fn the_end_is_kept() {
        let line = "x".repeat(99) + "\n";
        for (pieces, kept) in [
            (vec![], String::new()),
            (vec!["panicked\n"], "panicked".to_owned()),
            (vec!["in ", "pieces\n"], "in pieces".to_owned()),
            (vec![&*line.repeat(100), "panicked\n"], format!("… {}panicked", line.repeat(40))),
            (vec![&*line.repeat(100)], format!("… {}", line.repeat(40).trim_end())),
        ] {
            assert_eq!(text(&pieces), kept);
        }
    }

    #[test]
    fn one_long_line_is_kept_by_its_end() {
        let text = text(&vec!["é"; 10_000]);
        assert!(text.starts_with('…') && text.ends_with('é') && text.len() < LIMIT + 10);
    }
}
