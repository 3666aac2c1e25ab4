//! A flame graph of what `perf script` prints: who called whom, and how much of the time each was there.
//!
//! Pure: text in, text out. Of a profile it knows no more than perf does, and it needs no script in the browser: the
//! whole name of a frame and its share are the frame's tooltip. inferno draws such graphs too, but is under the CDDL,
//! which deny.toml does not allow.

use crate::symbol;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where a frame's code is, which is what its colour tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Not code: the name of a process.
    Process,
    /// Programs and libraries.
    Host,
    /// What the engine has compiled: an adapter.
    Guest,
    Kernel,
}

/// A function of a stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    name: String,
    place: Place,
}

/// How many samples had which stack. The outermost frame is the first, and is the process.
pub(crate) type Stacks = BTreeMap<Vec<Frame>, u64>;

/// What perf says where it does not know.
const UNKNOWN: &str = "[unknown]";

/// The stacks in what `perf script -F comm,ip,sym,dso` prints: a line with the process, then a line a frame, innermost
/// first, after a tab each. Lines that are neither are left out.
pub(crate) fn fold(script: &str) -> Stacks {
    let mut samples: Vec<Vec<Frame>> = vec![];
    let mut processes = vec![];
    for line in script.lines().filter(|line| !line.trim().is_empty()) {
        if !line.starts_with('\t') {
            processes.push(Frame { name: line.trim().to_owned(), place: Place::Process });
            samples.push(vec![]);
        } else if let (Some(frame), Some(sample)) = (parse(line), samples.last_mut()) {
            sample.push(frame);
        }
    }
    let mut stacks = Stacks::new();
    for (process, frames) in processes.into_iter().zip(samples) {
        let stack = std::iter::once(process).chain(frames.into_iter().rev()).collect();
        *stacks.entry(stack).or_default() += 1;
    }
    stacks
}

/// `ADDRESS FUNCTION (FILE)`. A frame of which neither function nor file is known is none: such an address is what a
/// function that keeps no frames had in the register, and it would only tear apart what belongs together.
fn parse(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (function, file) = split_file(rest.trim());
    let name = match (function, file) {
        (UNKNOWN, UNKNOWN) => return None,
        (UNKNOWN, file) if file.starts_with('[') => file.to_owned(),
        (UNKNOWN, file) => format!("[{}]", file.rsplit('/').next().unwrap_or(file)),
        (function, _) => symbol::read(function),
    };
    let place = if address >> 63 == 1 {
        // The upper half of the addresses is the kernel's, its modules' too.
        Place::Kernel
    } else if is_compiled(file) {
        Place::Guest
    } else {
        Place::Host
    };
    Some(Frame { name, place })
}

/// Whether it is what the engine has compiled: named by the map that the engine writes, or mapped from the cache.
fn is_compiled(file: &str) -> bool {
    file.starts_with("[JIT]")
        || file.strip_prefix("/tmp/perf-").is_some_and(|rest| rest.strip_suffix(".map").is_some())
        || file.rsplit('/').nth(1) == Some("compiled")
}

/// Blanks and brackets may stand in a function and in a file: `call<fn(u8)> (/tmp/a (deleted))`.
fn split_file(text: &str) -> (&str, &str) {
    let mut open = 0_usize;
    for (at, character) in text.char_indices().rev() {
        match character {
            ')' => open += 1,
            '(' => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            let file = text[at..].strip_prefix('(').and_then(|file| file.strip_suffix(')'));
            return text[..at].strip_suffix(' ').zip(file).unwrap_or((text, UNKNOWN));
        }
    }
    (text, UNKNOWN)
}

/// A frame as long as it was there: the samples from `start` to `end`, of all in the order of their stacks.
#[derive(Debug, PartialEq, Eq)]
struct Bar<'stacks> {
    name: &'stacks str,
    place: Place,
    depth: usize,
    start: u64,
    end: u64,
}

