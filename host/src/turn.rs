//! One turn, as the caller wants it, and how an adapter says to start it.

use crate::bindings::types;
use crate::error::{Error, Result};
use crate::info::{OptionKind, OptionSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One request to the agent. Everything but the prompt has a default.
///
/// ```
/// let turn = wharf::Turn { model: Some("echo-loud".into()), ..wharf::Turn::new("Say hello") };
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// What the agent is asked.
    pub prompt: String,
    /// What it is told about how to behave.
    pub system_prompt: Option<String>,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// Folders beside the workspace that it may use.
    pub extra_dirs: Vec<PathBuf>,
    /// Which conversation to go on with.
    pub session: SessionChoice,
    /// The model, by the runtime's own name.
    pub model: Option<String>,
    /// The model to take when the first one is not to be had.
    pub fallback_model: Option<String>,
    /// none, minimal, low, medium, high, xhigh or max.
    pub effort: Option<String>,
    /// The most rounds that the agent may go through.
    pub max_turns: Option<u32>,
    /// The most that it may cost, in millionths of a US dollar.
    pub max_cost_micros: Option<u64>,
    /// What happens when the agent wants to use a tool.
    pub approvals: Approvals,
    /// Which tools it may use.
    pub tools: ToolRules,
    /// MCP servers, in the `{"mcpServers": …}` form.
    pub mcp_servers: Option<Value>,
    /// A JSON Schema that the answer shall follow.
    pub output_schema: Option<Value>,
    /// Whether text is wanted while it is being written.
    pub stream_text: bool,
    /// Whether the agent shall go on by itself until the task is done.
    pub autopilot: bool,
    /// Whether more may be said to the agent while it works. Adapters that have two ways to run their agent are told by
    /// their option `duplex`; where it cannot be had, the wish is among the ignored.
    #[serde(default)]
    pub messages: bool,
    /// The adapter's own options.
    pub options: BTreeMap<String, Value>,
}

/// Another turn in the process of the first, in its session and its workspace
/// ([`RunOptions::stays`](crate::RunOptions::stays)).
///
/// ```
/// let turn = wharf::NextTurn { model: Some("echo-loud".into()), ..wharf::NextTurn::new("And louder") };
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NextTurn {
    /// What the agent is asked.
    pub prompt: String,
    /// Another model than the first turn's.
    pub model: Option<String>,
    /// Other approvals than the first turn's.
    pub approvals: Option<Approvals>,
}

impl NextTurn {
    /// A turn like the first.
    pub fn new(prompt: impl Into<String>) -> NextTurn {
        NextTurn { prompt: prompt.into(), model: None, approvals: None }
    }
}

/// Which conversation a turn belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionChoice {
    /// A new one, under this id where the runtime lets the caller choose.
    Fresh(Option<String>),
    /// This one.
    Resume(String),
    /// A copy of this one.
    Fork(String),
    /// Whichever the runtime used last.
    MostRecent,
}

/// What happens when the agent wants to use a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approvals {
    /// It may.
    AllowAll,
    /// Somebody is asked.
    Ask,
    /// It may not, unless a rule allows it.
    #[default]
    Deny,
}

/// Which tools the agent may use, in the runtime's own notation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRules {
    /// Allowed without asking.
    pub allow: Vec<String>,
    /// Never allowed.
    pub deny: Vec<String>,
    /// The only tools that the model is shown.
    pub only: Vec<String>,
    /// Tools that the model is not shown.
    pub without: Vec<String>,
}

impl Turn {
    /// A turn in which nothing is wished for but an answer.
    pub fn new(prompt: impl Into<String>) -> Turn {
        Turn {
            prompt: prompt.into(),
            system_prompt: None,
            workspace: PathBuf::from("."),
            extra_dirs: vec![],
            session: SessionChoice::Fresh(None),
            model: None,
            fallback_model: None,
            effort: None,
            max_turns: None,
            max_cost_micros: None,
            approvals: Approvals::default(),
            tools: ToolRules::default(),
            mcp_servers: None,
            output_schema: None,
            stream_text: true,
            autopilot: false,
            messages: false,
            options: BTreeMap::new(),
        }
    }

