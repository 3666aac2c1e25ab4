//! The adapter to read first: for an example agent that prints plain JSON lines.
//!
//! The agent is `wharf echo-agent` (see `agent/`), or the scripted agent of the tests. It reads its prompt from stdin. Over
//! the transport `duplex` stdin stays open, and answers and messages follow there, one JSON line each.

use wharf_adapter::json::Object;
use wharf_adapter::{
    Adapter, AdapterInfo, Approvals, Ask, AskKind, Binary, Capabilities, Choice, ChoiceKind, Effects, Environment,
    ErrorClass, Event, ExitBehavior, Failure, Host, Input, Json, Launch, Login, Malformed, Model, ModelList,
    OptionKind, Probe, PromptDelivery, SessionChoice, SessionInfo, Settings, Tested, ToolCall, ToolStatus, Turn, Usage,
    UsageScope, Version, locate,
};

#[cfg(test)]
mod tests;

/// The versions that it was tested with: the agent comes with wharf.
const TESTED: Tested = Tested(&[Version(1, 0, 0)]);

/// How to get the agent.
const INSTALL: &str = "it is part of the program `wharf`, which finds itself; a program that embeds the library names \
    one in its configuration: [programs] echo = \"/path/to/wharf\"";

/// The transport over which stdin stays open.
const DUPLEX: &str = "duplex";

/// The state of one run: the settings that the output is read with.
#[derive(Default)]
pub struct Echo {
    /// The session to resume, to report whether it was resumed.
    requested_session: Option<String>,
    /// The answer to every question, unless the user is asked.
    fixed_answer: Option<bool>,
    /// Whether stdin stays open.
    duplex: bool,
}

