//! What wharf costs, measured beside what people would write without it. `cargo xtask bench` builds and runs it.
//!
//! Without a command it is the benchmark (`bench`), a section a file. The commands are for itself: `measure` runs a
//! command and tells what it took; `native`, `copy` and `relay` are loops that wharf is compared with; `hold` is the part
//! that runs in a process of its own because that process is what is looked at. `corpus` prints a corpus.
//!
//! It reads /proc, and is empty elsewhere than on Linux.
#![cfg(target_os = "linux")]

mod bars;
mod bench;
mod corpus;
mod figures;
mod flame;
mod growth;
mod latency;
mod machine;
mod measure;
mod memory;
mod native;
mod operators;
mod order;
mod parse;
mod pipeline;
mod profile;
mod relay;
mod report;
mod sample;
mod stage;
mod start;
mod symbol;
mod tally;

use corpus::{Mix, Runtime};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Whatever goes wrong ends the benchmark: it is told, and nothing else is done about it.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// An error in words.
fn failed(words: impl Into<String>) -> Box<dyn std::error::Error> {
    words.into().into()
}

/// Tells people on stderr how far it is.
fn say(line: impl AsRef<str>) {
    // Nobody there to hear it is no reason to stop.
    let _ = writeln!(std::io::stderr(), "bench: {}", line.as_ref());
}

/// Do what the words after the program's name say.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match command(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(why.to_string());
            ExitCode::from(2)
        }
    }
}

fn command(words: &[OsString]) -> Result<bool> {
    let texts: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    match *texts {
        ["measure", "--", ..] => print(&measure::run(&words[2..])?)?,
        ["native", id, _] => native::run(runtime(id)?, Path::new(&words[2]))?,
        ["copy", _] => relay::copy(Path::new(&words[1]))?,
        ["relay", _, ..] => {
            let sidecar: Vec<&OsStr> = words[2..].iter().map(OsString::as_os_str).collect();
            relay::sidecar(Path::new(&words[1]), &sidecar)?;
        }
        ["hold", "start", _, rounds] => print(&start::hold(Path::new(&words[2]), rounds.parse()?)?)?,
        ["hold", "memory", _, runs] => print(&memory::hold(Path::new(&words[2]), runs.parse()?)?)?,
        ["hold", "instances", word, live] => print(&memory::hold_instances(word, live.parse()?)?)?,
        ["corpus", id, name, size] => {
            let mix = Mix::ALL.into_iter().find(|mix| mix.name() == name);
            let mix = mix.ok_or_else(|| failed(format!("there is no corpus `{name}`")))?;
            corpus::write(runtime(id)?, mix, size.parse()?, &mut std::io::stdout().lock())?;
        }
        _ => {
            let words: Vec<String> = texts.iter().map(|word| (*word).to_owned()).collect();
            return bench::run(&order::Order::parse(&words)?);
        }
    }
    Ok(true)
}

fn runtime(id: &str) -> Result<Runtime> {
    Runtime::parse(id).ok_or_else(|| failed(format!("there is no corpus of `{id}`")))
}

/// Figures for the process that started us.
fn print(figures: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(figures)?;
    line.push(b'\n');
    Ok(std::io::stdout().write_all(&line)?)
}
