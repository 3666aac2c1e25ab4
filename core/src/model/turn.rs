//! One turn, as the caller requests it.

use super::agent::OptionSpec;
use super::attachment::Attachment;
use super::caller_tool::{CallerTool, HookPoint};
use super::effort::Effort;
use super::json;
use super::money::Money;
use super::options::{SettingError, check_depth, check_mcp_servers, check_option};
use super::plan::UnsupportedSetting;
use super::policy::PolicyRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Names and values that a caller attaches to a run and finds it by: `task=42`.
pub type Labels = BTreeMap<String, String>;

/// The settings of a turn that were set, by their names in [`Turn`].
pub type Settings = BTreeMap<String, Value>;

/// One request to the agent. Everything but the prompt has a default.
///
/// ```
/// let mut turn = wharf_core::model::Turn::new("Say hello").with_model("echo-loud");
/// turn.max_turns = Some(3);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Turn {
    /// What the agent is asked to do.
    pub prompt: String,
    /// Files and images that go with the prompt.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// Instructions on how to behave.
    pub system_prompt: Option<String>,
    /// The folder that it works in.
    pub workspace: PathBuf,
    /// Folders beside the workspace that it may use.
    pub extra_dirs: Vec<PathBuf>,
    /// Which conversation to continue.
    pub session: SessionChoice,
    /// The id that [`Turn::complete`] offers for a new session. Apart from `session`: that the agent cannot use an id is
    /// reported only if the caller chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_session_id: Option<String>,
    /// The model, by the agent's own name for it.
    pub model: Option<String>,
    /// Fallback model if the first is unavailable.
    pub fallback_model: Option<String>,
    /// How much the model reasons.
    pub effort: Option<Effort>,
    /// The maximum number of rounds (model calls).
    pub max_turns: Option<u32>,
    /// The maximum cost.
    pub max_cost: Option<Money>,
    /// What happens when the agent requests to use a tool.
    pub approvals: Approvals,
    /// Which tools it may use, in the agent's own notation.
    pub tools: ToolRules,
    /// What it may do, in terms that every agent shares.
    #[serde(default)]
    pub policy: Vec<PolicyRule>,
    /// MCP servers, in the `{"mcpServers": …}` form.
    #[serde(default, deserialize_with = "json::optional")]
    pub mcp_servers: Option<Value>,
    /// Tools that the caller runs.
    #[serde(default)]
    pub caller_tools: Vec<CallerTool>,
    /// The points at which the caller wants to be asked.
    #[serde(default)]
    pub hooks: BTreeSet<HookPoint>,
    /// A JSON Schema for the answer.
    #[serde(default, deserialize_with = "json::optional")]
    pub output_schema: Option<Value>,
    /// Whether to report text while it is being written.
    pub stream_text: bool,
    /// Whether the agent continues by itself until the task is done.
    pub autopilot: bool,
    /// Whether messages may be sent to the agent while it works. If the agent cannot take messages, each one is
    /// rejected with the reason.
    #[serde(default)]
    pub messages: bool,
    /// How to talk to the agent; without a choice, by what the turn needs.
    #[serde(default)]
    pub transport: Option<String>,
    /// The adapter's own options.
    #[serde(deserialize_with = "json::by_name")]
    pub options: BTreeMap<String, Value>,
    /// Arguments for the agent's command line, unchanged. Refused unless the user's configuration grants them.
    #[serde(default)]
    pub extra_args: Vec<String>,
}

/// Another turn in the process of the first, in its session and its workspace.
///
/// ```
/// let mut turn = wharf_core::model::NextTurn::new("And louder");
/// turn.model = Some("echo-loud".into());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NextTurn {
    /// What the agent is asked to do.
    pub prompt: String,
    /// Another model than the first turn's.
    #[serde(default)]
    pub model: Option<String>,
    /// Other approvals than the first turn's.
    #[serde(default)]
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
    /// A new one, under this id if the agent lets the caller choose.
    Fresh(Option<String>),
    /// The one with this id.
    Resume(String),
    /// A copy of the one with this id.
    Fork(String),
    /// The one that the agent used last.
    MostRecent,
}

/// What happens when the agent requests to use a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Which tools the agent may use, in the agent's own notation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRules {
    /// Allowed without asking.
    pub allow: Vec<String>,
    /// Never allowed.
    pub deny: Vec<String>,
    /// The only tools that the model sees.
    pub only: Vec<String>,
    /// Tools that the model does not see.
    pub without: Vec<String>,
}

