//! Replay: a recording, or a bare capture, through an adapter. The same adapter gives the same events, whatever the
//! chunks; another one shows what it would have made of the same bytes.

use crate::adapter::Adapter;
use crate::ask::AskRules;
use crate::conversation::{Conversation, Opening, Origin, pieces};
use crate::driver::{Action, Clocks, Driver, Ending, Reply};
use crate::error::{Error, Result};
use crate::event::{Event, Exit, Report, Usage};
use crate::frame::DEFAULT_FRAME_LIMIT;
use crate::info::{Binary, Login, Support};
use crate::instance::Instance;
use crate::journal::Journal;
use crate::outcome::Clock;
use crate::prepare::{FramingKind, plan_unchecked};
use crate::recording::{Kind, RecordingReader, Tail};
use crate::redact::Secrets;
use crate::services::Services;
use crate::turn::Turn;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::Path;

/// The first record of a recording: what was started. Everything that a replay needs to know beside the bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchRecord {
    /// The run.
    pub run: String,
    /// The version of the host.
    pub wharf: String,
    /// The adapter's id, version and digest.
    pub adapter: AdapterRecord,
    /// The program, as the adapter found it.
    pub binary: Binary,
    /// The turn.
    pub turn: Turn,
    /// The command line.
    pub args: Vec<String>,
    /// The names of the variables that the agent got.
    pub environment: Vec<String>,
    /// How its output is cut.
    pub framing: FramingKind,
    /// How it ends.
    pub ends: Ending,
    /// Wishes that the runtime could not honour.
    pub ignored: Vec<crate::event::IgnoredWish>,
    /// The longest frame.
    pub frame_limit: usize,
    /// What the session had used before.
    pub used_before: Usage,
}

/// Which adapter it was.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AdapterRecord {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// The SHA-256 of its component.
    pub digest: String,
}

/// What a recording says of the end that its streams do not.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EndNote {
    pub(crate) cancelled: bool,
    pub(crate) clock: Option<String>,
    pub(crate) unanswered: Option<String>,
    #[serde(default)]
    pub(crate) killed: Vec<String>,
}

/// What was replayed.
#[derive(Debug)]
pub struct Replayed {
    /// The events, the last of which is the report.
    pub events: Vec<Event>,
    /// What the adapter wrote to the agent.
    pub written: Vec<u8>,
    /// The recording ends in the middle.
    pub torn: bool,
}

impl Replayed {
    /// How it ended.
    pub fn report(&self) -> Option<&Report> {
        match self.events.last() {
            Some(Event::Report(report)) => Some(report),
            _ => None,
        }
    }
}

/// A capture: what an agent wrote, without a recording around it.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub exit: Exit,
    /// The runtime's version, where it is known.
    pub runtime_version: Option<String>,
    /// Whether it was cancelled by whoever ran it.
    pub cancelled: bool,
    /// How many bytes go to the adapter's framing at once; all at once where it is absent.
    pub chunk: Option<usize>,
    /// The turn, as far as it is known.
    pub turn: Option<Turn>,
}

/// The first record of a recording.
pub fn launch_record(path: &Path) -> Result<LaunchRecord> {
    let mut reader = RecordingReader::open(path).map_err(|why| Error::invalid(why.to_string()))?;
    let first = reader.find(|record| record.as_ref().is_ok_and(|record| record.kind == Kind::Launch));
    let payload = first.and_then(std::result::Result::ok).map(|record| record.payload).unwrap_or_default();
    serde_json::from_slice(&payload)
        .map_err(|why| Error::invalid(format!("the recording {} does not say what was started: {why}", path.display())))
}

/// Play a recording to an adapter, so many bytes at once.
pub(crate) async fn recording(adapter: &Adapter, path: &Path, chunk: Option<usize>) -> Result<Replayed> {
    let (replayed, faulty) = play(adapter, path, chunk, false).await?;
    // As in a run: what comes before the frame that an adapter traps at does not depend on what came together.
    if faulty { Ok(play(adapter, path, chunk, true).await?.0) } else { Ok(replayed) }
}

