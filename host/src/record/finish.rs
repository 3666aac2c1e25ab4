//! What is recorded when a run ends: its last event, its receipt, its session, its drift.

use super::event_file::EventsSummary;
use super::folder::{RunFolder, new_run_id};
use super::format::Kind;
use super::journal::Journal;
use super::prune;
use super::receipt::{EventsDigest, Receipt, ReceiptProgram, RecordingDigest};
use super::records::{EndRecord, LaunchRecord, NoteRecord};
use super::writer::{RecordingWriter, Summary};
use crate::config::RecordingConfig;
use crate::error::{Error, Result};
use crate::sessions::{RunUsage, SessionTurn, Sessions};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wharf_core::model::time::whole_millis;
use wharf_core::model::{Event, EventKind, Report, SessionChoice};
use wharf_core::stream::Lines;
use wharf_core::turn::TurnResult;

/// Records one run, or nothing.
pub(crate) struct RunRecord {
    run: String,
    folder: Option<RunFolder>,
    root: PathBuf,
    limits: RecordingConfig,
    started: SystemTime,
    process_started: bool,
}

/// What is known when the process has exited.
pub(crate) struct Ended {
    pub(crate) result: TurnResult,
    pub(crate) journal: Journal,
    /// The commands of leftover processes that were killed.
    pub(crate) killed: Vec<String>,
    /// The position of the last event.
    pub(crate) seq: u64,
    /// The time of the last event.
    pub(crate) now: Duration,
}

impl Drop for RunRecord {
    /// A run whose process could not be started is not a run: without this it would look like one whose host was
    /// killed.
    fn drop(&mut self) {
        if let Some(folder) = self.folder.as_ref().filter(|_| !self.process_started) {
            // Without descriptors nothing can be listed, but these can still be removed.
            for file in [folder.recording(), folder.events()] {
                let _ = std::fs::remove_file(file);
            }
            let _ = std::fs::remove_dir(folder.path()).or_else(|_| std::fs::remove_dir_all(folder.path()));
        }
    }
}

impl RunRecord {
    /// A new run below `data`, or one that is not recorded.
    pub(crate) fn new(data: &Path, record: bool, limits: &RecordingConfig) -> Result<RunRecord> {
        let run = new_run_id();
        let root = data.join("runs");
        let folder = if record { Some(RunFolder::create(&root, &run)?) } else { None };
        Ok(RunRecord {
            run,
            folder,
            root,
            limits: limits.clone(),
            started: whole_millis(SystemTime::now()),
            process_started: false,
        })
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    pub(crate) fn started(&self) -> SystemTime {
        self.started
    }

    /// The process has started: from now on the run is kept.
    pub(crate) fn begin(&mut self) {
        self.process_started = true;
    }

    /// The files to write to, newly created.
    pub(crate) fn files(&self) -> Result<Option<(RecordingWriter, PathBuf, File)>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = folder.recording();
        let writer = RecordingWriter::create(&path, self.limits.run_bytes)
            .map_err(|error| Error::system("starting a recording", error))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let events = options
            .open(folder.events())
            .map_err(|error| Error::system(format!("creating {}", folder.events().display()), error))?;
        Ok(Some((writer, path, events)))
    }

    /// Records how the run ended, and returns the last event.
    pub(crate) fn finish(
        self,
        ended: Ended,
        launch: &LaunchRecord,
        program_digest: Option<String>,
        sessions: Option<&Sessions>,
    ) -> Event {
        let Ended { result, mut journal, killed, seq, now } = ended;
        let report = self.final_report(result.report, &killed, &journal);
        let end = EndRecord { facts: result.end, killed: report.killed.clone() };
        journal.record_text(Kind::Note, now, &serde_json::json!(NoteRecord::End(end)).to_string());
        let event = Event::new(seq + 1, now, EventKind::Report(Box::new(report.clone())));
        journal.write_report(&[&event].into_iter().collect::<Lines>());
        let bytes = journal.bytes();
        let secrets = journal.secrets().clone();
        let (recording, events) = journal.close();

        if let Some(folder) = &self.folder {
            let receipt = self.receipt(&report, launch, program_digest, recording, events).redacted(&secrets).seal();
            warn_if_failed(receipt.write(folder.path()));
        }
        if let Some(sessions) = sessions {
            let turn = session_turn(launch, &report, result.session_usage);
            // The run is recorded: a failure to remember its session must not make it a failed run.
            warn_if_failed(sessions.remember_turn(&turn).map(drop));
            warn_if_failed(sessions.count_usage(&run_usage(&self.run, launch, &report)));
            warn_if_failed(sessions.release(&self.run));
            let started = &launch.started;
            let version = launch.binary.version.as_deref();
            warn_if_failed(sessions.count_drift(&started.adapter.id, &started.adapter.version, version, &report.drift));
        }
        let (keep_runs, keep_bytes) = (self.limits.keep_runs, self.limits.keep_bytes);
        if self.folder.is_some() && prune::is_due(&self.root, keep_runs, keep_bytes, &self.run, bytes) {
            let _ = prune::prune(&self.root, keep_runs, keep_bytes, std::slice::from_ref(&self.run));
        }
        event
    }

