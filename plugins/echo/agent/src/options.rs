//! The command line, as the echo adapter builds it.

use std::time::Duration;

/// The model, unless one is chosen.
const DEFAULT_MODEL: &str = "echo-1";

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Invocation {
    /// `--version`.
    Version,
    /// Run turns.
    Turn(Options),
}

/// The settings of the turns.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    /// The session to start or to resume. Nothing is stored in a session, so both are the same.
    pub(crate) session: Option<String>,
    /// `echo-loud` answers in upper case.
    pub(crate) model: String,
    /// The file with the system prompt.
    pub(crate) system: Option<String>,
    /// The pause between two parts of the answer.
    pub(crate) delay: Duration,
    /// Whether stdin stays open after the prompt.
    pub(crate) duplex: bool,
}

/// Parses the arguments, without the program's name. The error is for the user.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Invocation, String> {
    let mut options =
        Options { session: None, model: DEFAULT_MODEL.to_owned(), system: None, delay: Duration::ZERO, duplex: false };
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--version" => return Ok(Invocation::Version),
            "--duplex" => options.duplex = true,
            "--session" | "--resume" => options.session = Some(value()?),
            "--model" => options.model = value()?,
            "--system" => options.system = Some(value()?),
            "--delay" => {
                let value = value()?;
                let millis = value.parse().map_err(|_| format!("--delay takes milliseconds, not {value:?}"))?;
                options.delay = Duration::from_millis(millis);
            }
            "--script" => return Err("only the tests' agent, wharf-fake-agent, follows scripts".to_owned()),
            _ => return Err(format!("{flag:?} is not an argument of the echo agent; the prompt is read from stdin")),
        }
    }
    Ok(Invocation::Turn(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_flag_of_the_adapter_is_known() {
        let options = Options {
            session: Some("s".to_owned()),
            model: "echo-loud".to_owned(),
            system: Some("f".to_owned()),
            delay: Duration::from_millis(7),
            duplex: true,
        };
        let line = "--session s --model echo-loud --system f --delay 7 --duplex";
        assert_eq!(parsed(line), Ok(Invocation::Turn(options)));
        assert!(
            matches!(parsed("--resume r"), Ok(Invocation::Turn(options)) if options.session.as_deref() == Some("r"))
        );
        assert!(matches!(parsed(""), Ok(Invocation::Turn(options)) if options.model == "echo-1" && !options.duplex));
        assert_eq!(parsed("--version"), Ok(Invocation::Version));
    }

    #[test]
    fn wrong_command_lines_have_different_errors() {
        for (line, part) in [
            ("--model", "--model needs a value"),
            ("--delay soon", "milliseconds"),
            ("--delay -1", "milliseconds"),
            ("--script play.txt", "wharf-fake-agent"),
            ("hello", "\"hello\""),
            ("--loud", "\"--loud\""),
        ] {
            let message = parsed(line).expect_err(line);
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
