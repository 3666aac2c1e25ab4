//! The mark that every process of a run inherits in its environment.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::super::{MARKER_HOST, MARKER_RUN};
use super::pseudofile;
use super::table::Identity;

/// The two variables. Both must match: run ids are somebody else's to choose, the host's identity is not.
#[derive(Clone, Debug)]
pub(in super::super) struct Markers([(OsString, OsString); 2]);

impl Markers {
    pub(super) fn new(run: &str, host: Identity) -> Self {
        let host = format!("{}:{}", host.pid, host.start);
        Self([(MARKER_RUN.into(), run.into()), (MARKER_HOST.into(), host.into())])
    }

    /// To be set for the agent.
    pub(in super::super) fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Whether a process was started with them. One whose environment we may not read was not, as far as we can know.
    pub(super) fn on(&self, pid: i32) -> bool {
        pseudofile::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| self.within(&environment))
    }

    fn within(&self, environment: &[u8]) -> bool {
        self.variables().all(|(name, value)| {
            let expected = [name.as_bytes(), b"=", value.as_bytes()].concat();
            environment.split(|&byte| byte == 0).any(|variable| variable == expected)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_must_match_in_full() {
        let markers = Markers::new("r-1", Identity { pid: 7, start: 99 });
        let table = [
            ("PATH=/bin\0WHARF_RUN=r-1\0WHARF_HOST=7:99\0", true),
            ("WHARF_HOST=7:99\0A=\0WHARF_RUN=r-1", true),
            ("WHARF_RUN=r-1\0", false),
            ("WHARF_RUN=r-1\0WHARF_HOST=7:9\0", false),
            ("WHARF_RUN=r-12\0WHARF_HOST=7:99\0", false),
            ("XWHARF_RUN=r-1\0WHARF_HOST=7:99\0", false),
            ("A=WHARF_RUN=r-1\0WHARF_HOST=7:99\0", false),
            ("", false),
        ];
        for (environment, expected) in table {
            assert_eq!(markers.within(environment.as_bytes()), expected, "{environment:?}");
        }
    }
}
