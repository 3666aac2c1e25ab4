//! What is left of a run when it is over: the recording, the events, the receipt, the session, the drift.

use crate::config::RecordingConfig;
use crate::error::{Error, Result};
use crate::event::{Event, Report};
use crate::journal::EventsSummary;
use crate::receipt::{EventsDigest, Receipt, ReceiptAdapter, ReceiptProgram, RecordingDigest};
use crate::recording::{Kind, RecordingWriter, Summary};
use crate::replay::{EndNote, LaunchRecord, NoteRecord};
use crate::resolved::Resolved;
use crate::run::Ended;
use crate::runs::{self, RunFolder};
use crate::sessions::{SessionTurn, Sessions};
use crate::turn::SessionChoice;
use jiff::Timestamp;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Keeps one run, or nothing of it.
pub(crate) struct Keeper {
    run: String,
    folder: Option<RunFolder>,
    runs: PathBuf,
    limits: RecordingConfig,
    started: Timestamp,
    /// Whether there is anything to keep.
    begun: bool,
}

impl Drop for Keeper {
    /// A run whose process could not be started is none: without this it would look like one whose host was killed.
    fn drop(&mut self) {
        if let Some(folder) = self.folder.as_ref().filter(|_| !self.begun) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

impl Keeper {
    pub(crate) fn new(data: &Path, record: bool, limits: &RecordingConfig) -> Result<Keeper> {
        let run = runs::new_run_id();
        let root = data.join("runs");
        let folder = if record { Some(RunFolder::create(&root, &run)?) } else { None };
        Ok(Keeper { run, folder, runs: root, limits: limits.clone(), started: Timestamp::now(), begun: false })
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// The process is up: from here on there is something to keep.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    /// The files to write to, made anew.
    pub(crate) fn files(&self) -> Result<Option<(RecordingWriter, PathBuf, File)>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = folder.recording();
        let writer = RecordingWriter::create(&path, self.limits.run_bytes)
            .map_err(|why| Error::system("starting a recording", why))?;
        let events = File::create(folder.events())
            .map_err(|why| Error::system(format!("making {}", folder.events().display()), why))?;
        Ok(Some((writer, path, events)))
    }

    /// The run is over: write down how it ended.
    pub(crate) fn finish(
        self,
        ended: Ended,
        launch: &LaunchRecord,
        resolved: &Resolved,
        sessions: Option<&Sessions>,
    ) -> Report {
        let Ended { mut conversation, mut journal, swept } = ended;
        let driver = conversation.driver();
        let (cancelled, clock, unanswered) = driver.assumptions();
        let killed: Vec<String> = swept.killed.into_iter().map(|remnant| remnant.command).collect();
        let mut report = driver.report();
        report.killed = killed.iter().map(|command| journal.secrets().redact(command).into_owned()).collect();
        report.run = self.folder.as_ref().map(|_| self.run.clone());
        // The answer is put together from pieces; a secret that came in two of them is whole again in it.
        if let Event::Report(clean) = journal.clean(Event::Report(Box::new(report.clone()))) {
            report = *clean;
        } else {
            // How it ended has to be told; what anybody said in it does not.
            (report.answer, report.structured_output, report.detail) = (None, None, None);
            report.tools.clear();
            report.files.clear();
        }
        let note = EndNote { cancelled, clock: clock.map(str::to_owned), unanswered, killed: report.killed.clone() };
        journal.record_text(Kind::Note, &serde_json::json!(NoteRecord::End(note)).to_string());
        journal.events(&mut [Event::Report(Box::new(report.clone()))]);
        let session_usage = driver.session_usage();
        let kept_bytes = journal.bytes();
        let (recording, events) = journal.close();

        if let Some(folder) = &self.folder {
            let sealed = self.receipt(&report, launch, resolved, recording, events).seal();
            if let Err(why) = sealed.write(folder.path()) {
                crate::log::line(crate::info::Level::Warn, &why.to_string());
            }
        }
        if let Some(sessions) = sessions {
            let turn = SessionTurn {
                adapter: launch.adapter.id.clone(),
                adapter_version: launch.adapter.version.clone(),
                runtime_version: launch.binary.version.clone(),
                wanted_id: match &launch.turn.session {
                    SessionChoice::Resume(id) => Some(id.clone()),
                    _ => None,
                },
                resumed: report.session.as_ref().and_then(|session| session.resumed),
                new_id: report.session.as_ref().map(|session| session.id.clone()),
                workspace: launch.turn.workspace.clone(),
                model: report.model.clone(),
                outcome: report.outcome,
                usage: report.usage.clone(),
                session_usage,
                run: report.run.clone(),
                ended: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            };
            // The run is over and well recorded: that it cannot be remembered must not turn it into a failure.
            if let Err(why) = sessions.remember_turn(&turn) {
                crate::log::line(crate::info::Level::Warn, &why.to_string());
            }
            let version = launch.binary.version.as_deref();
            if !report.drift.is_empty()
                && let Err(why) =
                    sessions.count_drift(&launch.adapter.id, &launch.adapter.version, version, &report.drift)
            {
                crate::log::line(crate::info::Level::Warn, &why.to_string());
            }
        }
        let (keep_runs, keep_bytes) = (self.limits.keep_runs, self.limits.keep_bytes);
        if self.folder.is_some() && runs::is_due(&self.runs, keep_runs, keep_bytes, &self.run, kept_bytes) {
            let _ = runs::prune(&self.runs, keep_runs, keep_bytes, std::slice::from_ref(&self.run));
        }
        report
    }

    fn receipt(
        &self,
        report: &Report,
        launch: &LaunchRecord,
        resolved: &Resolved,
        recording: Option<Summary>,
        events: EventsSummary,
    ) -> Receipt {
        Receipt {
            run: self.run.clone(),
            wharf: launch.wharf.clone(),
            adapter: ReceiptAdapter {
                id: launch.adapter.id.clone(),
                version: launch.adapter.version.clone(),
                digest: launch.adapter.digest.clone(),
            },
            program: Some(ReceiptProgram {
                path: launch.binary.program.clone(),
                version: launch.binary.version.clone(),
                digest: resolved.program_digest.clone(),
            }),
            args: launch.args.clone(),
            workspace: launch.turn.workspace.to_string_lossy().into_owned(),
            started: self.started,
            ended: Timestamp::now(),
            outcome: report.outcome,
            detail: report.detail.clone(),
            error: report.error.clone(),
            usage: report.usage.clone(),
            tools: report.tools.clone(),
            files: report.files.clone(),
            killed: report.killed.clone(),
            recording: recording.map(RecordingDigest::from),
            events: Some(EventsDigest { count: events.count, sha256: events.sha256 }),
        }
    }
}
