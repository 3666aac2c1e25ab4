//! Finding the agent's program and its version, as most adapters do it.

use crate::{Command, Environment, ErrorClass, Failure, Host, HostError, Retry, Version};

/// The program that the user named, else the first of the candidates (names or absolute paths) that exists.
pub fn locate(
    host: &dyn Host,
    environment: &Environment,
    candidates: &[&str],
    install: &str,
) -> Result<String, Failure> {
    if let Some(named) = &environment.program {
        return host.find_program(named).map(|found| found.path).map_err(|error| {
            let message = format!("the configured program {named} cannot be used: {}", error_text(&error));
            Failure::new(ErrorClass::NotFound, message)
        });
    }
    let mut tried = Vec::new();
    for candidate in candidates {
        match host.find_program(candidate) {
            Ok(found) => return Ok(found.path),
            Err(error) => tried.push(format!("{candidate} ({})", error_text(&error))),
        }
    }
    let message = format!("the program was not found; tried {}", tried.join(", "));
    Err(Failure::new(ErrorClass::NotFound, message).retry(Retry::AfterUserAction(install.to_owned())))
}

/// The version that `PROGRAM ARGS` prints, if it prints one.
pub fn probe_version(
    host: &dyn Host,
    program: &str,
    args: &[&str],
    timeout_ms: u32,
) -> Result<Option<Version>, HostError> {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    let output = host.run(&Command { program: program.to_owned(), args, stdin: vec![], timeout_ms })?;
    if output.timed_out {
        return Err(HostError::TimedOut);
    }
    Ok(Version::find(&String::from_utf8_lossy(&output.stdout)))
}

fn error_text(error: &HostError) -> String {
    match error {
        HostError::Denied(reason) => format!("denied: {reason}"),
        HostError::NotFound(_) => "not found".to_owned(),
        HostError::TimedOut => "timed out".to_owned(),
        HostError::TooLarge => "too large".to_owned(),
        HostError::Failed(reason) => reason.clone(),
    }
}