impl Adapter for Echo {
    fn describe() -> AdapterInfo {
        let info = AdapterInfo::new("echo", "Echo, the example agent", env!("CARGO_PKG_VERSION"))
            .program("wharf-echo-agent")
            .option("script", OptionKind::Text, None, "a script for the agent to follow instead of echoing")
            .option("delay", OptionKind::Integer, None, "milliseconds between two parts of the answer");
        AdapterInfo { tested_with: TESTED.to_string(), install_hint: INSTALL.to_owned(), ..info }
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        let mut binary = Binary::at(locate(host, environment, &["wharf-echo-agent"], INSTALL)?);
        // Without a separate program the agent is a hidden command of `wharf` itself.
        let file_name = binary.program.rsplit(['/', '\\']).next().unwrap_or_default();
        if !file_name.contains("agent") {
            binary.leading_args = vec!["echo-agent".to_owned()];
        }
        binary.set_version(Probe::new(host, &binary).version(), TESTED, &[], INSTALL);
        binary.login = Login::Present("not needed".to_owned());
        let always = Capabilities::STREAMING
            | Capabilities::SESSION_RESUME
            | Capabilities::CHOOSE_SESSION_ID
            | Capabilities::TOKEN_USAGE
            | Capabilities::MODEL_DISCOVERY;
        let duplex = Capabilities::DUPLEX | Capabilities::ASKS | Capabilities::STEERING | Capabilities::INTERRUPT;
        binary.transport("lines", always);
        binary.transport(DUPLEX, always | duplex);
        Ok(binary)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, _binary: &Binary) -> Result<Launch, Failure> {
        let mut launch = Launch::lines([] as [&str; 0]);
        settings.otherwise("the echo agent only repeats its prompt");
        match settings.session() {
            SessionChoice::Fresh(Some(id)) => launch.pair("--session", id.as_str()),
            SessionChoice::Resume(id) => {
                launch.pair("--resume", id.as_str());
                self.requested_session = Some(id.clone());
            }
            SessionChoice::Fresh(None) => {}
            SessionChoice::Fork(_) | SessionChoice::MostRecent => {
                settings.report("session", "the echo agent can only start or resume a session by its id");
            }
        }
        if let Some(model) = settings.model() {
            launch.pair("--model", model);
        }
        if let Some(system) = settings.system_prompt() {
            let file = launch.file("system.txt", system);
            launch.pair("--system", file);
        }
        for option in ["script", "delay"] {
            let value = settings.option(option);
            if let Some(value) = value.str() {
                launch.pair(&format!("--{option}"), value.as_ref());
            } else if !value.is_missing() {
                launch.pair(&format!("--{option}"), value.raw());
            }
        }
        // With `ask` the user answers, otherwise the adapter does. Without duplex the agent never asks.
        let approvals = settings.approvals();
        self.fixed_answer = (approvals != Approvals::Ask).then_some(approvals == Approvals::AllowAll);
        self.duplex = settings.transport() == DUPLEX;
        if self.duplex {
            launch.arg("--duplex");
            launch.exit_behavior = ExitBehavior::WhenStdinCloses;
        }
        Ok(launch)
    }

    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary, _transport: &str) -> Result<PromptDelivery, Failure> {
        Ok(if self.duplex {
            PromptDelivery::StdinOpen((prompt(turn) + "\n").into_bytes())
        } else {
            PromptDelivery::Stdin(turn.prompt.clone().into_bytes())
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [kind, id, text, parent] = line.pick(["type", "id", "text", "parent"])?;
        let kind = kind.name().ok_or(Malformed)?;
        let id = id.str().unwrap_or_default();
        let parent = parent.str();
        match kind {
            "hello" => {
                let [session, model, version] = line.pick(["session", "model", "version"])?;
                let session = session.string().ok_or(Malformed)?;
                out.emit(Event::Session(SessionInfo {
                    resumed: self.requested_session.as_ref().map(|requested| *requested == session),
                    id: Some(session),
                    model: model.string(),
                    agent_version: version.string(),
                }));
            }
            "delta" => out.text_delta(&*id, parent.as_deref(), text.text_or_empty()),
            "say" => out.message(&*id, parent.as_deref(), text.text_or_empty()),
            "think" => out.thinking(&*id, parent.as_deref(), text.text_or_empty()),
            "retry" => out.emit(Event::Discard(id.into_owned().into())),
            "tool" => {
                let [name, status, input, output, code] =
                    line.pick(["name", "status", "input", "output", "exit_code"])?;
                out.tool(ToolCall {
                    name: name.string(),
                    parent: parent.as_deref().map(Into::into),
                    input: input.verbatim(),
                    output: output.text(),
                    exit_code: code.i32(),
                    ..ToolCall::new(&*id, tool_status(status.name()))
                });
            }
            "usage" => {
                let [input, output] = line.pick(["input", "output"])?;
                out.usage(Usage {
                    input: input.u64(),
                    output: output.u64(),
                    ..Usage::new(UsageScope::TurnTotal, "usage", true)
                });
            }
            "ask" => match self.fixed_answer {
                None => out.emit(Event::Ask(ask(&id, line)?)),
                Some(allow) => {
                    out.write_line(Object::new().str("type", "answer").str("ask", &id).bool("allow", allow).finish());
                }
            },
            "done" => out.completed(None),
            "failed" => out.failed(Failure::new(error_class(line.get("class").name()), text.str().unwrap_or_default())),
            other => out.unknown(other),
        }
        Ok(())
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Answer(answer) => {
                let allowed = answer.choice.as_deref() == Some("allow");
                let line = Object::new().str("type", "answer").str("ask", &answer.ask).bool("allow", allowed);
                let line = line.maybe_str("text", answer.text.as_deref());
                out.write_line(match &answer.input {
                    Some(input) => line.raw("input", input).finish(),
                    None => line.finish(),
                });
            }
            Input::Message(text) => out.write_line(Object::new().str("type", "message").str("text", &text).finish()),
            Input::Cancel => out.write_line(Object::new().str("type", "cancel").finish()),
            _ => {}
        }
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        if self.duplex {
            out.write_line(prompt(turn));
        }
    }

    fn list_models(&mut self, _host: &dyn Host, _binary: Option<&Binary>) -> ModelList {
        let model = |id: &str, name: &str, is_default| Model {
            id: id.to_owned(),
            name: name.to_owned(),
            vendor: Some("wharf".to_owned()),
            efforts: vec![],
            context: None,
            is_default,
            extra: None,
        };
        ModelList::Models(vec![model("echo-1", "Echo", true), model("echo-loud", "Echo, loud", false)])
    }
}

/// The line that starts a turn. The model of the first turn is also on the command line.
fn prompt(turn: &Turn) -> String {
    let line = Object::new().str("type", "prompt").str("text", &turn.prompt);
    line.maybe_str("model", turn.model.as_deref()).finish()
}

fn ask(id: &str, line: Json<'_>) -> Result<Ask, Malformed> {
    let [title, tool, input] = line.pick(["title", "tool", "input"])?;
    let choice = |id: &str, kind, label: &str| Choice { id: id.to_owned(), kind, label: label.to_owned() };
    Ok(Ask {
        tool: tool.string(),
        detail: if input.is_missing() { Object::new().finish() } else { input.raw().to_owned() },
        choices: vec![choice("allow", ChoiceKind::AllowOnce, "Allow"), choice("deny", ChoiceKind::RejectOnce, "Deny")],
        input_editable: true,
        ..Ask::new(id, AskKind::Permission, title.string().unwrap_or_default())
    })
}

fn tool_status(name: Option<&str>) -> ToolStatus {
    match name {
        Some("succeeded") => ToolStatus::Succeeded,
        Some("failed") => ToolStatus::Failed,
        Some("denied") => ToolStatus::Denied,
        _ => ToolStatus::Running,
    }
}

fn error_class(name: Option<&str>) -> ErrorClass {
    match name {
        Some("auth") => ErrorClass::Auth,
        Some("rate-limit") => ErrorClass::RateLimit,
        Some("provider") => ErrorClass::Provider,
        _ => ErrorClass::Other,
    }
}

wharf_adapter::export!(Echo);
