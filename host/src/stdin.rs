//! The agent's stdin: written by a task of its own, because an agent may take its time to read, or never do.
//!
//! What waits to be taken is bounded, by whoever writes: while there is no room, the loop leaves the agent's output
//! alone, and so nothing comes that would have to be answered. It does not refuse what is written all the same: the
//! effects of one call of the adapter belong together. An agent that neither reads nor is read does nothing any more,
//! and the clocks end it as they end any other.

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};

/// How many bytes may wait for the agent, beside its first prompt, before its output is left alone.
const BACKLOG: u64 = 16 << 20;

/// The way to the agent's stdin.
pub(crate) struct Stdin {
    /// Gone once it is closed.
    open: Option<Open>,
    /// How many bytes may wait.
    limit: u64,
}

struct Open {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes that were written to it so far.
    given: u64,
    /// Bytes that the agent has taken. Its other end is gone when the agent takes no more.
    taken: watch::Receiver<u64>,
}

impl Stdin {
    /// Over a pipe, if there is one. The first prompt, of so many bytes, is in memory anyway.
    pub(crate) fn new(pipe: Option<impl AsyncWrite + Send + Unpin + 'static>, first: usize) -> Stdin {
        let open = pipe.map(|pipe| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let (count, taken) = watch::channel(0);
            tokio::spawn(deliver(pipe, receiver, count));
            Open { sender, given: 0, taken }
        });
        Stdin { open, limit: BACKLOG + first as u64 }
    }

    /// Whether anything that is written can still reach the agent.
    pub(crate) fn is_open(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.sender.is_closed())
    }

    /// Without effect once it is closed.
    pub(crate) fn write(&mut self, bytes: Vec<u8>) {
        if let Some(open) = &mut self.open {
            open.given += bytes.len() as u64;
            // An agent that closed its stdin says so by what it does next.
            let _ = open.sender.send(bytes);
        }
    }

    /// What was written before still gets there.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// Whether more may be provoked: the agent has taken enough, or will never take anything.
    pub(crate) fn has_room(&self) -> bool {
        self.open.as_ref().is_none_or(|open| {
            let waiting = open.given - *open.taken.borrow();
            waiting <= self.limit || open.sender.is_closed()
        })
    }

    /// Comes back when there is room. Nothing is lost when this is dropped before.
    pub(crate) async fn room(&mut self) {
        if let Some(Open { given, taken, .. }) = &mut self.open {
            // An error says that the agent takes no more, which is room too.
            let _ = taken.wait_for(|taken| *given - taken <= self.limit).await;
        }
    }
}

/// Writes until there is nothing more, or nobody to take it.
async fn deliver(
    mut pipe: impl AsyncWrite + Unpin,
    mut chunks: mpsc::UnboundedReceiver<Vec<u8>>,
    taken: watch::Sender<u64>,
) {
    while let Some(chunk) = chunks.recv().await {
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            match pipe.write(rest).await {
                Ok(count) if count > 0 => {
                    rest = &rest[count..];
                    taken.send_modify(|taken| *taken += count as u64);
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

    /// An agent with a small pipe, and the way to it.
    fn pair(first: usize) -> (tokio::io::DuplexStream, Stdin) {
        let (agent, pipe) = tokio::io::duplex(1024);
        (agent, Stdin::new(Some(pipe), first))
    }

    #[tokio::test]
    async fn there_is_room_again_when_the_agent_has_taken_some() {
        let (mut agent, mut stdin) = pair(PIECE);
        stdin.write(vec![b'p'; PIECE]);
        let mut pieces = 0;
        while stdin.has_room() {
            stdin.write(vec![b'x'; PIECE]);
            pieces += 1;
        }
        // The prompt does not count, and the last one is beyond the limit.
        assert_eq!(pieces, 17);
        let mut taken = vec![0; 2 * PIECE];
        agent.read_exact(&mut taken).await.expect("it is there");
        stdin.room().await;
        assert!(stdin.has_room());
        stdin.close();
        let mut rest = Vec::new();
        agent.read_to_end(&mut rest).await.expect("it is there");
        assert_eq!(rest.len(), 16 * PIECE, "what was written before the end gets there");
    }

    #[tokio::test]
    async fn who_takes_nothing_any_more_holds_up_nothing() {
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