    /// The report without secrets, completed with what only the host knows.
    fn final_report(&self, mut report: Report, killed: &[String], journal: &Journal) -> Report {
        report.killed = killed.iter().map(|command| journal.secrets().redact(command).into_owned()).collect();
        report.run = self.folder.as_ref().map(|_| self.run.clone());
        // The answer is joined from pieces: a secret that was split over two of them is complete in it.
        if let EventKind::Report(clean) = journal.clean(EventKind::Report(Box::new(report.clone()))) {
            return *clean;
        }
        // The outcome must be reported; the texts need not be.
        let mut bare = Report::new(report.outcome);
        (bare.exit, bare.run) = (report.exit, report.run);
        bare
    }

    fn receipt(
        &self,
        report: &Report,
        launch: &LaunchRecord,
        program_digest: Option<String>,
        recording: Option<Summary>,
        events: Option<EventsSummary>,
    ) -> Receipt {
        Receipt {
            run: self.run.clone(),
            wharf: launch.wharf.clone(),
            adapter: launch.started.adapter.clone(),
            program: Some(ReceiptProgram {
                path: launch.binary.program.clone(),
                version: launch.binary.version.clone(),
                sha256: program_digest,
            }),
            args: launch.args.clone(),
            workspace: launch.started.workspace.clone(),
            labels: launch.started.labels.clone(),
            started: self.started,
            ended: whole_millis(SystemTime::now()),
            outcome: report.outcome,
            detail: report.detail.clone(),
            error: report.error.clone(),
            usage: report.usage.clone(),
            tools: report.tools.clone(),
            files: report.files.clone(),
            killed: report.killed.clone(),
            recording: recording.map(RecordingDigest::from),
            events: events.map(EventsDigest::from),
        }
    }
}

/// What a session needs to know of a turn.
pub(super) fn session_turn(
    launch: &LaunchRecord,
    report: &Report,
    session_usage: Option<wharf_core::model::Usage>,
) -> SessionTurn {
    SessionTurn {
        adapter: launch.started.adapter.id.clone(),
        adapter_version: launch.started.adapter.version.clone(),
        agent_version: launch.binary.version.clone(),
        requested_id: match &launch.turn.session {
            SessionChoice::Resume(id) => Some(id.clone()),
            _ => None,
        },
        resumed: report.session.as_ref().and_then(|session| session.resumed),
        new_id: report.session.as_ref().map(|session| session.id.clone()),
        workspace: launch.turn.workspace.clone(),
        labels: launch.started.labels.clone(),
        model: report.model.clone(),
        outcome: report.outcome,
        usage: report.usage.clone(),
        session_usage,
        run: report.run.clone(),
        ended: whole_millis(SystemTime::now()),
    }
}

/// What a run used.
pub(super) fn run_usage(run: &str, launch: &LaunchRecord, report: &Report) -> RunUsage {
    RunUsage {
        run: run.to_owned(),
        started: launch.started.started,
        adapter: launch.started.adapter.id.clone(),
        model: report.model.clone(),
        outcome: report.outcome,
        labels: launch.started.labels.clone(),
        usage: report.usage.clone(),
    }
}

fn warn_if_failed(result: Result<()>) {
    if let Err(error) = result {
        tracing::warn!("{error}");
    }
}
