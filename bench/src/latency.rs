//! The latency of a line of an agent that writes one every millisecond.
//!
//! Each line contains the time at which it was written; the reader of the events takes the time at which its read returned
//! with the end of the line. Both are from the monotonic clock, which all processes share. Compared with a bare pipe, from
//! which the agent's own line is read.

use crate::corpus::{self, AgentKind, Mix};
use crate::pipeline::{Interpreters, relay};
use crate::stage::{Agent, Stage};
use crate::statistics::{number, percentile};
use crate::{Result, error, progress};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// The pause between two lines, in microseconds.
const PACE: &str = "1000";

/// The first lines of a round do not count: interpreters and caches warm up.
const WARM: usize = 100;

/// With no program between the agent and the reader.
pub(crate) const BARE: &str = "bare pipe";

/// The latency through one program, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// The program.
    pub(crate) name: String,
    /// The number of timed lines.
    pub(crate) lines: f64,
    /// Half of the lines took no longer.
    pub(crate) p50: f64,
    /// 99 of 100 lines took no longer.
    pub(crate) p99: f64,
}

/// Measures all programs in turn, with so many lines in each round.
pub(crate) fn run(stage: &Stage, found: &Interpreters, lines: usize, rounds: usize) -> Result<Vec<Latency>> {
    let agent = agent(stage, lines + WARM)?;
    let mut programs: Vec<(&str, Command)> = vec![
        (BARE, stage.command(&agent.program)),
        (crate::pipeline::COPY, copying(stage, &agent)?),
        (crate::pipeline::UNRECORDED, stage.wharf_run(&agent, false)),
        (crate::pipeline::WHARF, stage.wharf_run(&agent, true)),
    ];
    if let Some(node) = &found.node {
        programs.push((crate::pipeline::SIDECAR, relay(stage, node, &agent)?));
    }
    let mut taken: Vec<Vec<f64>> = vec![Vec::new(); programs.len()];
    for round in 0..rounds {
        progress(format!("latency: round {} of {rounds}", round + 1));
        for ((name, command), taken) in programs.iter_mut().zip(&mut taken) {
            let once = once(command)?;
            if once.len() != lines + WARM {
                return Err(error(format!("{name}: {} of {} lines arrived", once.len(), lines + WARM)));
            }
            taken.extend(&once[WARM..]);
        }
        stage.delete_runs()?;
    }
    agent.remove()?;
    let figures = programs.iter().zip(&taken).map(|((name, _), taken)| Latency {
        name: (*name).to_owned(),
        lines: number(taken.len() as u64),
        p50: percentile(taken, 50.0),
        p99: percentile(taken, 99.0),
    });
    Ok(figures.collect())
}

/// What any program between an agent and its reader costs.
fn copying(stage: &Stage, agent: &Agent) -> Result<Command> {
    let mut command = stage.this_program(&["copy"])?;
    command.arg(&agent.program);
    Ok(command)
}

/// An agent that writes deltas that contain the time.
fn agent(stage: &Stage, lines: usize) -> Result<Agent> {
    let agent = stage.agent(AgentKind::Copilot, "latency")?;
    let turn = corpus::turn(AgentKind::Copilot, Mix::Mixed, 0);
    let end = turn.trim_end().rfind('\n').map_or(0, |newline| newline + 1);
    let (begin, end) = turn.split_at(end);
    let delta = concat!(
        r#"{"type":"assistant.message_delta","data":{"messageId":"5be2a1b0-7b5c-4a52-a1c7-0d3b9b0f3a11","#,
        r#""deltaContent":"@now"},"ephemeral":true,"id":"0a9d7c52-5d1f-4d0b-a4f1-7c2e5b1d9e33","#,
        r#""timestamp":"2026-11-15T23:20:11.123Z","parentId":"c1b2a3d4-6e7f-4801-a923-4b5c6d7e8f90"}"#,
        "\n"
    );
    std::fs::write(agent.folder().join("output"), format!("{begin}{}{end}", delta.repeat(lines)))?;
    std::fs::write(agent.folder().join("pace"), PACE)?;
    Ok(agent)
}

/// The latency of every line that contains a time, in microseconds.
fn once(command: &mut Command) -> Result<Vec<f64>> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let taken = read(stdout, now);
    let status = child.wait()?;
    if !status.success() {
        return Err(error(format!("{}: {status}", Path::new(command.get_program()).display())));
    }
    taken
}

/// Nanoseconds on the clock that all processes share.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn read(mut from: impl Read, now: impl Fn() -> u64) -> Result<Vec<f64>> {
    let mut taken = Vec::new();
    let mut pending = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer)?;
        let arrived = now();
        if count == 0 {
            return Ok(taken);
        }
        pending.extend_from_slice(&buffer[..count]);
        let end = pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = String::from_utf8_lossy(&pending[..end]).into_owned();
        pending.drain(..end);
        taken.extend(lines.lines().filter_map(timestamp).map(|written| number(arrived.saturating_sub(written)) / 1e3));
    }
}

/// The time in an event, or in the agent's own line.
fn timestamp(line: &str) -> Option<u64> {
    let delta = line.contains(r#""type":"text-delta""#).then_some(r#""text":""#);
    let own = line.contains(r#""deltaContent":""#).then_some(r#""deltaContent":""#);
    let (_, rest) = line.split_once(delta.or(own)?)?;
    rest.split_once('"')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_found_in_events_and_in_the_agents_own_lines() {
        for (line, expected) in [
            (r#"{"seq":7,"at":9,"type":"text-delta","id":"m","parent":null,"text":"123"}"#, Some(123)),
            (r#"{"type":"assistant.message_delta","data":{"messageId":"m","deltaContent":"456"}}"#, Some(456)),
            (r#"{"type":"text-delta","id":"m","text":"hello"}"#, None),
            (r#"{"type":"message","id":"m","text":"123"}"#, None),
        ] {
            assert_eq!(timestamp(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_arrives_when_its_end_does() {
        struct Pieces(Vec<&'static str>);
        impl Read for Pieces {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if self.0.is_empty() {
                    return Ok(0);
                }
                let piece = self.0.remove(0).as_bytes();
                buffer[..piece.len()].copy_from_slice(piece);
                Ok(piece.len())
            }
        }
        let clock = std::cell::Cell::new(10_000);
        let now = || {
            clock.set(clock.get() + 1_000);
            clock.get()
        };
        let pieces = Pieces(vec!["x\"deltaContent\":\"10000\"\nx\"delta", "Content\":\"10500\"\n"]);
        let taken = read(pieces, now).expect("read");
        assert!((taken[0] - 1.0).abs() < 1e-9 && (taken[1] - 1.5).abs() < 1e-9 && taken.len() == 2, "{taken:?}");
    }
}
