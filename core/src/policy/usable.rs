//! Decides whether an agent can be used, by what its adapter found and by how the probes ended. The probes count too,
//! so that no adapter can forget to look at them.

use crate::model::{Binary, Diagnosis, ErrorClass, Failure, Login, Probe, ProbeEnd, Problem, Retry, Support, Unusable};
use std::time::Duration;

/// What a diagnosis is made from, beside what the adapter found.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The adapter's name for the user: its id or its path.
    pub adapter: &'a str,
    /// How to install the agent; may be empty.
    pub install: &'a str,
    /// Whether a program was not granted to the adapter that it looked for.
    pub denied: bool,
    /// Everything that the adapter ran.
    pub probes: &'a [Probe],
}

/// Whether turns can work with what the adapter found.
pub fn diagnose(found: Result<Binary, Failure>, evidence: Evidence<'_>) -> Diagnosis {
    match found {
        Ok(binary) => match problem(&binary, evidence) {
            Some(problem) => Diagnosis::unusable(Some(binary), problem),
            None => Diagnosis::usable(binary),
        },
        Err(failure) => Diagnosis::unusable(None, refusal(failure, evidence)),
    }
}

/// What the adapter itself says.
fn refusal(failure: Failure, evidence: Evidence<'_>) -> Problem {
    let reason = match failure.class {
        ErrorClass::NotFound if evidence.denied => Unusable::NotGranted,
        ErrorClass::NotFound => Unusable::NotFound,
        ErrorClass::Crash => Unusable::Crashes,
        ErrorClass::InvalidOption => Unusable::UnsupportedVersion,
        ErrorClass::Auth => Unusable::NoLogin,
        _ => Unusable::Other,
    };
    let fix = match failure.retry {
        _ if reason == Unusable::NotGranted => {
            format!("`wharf adapters show {}` prints the grants to add", evidence.adapter)
        }
        Retry::AfterUserAction { action } if !action.is_empty() => action,
        _ if evidence.install.is_empty() => "name its program in the configuration, under `[programs]`".to_owned(),
        _ => evidence.install.to_owned(),
    };
    Problem { reason, message: failure.message, fix }
}

fn problem(binary: &Binary, evidence: Evidence<'_>) -> Option<Problem> {
    broken(binary, evidence)
        .or_else(|| (binary.support == Support::Unsupported).then(|| unsupported(binary, evidence)))
        .or_else(|| no_login(binary))
}

/// A program of which nothing is known although it was asked.
fn broken(binary: &Binary, evidence: Evidence<'_>) -> Option<Problem> {
    if binary.version.is_some() {
        return None;
    }
    let own = || {
        let is_own = |probe: &&Probe| probe.program == binary.program && probe.args.starts_with(&binary.leading_args);
        evidence.probes.iter().filter(is_own)
    };
    // The last one: a program that does not know a flag is asked again without it.
    let asked = own().rfind(|probe| asks_for_version(probe));
    let probe = asked.or_else(|| own().next_back())?;
    let again = match evidence.install {
        "" => "install it again".to_owned(),
        install => format!("install it again: {install}"),
    };
    let (reason, message, fix) = match &probe.end {
        ProbeEnd::TimedOut { limit } => (
            Unusable::Hangs,
            format!("{probe} did not exit within {} s", seconds(*limit)),
            format!(
                "run {probe} in a terminal to see what it waits for; a first start may take longer than later ones"
            ),
        ),
        ProbeEnd::Killed { signal } => (Unusable::Crashes, format!("{probe} was killed by signal {signal}"), again),
        ProbeEnd::NotStarted { reason } => (Unusable::CannotStart, reason.clone(), again),
        ProbeEnd::Unreadable { reason } => (Unusable::Crashes, format!("{probe} cannot be used: {reason}"), again),
        ProbeEnd::SystemFailed { reason } => {
            let fix = "try again when the system has more processes, descriptors and memory".to_owned();
            (Unusable::SystemError, reason.clone(), fix)
        }
        // What the exit code of another question means, only the adapter knows.
        ProbeEnd::Exited { .. } if asked.is_none() => return None,
        ProbeEnd::Exited { code: 0, said } => {
            let said = said.as_ref().map_or_else(|| "nothing".to_owned(), |said| format!("{said:?}"));
            let fix = format!("check that {} is the agent; if it is, {again}", binary.program);
            (Unusable::NoVersion, format!("{probe} printed {said} instead of a version"), fix)
        }
        ProbeEnd::Exited { code, said } => {
            let said = said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
            (Unusable::Crashes, format!("{probe} exited with code {code}{said}"), again)
        }
    };
    Some(Problem { reason, message, fix })
}