    /// Check the wishes against what the adapter takes, fill in what was left open: the whole path of the workspace,
    /// a session id to choose, the options' defaults.
    pub(crate) fn complete(mut self, adapter: &str, specs: &[OptionSpec]) -> Result<Turn> {
        if self.prompt.trim().is_empty() {
            return Err(Error::invalid("the prompt is empty: there is nothing to ask the agent")
                .hint("give it as an argument, with --file, or on standard input"));
        }
        let given = self.workspace.display().to_string();
        self.workspace = std::fs::canonicalize(&self.workspace)
            .map_err(|why| Error::invalid(format!("the workspace {given} cannot be used: {why}")))?;
        if !self.workspace.is_dir() {
            return Err(Error::invalid(format!("the workspace {given} is not a folder")));
        }
        if self.session == SessionChoice::Fresh(None) {
            self.session = SessionChoice::Fresh(Some(uuid::Uuid::new_v4().to_string()));
        }
        if let Some(effort) = &self.effort
            && !EFFORTS.contains(&effort.as_str())
        {
            return Err(
                Error::invalid(format!("`{effort}` is not an effort")).hint(format!("one of {}", EFFORTS.join(", ")))
            );
        }
        if self.messages && specs.iter().any(|spec| spec.name == DUPLEX && spec.kind == OptionKind::Flag) {
            self.options.entry(DUPLEX.to_owned()).or_insert(Value::Bool(true));
        }
        for (name, value) in &self.options {
            check_option(adapter, specs, name, value)?;
        }
        for spec in specs {
            if let Some(default) = &spec.default {
                self.options.entry(spec.name.clone()).or_insert_with(|| default.clone());
            }
        }
        Ok(self)
    }
}

/// The option by which an adapter lets its caller choose that the agent's stdin stays open.
const DUPLEX: &str = "duplex";

/// The efforts of the common scale, in rising order.
pub const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

fn check_option(adapter: &str, specs: &[OptionSpec], name: &str, value: &Value) -> Result<()> {
    let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let known =
            if names.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", names.join(", ")) };
        return Err(Error::invalid(format!("the adapter {adapter} has no option `{name}`"))
            .hint(format!("{known}; see `wharf adapters show {adapter}`")));
    };
    let fits = match spec.kind {
        OptionKind::Flag => value.is_boolean(),
        OptionKind::Integer => value.is_i64() || value.is_u64(),
        OptionKind::Number => value.is_number(),
        OptionKind::Text => value.is_string(),
        OptionKind::List => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        OptionKind::Json => true,
    };
    let chosen =
        spec.choices.is_empty() || value.as_str().is_some_and(|text| spec.choices.iter().any(|one| one == text));
    if fits && chosen {
        return Ok(());
    }
    let wanted = match (spec.choices.as_slice(), spec.kind) {
        ([], OptionKind::Flag) => "true or false".to_owned(),
        ([], OptionKind::Integer) => "a whole number".to_owned(),
        ([], OptionKind::Number) => "a number".to_owned(),
        ([], OptionKind::List) => "a list of texts: [\"a\", \"b\"]".to_owned(),
        ([], _) => "a text".to_owned(),
        (choices, _) => format!("one of {}", choices.join(", ")),
    };
    Err(Error::invalid(format!("the option `{name}` of the adapter {adapter} cannot be {value}"))
        .hint(format!("it takes {wanted}")))
}

