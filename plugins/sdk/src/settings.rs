//! The settings of a turn, each taken once.
//!
//! [`Adapter::launch`](crate::Adapter::launch) gets them instead of the turn's fields. What it does not take is reported
//! as unsupported, so that an adapter cannot forget a setting: neither one of today, nor one that the interface gets later.

use crate::{
    Approvals, Attachment, CallerTool, Effort, HookPoints, Json, Launch, PolicyRule, SessionChoice, ToolRules, Turn,
    UnsupportedSetting, json::Object, nearest_effort,
};

/// A setting that every turn has, in the order in which they are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of a turn")]
pub enum Setting {
    Session,
    SystemPrompt,
    ExtraDirs,
    Model,
    FallbackModel,
    Effort,
    MaxTurns,
    MaxCost,
    Approvals,
    Tools,
    McpServers,
    OutputSchema,
    StreamText,
    Autopilot,
    Attachments,
    CallerTools,
    Hooks,
    ExtraArgs,
}

impl Setting {
    /// All settings.
    pub const ALL: [Setting; 18] = [
        Setting::Session,
        Setting::SystemPrompt,
        Setting::ExtraDirs,
        Setting::Model,
        Setting::FallbackModel,
        Setting::Effort,
        Setting::MaxTurns,
        Setting::MaxCost,
        Setting::Approvals,
        Setting::Tools,
        Setting::McpServers,
        Setting::OutputSchema,
        Setting::StreamText,
        Setting::Autopilot,
        Setting::Attachments,
        Setting::CallerTools,
        Setting::Hooks,
        Setting::ExtraArgs,
    ];

    /// The name in reports and in configuration: "max-turns".
    pub fn name(self) -> &'static str {
        match self {
            Setting::Session => "session",
            Setting::SystemPrompt => "system-prompt",
            Setting::ExtraDirs => "extra-dirs",
            Setting::Model => "model",
            Setting::FallbackModel => "fallback-model",
            Setting::Effort => "effort",
            Setting::MaxTurns => "max-turns",
            Setting::MaxCost => "max-cost",
            Setting::Approvals => "approvals",
            Setting::Tools => "tools",
            Setting::McpServers => "mcp-servers",
            Setting::OutputSchema => "output-schema",
            Setting::StreamText => "stream-text",
            Setting::Autopilot => "autopilot",
            Setting::Attachments => "attachments",
            Setting::CallerTools => "caller-tools",
            Setting::Hooks => "hooks",
            Setting::ExtraArgs => "extra-args",
        }
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Which settings of a turn differ from those of a plain turn, as bits.
fn changed(turn: &Turn) -> u32 {
    // All fields by name, without `..`: a new setting of the interface does not compile until it is added here.
    let Turn {
        prompt: _,
        attachments,
        system_prompt,
        workspace: _,
        extra_dirs,
        session,
        model,
        fallback_model,
        effort,
        max_turns,
        max_cost_micros,
        approvals,
        tools,
        // The host reports the rules that the launch does not list as enforced.
        policy: _,
        mcp_servers,
        caller_tools,
        hooks,
        output_schema,
        stream_text,
        autopilot,
        options: _,
        extra_args,
    } = turn;
    let changed = [
        (Setting::Session, *session != SessionChoice::Fresh(None)),
        (Setting::SystemPrompt, system_prompt.is_some()),
        (Setting::ExtraDirs, !extra_dirs.is_empty()),
        (Setting::Model, model.is_some()),
        (Setting::FallbackModel, fallback_model.is_some()),
        (Setting::Effort, effort.is_some()),
        (Setting::MaxTurns, max_turns.is_some()),
        (Setting::MaxCost, max_cost_micros.is_some()),
        (Setting::Approvals, *approvals != Approvals::AllowAll),
        (Setting::Tools, tools.has_rules()),
        (Setting::McpServers, mcp_servers.is_some()),
        (Setting::OutputSchema, output_schema.is_some()),
        (Setting::StreamText, !stream_text),
        (Setting::Autopilot, *autopilot),
        (Setting::Attachments, !attachments.is_empty()),
        (Setting::CallerTools, !caller_tools.is_empty()),
        (Setting::Hooks, !hooks.is_empty()),
        (Setting::ExtraArgs, !extra_args.is_empty()),
    ];
    changed.into_iter().filter(|(_, is_changed)| *is_changed).fold(0, |bits, (setting, _)| bits | setting.bit())
}

/// The settings of one turn. A setting counts as applied once its value was taken.
#[derive(Debug)]
pub struct Settings<'a> {
    turn: &'a Turn,
    /// The bits of the settings that were requested.
    requested: u32,
    /// The bits of those that were neither taken nor reported.
    left: u32,
    unsupported: Vec<UnsupportedSetting>,
    reason: &'a str,
    transport: &'a str,
    /// The positions of the policy's rules that the agent enforces.
    enforced: Vec<u32>,
}

