//! Round trips, and what can be read of a recording that was cut or damaged, or of another file.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::digest::sha256;
use crate::record::reader::{RecordingReader, Tail};
use crate::record::writer::{RecordingWriter, Summary};

pub(super) const NO_LIMIT: u64 = u64::MAX;

pub(super) fn record(kind: Kind, micros: u64, payload: &[u8]) -> Record {
    Record { kind, micros, payload: payload.to_vec() }
}

pub(super) fn new_path() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.rec");
    (folder, path)
}

/// Writes all records, and closes the recording unless the host is meant to be killed.
fn write(path: &Path, limit: u64, records: &[Record], close: bool) -> Option<Summary> {
    let mut writer = RecordingWriter::create(path, limit).expect("a new file");
    for Record { kind, micros, payload } in records {
        writer.append(*kind, *micros, payload).expect("written");
    }
    close.then(|| writer.close().expect("written"))
}

pub(super) fn read(path: &Path) -> (Vec<Record>, Tail) {
    let mut reader = RecordingReader::open(path).expect("a recording");
    let records: Vec<Record> = reader.by_ref().map(|record| record.expect("readable")).collect();
    (records, reader.tail().expect("all records were read"))
}

fn some_records() -> Vec<Record> {
    vec![
        record(Kind::Launch, 0, br#"{"program":"agent"}"#),
        record(Kind::Stdin, 5, b"hello\n"),
        record(Kind::Stdout, 70_000, b"\x00\xff{\"type\":\"say\"}\n"),
        record(Kind::Restart, 70_001, b""),
        record(Kind::Exit, u64::MAX, br#"{"code":0}"#),
    ]
}

#[test]
fn the_format_is_what_the_documentation_says() {
    let (_folder, path) = new_path();
    write(&path, NO_LIMIT, &[record(Kind::Stdout, 258, b"hi\n")], true);
    let mut expected = b"wharf-recording 3\n\x03\0\0\0O\x02\x01\0\0\0\0\0\0hi\n".to_vec();
    expected.extend(&Sha256::digest(&expected)[..8]);
    expected.extend(b"\x08\0\0\0Z\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    expected.extend(&Sha256::digest(&expected)[..8]);
    assert_eq!(fs::read(&path).expect("it was written"), expected);
}

#[test]
fn the_summary_describes_the_file() {
    let (_folder, path) = new_path();
    let summary = write(&path, NO_LIMIT, &some_records(), true).expect("a summary");
    let bytes = fs::read(&path).expect("it was written");
    assert_eq!(summary.bytes, bytes.len() as u64);
    assert_eq!(summary.sha256, sha256(&bytes));
    assert_eq!(summary.dropped, 0);
    let mut reader = RecordingReader::open(&path).expect("a recording");
    assert_eq!(reader.by_ref().count(), some_records().len());
    assert_eq!(reader.sha256(), summary.sha256);
}

#[test]
fn a_recording_cut_anywhere_gives_all_records_before_the_cut() {
    let (folder, path) = new_path();
    let records = some_records();
    write(&path, NO_LIMIT, &records, true);
    let bytes = fs::read(&path).expect("it was written");
    // Where the version line and each record end.
    let mut ends = vec![VERSION_LINE.len()];
    for record in &records {
        ends.push(ends[ends.len() - 1] + HEADER_SIZE + record.payload.len() + CHECKSUM_SIZE);
    }
    for cut in VERSION_LINE.len()..bytes.len() {
        let path = folder.path().join("cut.rec");
        fs::write(&path, &bytes[..cut]).expect("written");
        let complete = ends.iter().filter(|end| **end <= cut).count() - 1;
        let torn = Tail::Torn { offset: ends[complete] as u64, bytes: (cut - ends[complete]) as u64 };
        assert_eq!(read(&path), (records[..complete].to_vec(), torn), "cut at {cut}");
    }
    assert_eq!(read(&path), (records, Tail::Complete));
}

#[test]
fn a_flipped_bit_is_detected_wherever_it_is() {
    let (folder, path) = new_path();
    let records = some_records();
    write(&path, NO_LIMIT, &records, true);
    let bytes = fs::read(&path).expect("it was written");
    for at in VERSION_LINE.len()..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let path = folder.path().join("damaged.rec");
            fs::write(&path, &damaged).expect("written");
            let (found, tail) = read(&path);
            assert!(matches!(tail, Tail::Torn { offset, bytes } if offset <= at as u64 && bytes > 0), "{tail:?}");
            assert_eq!(found, records[..found.len()], "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn records_that_were_moved_or_added_are_detected() {
    let (_folder, path) = new_path();
    write(&path, NO_LIMIT, &[record(Kind::Note, 1, b"a"), record(Kind::Note, 2, b"b")], true);
    let bytes = fs::read(&path).expect("it was written");
    let (start, size) = (VERSION_LINE.len(), HEADER_SIZE + 1 + CHECKSUM_SIZE);
    let (magic, first, rest) = (&bytes[..start], &bytes[start..start + size], &bytes[start + size..]);
    let torn = |offset: usize, bytes: usize| Tail::Torn { offset: offset as u64, bytes: bytes as u64 };

    fs::write(&path, [magic, rest].concat()).expect("written");
    assert_eq!(read(&path), (vec![], torn(start, rest.len())));
    fs::write(&path, [magic, first, first, rest].concat()).expect("written");
    assert_eq!(read(&path), (vec![record(Kind::Note, 1, b"a")], torn(start + size, size + rest.len())));
    fs::write(&path, [&bytes, first].concat()).expect("written");
    assert_eq!(read(&path).1, torn(bytes.len(), size));
}

#[test]
fn other_files_are_refused_with_a_reason() {
    let (folder, path) = new_path();
    for (content, expected) in [
        (&b""[..], "it is empty"),
        (b"wharf-rec", "it is empty"),
        (b"{\"type\":\"system\"}\n", "does not begin with \"wharf-recording\""),
        (b"WHARF-RECORDING 2\n", "does not begin with \"wharf-recording\""),
        (b"wharf-recording 123\nand more", "its format is version 123, this wharf reads version 3"),
        (b"wharf-recording 2\n", "its format is version 2, this wharf reads version 3"),
        (b"wharf-recording 3 \n", "its format is version 3"),
        (&[0; 10_000], "does not begin with \"wharf-recording\""),
    ] {
        fs::write(&path, content).expect("written");
        let message = RecordingReader::open(&path).expect_err("not a recording").to_string();
        assert!(message.contains(expected) && message.contains("run.rec"), "{message}");
    }
    let missing = RecordingReader::open(&folder.path().join("missing.rec")).expect_err("no such file").to_string();
    assert!(missing.starts_with("cannot open the recording") && missing.contains("missing.rec"), "{missing}");
    let folder = RecordingReader::open(folder.path()).expect_err("a folder");
    assert!(matches!(folder, RecordingError::Open { .. }), "{folder}");
}

#[test]
fn a_recording_is_never_overwritten() {
    let (folder, path) = new_path();
    write(&path, NO_LIMIT, &some_records(), true);
    let again = RecordingWriter::create(&path, NO_LIMIT).expect_err("it exists").to_string();
    assert!(again.starts_with("cannot create the recording") && again.contains("run.rec"), "{again}");
    assert_eq!(read(&path).0, some_records());
    RecordingWriter::create(&folder.path().join("no/such/folder"), NO_LIMIT).expect_err("no such folder");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = new_path();
    write(&path, NO_LIMIT, &[], false);
    let mode = fs::metadata(&path).expect("it was written").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn a_record_can_be_read_as_soon_as_it_was_appended() {
    let (_folder, path) = new_path();
    let mut writer = RecordingWriter::create(&path, NO_LIMIT).expect("a new file");
    for (count, record) in some_records().iter().enumerate() {
        writer.append(record.kind, record.micros, &record.payload).expect("written");
        let (records, tail) = read(&path);
        assert_eq!(records, some_records()[..=count]);
        assert!(matches!(tail, Tail::Torn { bytes: 0, .. }), "{tail:?}");
    }
}

#[test]
fn beyond_the_limit_streams_are_counted_and_everything_else_is_kept() {
    let (_folder, path) = new_path();
    let per_record = HEADER_SIZE + CHECKSUM_SIZE;
    let limit = VERSION_LINE.len() + 2 * (per_record + 100);
    let stream = record(Kind::Stdout, 1, &[b'x'; 100]);
    let note = record(Kind::Note, 2, &[b'y'; 1000]);
    let small = record(Kind::Stderr, 3, b"z");
    let records = [&stream, &stream, &small, &note, &stream, &small, &note].map(Clone::clone);
    let summary = write(&path, limit as u64, &records, true).expect("a summary");
    let truncated = record(Kind::Truncated, 3, b"");
    let kept = [&stream, &stream, &truncated, &note, &note].map(Clone::clone);
    assert_eq!(read(&path), (kept.to_vec(), Tail::Truncated { dropped: 102 }));
    assert_eq!(summary.dropped, 102);
}

#[test]
fn a_length_beyond_the_limit_is_refused_by_the_writer_and_the_reader() {
    let (folder, path) = new_path();
    let too_long = vec![0; MAX_PAYLOAD + 1];
    let mut writer = RecordingWriter::create(&path, NO_LIMIT).expect("a new file");
    let error = writer.append(Kind::Note, 0, &too_long).expect_err("too long");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    writer.append(Kind::Stdin, 0, &too_long).expect("a stream becomes several records");
    writer.close().expect("written");
    let (records, tail) = read(&path);
    let lengths: Vec<usize> = records.iter().map(|record| record.payload.len()).collect();
    assert_eq!((lengths, tail), (vec![MAX_PAYLOAD, 1], Tail::Complete));

    // Even if all those bytes exist and the checksum is correct.
    let path = folder.path().join("long.rec");
    let mut bytes = VERSION_LINE.to_vec();
    bytes.extend(u32::try_from(too_long.len()).expect("it fits").to_le_bytes());
    bytes.extend(b"N\0\0\0\0\0\0\0\0");
    bytes.extend(&too_long);
    bytes.extend(&Sha256::digest(&bytes)[..8]);
    fs::write(&path, &bytes).expect("written");
    assert_eq!(read(&path).0, []);
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_written_is_read_and_a_cut_loses_only_what_it_removes(
        contents in prop::collection::vec((any_kind(), any::<u64>(), any::<Vec<u8>>()), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let (_folder, path) = new_path();
        let records: Vec<Record> =
            contents.into_iter().map(|(kind, micros, payload)| Record { kind, micros, payload }).collect();
        write(&path, NO_LIMIT, &records, true);
        prop_assert_eq!(read(&path), (records.clone(), Tail::Complete));

        let bytes = fs::read(&path).expect("it was written");
        let cut = VERSION_LINE.len() + cut.index(bytes.len() - VERSION_LINE.len());
        fs::write(&path, &bytes[..cut]).expect("written");
        let (found, tail) = read(&path);
        prop_assert_eq!(&found[..], &records[..found.len()]);
        let Tail::Torn { offset, bytes } = tail else { panic!("{tail:?} of a file that was cut") };
        prop_assert_eq!(offset + bytes, cut as u64);
        // The torn part is shorter than the next record.
        let next = records.get(found.len()).map_or(8, |record| record.payload.len());
        prop_assert!(bytes < (HEADER_SIZE + next + CHECKSUM_SIZE) as u64);
    }
}
