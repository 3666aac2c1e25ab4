//! Short ways to make the interface's records.

use crate::{
    Access, AdapterInfo, Arg, Binary, Capabilities, ErrorClass, ExitBehavior, Failure, Framing, Launch, LaunchFile,
    LogLevel, Login, Note, OptionKind, OptionSpec, Retry, Support, Turn, UnsupportedSetting, Usage, UsageScope,
};
use crate::{Json, json};

impl AdapterInfo {
    /// An adapter that needs nothing yet.
    pub fn new(id: &str, name: &str, version: &str) -> AdapterInfo {
        AdapterInfo {
            id: id.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            tested_with: String::new(),
            install_hint: String::new(),
            access: Access { programs: vec![], origins: vec![], variables: vec![], files: vec![] },
            options: vec![],
        }
    }

    /// Access a program.
    #[must_use]
    pub fn program(mut self, program: &str) -> AdapterInfo {
        self.access.programs.push(program.to_owned());
        self
    }

    /// Access these variables.
    #[must_use]
    pub fn variables(mut self, names: &[&str]) -> AdapterInfo {
        self.access.variables.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Access an origin.
    #[must_use]
    pub fn origin(mut self, origin: &str) -> AdapterInfo {
        self.access.origins.push(origin.to_owned());
        self
    }

    /// Access files.
    #[must_use]
    pub fn file(mut self, pattern: &str) -> AdapterInfo {
        self.access.files.push(pattern.to_owned());
        self
    }

    /// Takes an option. `default` is JSON.
    #[must_use]
    pub fn option(mut self, name: &str, kind: OptionKind, default: Option<&str>, help: &str) -> AdapterInfo {
        self.options.push(OptionSpec {
            name: name.to_owned(),
            help: help.to_owned(),
            kind,
            choices: vec![],
            default: default.map(str::to_owned),
        });
        self
    }

    /// Takes an option that is one of these texts; the first is the default.
    #[must_use]
    pub fn choice(mut self, name: &str, choices: &[&str], help: &str) -> AdapterInfo {
        self.options.push(OptionSpec {
            name: name.to_owned(),
            help: help.to_owned(),
            kind: OptionKind::Text,
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
            default: choices.first().map(|choice| json::quote(choice)),
        });
        self
    }
}

impl Binary {
    /// A program of which nothing more is known.
    pub fn at(program: String) -> Binary {
        Binary {
            program,
            leading_args: vec![],
            version: None,
            support: Support::BestEffort,
            capabilities: Capabilities::empty(),
            login: Login::Unknown,
            notes: vec![],
        }
    }

    /// Tell the user something before the first turn.
    pub fn note(&mut self, level: LogLevel, text: impl Into<String>, fix: Option<&str>) {
        self.notes.push(Note { level, text: text.into(), fix: fix.map(str::to_owned) });
    }
}

impl Launch {
    /// A runtime that prints lines and ends by itself.
    pub fn lines<W: Into<Arg>>(args: impl IntoIterator<Item = W>) -> Launch {
        Launch {
            args: args.into_iter().map(Into::into).collect(),
            variables: vec![],
            files: vec![],
            framing: Framing::Lines,
            exit_behavior: ExitBehavior::ByItself,
            unsupported: vec![],
        }
    }

    /// One more argument.
    pub fn arg(&mut self, word: impl Into<Arg>) {
        self.args.push(word.into());
    }

    /// A flag and its value, as two arguments.
    pub fn pair(&mut self, flag: &str, value: impl Into<Arg>) {
        self.arg(flag);
        self.arg(value);
    }

    /// A variable of the agent's environment.
    pub fn set(&mut self, name: &str, value: impl Into<Arg>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// A file for the agent, and the word that is its path.
    pub fn file(&mut self, name: &str, content: impl Into<Vec<u8>>) -> Arg {
        self.files.push(LaunchFile { name: name.to_owned(), content: content.into() });
        Arg { text: String::new(), file: Some(name.to_owned()) }
    }

    /// A wish that this runtime cannot honour.
    pub fn unsupported(&mut self, name: &str, reason: &str) {
        self.unsupported.push(UnsupportedSetting { name: name.to_owned(), reason: reason.to_owned() });
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Arg {
        Arg { text: text.to_owned(), file: None }
    }
}

impl From<String> for Arg {
    fn from(text: String) -> Arg {
        Arg { text, file: None }
    }
}

impl Turn {
    /// An option's value; a missing one where it was not set and has no default.
    pub fn option(&self, name: &str) -> Json<'_> {
        let value = self.options.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
        Json::parse(value)
    }
}

impl Failure {
    /// A failure of which nothing is known but its class and message.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), code: None, http_status: None, retry: usual_retry(class) }
    }

    /// With the HTTP status behind it.
    #[must_use]
    pub fn status(mut self, status: Option<u16>) -> Failure {
        self.http_status = status;
        self
    }

    /// With the vendor's own code.
    #[must_use]
    pub fn code(mut self, code: Option<String>) -> Failure {
        self.code = code;
        self
    }

    /// With other advice on retrying than is usual for its class.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Failure {
        self.retry = retry;
        self
    }
}

/// What usually helps against failures of a class.
fn usual_retry(class: ErrorClass) -> Retry {
    match class {
        ErrorClass::Auth => Retry::AfterUserAction("log in again or set a valid key".to_owned()),
        ErrorClass::Permission => Retry::AfterUserAction("grant what was denied".to_owned()),
        ErrorClass::Quota => Retry::AfterUserAction("raise the quota or wait until it is renewed".to_owned()),
        ErrorClass::UnknownModel => Retry::AfterUserAction("choose another model".to_owned()),
        ErrorClass::InvalidOption | ErrorClass::NotFound => Retry::Never,
        ErrorClass::RateLimit | ErrorClass::Network | ErrorClass::Provider => Retry::SameSession,
        ErrorClass::ContextLength | ErrorClass::NoSession => Retry::FreshSession,
        ErrorClass::Crash | ErrorClass::Protocol | ErrorClass::Other => Retry::Unknown,
    }
}

impl Usage {
    /// Figures of which none is known yet.
    pub fn new(scope: UsageScope, source: &str, input_includes_cached: bool) -> Usage {
        Usage {
            scope,
            source: source.to_owned(),
            model: None,
            input: None,
            input_includes_cached,
            output: None,
            cache_read: None,
            cache_write: None,
            reasoning: None,
            cost_micros: None,
            units: vec![],
            api_millis: None,
        }
    }
}