impl<'a> Settings<'a> {
    /// The settings of a turn, none of them taken yet.
    pub fn of(turn: &'a Turn) -> Settings<'a> {
        let requested = changed(turn);
        let reason = "this agent has no such setting";
        Settings { turn, requested, left: requested, unsupported: vec![], reason, transport: "", enforced: vec![] }
    }

    /// The same, over this transport.
    #[must_use]
    pub fn over(mut self, transport: &'a str) -> Settings<'a> {
        self.transport = transport;
        self
    }

    /// The transport that the host chose: one of those that `resolve_binary` named, or empty for the default.
    pub fn transport(&self) -> &'a str {
        self.transport
    }

    /// The turn, for what is no setting: the prompt, the workspace, the adapter's own options.
    pub fn turn(&self) -> &'a Turn {
        self.turn
    }

    /// The value of one of the adapter's own options.
    pub fn option(&self, name: &str) -> Json<'a> {
        self.turn.option(name)
    }

    /// The reason that is given for every setting that is not taken.
    pub fn otherwise(&mut self, reason: &'a str) {
        self.reason = reason;
    }

    /// Reports a setting as unsupported, if the turn requests it. It need not be taken then.
    #[inline(never)]
    pub fn unsupported(&mut self, setting: Setting, reason: &str) {
        self.left &= !setting.bit();
        if self.requested & setting.bit() != 0 {
            self.report(setting.name(), reason);
        }
    }

    /// Reports a part of a setting, or an option, as unsupported.
    #[inline(never)]
    pub fn report(&mut self, name: &str, reason: &str) {
        self.unsupported.push(UnsupportedSetting { name: name.to_owned(), reason: reason.to_owned() });
    }

    /// Adds everything that is unsupported to the launch, with the settings that nobody took.
    pub fn finish(self, launch: &mut Launch) {
        launch.unsupported.extend(self.unsupported);
        launch.enforced.extend(self.enforced);
        for setting in Setting::ALL.into_iter().filter(|setting| self.left & setting.bit() != 0) {
            launch.unsupported(setting.name(), self.reason);
        }
    }

    fn take(&mut self, setting: Setting) -> &'a Turn {
        self.left &= !setting.bit();
        self.turn
    }

    /// Which conversation to use.
    pub fn session(&mut self) -> &'a SessionChoice {
        &self.take(Setting::Session).session
    }

    /// The system prompt.
    pub fn system_prompt(&mut self) -> Option<&'a str> {
        self.take(Setting::SystemPrompt).system_prompt.as_deref()
    }

    /// Further folders that the agent may work in.
    pub fn extra_dirs(&mut self) -> &'a [String] {
        &self.take(Setting::ExtraDirs).extra_dirs
    }

    /// The model.
    pub fn model(&mut self) -> Option<&'a str> {
        self.take(Setting::Model).model.as_deref()
    }

    /// The model to use if the first is unavailable.
    pub fn fallback_model(&mut self) -> Option<&'a str> {
        self.take(Setting::FallbackModel).fallback_model.as_deref()
    }

    /// The effort, or the nearest one that the agent offers; that it is another one is reported.
    pub fn effort(&mut self, offered: &[Effort]) -> Option<Effort> {
        let name = self.take(Setting::Effort).effort.as_deref()?;
        let Some(requested) = Effort::parse(name) else {
            self.report("effort", &format!("`{name}` is not one of none, minimal, low, medium, high, xhigh, max"));
            return None;
        };
        let given = nearest_effort(requested, offered);
        if given != Some(requested) {
            let instead = given.map_or_else(String::new, |given| format!("; `{}` is used", given.name()));
            self.report("effort", &format!("the agent has no effort `{name}`{instead}"));
        }
        given
    }

    /// The limit of model calls.
    pub fn max_turns(&mut self) -> Option<u32> {
        self.take(Setting::MaxTurns).max_turns
    }

    /// The limit of the cost, in millionths of a US dollar.
    pub fn max_cost_micros(&mut self) -> Option<u64> {
        self.take(Setting::MaxCost).max_cost_micros
    }

    /// Who decides about tools.
    pub fn approvals(&mut self) -> Approvals {
        self.take(Setting::Approvals).approvals
    }

    /// The rules about tools.
    pub fn tools(&mut self) -> &'a ToolRules {
        &self.take(Setting::Tools).tools
    }

    /// The MCP servers, as the object `{"mcpServers":{…}}`, however the caller wrote it.
    pub fn mcp_servers(&mut self) -> Option<String> {
        let given = Json::parse(self.take(Setting::McpServers).mcp_servers.as_deref()?);
        let is_wrapped = given.get("mcpServers").is_object();
        Some(if is_wrapped { given.raw().to_owned() } else { Object::new().raw("mcpServers", given.raw()).finish() })
    }

    /// The JSON Schema of the answer.
    pub fn output_schema(&mut self) -> Option<&'a str> {
        self.take(Setting::OutputSchema).output_schema.as_deref()
    }

    /// Whether text is reported while it is written.
    pub fn stream_text(&mut self) -> bool {
        self.take(Setting::StreamText).stream_text
    }

    /// Files and images that go with the prompt.
    pub fn attachments(&mut self) -> &'a [Attachment] {
        &self.take(Setting::Attachments).attachments
    }

    /// Tools that the caller runs.
    pub fn caller_tools(&mut self) -> &'a [CallerTool] {
        &self.take(Setting::CallerTools).caller_tools
    }

    /// The points at which the caller wants to be asked. Those that the agent does not have are reported.
    pub fn hooks(&mut self, offered: HookPoints) -> HookPoints {
        let requested = self.take(Setting::Hooks).hooks;
        if !(requested - offered).is_empty() {
            self.report("hooks", "the agent has no hooks at some of the points that were requested");
        }
        requested & offered
    }

    /// Arguments for the agent's command line, unchanged.
    pub fn extra_args(&mut self) -> &'a [String] {
        &self.take(Setting::ExtraArgs).extra_args
    }

    /// Passes each rule of the policy to `enforce`, which returns whether the agent enforces it itself.
    pub fn enforce(&mut self, mut enforce: impl FnMut(&PolicyRule) -> bool) {
        for (position, rule) in (0..).zip(&self.turn.policy) {
            if enforce(rule) {
                self.enforced.push(position);
            }
        }
    }

    /// Whether the agent continues by itself until the task is done.
    pub fn autopilot(&mut self) -> bool {
        self.take(Setting::Autopilot).autopilot
    }
}

