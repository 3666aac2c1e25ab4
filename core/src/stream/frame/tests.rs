//! The items are compared, frame by frame, with a naive splitting of the complete stream.

use proptest::prelude::*;

use super::*;

/// An expected frame or item.
#[derive(Debug, Clone, PartialEq)]
enum Expected {
    Frame { offset: u64, text: String, repaired: bool },
    Other(Item),
}

/// All items of a stream that is pushed in pieces of these sizes, repeated.
fn items(framing: Framing, limit: usize, stream: &[u8], sizes: &[usize]) -> Vec<Item> {
    let mut framer = Framer::new(framing, limit);
    let mut items = Vec::new();
    let mut rest = stream;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (now, later) = rest.split_at((*size).clamp(1, rest.len()));
        framer.push(now);
        items.extend(std::iter::from_fn(|| framer.take()));
        rest = later;
    }
    framer.finish();
    items.extend(std::iter::from_fn(|| framer.take()));
    items
}

/// Checks that each batch has exactly the next expected frames, and every other item its position.
fn check(items: &[Item], expected: &[Expected]) {
    let mut expected = expected.iter();
    for item in items {
        let Item::Batch(batch) = item else {
            assert_eq!(expected.next(), Some(&Expected::Other(item.clone())));
            continue;
        };
        let Frames::Text(text) = &batch.data else { panic!("the batch {batch:?} is not text") };
        let mut rest = text.as_str();
        let mut repairs = 0;
        let mut first = true;
        while !rest.is_empty() {
            let Some(Expected::Frame { offset, text, repaired }) = expected.next() else {
                panic!("no frame was expected at {rest:?}")
            };
            assert!(!first || *offset == batch.offset, "a batch at {} instead of {offset}", batch.offset);
            first = false;
            repairs += usize::from(*repaired);
            rest = rest.strip_prefix(text.as_str()).unwrap_or_else(|| panic!("{text:?} was expected at {rest:?}"));
        }
        assert!(!first, "an empty batch");
        assert_eq!(batch.repaired, repairs);
    }
    assert_eq!(expected.next(), None, "an item is missing");
}

fn frame(offset: usize, bytes: &[u8]) -> Expected {
    let repaired = std::str::from_utf8(bytes).is_err();
    Expected::Frame { offset: offset as u64, text: String::from_utf8_lossy(bytes).into_owned(), repaired }
}

/// The head of a frame that is shorter than a head.
fn short_head(bytes: &[u8]) -> String {
    assert!(bytes.len() <= HEAD_SIZE);
    String::from_utf8_lossy(bytes).into_owned()
}

fn oversized(offset: usize, bytes: &[u8]) -> Expected {
    let (offset, length) = (offset as u64, bytes.len() as u64);
    Expected::Other(Item::Oversized { offset, length, head: short_head(bytes) })
}

fn broken(offset: usize, bytes: &[u8]) -> Expected {
    let (offset, length) = (offset as u64, bytes.len() as u64);
    Expected::Other(Item::Broken { offset, length, head: short_head(bytes) })
}

fn naive_lines(stream: &[u8], limit: usize) -> Vec<Expected> {
    let mut offset = 0;
    let mut expected = Vec::new();
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        expected.push(if content.len() > limit { oversized(offset, content) } else { frame(offset, line) });
        offset += line.len();
    }
    expected
}

