//! Who an adapter is, and the runtime that it found: the library's own view of both.

use crate::bindings::types;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who an adapter is, as it describes itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdapterInfo {
    /// Short and stable: "copilot".
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The adapter's own version.
    pub version: String,
    /// The runtime's versions it was tested with.
    pub tested_with: String,
    /// What to do when the runtime is missing.
    pub install_hint: String,
    /// All that it may ever ask of the host.
    pub needs: Needs,
    /// What callers may set beyond what every turn has.
    pub options: Vec<OptionSpec>,
}

/// What an adapter asks for, or what a user grants it. Both sides have the same four lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    /// Names to look up in PATH, or patterns of absolute paths.
    pub programs: Vec<String>,
    /// Exact origins, or `$NAME` for the origin of the URL in that variable.
    pub origins: Vec<String>,
    /// Names of environment variables.
    pub variables: Vec<String>,
    /// Patterns of absolute paths.
    pub files: Vec<String>,
}

/// An option of an adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptionSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub help: String,
    /// What its value is.
    pub kind: OptionKind,
    /// The only texts allowed, where there is a choice.
    pub choices: Vec<String>,
    /// What it is when nobody sets it.
    pub default: Option<serde_json::Value>,
}

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionKind {
    /// True or false.
    Flag,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text.
    Text,
    /// A list of texts.
    List,
    /// Any JSON.
    Json,
}

/// The runtime's program, as an adapter found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Binary {
    /// Absolute path.
    pub program: String,
    /// What comes before every argument.
    pub leading_args: Vec<String>,
    /// The runtime's version.
    pub version: Option<String>,
    /// Whether the adapter was tested with that version.
    pub support: Support,
    /// What that version can do.
    pub capabilities: Vec<String>,
    /// Whether there is a login.
    pub login: Login,
    /// What a preflight should tell the user.
    pub notes: Vec<Note>,
}

impl Binary {
    /// Whether this version can do something, by the interface's name for it.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|name| name == capability)
    }
}

/// Whether an adapter was tested with a version of its runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It was.
    Tested,
    /// It is newer than any that was.
    NewerUntested,
    /// It is older than any that was.
    OlderUntested,
    /// Nobody knows; it may work.
    BestEffort,
    /// It is known not to work.
    Refused,
}

/// Whether the runtime has a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "detail", rename_all = "kebab-case")]
pub enum Login {
    /// By this.
    Present(String),
    /// Do this about it.
    Missing(String),
    /// The adapter cannot tell.
    Unknown,
}

/// Something a preflight should tell the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How grave it is.
    pub level: Level,
    /// What it is.
    pub text: String,
    /// The command that mends it.
    pub fix: Option<String>,
}

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// Good to know.
    Info,
    /// May need attention.
    Warn,
    /// Needs attention.
    Error,
}

/// A model that a runtime offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What `--model` takes.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Who makes it.
    pub vendor: Option<String>,
    /// The efforts it takes.
    pub efforts: Vec<String>,
    /// Its context window in tokens.
    pub context: Option<u64>,
    /// Whether it is used when none is named.
    pub is_default: bool,
    /// What else the vendor says of it.
    pub extra: Option<serde_json::Value>,
}

/// The models on offer, or why there is no list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", content = "detail", rename_all = "kebab-case")]
pub enum ModelList {
    /// These.
    Models(Vec<Model>),
    /// The adapter cannot list them.
    Unsupported,
    /// Not now, because of this.
    Unavailable(String),
    /// Not without a login: do this.
    NeedsAuth(String),
}

impl From<types::Level> for Level {
    fn from(level: types::Level) -> Level {
        match level {
            types::Level::Debug => Level::Debug,
            types::Level::Info => Level::Info,
            types::Level::Warn => Level::Warn,
            types::Level::Error => Level::Error,
        }
    }
}

impl From<Level> for types::Level {
    fn from(level: Level) -> types::Level {
        match level {
            Level::Debug => types::Level::Debug,
            Level::Info => types::Level::Info,
            Level::Warn => types::Level::Warn,
            Level::Error => types::Level::Error,
        }
    }
}

/// JSON text from an adapter: parsed, or kept as a string where it does not parse, so that nothing is lost.
pub(crate) fn json(text: String) -> serde_json::Value {
    serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
}

impl From<types::AdapterInfo> for AdapterInfo {
    fn from(info: types::AdapterInfo) -> AdapterInfo {
        AdapterInfo {
            id: info.id,
            name: info.name,
            version: info.version,
            tested_with: info.tested_with,
            install_hint: info.install_hint,
            needs: Needs {
                programs: info.needs.programs,
                origins: info.needs.origins,
                variables: info.needs.variables,
                files: info.needs.files,
            },
            options: info.options.into_iter().map(OptionSpec::from).collect(),
        }
    }
}

impl From<types::OptionSpec> for OptionSpec {
    fn from(option: types::OptionSpec) -> OptionSpec {
        let kind = match option.kind {
            types::OptionKind::Flag => OptionKind::Flag,
            types::OptionKind::Integer => OptionKind::Integer,
            types::OptionKind::Number => OptionKind::Number,
            types::OptionKind::Text => OptionKind::Text,
            types::OptionKind::List => OptionKind::List,
            types::OptionKind::Json => OptionKind::Json,
        };
        let default = option.default.map(json);
        OptionSpec { name: option.name, help: option.help, kind, choices: option.choices, default }
    }
}