impl ToolRules {
    /// Whether there is any rule.
    pub fn has_rules(&self) -> bool {
        [&self.allow, &self.deny, &self.only, &self.without].iter().any(|rules| !rules.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decision, PolicyArea};

    fn plain() -> Turn {
        Turn {
            prompt: "hello".to_owned(),
            attachments: vec![],
            policy: vec![],
            caller_tools: vec![],
            hooks: HookPoints::empty(),
            extra_args: vec![],
            system_prompt: None,
            workspace: "/workspace".to_owned(),
            extra_dirs: vec![],
            session: SessionChoice::Fresh(None),
            model: None,
            fallback_model: None,
            effort: None,
            max_turns: None,
            max_cost_micros: None,
            approvals: Approvals::AllowAll,
            tools: ToolRules { allow: vec![], deny: vec![], only: vec![], without: vec![] },
            mcp_servers: None,
            output_schema: None,
            stream_text: true,
            autopilot: false,
            options: vec![("option".to_owned(), "1".to_owned())],
        }
    }

    fn everything() -> Turn {
        let text = || Some("x".to_owned());
        Turn {
            prompt: "hello".to_owned(),
            attachments: vec![Attachment {
                name: "a.png".to_owned(),
                media_type: "image/png".to_owned(),
                path: None,
                bytes: None,
            }],
            policy: vec![PolicyRule { area: PolicyArea::Commands, pattern: None, decision: Decision::Deny }],
            caller_tools: vec![CallerTool {
                name: "tool".to_owned(),
                description: String::new(),
                input_schema: "{}".to_owned(),
            }],
            hooks: HookPoints::BEFORE_TOOL,
            extra_args: vec!["--raw".to_owned()],
            system_prompt: text(),
            workspace: "/workspace".to_owned(),
            extra_dirs: vec!["/more".to_owned()],
            session: SessionChoice::MostRecent,
            model: text(),
            fallback_model: text(),
            effort: Some("high".to_owned()),
            max_turns: Some(1),
            max_cost_micros: Some(1),
            approvals: Approvals::Deny,
            tools: ToolRules { allow: vec![], deny: vec![], only: vec![], without: vec!["bash".to_owned()] },
            mcp_servers: Some("{}".to_owned()),
            output_schema: Some("{}".to_owned()),
            stream_text: false,
            autopilot: true,
            options: vec![],
        }
    }

    fn left(settings: Settings<'_>) -> Vec<String> {
        let mut launch = Launch::lines([""; 0]);
        settings.finish(&mut launch);
        launch.unsupported.into_iter().map(|setting| setting.name).collect()
    }

    #[test]
    fn every_setting_that_is_not_taken_is_reported() {
        assert_eq!(left(Settings::of(&plain())), [""; 0]);
        assert_eq!(left(Settings::of(&everything())), Setting::ALL.map(Setting::name));
    }

    #[test]
    fn each_setting_is_taken_by_its_own_name_only() {
        type Take = fn(&mut Settings<'_>);
        let takes: [(Setting, Take); 18] = [
            (Setting::Session, |settings| drop(settings.session().clone())),
            (Setting::SystemPrompt, |settings| assert_eq!(settings.system_prompt(), Some("x"))),
            (Setting::ExtraDirs, |settings| assert_eq!(settings.extra_dirs(), ["/more"])),
            (Setting::Model, |settings| assert_eq!(settings.model(), Some("x"))),
            (Setting::FallbackModel, |settings| assert_eq!(settings.fallback_model(), Some("x"))),
            (Setting::Effort, |settings| assert_eq!(settings.effort(&Effort::ALL), Some(Effort::High))),
            (Setting::MaxTurns, |settings| assert_eq!(settings.max_turns(), Some(1))),
            (Setting::MaxCost, |settings| assert_eq!(settings.max_cost_micros(), Some(1))),
            (Setting::Approvals, |settings| assert_eq!(settings.approvals(), Approvals::Deny)),
            (Setting::Tools, |settings| assert!(settings.tools().has_rules())),
            (Setting::McpServers, |settings| {
                assert_eq!(settings.mcp_servers().as_deref(), Some(r#"{"mcpServers":{}}"#));
            }),
            (Setting::OutputSchema, |settings| assert_eq!(settings.output_schema(), Some("{}"))),
            (Setting::StreamText, |settings| assert!(!settings.stream_text())),
            (Setting::Autopilot, |settings| assert!(settings.autopilot())),
            (Setting::Attachments, |settings| assert_eq!(settings.attachments().len(), 1)),
            (Setting::CallerTools, |settings| assert_eq!(settings.caller_tools().len(), 1)),
            (Setting::Hooks, |settings| {
                assert_eq!(settings.hooks(HookPoints::all()), HookPoints::BEFORE_TOOL);
            }),
            (Setting::ExtraArgs, |settings| assert_eq!(settings.extra_args(), ["--raw"])),
        ];
        assert_eq!(takes.map(|(setting, _)| setting), Setting::ALL);
        let turn = everything();
        for (taken, take) in takes {
            let mut settings = Settings::of(&turn);
            take(&mut settings);
            let others: Vec<&str> =
                Setting::ALL.into_iter().filter(|setting| *setting != taken).map(Setting::name).collect();
            assert_eq!(left(settings), others, "{taken:?}");
        }
    }

    #[test]
    fn rules_that_the_agent_enforces_are_listed_by_their_position() {
        let rule = |pattern: &str, decision| PolicyRule {
            area: PolicyArea::Commands,
            pattern: Some(pattern.to_owned()),
            decision,
        };
        let policy = vec![rule("ls", Decision::Allow), rule("rm", Decision::Deny), rule("dd", Decision::Deny)];
        let turn = Turn { policy, ..plain() };
        let mut settings = Settings::of(&turn);
        settings.enforce(|rule| rule.decision == Decision::Deny);
        let mut launch = Launch::lines([""; 0]);
        settings.finish(&mut launch);
        assert_eq!(launch.enforced, [1, 2]);
    }

    #[test]
    fn an_unsupported_setting_is_reported_once_and_only_if_it_is_requested() {
        let (turn, plain) = (Turn { model: Some("m".to_owned()), ..plain() }, plain());
        for (turn, reported) in [(&turn, vec!["model"]), (&plain, vec![])] {
            let mut settings = Settings::of(turn);
            settings.unsupported(Setting::Model, "there is one model");
            assert_eq!(left(settings), reported);
        }
    }

    #[test]
    fn an_effort_that_is_not_offered_is_replaced_and_reported() {
        for (requested, given, reported) in [
            ("high", Some(Effort::High), 0),
            ("max", Some(Effort::High), 1),
            ("none", Some(Effort::Low), 1),
            ("heroic", None, 1),
        ] {
            let turn = Turn { effort: Some(requested.to_owned()), ..plain() };
            let mut settings = Settings::of(&turn);
            assert_eq!(settings.effort(&[Effort::Low, Effort::High]), given, "{requested}");
            assert_eq!(left(settings).len(), reported, "{requested}");
        }
    }
}