/// The bars, and the number of samples. Stacks that begin alike are neighbours, because they are sorted.
fn bars(stacks: &Stacks) -> (Vec<Bar<'_>>, u64) {
    let mut bars = vec![];
    // The stack so far, with where each frame began.
    let mut open: Vec<(&Frame, u64)> = vec![];
    let mut end = 0;
    let stacks = stacks.iter().map(|(stack, count)| (stack.as_slice(), *count));
    for (stack, count) in stacks.chain([(&[][..], 0)]) {
        let common = open.iter().zip(stack).take_while(|((open, _), frame)| open == frame).count();
        for (depth, (frame, start)) in open.drain(common..).enumerate() {
            bars.push(Bar { name: &frame.name, place: frame.place, depth: common + depth + 1, start, end });
        }
        open.extend(stack[common..].iter().map(|frame| (frame, end)));
        end += count;
    }
    bars.push(Bar { name: "all", place: Place::Process, depth: 0, start: 0, end });
    (bars, end)
}

/// The picture's measures in pixels: its width, a row's height, what is above the highest row, a letter's width.
const WIDTH: u64 = 1200;
const ROW: usize = 17;
const HEAD: usize = 56;
const LETTER: u64 = 7;

/// Colours of each place: the same name has the same one, neighbours mostly not.
fn colours(place: Place) -> [&'static str; 4] {
    match place {
        Place::Process => ["#d9d9d9", "#d9d9d9", "#d9d9d9", "#d9d9d9"],
        Place::Host => ["#f6b26b", "#f8c48b", "#f2a356", "#fbd3a4"],
        Place::Guest => ["#93c47d", "#a9d297", "#7fb768", "#bfe0b1"],
        Place::Kernel => ["#8fb4e3", "#a7c5eb", "#7aa4da", "#bfd5f2"],
    }
}