/// The capabilities by the interface's names, in its order.
const CAPABILITIES: [(&str, types::Capabilities); 24] = [
    ("streaming", types::Capabilities::STREAMING),
    ("session-resume", types::Capabilities::SESSION_RESUME),
    ("session-fork", types::Capabilities::SESSION_FORK),
    ("choose-session-id", types::Capabilities::CHOOSE_SESSION_ID),
    ("session-persistence-control", types::Capabilities::SESSION_PERSISTENCE_CONTROL),
    ("system-prompt-file", types::Capabilities::SYSTEM_PROMPT_FILE),
    ("prompt-via-arg", types::Capabilities::PROMPT_VIA_ARG),
    ("model-discovery", types::Capabilities::MODEL_DISCOVERY),
    ("model-shorthands", types::Capabilities::MODEL_SHORTHANDS),
    ("effort-levels", types::Capabilities::EFFORT_LEVELS),
    ("fallback-model", types::Capabilities::FALLBACK_MODEL),
    ("token-usage", types::Capabilities::TOKEN_USAGE),
    ("cost-tracking", types::Capabilities::COST_TRACKING),
    ("budget-cap", types::Capabilities::BUDGET_CAP),
    ("turn-cap", types::Capabilities::TURN_CAP),
    ("bare-mode", types::Capabilities::BARE_MODE),
    ("duplex", types::Capabilities::DUPLEX),
    ("asks", types::Capabilities::ASKS),
    ("steering", types::Capabilities::STEERING),
    ("interrupt", types::Capabilities::INTERRUPT),
    ("tool-rules", types::Capabilities::TOOL_RULES),
    ("mcp-servers", types::Capabilities::MCP_SERVERS),
    ("autopilot", types::Capabilities::AUTOPILOT),
    ("structured-output", types::Capabilities::STRUCTURED_OUTPUT),
];

impl From<types::Binary> for Binary {
    fn from(binary: types::Binary) -> Binary {
        let capabilities = CAPABILITIES.iter().filter(|(_, flag)| binary.capabilities.contains(*flag));
        Binary {
            program: binary.program,
            leading_args: binary.leading_args,
            version: binary.version,
            support: match binary.support {
                types::Support::Tested => Support::Tested,
                types::Support::NewerUntested => Support::NewerUntested,
                types::Support::OlderUntested => Support::OlderUntested,
                types::Support::BestEffort => Support::BestEffort,
                types::Support::Refused => Support::Refused,
            },
            capabilities: capabilities.map(|(name, _)| (*name).to_owned()).collect(),
            login: match binary.login {
                types::Login::Present(how) => Login::Present(how),
                types::Login::Missing(what) => Login::Missing(what),
                types::Login::Unknown => Login::Unknown,
            },
            notes: binary
                .notes
                .into_iter()
                .map(|note| Note { level: note.level.into(), text: note.text, fix: note.fix })
                .collect(),
        }
    }
}

impl From<&Binary> for types::Binary {
    fn from(binary: &Binary) -> types::Binary {
        let chosen = CAPABILITIES.iter().filter(|(name, _)| binary.can(name));
        let notes = binary.notes.iter();
        types::Binary {
            program: binary.program.clone(),
            leading_args: binary.leading_args.clone(),
            version: binary.version.clone(),
            support: match binary.support {
                Support::Tested => types::Support::Tested,
                Support::NewerUntested => types::Support::NewerUntested,
                Support::OlderUntested => types::Support::OlderUntested,
                Support::BestEffort => types::Support::BestEffort,
                Support::Refused => types::Support::Refused,
            },
            capabilities: chosen.fold(types::Capabilities::empty(), |all, (_, flag)| all | *flag),
            login: match &binary.login {
                Login::Present(how) => types::Login::Present(how.clone()),
                Login::Missing(what) => types::Login::Missing(what.clone()),
                Login::Unknown => types::Login::Unknown,
            },
            notes: notes
                .map(|note| types::Note { level: note.level.into(), text: note.text.clone(), fix: note.fix.clone() })
                .collect(),
        }
    }
}

impl From<types::ModelList> for ModelList {
    fn from(list: types::ModelList) -> ModelList {
        match list {
            types::ModelList::Models(models) => ModelList::Models(models.into_iter().map(Model::from).collect()),
            types::ModelList::Unsupported => ModelList::Unsupported,
            types::ModelList::Unavailable(why) => ModelList::Unavailable(why),
            types::ModelList::NeedsAuth(what) => ModelList::NeedsAuth(what),
        }
    }
}

impl From<types::Model> for Model {
    fn from(model: types::Model) -> Model {
        Model {
            id: model.id,
            name: model.name,
            vendor: model.vendor,
            efforts: model.efforts,
            context: model.context,
            is_default: model.is_default,
            extra: model.extra.map(json),
        }
    }
}
