//! Asking for what was not declared, and saying what came of it: a denial is an `info`, anything else an `error`.

use wharf_adapter::bindings::wharf::runtime::host;
use wharf_adapter::{Command, Host, HostError, LogLevel, Request};

/// Asks for one thing of each kind. All of them are there on any Unix, so that "not found" is no excuse.
pub(crate) fn report(host: &dyn Host) -> Vec<(LogLevel, String)> {
    let shell = Command {
        program: "/bin/sh".to_owned(),
        args: vec!["-c".into(), "true".into()],
        stdin: vec![],
        timeout_ms: 1000,
    };
    vec![
        judge("the program sh", host.find_program("sh")),
        judge("running /bin/sh", host.run(&shell)),
        judge("the variable PATH", host.variable("PATH")),
        judge("the file /etc/passwd", host.read_file("/etc/passwd")),
        judge("the origin https://example.com", host.fetch(&request())),
    ]
}

/// Asks past the SDK, which has no host to offer here.
pub(crate) fn fetch_in_parse() -> (LogLevel, String) {
    judge("a fetch in parse_chunk", host::fetch(&request()))
}

fn request() -> Request {
    let url = "https://example.com/".to_owned();
    Request { method: "GET".to_owned(), url, headers: vec![], body: vec![], timeout_ms: 1000 }
}

fn judge<T>(what: &str, result: Result<T, HostError>) -> (LogLevel, String) {
    match result {
        Err(HostError::Denied(why)) => (LogLevel::Info, format!("{what}: denied: {why}")),
        Err(problem) => (LogLevel::Error, format!("{what}: not denied, but {problem:?}")),
        Ok(_) => (LogLevel::Error, format!("{what}: given")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_denial_is_well() {
        for (result, level, text) in [
            (Err(HostError::Denied("no".to_owned())), LogLevel::Info, "it: denied: no"),
            (Err(HostError::TimedOut), LogLevel::Error, "it: not denied, but HostError::TimedOut"),
            (Ok(()), LogLevel::Error, "it: given"),
        ] {
            assert_eq!(judge("it", result), (level, text.to_owned()));
        }
    }
}
