//! The names of the faults, and the faults that need nothing from the host.

use crate::violations;
use std::hint::{black_box, spin_loop};
use std::io::Write;
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use wharf_adapter::{Ask, AskKind, Choice, ChoiceKind, Effects, Event, Input, LogLevel, Span, Text};

/// How many bytes `noisy` prints before it panics.
const NOISE: usize = 10_000_000;

/// How many rounds `slow-timers` and `slow-asks` compute for each input: a part of a second, far below the limit.
const ROUNDS: u64 = 1 << 27;

/// How many bytes `chatter` writes for each line.
const ANSWER: usize = 64 << 10;

/// The fault of a turn.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No fault.
    #[default]
    None,
    /// `parse_chunk` never returns.
    Loop,
    /// `parse_chunk` sleeps for an hour, which takes no time where clocks stand still.
    Sleep,
    /// `parse_chunk` allocates without limit.
    Allocate,
    /// `parse_chunk` panics at the first line.
    Panic,
    /// `parse_chunk` panics at a line whose text is "boom".
    PanicOnBoom,
    /// `parse_chunk` recurses without limit.
    Deep,
    /// `parse_chunk` fills stderr, then panics.
    Noisy,
    /// `parse_chunk` calls the host, which is not allowed there.
    FetchInParse,
    /// `parse_chunk` answers each `delta` with a long line to the agent's stdin, which stays open.
    Chatter,
    /// `parse_chunk` returns spans outside of the chunk.
    BadSpan,
    /// `parse_chunk` returns 5000 effects that each quote the whole text of the line.
    QuoteOften,
    /// `parse_chunk` returns 8 MiB of events for each line: several lines together are too many, single ones are not.
    Flood,
    /// `finish` asks for programs with names of 50 MB, without end.
    FindSpam,
    /// `finish` logs without end.
    LogSpam,
    /// `finish` never returns.
    LoopFinish,
    /// `finish` requests access that was never granted.
    Ungranted,
    /// `build_args` panics.
    BuildPanic,
    /// `handle` answers each answer with another ask.
    AskLoop,
    /// The same, and computes for a while each time.
    SlowAsks,
    /// `handle` sets 100 timers, and computes for a while at each of them.
    SlowTimers,
    /// `parse_chunk` opens sockets and looks a name up, and reports what came of it.
    Connect,
}

impl Fault {
    /// All faults. The first is the default.
    pub(crate) const ALL: [Fault; 22] = [
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
        Fault::QuoteOften,
        Fault::Flood,
        Fault::FindSpam,
        Fault::LogSpam,
        Fault::LoopFinish,
        Fault::Ungranted,
        Fault::BuildPanic,
        Fault::AskLoop,
        Fault::SlowAsks,
        Fault::SlowTimers,
        Fault::Connect,
    ];

