//! One of the agent's output pipes, with secrets removed from what is read.

use std::task::Poll;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use wharf_core::stream::{Redactor, Secrets};

/// How many bytes are read from a pipe at once. Every adapter keeps this much memory, and most of a thousand runs wait.
const READ: usize = 16 << 10;

/// How many bytes are read at once while there is always more: larger batches cost less.
const WIDE_READ: usize = 256 << 10;

/// After how many full reads in a row the size changes.
const FULL_READS: u32 = 16;

/// An output pipe of the agent.
pub(super) struct Pipe<R> {
    reader: Option<R>,
    redactor: Option<Redactor>,
    /// How many bytes are read at once.
    size: usize,
    /// How many reads in a row were full.
    full: u32,
    /// Memory of the last read, for the next one.
    spare: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    pub(super) fn new(reader: Option<R>, secrets: &Secrets) -> Pipe<R> {
        let redactor = (!secrets.is_empty()).then(|| Redactor::new(secrets));
        Pipe { reader, redactor, size: READ, full: 0, spare: Vec::new() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Bytes without secrets; empty at the end. Nothing is lost if it is dropped before it returns.
    pub(super) async fn read(&mut self) -> Vec<u8> {
        loop {
            let Some(reader) = &mut self.reader else { return std::future::pending().await };
            let (size, spare) = (self.size, &mut self.spare);
            // Memory is allocated for a read, not for waiting: most of a thousand runs wait.
            let (count, bytes) = std::future::poll_fn(|context| {
                let mut bytes = std::mem::take(spare);
                bytes.reserve(size);
                let count = std::task::ready!(std::pin::pin!(reader.read_buf(&mut bytes)).poll(context));
                Poll::Ready((count.unwrap_or(0), bytes))
            })
            .await;
            self.full = if count >= READ { self.full.saturating_add(1) } else { 0 };
            self.size = if self.full >= FULL_READS { WIDE_READ } else { READ };
            let clean = match &mut self.redactor {
                Some(redactor) if count > 0 => redactor.push(bytes),
                Some(redactor) => redactor.finish(),
                None => bytes,
            };
            if count == 0 {
                self.reader = None;
                return clean;
            }
            if !clean.is_empty() {
                return clean;
            }
        }
    }

    /// Returns the memory of a read that was handled. While there is always more it is used again, because the system
    /// would have to clear new memory for each read.
    pub(super) fn reuse(&mut self, mut bytes: Vec<u8>) {
        if self.size == WIDE_READ {
            bytes.clear();
            self.spare = bytes;
        }
    }
}
