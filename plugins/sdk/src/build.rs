//! Constructors and builders for the interface's records.

use crate::{
    Access, AdapterInfo, Answer, Arg, Ask, AskKind, Binary, Capabilities, ErrorClass, ExitBehavior, Failure, Framing,
    InstructionFile, Launch, LaunchFile, LogLevel, Login, NextTurn, Note, OptionKind, OptionSpec, Retry, Support, Text,
    Transport, Turn, UnsupportedSetting, Usage, UsageScope,
};
use crate::{Json, json};

impl AdapterInfo {
    /// An adapter that requests no access yet.
    pub fn new(id: &str, name: &str, version: &str) -> AdapterInfo {
        AdapterInfo {
            id: id.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            tested_with: String::new(),
            install_hint: String::new(),
            access: Access { programs: vec![], origins: vec![], variables: vec![], files: vec![] },
            state_variable: None,
            options: vec![],
        }
    }

    /// Requests a program: a name to look up in PATH, or a pattern of absolute paths.
    #[must_use]
    pub fn program(mut self, program: &str) -> AdapterInfo {
        self.access.programs.push(program.to_owned());
        self
    }

    /// Requests environment variables, to read them or to set them for the agent.
    #[must_use]
    pub fn variables(mut self, names: &[&str]) -> AdapterInfo {
        self.access.variables.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// The variable that names the folder in which the agent keeps its state. It is requested too.
    #[must_use]
    pub fn state_variable(mut self, name: &str) -> AdapterInfo {
        if !self.access.variables.iter().any(|known| known == name) {
            self.access.variables.push(name.to_owned());
        }
        self.state_variable = Some(name.to_owned());
        self
    }

    /// Requests an origin for HTTP requests: `https://api.example.com`, or `$NAME` for the URL in a variable.
    #[must_use]
    pub fn origin(mut self, origin: &str) -> AdapterInfo {
        self.access.origins.push(origin.to_owned());
        self
    }

    /// Requests the files that match a pattern.
    #[must_use]
    pub fn file(mut self, pattern: &str) -> AdapterInfo {
        self.access.files.push(pattern.to_owned());
        self
    }

    /// Adds an option. `default` is JSON.
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

    /// Adds an option with a fixed set of values. The first is the default.
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
    /// A program of which only the path is known.
    pub fn at(program: String) -> Binary {
        Binary {
            program,
            leading_args: vec![],
            version: None,
            support: Support::BestEffort,
            unsupported_because: None,
            transports: vec![],
            login: Login::Unknown,
            notes: vec![],
        }
    }

    /// Adds a way to talk to the agent. The best comes first.
    pub fn transport(&mut self, name: &str, capabilities: Capabilities) {
        self.transports.push(Transport { name: name.to_owned(), capabilities });
    }

    /// Whether this version can do something over at least one of its transports.
    pub fn can(&self, capability: Capabilities) -> bool {
        self.transports.iter().any(|transport| transport.capabilities.contains(capability))
    }

    /// Adds a note for the user, shown before the first turn.
    pub fn note(&mut self, level: LogLevel, text: impl Into<String>, fix: Option<&str>) {
        self.notes.push(Note { level, text: text.into(), fix: fix.map(str::to_owned) });
    }
}

impl Launch {
    /// The launch of an agent that prints lines and exits by itself.
    pub fn lines<A: Into<Arg>>(args: impl IntoIterator<Item = A>) -> Launch {
        Launch {
            args: args.into_iter().map(Into::into).collect(),
            variables: vec![],
            files: vec![],
            framing: Framing::Lines,
            exit_behavior: ExitBehavior::ByItself,
            stop_signal: None,
            stop_ms: None,
            unsupported: vec![],
            enforced: vec![],
            instructions: vec![],
        }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl Into<Arg>) {
        self.push_arg(arg.into());
    }

    /// Not inlined, as a command line has many.
    #[inline(never)]
    fn push_arg(&mut self, arg: Arg) {
        self.args.push(arg);
    }

    /// Adds a flag and its value, as two arguments.
    pub fn pair(&mut self, flag: &str, value: impl Into<Arg>) {
        self.arg(flag);
        self.arg(value);
    }

    /// Adds a flag and its value as one argument: `joined("--model=", "best")`.
    #[inline(never)]
    pub fn joined(&mut self, flag: &str, value: &str) {
        let mut arg = flag.to_owned();
        arg.push_str(value);
        self.arg(arg);
    }