impl Turn {
    /// A turn with the default settings, in the current folder.
    pub fn new(prompt: impl Into<String>) -> Turn {
        Turn {
            prompt: prompt.into(),
            attachments: vec![],
            system_prompt: None,
            workspace: PathBuf::from("."),
            extra_dirs: vec![],
            session: SessionChoice::Fresh(None),
            offered_session_id: None,
            model: None,
            fallback_model: None,
            effort: None,
            max_turns: None,
            max_cost: None,
            approvals: Approvals::default(),
            tools: ToolRules::default(),
            policy: vec![],
            mcp_servers: None,
            caller_tools: vec![],
            hooks: BTreeSet::new(),
            output_schema: None,
            stream_text: true,
            autopilot: false,
            messages: false,
            transport: None,
            options: BTreeMap::new(),
            extra_args: vec![],
        }
    }

    /// In this folder.
    #[must_use]
    pub fn with_workspace(mut self, workspace: impl Into<PathBuf>) -> Turn {
        self.workspace = workspace.into();
        self
    }

    /// With this model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Turn {
        self.model = Some(model.into());
        self
    }

    /// With these approvals.
    #[must_use]
    pub fn with_approvals(mut self, approvals: Approvals) -> Turn {
        self.approvals = approvals;
        self
    }

    /// In this session.
    #[must_use]
    pub fn with_session(mut self, session: SessionChoice) -> Turn {
        self.session = session;
        self
    }

    /// With a file or an image.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Attachment) -> Turn {
        self.attachments.push(attachment);
        self
    }

    /// Over this transport and no other.
    #[must_use]
    pub fn with_transport(mut self, transport: impl Into<String>) -> Turn {
        self.transport = Some(transport.into());
        self
    }

    /// With one of the adapter's own options.
    #[must_use]
    pub fn with_option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Turn {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Checks the turn against the adapter's options and fills in what was left open: an id to offer for a new session
    /// and the options' defaults.
    pub fn complete(
        mut self,
        adapter: &str,
        specs: &[OptionSpec],
        new_session_id: impl FnOnce() -> String,
    ) -> Result<Turn, SettingError> {
        if self.prompt.trim().is_empty() {
            return Err(SettingError {
                message: "the prompt is empty: there is nothing to ask the agent".to_owned(),
                hint: "give it as an argument, with --file, or on standard input".to_owned(),
            });
        }
        let id = match &self.session {
            SessionChoice::Fresh(id) => id.as_deref(),
            SessionChoice::Resume(id) | SessionChoice::Fork(id) => Some(id.as_str()),
            SessionChoice::MostRecent => None,
        };
        if id.is_some_and(|id| id.trim().is_empty()) {
            return Err(SettingError {
                message: "the id of a session must not be empty".to_owned(),
                hint: "name one, or leave the id out for one that is chosen by itself".to_owned(),
            });
        }
        let folders = std::iter::once(&self.workspace).chain(&self.extra_dirs);
        if let Some(folder) = folders.into_iter().find(|folder| folder.to_str().is_none()) {
            return Err(SettingError {
                message: format!("the folder {} cannot be used: its path is not UTF-8", folder.display()),
                hint: "rename it: agents, events and recordings have paths as text".to_owned(),
            });
        }
        for (name, value) in [("mcp_servers", &self.mcp_servers), ("output_schema", &self.output_schema)] {
            value.iter().try_for_each(|value| check_depth(name, value))?;
        }
        if let Some(servers) = &self.mcp_servers {
            check_mcp_servers(servers)?;
        }
        if self.session == SessionChoice::Fresh(None) {
            self.offered_session_id = Some(new_session_id());
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

    /// Whether its answer has to be in a schema, which the agent can apply.
    pub fn expects_structured_output(&self, unsupported: &[UnsupportedSetting]) -> bool {
        self.output_schema.is_some() && !unsupported.iter().any(|setting| setting.name == "output-schema")
    }

    /// This turn with the changes of another one in the same process.
    #[must_use]
    pub fn followed_by(&self, next: NextTurn) -> Turn {
        Turn {
            prompt: next.prompt,
            attachments: vec![],
            model: next.model.or_else(|| self.model.clone()),
            approvals: next.approvals.unwrap_or(self.approvals),
            ..self.clone()
        }
    }

    /// What was set beside the prompt and the workspace. Of MCP servers only the names, because their settings often
    /// have credentials in them.
    pub fn settings(&self) -> Settings {
        let default = serde_json::to_value(Turn::new("")).unwrap_or_default();
        let Ok(Value::Object(fields)) = serde_json::to_value(self) else { return Settings::new() };
        let mut settings: Settings =
            fields.into_iter().filter(|(name, value)| default.get(name) != Some(value)).collect();
        settings.retain(|name, _| !matches!(name.as_str(), "prompt" | "workspace" | "offered_session_id"));
        if let Some(attachments) = settings.get_mut("attachments") {
            *attachments = self.attachments.iter().map(|attachment| attachment.name.clone()).collect();
        }
        if let Some(servers) = settings.get_mut("mcp_servers") {
            let named = servers.get("mcpServers").and_then(Value::as_object);
            *servers = named.map(|named| named.keys().cloned().collect()).unwrap_or_default();
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OptionKind;

    fn spec(name: &str, kind: OptionKind, choices: &[&str], default: Option<Value>) -> OptionSpec {
        OptionSpec {
            name: name.into(),
            help: String::new(),
            kind,
            choices: choices.iter().map(|choice| (*choice).into()).collect(),
            default,
        }
    }

    fn specs() -> Vec<OptionSpec> {
        vec![
            spec("bare", OptionKind::Flag, &[], Some(Value::Bool(false))),
            spec("transport", OptionKind::Text, &["auto", "acp"], Some(Value::from("auto"))),
            spec("retries", OptionKind::Integer, &[], None),
        ]
    }

    fn complete(turn: Turn, specs: &[OptionSpec]) -> Result<Turn, SettingError> {
        turn.complete("x", specs, || "new".to_owned())
    }

    #[test]
    fn defaults_are_filled_in_and_what_was_set_stays() {
        let turn = complete(Turn::new("hi").with_option("transport", "acp"), &specs()).expect("a valid turn");
        assert_eq!(turn.options["transport"], "acp");
        assert_eq!(turn.options["bare"], false);
        assert!(!turn.options.contains_key("retries"));
        let resumed = complete(Turn::new("hi").with_session(SessionChoice::Resume("s".into())), &[]).expect("valid");
        assert_eq!(resumed.session, SessionChoice::Resume("s".into()));
    }

    #[test]
    fn an_id_that_the_caller_chose_is_told_from_one_that_is_offered() {
        for (chosen, offered) in [(None, Some("new")), (Some("mine"), None)] {
            let chosen = SessionChoice::Fresh(chosen.map(str::to_owned));
            let turn = complete(Turn::new("hi").with_session(chosen.clone()), &[]).expect("a valid turn");
            assert_eq!((&turn.session, turn.offered_session_id.as_deref()), (&chosen, offered));
        }
    }

    #[test]
    fn invalid_settings_are_refused_with_the_valid_ones() {
        let with = |name: &str, value: Value| {
            complete(Turn::new("hi").with_option(name, value), &specs()).expect_err("refused").hint
        };
        assert!(with("nope", Value::Null).contains("bare, transport, retries"));
        assert!(with("transport", Value::from("carrier pigeon")).contains("auto, acp"));
        assert!(with("retries", Value::from("three")).contains("whole number"));
        assert!(complete(Turn::new(" \n"), &[]).is_err());
        for session in [SessionChoice::Fresh(Some(String::new())), SessionChoice::Resume(" ".into())] {
            let error = complete(Turn::new("hi").with_session(session), &[]).expect_err("refused");
            assert!(error.message.contains("must not be empty"), "{error:?}");
        }
    }

    #[test]
    fn settings_are_what_was_set_and_no_credentials() {
        assert_eq!(Turn::new("hi").settings(), Settings::new());
        let mut turn = Turn::new("hi").with_model("m").with_workspace("/w");
        turn.mcp_servers = Some(serde_json::json!({"mcpServers": {"db": {"env": {"TOKEN": "hunter2hunter2"}}}}));
        let settings = turn.settings();
        assert_eq!(settings.keys().collect::<Vec<_>>(), ["mcp_servers", "model"]);
        assert_eq!(settings["mcp_servers"], serde_json::json!(["db"]));
    }
}
