//! The markers that every process of a run inherits in its environment.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::process_table::ProcessIdentity;
use super::pseudofile;
use crate::spawn_spec::{MARKER_HOST, MARKER_RUN};

/// The two variables. Both must match: another program may choose the same run id, but not the same host identity.
#[derive(Clone, Debug)]
pub(crate) struct Markers([(OsString, OsString); 2]);

impl Markers {
    pub(super) fn new(run: &str, host: ProcessIdentity) -> Self {
        let host = format!("{}:{}", host.pid, host.start_time);
        Self([(MARKER_RUN.into(), run.into()), (MARKER_HOST.into(), host.into())])
    }

    /// The variables to set for the agent.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Whether a process was started with them. `false` if its environment cannot be read.
    pub(super) fn are_on(&self, pid: i32) -> bool {
        pseudofile::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| self.are_in(&environment))
    }

    fn are_in(&self, environment: &[u8]) -> bool {
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
    fn both_markers_must_match_completely() {
        let markers = Markers::new("r-1", ProcessIdentity { pid: 7, start_time: 99 });
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
            assert_eq!(markers.are_in(environment.as_bytes()), expected, "{environment:?}");
        }
    }
}