fn unsupported(binary: &Binary, evidence: Evidence<'_>) -> Problem {
    let version = binary.version.as_deref().unwrap_or("of an unknown version");
    let fix = match evidence.install {
        "" => "install another version".to_owned(),
        install => format!("install another version: {install}"),
    };
    let because = binary.unsupported_because.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let message = format!("{} {version} is known not to work with this adapter{because}", binary.program);
    Problem { reason: Unusable::UnsupportedVersion, message, fix }
}

fn no_login(binary: &Binary) -> Option<Problem> {
    let Login::Missing(action) = &binary.login else { return None };
    let fix = if action.is_empty() { "log in with the agent's own command" } else { action };
    let message = format!("{} has no login that it uses", binary.program);
    Some(Problem { reason: Unusable::NoLogin, message, fix: fix.to_owned() })
}

fn asks_for_version(probe: &Probe) -> bool {
    probe.args.iter().any(|arg| arg.contains("version") || arg == "-v" || arg == "-V")
}

/// Seconds for people: "5", "0.2".
fn seconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64()).trim_end_matches(".0").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/bin/agent";

    fn probe(args: &str, end: ProbeEnd) -> Probe {
        Probe { program: PROGRAM.to_owned(), args: args.split(' ').map(str::to_owned).collect(), end }
    }

    fn exited(code: i32, said: &str) -> ProbeEnd {
        ProbeEnd::Exited { code, said: Some(said.to_owned()).filter(|said| !said.is_empty()) }
    }

    fn found(version: Option<&str>) -> Binary {
        Binary { version: version.map(str::to_owned), ..Binary::new(PROGRAM) }
    }

    fn judged(binary: Binary, probes: &[Probe]) -> Option<Problem> {
        let evidence = Evidence { adapter: "a", install: "get it", denied: false, probes };
        diagnose(Ok(binary), evidence).problem
    }

    #[test]
    fn the_probes_show_what_an_adapter_did_not_look_at() {
        let slow = ProbeEnd::TimedOut { limit: Duration::from_secs(5) };
        let why = || "no loader".to_owned();
        for (ends, reason, words) in [
            (vec![("--version", slow.clone())], Some(Unusable::Hangs), "did not exit within 5 s"),
            (vec![("--version", ProbeEnd::Killed { signal: 11 })], Some(Unusable::Crashes), "killed by signal 11"),
            (vec![("--version", exited(3, "no such lib"))], Some(Unusable::Crashes), "exited with code 3: no such lib"),
            (vec![("--version", exited(3, ""))], Some(Unusable::Crashes), "exited with code 3"),
            (vec![("--version", ProbeEnd::NotStarted { reason: why() })], Some(Unusable::CannotStart), "no loader"),
            (vec![("--version", ProbeEnd::Unreadable { reason: why() })], Some(Unusable::Crashes), "no loader"),
            (vec![("--version", ProbeEnd::SystemFailed { reason: why() })], Some(Unusable::SystemError), "no loader"),
            (vec![("--version", exited(0, "hello"))], Some(Unusable::NoVersion), "printed \"hello\" instead"),
            (vec![("--version", exited(0, ""))], Some(Unusable::NoVersion), "printed nothing instead"),
            // The second question decides, and a later one about something else does not.
            (
                vec![("-x --version", exited(1, "unknown option -x")), ("--version", exited(0, "hi"))],
                Some(Unusable::NoVersion),
                "printed \"hi\"",
            ),
            (vec![("--version", exited(2, "no")), ("auth status", exited(0, ""))], Some(Unusable::Crashes), "code 2"),
            // Only questions that are not about the version.
            (vec![("auth status", slow)], Some(Unusable::Hangs), "auth status"),
            (vec![("auth status", exited(1, "not logged in"))], None, ""),
            (vec![], None, ""),
        ] {
            let probes: Vec<Probe> = ends.into_iter().map(|(args, end)| probe(args, end)).collect();
            let problem = judged(found(None), &probes);
            assert_eq!(problem.as_ref().map(|problem| problem.reason), reason, "{probes:?}");
            let (message, fix) = problem.map(|problem| (problem.message, problem.fix)).unwrap_or_default();
            assert!(message.contains(words) && fix.is_empty() == reason.is_none(), "{probes:?}: {message} {fix}");
            assert_eq!(judged(found(Some("1.0.0")), &probes), None, "it printed a version: {probes:?}");
        }
    }

    #[test]
    fn probes_of_other_programs_do_not_count() {
        let mut other = probe("--version", exited(1, ""));
        other.program = "/bin/npm".to_owned();
        assert_eq!(judged(found(None), &[other]), None);
        let through_gh = Binary { leading_args: vec!["copilot".to_owned()], ..found(None) };
        assert_eq!(judged(through_gh.clone(), &[probe("auth token", ProbeEnd::Killed { signal: 9 })]), None);
        assert!(judged(through_gh, &[probe("copilot --version", ProbeEnd::Killed { signal: 9 })]).is_some());
    }

    #[test]
    fn a_version_that_does_not_work_and_a_missing_login_are_problems() {
        let reason = |binary: Binary| judged(binary, &[]).map(|problem| (problem.reason, problem.fix));
        let of = |support, login| Binary { support, login, ..found(Some("1.0.0")) };
        let missing = || Login::Missing("log in".to_owned());
        assert_eq!(
            reason(of(Support::Unsupported, missing())),
            Some((Unusable::UnsupportedVersion, "install another version: get it".to_owned()))
        );
        let mut refused = of(Support::Unsupported, Login::Unknown);
        refused.unsupported_because = Some("it loses sessions".to_owned());
        let message = judged(refused, &[]).expect("a problem").message;
        assert!(message.ends_with("1.0.0 is known not to work with this adapter: it loses sessions"), "{message}");
        for support in [Support::Tested, Support::BetweenTested, Support::NewerUntested, Support::OlderUntested] {
            assert_eq!(reason(of(support, missing())), Some((Unusable::NoLogin, "log in".to_owned())));
            assert_eq!(reason(of(support, Login::Unknown)), None, "a login that is not known may be there");
        }
    }

    #[test]
    fn every_refusal_of_an_adapter_has_a_reason_and_a_fix() {
        for (class, retry, denied, reason, fix) in [
            (ErrorClass::NotFound, Retry::Never, false, Unusable::NotFound, "get it"),
            (ErrorClass::NotFound, Retry::Never, true, Unusable::NotGranted, "`wharf adapters show a`"),
            (ErrorClass::Auth, Retry::AfterUserAction { action: "log in".into() }, true, Unusable::NoLogin, "log in"),
            (ErrorClass::Crash, Retry::Unknown, false, Unusable::Crashes, "get it"),
            (ErrorClass::Network, Retry::Unknown, false, Unusable::Other, "get it"),
        ] {
            let mut failure = Failure::new(class, "no");
            failure.retry = retry;
            let evidence = Evidence { adapter: "a", install: "get it", denied, probes: &[] };
            let problem = diagnose(Err(failure), evidence).problem.expect("a problem");
            assert_eq!((problem.reason, problem.message.as_str()), (reason, "no"));
            assert!(problem.fix.starts_with(fix), "{}", problem.fix);
        }
    }
}
