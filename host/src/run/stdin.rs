//! The agent's stdin: written by a separate task, because an agent may read slowly, or never.
//!
//! The loop bounds what waits to be read: while there is no room, it does not read the agent's output, so nothing new
//! has to be answered. A write beyond the limit is not refused, because the effects of one call of the adapter belong
//! together. An agent that does not read its input and whose output is not read makes no progress, and a timeout ends
//! it.

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};

/// How many bytes beside the first prompt may wait for the agent before its output is no longer read.
const BACKLOG: u64 = 16 << 20;

/// The agent's stdin.
pub(crate) struct Stdin {
    /// None after it was closed.
    open: Option<Open>,
    /// How many bytes may wait.
    limit: u64,
}

struct Open {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    /// The number of bytes written so far.
    written: u64,
    /// The number of bytes that the agent has read. Closed when the agent reads no more.
    read: watch::Receiver<u64>,
}

impl Stdin {
    /// Writes to a pipe, if there is one. The first prompt, of `prompt` bytes, does not count: it is in memory anyway.
    pub(crate) fn new(pipe: Option<impl AsyncWrite + Send + Unpin + 'static>, prompt: usize) -> Stdin {
        let open = pipe.map(|pipe| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let (count, read) = watch::channel(0);
            tokio::spawn(deliver(pipe, receiver, count));
            Open { sender, written: 0, read }
        });
        Stdin { open, limit: BACKLOG + prompt as u64 }
    }

    /// Whether anything that is written can still reach the agent.
    pub(crate) fn is_open(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.sender.is_closed())
    }

    /// Has no effect after it was closed.
    pub(crate) fn write(&mut self, bytes: Vec<u8>) {
        if let Some(open) = &mut self.open {
            open.written += bytes.len() as u64;
            // If the agent closed its stdin, its output or its exit will show it.
            let _ = open.sender.send(bytes);
        }
    }

    /// What was written before still reaches the agent.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// Whether the agent's output may be read: the agent has read enough, or will never read anything.
    pub(crate) fn has_room(&self) -> bool {
        self.open.as_ref().is_none_or(|open| {
            let waiting = open.written - *open.read.borrow();
            waiting <= self.limit || open.sender.is_closed()
        })
    }

    /// Returns when there is room. Nothing is lost if it is dropped before.
    pub(crate) async fn room(&mut self) {
        if let Some(Open { written, read, .. }) = &mut self.open {
            // An error means that the agent reads no more, and then nothing has to wait.
            let _ = read.wait_for(|read| *written - read <= self.limit).await;
        }
    }
}

/// Writes until the sender or the pipe is closed.
async fn deliver(
    mut pipe: impl AsyncWrite + Unpin,
    mut chunks: mpsc::UnboundedReceiver<Vec<u8>>,
    read: watch::Sender<u64>,
) {
    while let Some(chunk) = chunks.recv().await {
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            match pipe.write(rest).await {
                Ok(count) if count > 0 => {
                    rest = &rest[count..];
                    read.send_modify(|read| *read += count as u64);
                }
                _ => return,
            }
        }
        if pipe.flush().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    const PIECE: usize = 1 << 20;

    /// The agent's end of a small pipe, and the host's.
    fn pair(prompt: usize) -> (tokio::io::DuplexStream, Stdin) {
        let (agent, pipe) = tokio::io::duplex(1024);
        (agent, Stdin::new(Some(pipe), prompt))
    }

    #[tokio::test]
    async fn there_is_room_again_after_the_agent_has_read() {
        let (mut agent, mut stdin) = pair(PIECE);
        stdin.write(vec![b'p'; PIECE]);
        let mut pieces = 0;
        while stdin.has_room() {
            stdin.write(vec![b'x'; PIECE]);
            pieces += 1;
        }
        // The prompt does not count, and the last piece is beyond the limit.
        assert_eq!(pieces, 17);
        let mut first = vec![0; 2 * PIECE];
        agent.read_exact(&mut first).await.expect("readable");
        stdin.room().await;
        assert!(stdin.has_room());
        stdin.close();
        let mut rest = Vec::new();
        agent.read_to_end(&mut rest).await.expect("readable");
        assert_eq!(rest.len(), 16 * PIECE, "what was written before the close reaches the agent");
    }

    #[tokio::test]
    async fn an_agent_that_reads_no_more_does_not_block() {
        let (agent, mut stdin) = pair(0);
        stdin.write(vec![b'x'; 32 << 20]);
        assert!(!stdin.has_room());
        drop(agent);
        stdin.room().await;
        assert!(stdin.has_room() && !stdin.is_open());
        let (_agent, mut closed) = pair(0);
        closed.write(vec![b'x'; 32 << 20]);
        closed.close();
        closed.room().await;
        assert!(closed.has_room() && !closed.is_open());
    }

    #[tokio::test]
    async fn without_a_pipe_it_is_closed_from_the_start() {
        let mut stdin = Stdin::new(None::<tokio::io::DuplexStream>, 0);
        stdin.write(b"nobody".to_vec());
        stdin.room().await;
        assert!(stdin.has_room() && !stdin.is_open());
    }
}
