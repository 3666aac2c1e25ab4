//! Captured output: what an agent wrote, without a recording.

use super::player::{Player, Replayed};
use crate::error::Result;
use crate::guest::{Adapter, Instance};
use crate::launch::plan_unchecked;
use crate::record::{EndRecord, LaunchRecord};
use std::time::{Duration, SystemTime};
use wharf_core::model::{AgentId, Binary, Exit, Prices, RunStarted, Transport, Turn, Usage};
use wharf_core::stream::frame::DEFAULT_FRAME_LIMIT;
use wharf_core::turn::{AdapterInput, EndFacts};

/// What an agent wrote, without a recording.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Capture {
    /// Everything that it wrote to stdout.
    pub stdout: Vec<u8>,
    /// Everything that it wrote to stderr.
    pub stderr: Vec<u8>,
    /// How it exited.
    pub exit: Exit,
    /// The agent's version, if it is known.
    pub agent_version: Option<String>,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// How many bytes are handled at once; absent means all.
    pub chunk: Option<usize>,
    /// The turn, as far as it is known.
    pub turn: Option<Turn>,
}

/// Plays a capture to an adapter.
pub(crate) async fn capture(adapter: &Adapter, capture: Capture) -> Result<Replayed> {
    let info = adapter.info();
    let turn = capture.turn.clone().unwrap_or_else(|| Turn::new("(a capture)"));
    let mut turn = turn.complete(&info.id, &info.options, String::new)?;
    // The agent was not given a session id: what the capture does not contain stays unknown.
    turn.offered_session_id = None;
    let mut binary = Binary::new("/unknown");
    binary.version.clone_from(&capture.agent_version);
    let mut instance = Instance::start(adapter.component(), None).await?;
    // Without a name it is the adapter's default.
    let transport = Transport::named(turn.transport.clone().unwrap_or_default());
    let plan = plan_unchecked(&info.id, &mut instance, &turn, &binary, &transport).await?;
    let agent = AgentId { program: binary.program.clone(), version: binary.version.clone(), transport: transport.name };
    let mut started = RunStarted::new("", SystemTime::UNIX_EPOCH, adapter.id(), agent);
    started.prompt.clone_from(&turn.prompt);
    started.unsupported = plan.unsupported;
    let launch = LaunchRecord {
        started,
        wharf: env!("CARGO_PKG_VERSION").to_owned(),
        binary,
        turn,
        args: vec![],
        environment: vec![],
        framing: plan.framing,
        exit_behavior: plan.exit_behavior,
        frame_limit: DEFAULT_FRAME_LIMIT,
        used_before: Usage::default(),
        prices: Prices::default(),
    };
    let facts = EndFacts { cancelled: capture.cancelled, ..EndFacts::default() };
    let end = EndRecord { facts, ..EndRecord::default() };
    let once = async |single: bool| -> Result<(Replayed, bool)> {
        // A capture has no times.
        let mut player = Player::open(adapter, &launch, capture.chunk, single, false).await?;
        player.input(&AdapterInput::Start).await;
        player.output(false, &capture.stdout).await;
        player.output(true, &capture.stderr).await;
        Ok(player.end(capture.exit, Duration::ZERO, &end).await)
    };
    let (replayed, faulty) = once(false).await?;
    if faulty { Ok(once(true).await?.0) } else { Ok(replayed) }
}