/// The value of `--option name=value`: what the option's kind says, else JSON where it parses, else a text.
pub fn parse_option(specs: &[OptionSpec], name: &str, text: &str) -> Value {
    let kind = specs.iter().find(|spec| spec.name == name).map(|spec| spec.kind);
    match kind {
        Some(OptionKind::Text) => Value::String(text.to_owned()),
        Some(OptionKind::List) if !text.trim_start().starts_with('[') => {
            Value::Array(text.split(',').map(|item| Value::String(item.trim().to_owned())).collect())
        }
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

impl From<&Turn> for types::Turn {
    fn from(turn: &Turn) -> types::Turn {
        types::Turn {
            prompt: turn.prompt.clone(),
            system_prompt: turn.system_prompt.clone(),
            workspace: turn.workspace.to_string_lossy().into_owned(),
            extra_dirs: turn.extra_dirs.iter().map(|dir| dir.to_string_lossy().into_owned()).collect(),
            session: match &turn.session {
                SessionChoice::Fresh(id) => types::SessionChoice::Fresh(id.clone()),
                SessionChoice::Resume(id) => types::SessionChoice::Resume(id.clone()),
                SessionChoice::Fork(id) => types::SessionChoice::Fork(id.clone()),
                SessionChoice::MostRecent => types::SessionChoice::MostRecent,
            },
            model: turn.model.clone(),
            fallback_model: turn.fallback_model.clone(),
            effort: turn.effort.clone(),
            max_turns: turn.max_turns,
            max_cost_micros: turn.max_cost_micros,
            approvals: match turn.approvals {
                Approvals::AllowAll => types::Approvals::AllowAll,
                Approvals::Ask => types::Approvals::Ask,
                Approvals::Deny => types::Approvals::Deny,
            },
            tools: types::ToolRules {
                allow: turn.tools.allow.clone(),
                deny: turn.tools.deny.clone(),
                only: turn.tools.only.clone(),
                without: turn.tools.without.clone(),
            },
            mcp_servers: turn.mcp_servers.as_ref().map(Value::to_string),
            output_schema: turn.output_schema.as_ref().map(Value::to_string),
            stream_text: turn.stream_text,
            autopilot: turn.autopilot,
            options: turn.options.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs() -> Vec<OptionSpec> {
        let spec = |name: &str, kind, choices: &[&str], default| OptionSpec {
            name: name.into(),
            help: String::new(),
            kind,
            choices: choices.iter().map(|choice| (*choice).into()).collect(),
            default,
        };
        vec![
            spec("bare", OptionKind::Flag, &[], Some(Value::Bool(false))),
            spec("transport", OptionKind::Text, &["auto", "acp"], Some(Value::from("auto"))),
            spec("retries", OptionKind::Integer, &[], None),
        ]
    }

    #[test]
    fn defaults_are_filled_in_and_wishes_stay() {
        let mut turn = Turn::new("hi");
        turn.options.insert("transport".into(), Value::from("acp"));
        let turn = turn.complete("x", &specs()).expect("a good turn");
        assert_eq!(turn.options["transport"], "acp");
        assert_eq!(turn.options["bare"], false);
        assert!(!turn.options.contains_key("retries"));
        assert!(turn.workspace.is_absolute());
        assert!(matches!(turn.session, SessionChoice::Fresh(Some(_))));
    }

    #[test]
    fn a_turn_with_messages_chooses_duplex_where_that_is_a_choice() {
        let duplex = OptionSpec {
            name: DUPLEX.into(),
            help: String::new(),
            kind: OptionKind::Flag,
            choices: vec![],
            default: Some(Value::Bool(false)),
        };
        let chosen = |messages, given: Option<bool>, specs: &[OptionSpec]| {
            let options = given.map(|given| (DUPLEX.to_owned(), Value::Bool(given))).into_iter().collect();
            let turn = Turn { messages, options, ..Turn::new("hi") }.complete("x", specs).expect("a good turn");
            turn.options.get(DUPLEX).and_then(Value::as_bool)
        };
        let specs = [duplex];
        assert_eq!(chosen(false, None, &specs), Some(false));
        assert_eq!(chosen(true, None, &specs), Some(true));
        assert_eq!(chosen(true, Some(false), &specs), Some(false), "what was said aloud counts");
        assert_eq!(chosen(true, None, &[]), None);
    }

    #[test]
    fn bad_wishes_are_refused_with_what_would_do() {
        let with = |name: &str, value: Value| {
            let mut turn = Turn::new("hi");
            turn.options.insert(name.into(), value);
            turn.complete("x", &specs()).expect_err("refused")
        };
        assert!(with("nope", Value::Null).to_do().is_some_and(|hint| hint.contains("bare, transport, retries")));
        assert!(
            with("transport", Value::from("carrier pigeon")).to_do().is_some_and(|hint| hint.contains("auto, acp"))
        );
        assert!(with("retries", Value::from("three")).to_do().is_some_and(|hint| hint.contains("whole number")));
        assert!(Turn::new(" \n").complete("x", &[]).is_err());
        let nowhere = Turn { workspace: "/no/such/folder".into(), ..Turn::new("hi") };
        assert!(nowhere.complete("x", &[]).expect_err("refused").to_string().contains("/no/such/folder"));
        let effort = Turn { effort: Some("huge".into()), ..Turn::new("hi") };
        assert!(effort.complete("x", &[]).expect_err("refused").to_do().is_some_and(|hint| hint.contains("xhigh")));
    }

    #[test]
    fn options_on_the_command_line_follow_their_kind() {
        assert_eq!(parse_option(&specs(), "transport", "123"), Value::from("123"));
        assert_eq!(parse_option(&specs(), "retries", "3"), Value::from(3));
        assert_eq!(parse_option(&specs(), "bare", "true"), Value::Bool(true));
        assert_eq!(parse_option(&specs(), "unknown", "x y"), Value::from("x y"));
    }
}
