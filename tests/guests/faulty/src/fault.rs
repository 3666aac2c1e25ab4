//! The faults, by name, and those of them that are nothing but code.

use crate::trespass;
use std::hint::{black_box, spin_loop};
use std::io::Write;
use wharf_adapter::{Effects, Span, Text};

/// How much `noisy` prints before it panics.
const NOISE: usize = 10_000_000;

/// How much `chatter` answers to each line.
const ANSWER: usize = 64 << 10;

/// What goes wrong in a turn.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// `parse_chunk` does not return.
    Loop,
    /// `parse_chunk` sleeps, which is not computing.
    Sleep,
    /// `parse_chunk` takes memory without end.
    Allocate,
    /// `parse_chunk` panics at the first line.
    Panic,
    /// `parse_chunk` panics at a line whose text is "boom".
    PanicOnBoom,
    /// `parse_chunk` calls itself without end.
    Deep,
    /// `parse_chunk` fills stderr, then panics.
    Noisy,
    /// `parse_chunk` calls the host, which is closed then.
    FetchInParse,
    /// `parse_chunk` answers each `delta` with a long line to the agent's stdin, which stays open.
    Chatter,
    /// `parse_chunk` points outside of the chunk.
    BadSpan,
    /// `finish` does not return.
    LoopFinish,
    /// `finish` asks for what was never granted.
    Ungranted,
    /// `build_args` panics.
    BuildPanic,
}

impl Fault {
    /// All of them; the first is the default.
    pub(crate) const ALL: [Fault; 14] = [
        Fault::None,
        Fault::Loop,
        Fault::Sleep,
        Fault::Allocate,
        Fault::Panic,
        Fault::PanicOnBoom,
        Fault::Deep,
        Fault::Noisy,
        Fault::FetchInParse,
        Fault::Chatter,
        Fault::BadSpan,
        Fault::LoopFinish,
        Fault::Ungranted,
        Fault::BuildPanic,
    ];

    /// As the option names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fault::None => "none",
            Fault::Loop => "loop",
            Fault::Sleep => "sleep",
            Fault::Allocate => "allocate",
            Fault::Panic => "panic",
            Fault::PanicOnBoom => "panic-on-boom",
            Fault::Deep => "deep",
            Fault::Noisy => "noisy",
            Fault::FetchInParse => "fetch-in-parse",
            Fault::Chatter => "chatter",
            Fault::BadSpan => "bad-span",
            Fault::LoopFinish => "loop-finish",
            Fault::Ungranted => "ungranted",
            Fault::BuildPanic => "build-panic",
        }
    }

    /// The fault of a name.
    pub(crate) fn named(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// Goes wrong at a line, which is in the middle of `parse_chunk`.
pub(crate) fn in_line(fault: Fault, is_boom: bool, out: &mut Effects) {
    match fault {
        Fault::Loop => run_for_ever(),
        Fault::Sleep => std::thread::sleep(std::time::Duration::from_hours(1)),
        Fault::Allocate => allocate_without_end(),
        Fault::Panic => panic!("parse_chunk panics, as it was told to"),
        Fault::PanicOnBoom if is_boom => panic!("parse_chunk panics at \"boom\", as it was told to"),
        Fault::Deep => {
            black_box(descend(0));
        }
        Fault::Noisy => make_noise_and_panic(),
        Fault::FetchInParse => {
            let (level, text) = trespass::fetch_in_parse();
            out.notice(level, text);
        }
        Fault::BadSpan => {
            // Behind the end, and so far behind that the end of the span does not fit into its own type.
            out.message("behind", None, Text::Quoted(Span { start: 1 << 30, length: 10 }));
            out.message("wrapped", None, Text::Verbatim(Span { start: u32::MAX - 1, length: u32::MAX }));
        }
        Fault::None
        | Fault::PanicOnBoom
        | Fault::Chatter
        | Fault::LoopFinish
        | Fault::Ungranted
        | Fault::BuildPanic => {}
    }
}

/// The line that `chatter` answers with, without its end.
pub(crate) fn chatter() -> String {
    "y".repeat(ANSWER - 1)
}

/// Does not return.
pub(crate) fn run_for_ever() -> ! {
    loop {
        spin_loop();
    }
}

fn allocate_without_end() -> ! {
    let mut hoard = Vec::new();
    loop {
        // Written to, so that it is really taken.
        hoard.push(vec![1_u8; 1 << 20]);
        black_box(&hoard);
    }
}

/// What comes after the call keeps it from becoming a loop. Nearly nothing is kept in memory, so that it is the
/// sandbox's call stack that runs out and not the guest's own stack in its memory, which would be just a bad address.
#[expect(unconditional_recursion, reason = "it is the fault")]
fn descend(depth: u64) -> u64 {
    descend(depth + 1).wrapping_add(black_box(depth))
}

fn make_noise_and_panic() -> ! {
    let line = "noise ".repeat(100) + "\n";
    let mut stderr = std::io::stderr().lock();
    for _ in 0..NOISE.div_ceil(line.len()) {
        // A host may stop listening; the panic is to come all the same.
        let _ = stderr.write_all(line.as_bytes());
    }
    drop(stderr);
    panic!("parse_chunk panics after much noise, as it was told to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name_alone() {
        for fault in Fault::ALL {
            assert_eq!(Fault::named(fault.name()), Some(fault));
        }
        assert_eq!(Fault::named("sulk"), None);
        assert_eq!(Fault::ALL[0], Fault::default());
    }
}
