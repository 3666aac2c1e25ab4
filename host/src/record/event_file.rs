//! The event file of a run. Like the recording, it is kept up to a limit; what comes later is counted. The report is
//! always kept, because it says that the run has ended.

use crate::digest::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write as _};
use wharf_core::stream::Lines;

/// Appends lines to a new file.
pub(super) struct EventFile {
    /// None after some events could not be written: nothing may follow a gap that nobody chose.
    file: Option<File>,
    digest: Sha256,
    length: u64,
    /// The file does not grow beyond this, except by the report.
    limit: u64,
    /// How many events are in the file.
    count: u64,
    /// How many came after the limit was reached.
    dropped: u64,
}

/// The event file when it is complete.
pub(crate) struct EventsSummary {
    pub(crate) count: u64,
    pub(crate) sha256: String,
    pub(crate) dropped: u64,
}

impl EventFile {
    pub(super) fn new(file: File, limit: u64) -> EventFile {
        EventFile { file: Some(file), digest: Sha256::new(), length: 0, limit, count: 0, dropped: 0 }
    }

    /// The length of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes as many of the lines as the limit allows, in one write. Returns whether the limit was reached by this.
    pub(super) fn write(&mut self, lines: &Lines) -> io::Result<bool> {
        if self.dropped > 0 {
            self.dropped += lines.count;
            return Ok(false);
        }
        let room = usize::try_from(self.limit.saturating_sub(self.length)).unwrap_or(usize::MAX);
        if lines.bytes.len() <= room {
            return self.append(&lines.bytes, lines.count).map(|()| false);
        }
        let end = memchr::memrchr(b'\n', &lines.bytes[..room]).map_or(0, |end| end + 1);
        let kept = &lines.bytes[..end];
        let count = memchr::memchr_iter(b'\n', kept).count() as u64;
        self.dropped += lines.count - count;
        self.append(kept, count).map(|()| true)
    }

    /// Writes the last event, beyond the limit if need be.
    pub(super) fn write_report(&mut self, report: &Lines) -> io::Result<()> {
        self.append(&report.bytes, report.count)
    }

    fn append(&mut self, bytes: &[u8], count: u64) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if let Err(error) = file.write_all(bytes) {
            // On a full disk a part may have been written.
            let _ = file.set_len(self.length);
            self.file = None;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.count += count;
        self.digest.update(bytes);
        Ok(())
    }

    pub(super) fn close(self) -> EventsSummary {
        EventsSummary { count: self.count, sha256: hex(&self.digest.finalize()), dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use wharf_core::model::{Event, EventKind, LogLevel};

    fn lines(seqs: std::ops::Range<u64>) -> Lines {
        let events = seqs.map(|seq| Event::new(seq, Duration::ZERO, EventKind::notice(LogLevel::Info, "x")));
        events.collect::<Vec<_>>().iter().collect()
    }

    #[test]
    fn events_are_kept_up_to_the_limit_and_the_report_always_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events");
        let line = lines(1..2).bytes.len() as u64;
        let mut file = EventFile::new(File::create_new(&path).expect("a new file"), line * 3 + line / 2);
        assert!(!file.write(&lines(1..3)).expect("written"));
        assert!(file.write(&lines(3..6)).expect("written"), "the limit was reached");
        assert!(!file.write(&lines(6..7)).expect("dropped"), "which is said only once");
        file.write_report(&lines(7..8)).expect("written");
        let kept = std::fs::read(&path).expect("readable");
        assert_eq!(kept, [lines(1..4).bytes, lines(7..8).bytes].concat(), "only whole lines");
        assert_eq!(file.length(), kept.len() as u64);
        let summary = file.close();
        assert_eq!((summary.count, summary.dropped), (4, 3));
        assert_eq!(summary.sha256, hex(&Sha256::digest(kept)));
    }
}