    /// The value of the option `fault`.
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
            Fault::QuoteOften => "quote-often",
            Fault::Flood => "flood",
            Fault::FindSpam => "find-spam",
            Fault::LogSpam => "log-spam",
            Fault::LoopFinish => "loop-finish",
            Fault::Ungranted => "ungranted",
            Fault::BuildPanic => "build-panic",
            Fault::AskLoop => "ask-loop",
            Fault::SlowAsks => "slow-asks",
            Fault::SlowTimers => "slow-timers",
            Fault::Connect => "connect",
        }
    }

    /// The fault with this name.
    pub(crate) fn named(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// Runs the fault at a line, in the middle of `parse_chunk`.
pub(crate) fn in_line(fault: Fault, is_boom: bool, out: &mut Effects) {
    match fault {
        Fault::Loop => loop_forever(),
        Fault::Sleep => std::thread::sleep(std::time::Duration::from_hours(1)),
        Fault::Allocate => allocate_without_limit(),
        Fault::Panic => panic!("parse_chunk panics, as it was told to"),
        Fault::PanicOnBoom if is_boom => panic!("parse_chunk panics at \"boom\", as it was told to"),
        Fault::Deep => {
            black_box(descend(0));
        }
        Fault::Noisy => make_noise_and_panic(),
        Fault::FetchInParse => {
            let (level, text) = violations::fetch_in_parse();
            out.notice(level, text);
        }
        Fault::BadSpan => {
            // After the end of the chunk, and so far that the end of the span overflows its type.
            out.message("behind", None, Text::Quoted(Span { start: 1 << 30, length: 10 }));
            out.message("wrapped", None, Text::Verbatim(Span { start: u32::MAX - 1, length: u32::MAX }));
        }
        Fault::Flood => (0..8).for_each(|_| out.message("flood", None, Text::Inline("x".repeat(1 << 20)))),
        Fault::Connect => {
            let tcp = TcpStream::connect("127.0.0.1:9").map(drop).map_err(|error| error.kind());
            let udp = UdpSocket::bind("127.0.0.1:0").map(drop).map_err(|error| error.kind());
            let name = "localhost:9".to_socket_addrs().map(drop).map_err(|_| ());
            out.notice(LogLevel::Info, format!("tcp {tcp:?}, udp {udp:?}, name {name:?}"));
        }
        Fault::None
        | Fault::PanicOnBoom
        | Fault::Chatter
        | Fault::QuoteOften
        | Fault::FindSpam
        | Fault::LogSpam
        | Fault::LoopFinish
        | Fault::Ungranted
        | Fault::BuildPanic
        | Fault::AskLoop
        | Fault::SlowAsks
        | Fault::SlowTimers => {}
    }
}

/// Runs the fault at an input, in the middle of `handle`.
pub(crate) fn in_handle(fault: Fault, input: &Input, out: &mut Effects) {
    match (fault, input) {
        (Fault::AskLoop | Fault::SlowAsks, Input::Start | Input::Answer(_)) => {
            if fault == Fault::SlowAsks {
                compute();
            }
            out.emit(Event::Ask(ask()));
        }
        (Fault::SlowTimers, Input::Start) => (0..100).for_each(|number| out.set_timer(number, 0)),
        (Fault::SlowTimers, Input::Timer(number)) => {
            compute();
            out.notice(LogLevel::Info, format!("timer {number}"));
        }
        _ => {}
    }
}

/// Takes a while.
fn compute() {
    let mut state = 1_u64;
    for round in 0..ROUNDS {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round));
    }
}

fn ask() -> Ask {
    Ask {
        tool: Some("loop".to_owned()),
        choices: vec![Choice { id: "yes".to_owned(), kind: ChoiceKind::AllowOnce, label: "Yes".to_owned() }],
        ..Ask::new("again", AskKind::Permission, "once more?")
    }
}

/// The line that `chatter` writes, without its newline.
pub(crate) fn chatter() -> String {
    "y".repeat(ANSWER - 1)
}

/// Never returns.
pub(crate) fn loop_forever() -> ! {
    loop {
        spin_loop();
    }
}

fn allocate_without_limit() -> ! {
    let mut hoard = Vec::new();
    loop {
        // Written to, so that the memory is really used.
        hoard.push(vec![1_u8; 1 << 20]);
        black_box(&hoard);
    }
}

/// The work after the call keeps the compiler from turning it into a loop. It uses almost no memory, so that the
/// sandbox's call stack overflows and not the guest's stack in linear memory, which would only be a bad address.
#[expect(unconditional_recursion, reason = "that is the fault")]
fn descend(depth: u64) -> u64 {
    descend(depth + 1).wrapping_add(black_box(depth))
}

fn make_noise_and_panic() -> ! {
    let line = "noise ".repeat(100) + "\n";
    let mut stderr = std::io::stderr().lock();
    for _ in 0..NOISE.div_ceil(line.len()) {
        // The host may stop reading; the panic must happen anyway.
        let _ = stderr.write_all(line.as_bytes());
    }
    drop(stderr);
    panic!("parse_chunk panics after much noise, as it was told to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name() {
        for fault in Fault::ALL {
            assert_eq!(Fault::named(fault.name()), Some(fault));
        }
        assert_eq!(Fault::named("sulk"), None);
        assert_eq!(Fault::ALL[0], Fault::default());
    }
}