/// Bytes that are hard to split: newlines, carriage returns, characters of up to four bytes, parts of them.
fn difficult_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z{}\":,]{1,12}".prop_map(String::into_bytes),
        3 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        2 => prop_oneof![Just("é"), Just("€"), Just("🚢")].prop_map(|text| text.as_bytes().to_vec()),
        1 => Just("🚢".as_bytes()[..3].to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A part of a content-length stream, and what is expected of it. A stream ends with the first part that is incomplete.
#[derive(Debug, Clone)]
struct Part {
    bytes: Vec<u8>,
    body: Vec<u8>,
    /// Whether the headers are reported as broken, before the body.
    stray: bool,
    /// Whether there is a length; without one there is no body.
    announced: bool,
}

fn part() -> impl Strategy<Value = Part> {
    let name = prop_oneof![Just("Content-Length"), Just("content-length"), Just("CONTENT-length")];
    let junk = prop::collection::vec(
        prop_oneof![
            3 => Just(("Content-Type: application/vscode-jsonrpc; charset=utf-8".to_owned(), false)),
            1 => "[A-Za-z-]{1,10}: ?[ -~]{0,10}x".prop_map(|line| (line, false)),
            1 => Just(("Debugger listening on ws://127.0.0.1:9229/".to_owned(), true)),
            1 => Just(("content-length is what it lacks".to_owned(), true)),
            1 => Just(("é".repeat(200), true)),
        ],
        0..3,
    );
    let shape = (0..2_usize, prop_oneof![Just("\r\n"), Just("\n")], 0..8_usize, 0..10_u8);
    (name, junk, difficult_bytes(), shape).prop_map(|(name, junk, mut body, (blank, newline, place, mode))| {
        // One in ten has no length, one in ten has it directly after other output.
        let announced = mode != 0 || junk.is_empty();
        body.truncate(if announced { 300 } else { 0 });
        let mut stray = !announced;
        let mut lines: Vec<String> = Vec::new();
        for (line, is_stray) in junk {
            stray |= is_stray;
            lines.push(line);
        }
        if announced {
            let before = if mode == 1 { "{\"a\":1}" } else { "" };
            stray |= mode == 1;
            lines.insert(place.min(lines.len()), format!("{before}{name}: {}", body.len()));
        }
        let mut bytes = newline.repeat(blank).into_bytes();
        bytes.extend(lines.iter().flat_map(|line| [line, newline]).collect::<String>().into_bytes());
        bytes.extend(newline.as_bytes());
        Part { bytes, body, stray, announced }
    })
}

/// The stream of some parts, and what is expected if it ends after `length` bytes.
fn naive_bodies(parts: &[Part], limit: usize, length: usize) -> (Vec<u8>, Vec<Expected>) {
    let mut stream = Vec::new();
    let mut expected = Vec::new();
    for part in parts {
        let blank = part.bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count();
        let (block, offset) = (&part.bytes[blank..], stream.len() + blank);
        if length < offset + block.len() {
            let left = &block[..length.saturating_sub(offset).min(block.len())];
            stream.extend(&part.bytes);
            if !left.is_empty() {
                expected.push(broken(offset, left));
            }
            break;
        }
        stream.extend(&part.bytes);
        if part.stray {
            expected.push(broken(offset, block));
        }
        if !part.announced {
            continue;
        }
        let available = &part.body[..part.body.len().min(length - stream.len())];
        stream.extend(available);
        expected.push(if available.len() < part.body.len() {
            broken(offset, available)
        } else if available.len() > limit {
            oversized(offset, available)
        } else {
            let line: Vec<u8> = available.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
            frame(offset, &[&line, &b"\n"[..]].concat())
        });
        if available.len() < part.body.len() {
            break;
        }
    }
    stream.truncate(length);
    (stream, expected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn lines_do_not_depend_on_how_the_stream_is_split_into_reads(
        stream in difficult_bytes(),
        limit in 0..40_usize,
        sizes in prop::collection::vec(1..30_usize, 1..10),
    ) {
        let expected = naive_lines(&stream, limit);
        for sizes in [&sizes[..], &[1], &[usize::MAX]] {
            check(&items(Framing::Lines, limit, &stream, sizes), &expected);
        }
    }

    #[test]
    fn bodies_do_not_depend_on_how_the_stream_is_split_into_reads(
        parts in prop::collection::vec(part(), 0..8),
        limit in 0..300_usize,
        length in prop_oneof![Just(usize::MAX), 0..2000_usize],
        sizes in prop::collection::vec(1..80_usize, 1..10),
    ) {
        let (stream, expected) = naive_bodies(&parts, limit, length);
        for sizes in [&sizes[..], &[1], &[usize::MAX]] {
            check(&items(Framing::ContentLength, limit, &stream, sizes), &expected);
        }
    }

    #[test]
    fn even_random_bytes_give_the_same_bodies_for_any_split_into_reads(
        stream in difficult_bytes(),
        sizes in prop::collection::vec(1..30_usize, 1..10),
    ) {
        let stream = String::from_utf8_lossy(&stream).replace(":,", "content-length:9\n\n").into_bytes();
        let together = |sizes: &[usize]| {
            let mut all: Vec<Item> = Vec::new();
            for item in items(Framing::ContentLength, 10, &stream, sizes) {
                match (all.last_mut(), item) {
                    (
                        Some(Item::Batch(Batch { data: Frames::Text(before), repaired, .. })),
                        Item::Batch(Batch { data: Frames::Text(text), repaired: more, .. }),
                    ) => {
                        before.push_str(&text);
                        *repaired += more;
                    }
                    (_, item) => all.push(item),
                }
            }
            all
        };
        let whole = together(&[usize::MAX]);
        prop_assert_eq!(&together(&[1]), &whole);
        prop_assert_eq!(&together(&sizes), &whole);
    }

    #[test]
    fn raw_bytes_are_not_changed(stream in difficult_bytes(), sizes in prop::collection::vec(1..30_usize, 1..10)) {
        let mut all = Vec::new();
        for item in items(Framing::Raw, 3, &stream, &sizes) {
            let Item::Batch(Batch { offset, data: Frames::Bytes(bytes), repaired: 0 }) = item else {
                panic!("{item:?} among raw bytes")
            };
            prop_assert_eq!(offset, all.len() as u64);
            all.extend(bytes);
        }
        prop_assert_eq!(all, stream);
    }
}

#[test]
fn all_available_lines_are_in_one_batch() {
    let mut framer = Framer::new(Framing::Lines, DEFAULT_FRAME_LIMIT);
    framer.push(b"one\ntwo\r\nthr");
    let first = Batch { offset: 0, data: Frames::Text("one\ntwo\r\n".to_owned()), repaired: 0 };
    assert_eq!(framer.take(), Some(Item::Batch(first)));
    assert_eq!(framer.take(), None);
    framer.push(b"ee\nfour\n");
    let second = Batch { offset: 9, data: Frames::Text("three\nfour\n".to_owned()), repaired: 0 };
    assert_eq!(framer.take(), Some(Item::Batch(second)));
    framer.finish();
    assert_eq!(framer.take(), None);
}

#[test]
fn batches_end_at_their_size_and_a_longer_frame_has_its_own_batch() {
    let mut stream = b"short line\n".repeat(300_000);
    stream.extend(vec![b'x'; 3 * BATCH_SIZE]);
    stream.extend(b"\nlast");
    for size in [usize::MAX, 65_536, 4_000_000] {
        let items = items(Framing::Lines, DEFAULT_FRAME_LIMIT, &stream, &[size]);
        let mut all = String::new();
        for item in &items {
            let Item::Batch(Batch { offset, data: Frames::Text(text), .. }) = item else { panic!("{item:?}") };
            assert_eq!(*offset, all.len() as u64);
            assert!(text.len() <= BATCH_SIZE || text.trim_end().bytes().all(|byte| byte == b'x'), "{}", text.len());
            all.push_str(text);
        }
        assert!(all.as_bytes() == stream);
        assert!(
            size != usize::MAX || items.len() == 6,
            "{} batches instead of five and one for the long line",
            items.len()
        );
    }
}

#[test]
fn raw_batches_end_at_their_size() {
    let stream = vec![7; 5 * BATCH_SIZE / 2];
    let sizes: Vec<usize> = items(Framing::Raw, 1, &stream, &[usize::MAX])
        .iter()
        .map(|item| match item {
            Item::Batch(Batch { data: Frames::Bytes(bytes), .. }) => bytes.len(),
            other => panic!("{other:?} among raw bytes"),
        })
        .collect();
    assert_eq!(sizes, [BATCH_SIZE, BATCH_SIZE, BATCH_SIZE / 2]);
}

#[test]
fn a_head_ends_before_a_character_that_does_not_fit() {
    // 1,023 bytes, then a character of three bytes.
    let line = format!("{}€{}", "a".repeat(HEAD_SIZE - 1), "b".repeat(2000));
    let expected = Item::Oversized { offset: 0, length: line.len() as u64, head: "a".repeat(HEAD_SIZE - 1) };
    assert_eq!(items(Framing::Lines, 1500, line.as_bytes(), &[700]), [expected]);
    // The same bytes are repaired if the frame really ends with them.
    let torn = [b"Content-Length: 9\n\n", &"€".as_bytes()[..2]].concat();
    let expected = Item::Broken { offset: 0, length: 2, head: "\u{fffd}".to_owned() };
    assert_eq!(items(Framing::ContentLength, 9, &torn, &[1]), [expected]);
}

#[test]
fn an_oversized_line_is_never_held() {
    let mut framer = Framer::new(Framing::Lines, 4096);
    for _ in 0..1000 {
        framer.push(&[b'x'; 4096]);
        let Splitter::Lines(lines) = &framer.splitter else { panic!("the framing is lines") };
        assert!(lines.held() <= 2 * 4096, "{} bytes are held", lines.held());
    }
    framer.push(b"\nnext\n");
    let head = "x".repeat(HEAD_SIZE);
    assert_eq!(framer.take(), Some(Item::Oversized { offset: 0, length: 4_096_000, head }));
    let next = Batch { offset: 4_096_001, data: Frames::Text("next\n".to_owned()), repaired: 0 };
    assert_eq!(framer.take(), Some(Item::Batch(next)));
}

#[test]
fn a_body_longer_than_any_memory_is_skipped_and_reported_as_incomplete() {
    let stream = format!("Content-Length: {}\r\n\r\nabc", u64::MAX);
    let expected = Item::Broken { offset: 0, length: 3, head: "abc".to_owned() };
    assert_eq!(items(Framing::ContentLength, DEFAULT_FRAME_LIMIT, stream.as_bytes(), &[5]), [expected]);
}

#[test]
fn an_invalid_length_announces_nothing() {
    for value in ["", "-1", "+1", "1 2", "0x10", "99999999999999999999", "1.0", "é"] {
        let stream = format!("Content-Length: {value}\r\n\r\n");
        let expected = Item::Broken { offset: 0, length: stream.len() as u64, head: stream.clone() };
        assert_eq!(items(Framing::ContentLength, 9, stream.as_bytes(), &[1]), [expected], "{value}");
    }
}

#[test]
fn the_last_of_several_lengths_counts() {
    let stream = b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}";
    let expected = Batch { offset: 0, data: Frames::Text("{}\n".to_owned()), repaired: 0 };
    assert_eq!(items(Framing::ContentLength, 9, stream, &[usize::MAX]), [Item::Batch(expected)]);
}

#[test]
fn long_output_before_a_header_is_reported_without_losing_a_frame_or_using_memory() {
    // The start of the line shows that it is not a header, and its end has the length.
    let noise = format!("A: {}", "y".repeat(100_000));
    let block = format!("{noise}Content-Length: 2\r\n\r\n");
    let stream = format!("{block}{{}}");
    let head = noise[..HEAD_SIZE].to_owned();
    let batch = Batch { offset: 0, data: Frames::Text("{}\n".to_owned()), repaired: 0 };
    let expected = [Item::Broken { offset: 0, length: block.len() as u64, head }, Item::Batch(batch)];
    for size in [1, 1000, 1024, 5000, usize::MAX] {
        assert_eq!(items(Framing::ContentLength, 9, stream.as_bytes(), &[size]), expected, "reads of {size} bytes");
    }
    // A header of that length is other output too.
    let stream = format!("{}: x\r\nContent-Length: 0\r\n\r\n", "y".repeat(2 * HEAD_SIZE));
    let first = &items(Framing::ContentLength, 9, stream.as_bytes(), &[4096])[0];
    assert!(matches!(first, Item::Broken { .. }), "{first:?}");

    let mut framer = Framer::new(Framing::ContentLength, 9);
    for _ in 0..1000 {
        framer.push(&[b'y'; 4096]);
        let Splitter::ContentLength(bodies) = &framer.splitter else { panic!("the framing is content-length") };
        assert!(bodies.held() <= 2 * HEAD_SIZE, "{} bytes are held", bodies.held());
    }
}