async fn play(adapter: &Adapter, path: &Path, chunk: Option<usize>, singly: bool) -> Result<(Replayed, bool)> {
    let launch = launch_record(path)?;
    let answers = host_answers(path)?;
    let mut player = Player::open(adapter, &launch, answers, singly).await?;
    let mut reader = RecordingReader::open(path).map_err(|why| Error::invalid(why.to_string()))?;
    let mut exit = Exit::default();
    let mut note = EndNote::default();
    for record in &mut reader {
        let record = record.map_err(|why| Error::invalid(why.to_string()))?;
        match record.kind {
            Kind::Stdout => player.output(Origin::Stdout, &record.payload, chunk).await,
            Kind::Stderr => player.output(Origin::Stderr, &record.payload, chunk).await,
            Kind::Reply => {
                if let Ok(reply) = serde_json::from_slice::<Reply>(&record.payload) {
                    player.reply(&reply).await;
                }
            }
            Kind::Exit => exit = serde_json::from_slice(&record.payload).unwrap_or_default(),
            Kind::Note => {
                if let Ok(value) = serde_json::from_slice::<NoteRecord>(&record.payload) {
                    match value {
                        NoteRecord::End(end) => note = end,
                        NoteRecord::Event(event) => player.note(*event),
                    }
                }
            }
            Kind::Launch | Kind::Stdin | Kind::HostAnswer | Kind::Restart | Kind::Truncated => {}
        }
    }
    let torn = !matches!(reader.tail(), Some(Tail::Complete));
    let (mut replayed, faulty) = player.end(exit, &note).await;
    replayed.torn = torn;
    if let Some(Event::Report(report)) = replayed.events.last_mut() {
        report.run = Some(launch.run);
    }
    Ok((replayed, faulty))
}

/// What is noted beside the streams, because it came from neither the agent nor the adapter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoteRecord {
    End(EndNote),
    Event(Box<Event>),
}

/// What the host interface answered in this recording.
fn host_answers(path: &Path) -> Result<VecDeque<String>> {
    let reader = RecordingReader::open(path).map_err(|why| Error::invalid(why.to_string()))?;
    let answers = reader.filter_map(std::result::Result::ok).filter(|record| record.kind == Kind::HostAnswer);
    Ok(answers.map(|record| String::from_utf8_lossy(&record.payload).into_owned()).collect())
}

/// Play a capture to an adapter.
pub(crate) async fn capture(adapter: &Adapter, capture: Capture) -> Result<Replayed> {
    let turn = capture.turn.unwrap_or_else(|| Turn::new("(a capture)"));
    // Nobody offered the agent an id: what the capture does not say stays unknown.
    let session = turn.session.clone();
    let turn = Turn { session, ..turn.complete(&adapter.info().id, &adapter.info().options)? };
    let binary = Binary {
        program: "/unknown".to_owned(),
        leading_args: vec![],
        version: capture.runtime_version,
        support: Support::BestEffort,
        capabilities: vec![],
        login: Login::Unknown,
        notes: vec![],
    };
    let mut instance = Instance::start(adapter, None).await?;
    let plan = plan_unchecked(&adapter.info().id, &mut instance, &turn, &binary).await?;
    let launch = LaunchRecord {
        run: String::new(),
        wharf: env!("CARGO_PKG_VERSION").to_owned(),
        adapter: AdapterRecord::of(adapter),
        binary,
        turn,
        args: vec![],
        environment: vec![],
        framing: plan.framing,
        ends: plan.ends,
        ignored: vec![],
        frame_limit: DEFAULT_FRAME_LIMIT,
        used_before: Usage::default(),
    };
    let note = EndNote { cancelled: capture.cancelled, ..EndNote::default() };
    let once = async |singly: bool| -> Result<(Replayed, bool)> {
        let mut player = Player::open(adapter, &launch, VecDeque::new(), singly).await?;
        player.reply(&Reply::Start).await;
        player.output(Origin::Stdout, &capture.stdout, capture.chunk).await;
        player.output(Origin::Stderr, &capture.stderr, capture.chunk).await;
        Ok(player.end(capture.exit, &note).await)
    };
    let (replayed, faulty) = once(false).await?;
    if faulty { Ok(once(true).await?.0) } else { Ok(replayed) }
}

impl AdapterRecord {
    pub(crate) fn of(adapter: &Adapter) -> AdapterRecord {
        let info = adapter.info();
        AdapterRecord { id: info.id.clone(), version: info.version.clone(), digest: adapter.digest().to_owned() }
    }
}

/// Plays to an adapter, and keeps what comes out.
struct Player {
    conversation: Conversation,
    journal: Journal,
    events: Vec<Event>,
    written: Vec<u8>,
    /// One frame at a time.
    singly: bool,
}

