//! Requests access that `describe` does not name, and reports the results: a denial as `info`, anything else as `error`.

use wharf_adapter::bindings::wharf::runtime::host;
use wharf_adapter::{Command, Host, HostError, LogLevel, Request};

/// Requests one thing of each kind. All of them exist on any Unix, so "not found" is not a correct answer.
pub(crate) fn report(host: &dyn Host) -> Vec<(LogLevel, String)> {
    let shell = Command {
        program: "/bin/sh".to_owned(),
        args: vec!["-c".into(), "true".into()],
        stdin: vec![],
        timeout_ms: 1000,
    };
    vec![
        check("the program sh", host.find_program("sh")),
        check("running /bin/sh", host.run(&shell)),
        check("the variable PATH", host.variable("PATH")),
        check("the file /etc/passwd", host.read_file("/etc/passwd")),
        check("the origin https://example.com", host.fetch(&request())),
    ]
}

/// Calls the import directly: the SDK provides no host here.
pub(crate) fn fetch_in_parse() -> (LogLevel, String) {
    check("a fetch in parse_chunk", host::fetch(&request()))
}

/// Asks for 60 programs with names of 50 MB. Returns the last answer.
pub(crate) fn find_spam(host: &dyn Host) -> String {
    let name = "x".repeat(50_000_000);
    (0..60).map(|_| check("a program", host.find_program(&name)).1).last().unwrap_or_default()
}

fn request() -> Request {
    let url = "https://example.com/".to_owned();
    Request { method: "GET".to_owned(), url, headers: vec![], body: vec![], timeout_ms: 1000 }
}

fn check<T>(what: &str, result: Result<T, HostError>) -> (LogLevel, String) {
    match result {
        Err(HostError::Denied(reason)) => (LogLevel::Info, format!("{what}: denied: {reason}")),
        Err(error) => (LogLevel::Error, format!("{what}: not denied, but {error:?}")),
        Ok(_) => (LogLevel::Error, format!("{what}: given")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_denial_is_correct() {
        for (result, level, text) in [
            (Err(HostError::Denied("no".to_owned())), LogLevel::Info, "it: denied: no"),
            (Err(HostError::TimedOut), LogLevel::Error, "it: not denied, but HostError::TimedOut"),
            (Ok(()), LogLevel::Error, "it: given"),
        ] {
            assert_eq!(check("it", result), (level, text.to_owned()));
        }
    }
}