    /// Sets a variable in the agent's environment.
    pub fn set(&mut self, name: &str, value: impl Into<Arg>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// Adds a file for the agent. Returns the argument that is its path.
    pub fn file(&mut self, name: &str, content: impl Into<Vec<u8>>) -> Arg {
        self.files.push(LaunchFile { name: name.to_owned(), content: content.into() });
        Arg { text: String::new(), file: Some(name.to_owned()) }
    }

    /// Names the files and folders of the workspace that this agent takes for instructions, and whether it reads them in
    /// this turn.
    pub fn instructions(&mut self, paths: &[&str], read: bool) {
        let file = |path: &&str| InstructionFile { path: (*path).to_owned(), read };
        self.instructions.extend(paths.iter().map(file));
    }

    /// Reports a setting that this agent cannot apply.
    pub fn unsupported(&mut self, name: &str, reason: &str) {
        self.unsupported.push(UnsupportedSetting { name: name.to_owned(), reason: reason.to_owned() });
    }
}

impl From<&str> for Arg {
    #[inline(never)]
    fn from(text: &str) -> Arg {
        Arg { text: text.to_owned(), file: None }
    }
}

impl From<String> for Arg {
    fn from(text: String) -> Arg {
        Arg { text, file: None }
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for Text {
    fn from(text: &T) -> Text {
        #[inline(never)]
        fn inline(text: &str) -> Text {
            Text::Inline(text.to_owned())
        }
        inline(text.as_ref())
    }
}

/// A span is equal to no text: what it refers to is not known here.
impl PartialEq<str> for Text {
    fn eq(&self, text: &str) -> bool {
        matches!(self, Text::Inline(inline) if inline == text)
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, text: &&str) -> bool {
        self == *text
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::Inline(text)
    }
}

impl Ask {
    /// An ask without choices.
    pub fn new(id: &str, kind: AskKind, title: impl Into<String>) -> Ask {
        Ask {
            id: id.to_owned(),
            kind,
            title: title.into(),
            tool: None,
            tool_id: None,
            actions: vec![],
            detail: "{}".to_owned(),
            choices: vec![],
            free_text: false,
            input_editable: false,
            form: vec![],
            schema: None,
        }
    }
}

impl Answer {
    /// An answer by one of the ask's choices, or a no.
    pub fn new(ask: &str, choice: Option<&str>) -> Answer {
        Answer {
            ask: ask.to_owned(),
            choice: choice.map(str::to_owned),
            text: None,
            input: None,
            fields: vec![],
            value: None,
        }
    }
}

impl Turn {
    /// Becomes another turn in the same process.
    pub fn follow(&mut self, next: NextTurn) {
        self.prompt = next.prompt;
        self.attachments = next.attachments;
        self.model = next.model;
        self.approvals = next.approvals;
    }

    /// The value of an option; missing if it was not set and has no default.
    pub fn option(&self, name: &str) -> Json<'_> {
        let value = self.options.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
        Json::parse(value)
    }
}

impl Failure {
    /// A failure of which only the class and the message are known.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Failure {
        Failure::with_usual_retry(class, message.into())
    }

    #[inline(never)]
    fn with_usual_retry(class: ErrorClass, message: String) -> Failure {
        Failure { class, message, code: None, http_status: None, retry: usual_retry(class) }
    }

    /// Sets the HTTP status that caused it.
    #[must_use]
    pub fn status(mut self, status: Option<u16>) -> Failure {
        self.http_status = status;
        self
    }

    /// Sets the vendor's error code.
    #[must_use]
    pub fn code(mut self, code: Option<String>) -> Failure {
        self.code = code;
        self
    }

    /// Replaces the usual advice on retrying for its class.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Failure {
        self.retry = retry;
        self
    }
}

/// The usual advice on retrying for a class.
fn usual_retry(class: ErrorClass) -> Retry {
    match class {
        ErrorClass::Auth => Retry::AfterUserAction("log in again or set a valid key".to_owned()),
        ErrorClass::Permission => Retry::AfterUserAction("grant the access that was denied".to_owned()),
        ErrorClass::Quota => Retry::AfterUserAction("raise the quota or wait until it is renewed".to_owned()),
        ErrorClass::UnknownModel => Retry::AfterUserAction("choose another model".to_owned()),
        ErrorClass::InvalidOption | ErrorClass::NotFound => Retry::Never,
        ErrorClass::RateLimit | ErrorClass::Network | ErrorClass::Provider => Retry::SameSession,
        ErrorClass::ContextLength | ErrorClass::NoSession => Retry::FreshSession,
        ErrorClass::Crash | ErrorClass::Protocol | ErrorClass::Other => Retry::Unknown,
    }
}

impl Usage {
    /// Usage without any figures yet. `input_includes_cached` says how the agent counts: whether its input figure includes
    /// cache reads and writes. It is `true` for an agent without a cache.
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
            rounds: None,
        }
    }
}