impl Player {
    async fn open(adapter: &Adapter, launch: &LaunchRecord, answers: VecDeque<String>, singly: bool) -> Result<Player> {
        let mut instance = Instance::start(adapter, Some(Services::replaying(answers))).await?;
        let id = &adapter.info().id;
        let plan = plan_unchecked(id, &mut instance, &launch.turn, &launch.binary).await?;
        // Clocks do not tick in a replay: what they did is in the recording.
        let still = Clocks { first_output: None, idle: None, total: None, ..Clocks::default() };
        let ignored = if launch.run.is_empty() { plan.ignored } else { launch.ignored.clone() };
        let driver = Driver::new(still, AskRules::default(), launch.ends, ignored, launch.used_before.clone());
        // Whether another turn came is in the recording too.
        let driver = driver.staying(true);
        let opening = Opening {
            adapter: adapter.clone(),
            turn: launch.turn.clone(),
            binary: launch.binary.clone(),
            framing: launch.framing.into(),
            frame_limit: launch.frame_limit,
        };
        let journal = Journal::new(None, Secrets::default());
        let conversation = Conversation::new(opening, instance, driver);
        Ok(Player { conversation, journal, events: vec![], written: vec![], singly })
    }

    async fn output(&mut self, origin: Origin, bytes: &[u8], chunk: Option<usize>) {
        for chunk in bytes.chunks(chunk.unwrap_or(usize::MAX).max(1)) {
            let pieces: Vec<&[u8]> = if self.singly { pieces(chunk).collect() } else { vec![chunk] };
            for piece in pieces {
                let actions = self.conversation.output(origin, piece, &mut self.journal).await;
                self.keep(actions);
            }
        }
    }

    async fn reply(&mut self, reply: &Reply) {
        let actions = self.conversation.replay_reply(reply, &mut self.journal).await;
        self.keep(actions);
    }

    fn note(&mut self, event: Event) {
        if matches!(event, Event::TurnBegun { .. }) {
            self.conversation.driver().begin_turn();
        }
        self.events.push(event);
    }

    fn keep(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Emit(event) => self.events.push(event),
                Action::Write(bytes) => self.written.extend(bytes),
                _ => {}
            }
        }
    }

    /// What came out, and whether the adapter failed on the way.
    async fn end(mut self, exit: Exit, note: &EndNote) -> (Replayed, bool) {
        let clock = match note.clock.as_deref() {
            Some("first-output") => Some(Clock::FirstOutput),
            Some("idle") => Some(Clock::Idle),
            Some("total") => Some(Clock::Total),
            _ => None,
        };
        self.conversation.driver().assume(note.cancelled, clock, note.unanswered.clone());
        let actions = self.conversation.finish(exit, &mut self.journal).await;
        self.keep(actions);
        let faulty = self.conversation.driver().facts_mut().adapter_fault.is_some();
        let mut report = self.conversation.driver().report();
        report.killed.clone_from(&note.killed);
        self.events.push(Event::Report(Box::new(report)));
        (Replayed { events: self.events, written: self.written, torn: false }, faulty)
    }
}

/// What a recording has of the agent's own output.
#[derive(Debug, Clone, Default)]
pub struct Streams {
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub exit: Exit,
}

/// The agent's own output, out of a recording.
pub fn streams(path: &Path) -> Result<Streams> {
    let mut streams = Streams::default();
    for record in RecordingReader::open(path).map_err(|why| Error::invalid(why.to_string()))? {
        let record = record.map_err(|why| Error::invalid(why.to_string()))?;
        match record.kind {
            Kind::Stdout => streams.stdout.extend(record.payload),
            Kind::Stderr => streams.stderr.extend(record.payload),
            Kind::Exit => streams.exit = serde_json::from_slice(&record.payload).unwrap_or_default(),
            _ => {}
        }
    }
    Ok(streams)
}

/// Bytes without what tells who made them: the workspace, the home, the user's name.
pub fn anonymous(bytes: &[u8], workspace: &Path) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    let home = std::env::var("HOME").unwrap_or_default();
    let user = std::env::var("USER").unwrap_or_default();
    let workspace = workspace.to_string_lossy();
    for (private, public) in
        [(workspace.as_ref(), "/workspace"), (home.as_str(), "/home/user"), (user.as_str(), "user")]
    {
        // What is too short stands in other words too.
        if private.len() > 3 {
            text = text.replace(private, public);
        }
    }
    text.into_bytes()
}
