//! One run for one session: a run that resumes a session which another live run uses is refused, or waits.

use super::options::SessionBusy;
use crate::error::{Error, ErrorKind, Result};
use crate::record::Runs;
use crate::sessions::Sessions;
use std::sync::Arc;
use std::time::Duration;
use wharf_core::model::SessionChoice;

/// How often a waiting start looks again.
const POLL: Duration = Duration::from_millis(100);

/// The sessions of one run.
#[derive(Clone)]
pub(crate) struct SessionUse {
    sessions: Arc<Sessions>,
    runs: Runs,
    adapter: String,
    run: String,
}

impl SessionUse {
    pub(crate) fn new(sessions: Arc<Sessions>, runs: Runs, adapter: &str, run: &str) -> SessionUse {
        SessionUse { sessions, runs, adapter: adapter.to_owned(), run: run.to_owned() }
    }

    /// Claims the session that a turn resumes. A fork reads another session and writes its own.
    pub(crate) async fn begin(&self, choice: &SessionChoice, busy: SessionBusy) -> Result<()> {
        let SessionChoice::Resume(id) = choice else { return Ok(()) };
        let mut waiting = false;
        loop {
            let Some(holder) = self.claim(id)? else { return Ok(()) };
            if busy == SessionBusy::Refuse {
                let message = format!("the session {id} is in use by the run {holder}");
                return Err(Error::new(ErrorKind::Busy, message).with_hint(
                    "wait until that run has ended, let this one wait (`--session-busy wait`), or fork the session",
                ));
            }
            if !std::mem::replace(&mut waiting, true) {
                tracing::info!("waiting for the run {holder}, which uses the session {id}");
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The agent named its session. It is the agent's choice, so a run that uses it already is only reported.
    pub(crate) fn named(&self, id: &str) {
        match self.claim(id) {
            Ok(None) => {}
            Ok(Some(holder)) => tracing::warn!("the session {id} is also in use by the run {holder}"),
            Err(error) => tracing::warn!("{error}"),
        }
    }

    fn claim(&self, id: &str) -> Result<Option<String>> {
        self.sessions.claim(&self.adapter, id, &self.run, |run| self.runs.is_live(run))
    }
}