/// The graph as SVG, the outermost frames at the bottom. Frames under a thousandth of the width are left out.
pub(crate) fn draw(title: &str, stacks: &Stacks) -> String {
    let (mut bars, total) = bars(stacks);
    bars.retain(|bar| total > 0 && (bar.end - bar.start) * 1000 >= total);
    let rows = bars.iter().map(|bar| bar.depth + 1).max().unwrap_or(0);
    let height = HEAD + rows * ROW + 8;
    // Writing to a text cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="11.5">
<style>g rect {{ stroke: #ffffff; stroke-width: 0.4 }}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="8" y="20" font-size="15">{}</text>
<text x="8" y="41">{total} samples; a frame's tooltip is its name and its share</text>"##,
        escape(title)
    );
    for (at, (place, word)) in
        [(Place::Host, "host"), (Place::Guest, "guest"), (Place::Kernel, "kernel")].into_iter().enumerate()
    {
        let x = 960 + at * 80;
        let _ = writeln!(
            out,
            r#"<rect x="{x}" y="31" width="12" height="12" fill="{}"/><text x="{}" y="41">{word}</text>"#,
            colours(place)[0],
            x + 17
        );
    }
    for bar in &bars {
        draw_bar(bar, total, HEAD + (rows - 1 - bar.depth) * ROW, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

fn draw_bar(bar: &Bar<'_>, total: u64, y: usize, out: &mut String) {
    let count = bar.end - bar.start;
    // Where an edge is, in hundredths of a pixel: rounding the edges, not the widths, leaves no gaps.
    let edge = |samples: u64| samples * WIDTH * 100 / total;
    let (x, width) = (edge(bar.start), edge(bar.end) - edge(bar.start));
    let letter = bar.name.bytes().fold(0, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(byte));
    let colour = colours(bar.place)[usize::from(letter % 4)];
    let samples = if count == 1 { "sample" } else { "samples" };
    let _ = write!(
        out,
        r#"<g><title>{}, {count} {samples}, {} %</title><rect x="{}" y="{y}" width="{}" height="{}" fill="{colour}"/>"#,
        escape(bar.name),
        hundredths(count * 10_000 / total),
        hundredths(x),
        hundredths(width),
        ROW - 1
    );
    let shown = clip(bar.name, usize::try_from((width / 100).saturating_sub(6) / LETTER).unwrap_or(0));
    if !shown.is_empty() {
        let _ = write!(out, r#"<text x="{}" y="{}">{}</text>"#, hundredths(x + 300), y + 12, escape(&shown));
    }
    out.push_str("</g>\n");
}

fn hundredths(number: u64) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

/// As much of a name as has room. Of a path the end is kept, which tells more than the crate.
fn clip(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    if room < 3 {
        return String::new();
    }
    if name.contains("::") {
        return std::iter::once('…').chain(name.chars().skip(length - room + 1)).collect();
    }
    name.chars().take(room - 1).chain(['…']).collect()
}

/// As XML takes it, which knows no way to write a control character.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two samples of one stack, one that leaves it in the middle, one of another process.
    const SCRIPT: &str = "wharf \n\
        \t    7ff2a31f7040 wharf_adapter_copilot::scan::line::h0123456789abcdef (/tmp/perf-24012.map)\n\
        \t    7ff2a323b7e3 wasm[0]::array_to_wasm_trampoline[164] ([JIT] tid 24012)\n\
        \t          bc2369 <wharf::Guest<T> as Call>::call (/target/release/wharf)\n\
        \t656e696665646e75 [unknown] ([unknown])\n\
        \n\
        wharf \n\
        \t    7ff2a31f7329 wharf_adapter_copilot::scan::line::h0123456789abcdef (/tmp/perf-24012.map)\n\
        \t    7ff2a323b7e3 wasm[0]::array_to_wasm_trampoline[164] ([JIT] tid 24012)\n\
        \t          bc2369 <wharf::Guest<T> as Call>::call (/target/release/wharf)\n\
        \n\
        wharf \n\
        \tffffffff816b827c vfs_read ([kernel.kallsyms])\n\
        \tffffffffc0a1b27c ext4_file_read_iter ([ext4])\n\
        \t           f82ec [unknown] (/usr/lib/libc.so.6 (deleted))\n\
        \t          bc2369 <wharf::Guest<T> as Call>::call (/target/release/wharf)\n\
        \n\
        a & b\n\
        \t           d4ad7 __GI___execve (/usr/lib/libc.so.6)\n";

    fn shown(stacks: &Stacks) -> Vec<String> {
        let names = |stack: &[Frame]| stack.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(";");
        stacks.iter().map(|(stack, count)| format!("{} {count}", names(stack))).collect()
    }

    #[test]
    fn samples_of_one_stack_are_counted_together() {
        let call = "wharf;<wharf::Guest<T> as Call>::call";
        assert_eq!(
            shown(&fold(SCRIPT)),
            [
                "a & b;__GI___execve 1".to_owned(),
                format!("{call};[libc.so.6 (deleted)];ext4_file_read_iter;vfs_read 1"),
                format!("{call};wasm[0]::array_to_wasm_trampoline[164];wharf_adapter_copilot::scan::line 2"),
            ]
        );
    }

    #[test]
    fn a_frame_tells_where_its_code_is() {
        for (line, name, place) in [
            ("\tffffffff816b827c vfs_read ([kernel.kallsyms])", "vfs_read", Place::Kernel),
            ("\tffffffffc0a1b27c ext4_read ([ext4])", "ext4_read", Place::Kernel),
            ("\tffffffff8100027c [unknown] ([kernel.kallsyms])", "[kernel.kallsyms]", Place::Kernel),
            ("\t7ff2a31f7040 read::h00000000000000ff (/tmp/perf-1.map)", "read", Place::Guest),
            ("\t7ff2a31f7040 wasm[0]::function[3] ([JIT] tid 1)", "wasm[0]::function[3]", Place::Guest),
            ("\t97f93 wasm[0]::function[417]::memcmp (/cache/compiled/9b65)", "memcmp", Place::Guest),
            ("\tf82ec main (/compiled/release/wharf)", "main", Place::Host),
            ("\tf82ec call<fn(u8) -> u8> (/tmp/a (deleted))", "call<fn(u8) -> u8>", Place::Host),
            ("\tf82ec operator()(int) (/tmp/perf-x/a)", "operator()(int)", Place::Host),
            ("\tf82ec [unknown] (//anon)", "[anon]", Place::Host),
            ("\tf82ec without_a_file", "without_a_file", Place::Host),
        ] {
            assert_eq!(parse(line), Some(Frame { name: name.to_owned(), place }), "{line}");
        }
    }

    #[test]
    fn odd_lines_are_left_out() {
        for line in
            ["\t", "\tf82ec", "\tnumber name (/a)", "\t f82ec [unknown] ([unknown])", "\tfffffffffffffffff a (b)"]
        {
            assert_eq!(parse(line), None, "{line}");
        }
        for line in [
            "\tf82ec )",
            "\tf82ec (",
            "\tf82ec a)b (",
            "\tf82ec ((((",
            "\tf82ec ))))",
            "\tf82ec é (ü",
            "\tf82ec é",
            "\tf82ec ()",
        ] {
            assert!(parse(line).is_some(), "{line}");
        }
        assert_eq!(shown(&fold("\tf82ec before_any_process (/a)\n\nwharf\nwharf\n\tnonsense\n")), ["wharf 2"]);
    }

    #[test]
    fn bars_are_as_wide_as_their_samples_are_many() {
        let stacks = fold(SCRIPT);
        let (bars, total) = bars(&stacks);
        let of = |name: &str| {
            let found: Vec<_> = bars.iter().filter(|bar| bar.name == name).collect();
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            (found[0].depth, found[0].start, found[0].end)
        };
        assert_eq!(total, 4);
        assert_eq!(of("all"), (0, 0, 4));
        assert_eq!(of("a & b"), (1, 0, 1));
        assert_eq!(of("wharf"), (1, 1, 4));
        assert_eq!(of("<wharf::Guest<T> as Call>::call"), (2, 1, 4));
        assert_eq!(of("vfs_read"), (5, 1, 2));
        assert_eq!(of("wharf_adapter_copilot::scan::line"), (4, 2, 4));
    }

    #[test]
    fn a_graph_says_names_and_shares() {
        let graph = draw("copilot < claude", &fold(SCRIPT));
        for part in [
            ">copilot &lt; claude</text>",
            "<title>all, 4 samples, 100.00 %</title><rect x=\"0.00\" y=\"141\" width=\"1200.00\"",
            "<title>a &amp; b, 1 sample, 25.00 %</title><rect x=\"0.00\" y=\"124\" width=\"300.00\"",
            "<title>&lt;wharf::Guest&lt;T&gt; as Call&gt;::call, 3 samples, 75.00 %</title><rect x=\"300.00\" y=\"107\" width=\"900.00\"",
            "y=\"119\">&lt;wharf::Guest&lt;T&gt; as Call&gt;::call</text>",
        ] {
            assert!(graph.contains(part), "{part}\n{graph}");
        }
        let guest = colours(Place::Guest);
        let line = graph.lines().find(|line| line.contains("scan::line")).expect("the guest's bar");
        assert!(guest.iter().any(|colour| line.contains(colour)), "{line}");
        assert_eq!(graph.matches("<g>").count(), graph.matches("</g>").count());
        assert!(!graph.contains("T> as"), "{graph}");
    }

    #[test]
    fn what_is_too_narrow_to_see_is_left_out() {
        let stack = |name: &str| vec![Frame { name: name.to_owned(), place: Place::Host }];
        let graph = draw("", &[(stack("much"), 9989), (stack("enough"), 10), (stack("little"), 1)].into());
        assert!(graph.contains("<title>much,") && graph.contains("<title>enough, 10 samples, 0.10 %"), "{graph}");
        assert!(!graph.contains("little"), "{graph}");
        assert!(!graph.contains(">enough</text>"), "no room for a name: {graph}");
    }

    #[test]
    fn an_empty_profile_is_an_empty_graph() {
        for script in ["", "\n\n", "\t\n"] {
            let graph = draw("nothing", &fold(script));
            assert!(graph.contains(">0 samples;") && !graph.contains("<g>"), "{graph}");
            assert!(graph.ends_with("</svg>\n"), "{graph}");
        }
    }

    #[test]
    fn names_are_clipped_to_their_room() {
        for (name, room, shown) in [
            ("vfs_read", 8, "vfs_read"),
            ("vfs_read", 5, "vfs_…"),
            ("wharf::recording::write", 10, "…ng::write"),
            ("größer", 4, "grö…"),
            ("vfs_read", 2, ""),
        ] {
            assert_eq!(clip(name, room), shown.to_owned(), "{name} {room}");
        }
        assert_eq!(escape("a\u{7}<\"b\" & c>\u{ffff}"), "a\u{fffd}&lt;&quot;b&quot; &amp; c&gt;\u{fffd}");
    }
}
