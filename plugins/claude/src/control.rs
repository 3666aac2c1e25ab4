//! The control protocol of duplex runs: requests and responses between the other lines.
//!
//! Claude asks for permission to use a tool, or calls a hook that we registered; we ask it to initialize, to stop, or to
//! change its model. Only the prompt waits for an answer of Claude, and not forever: 2.0 does not answer requests that it
//! does not know.

use crate::launch::{escape_slash, permission_mode, prompt};
use std::collections::BTreeMap;
use wharf_adapter::json::{self, Object};
use wharf_adapter::{
    Answer, Approvals, Ask, AskKind, Choice, ChoiceKind, Effects, Event, Input, Json, LogLevel, Malformed, Turn,
};

/// The timer that sends the prompt if `initialize` is not answered.
const HANDSHAKE: u32 = 1;

/// How long `initialize` may take before the prompt is sent anyway.
const HANDSHAKE_MILLIS: u32 = 15_000;

/// Our side of the control protocol.
#[derive(Default)]
pub(crate) struct Control {
    /// Whether this run is duplex.
    duplex: bool,
    /// The prompt, until `initialize` is answered.
    prompt: Option<String>,
    /// Hook events to ask the user about.
    gates: Vec<String>,
    /// Whether a text that starts with a slash is a command for the CLI.
    commands: bool,
    /// The model of the last turn, to know whether the next one changes it.
    model: Option<String>,
    /// The permission mode of the last turn, for the same reason.
    mode: String,
    /// How many requests we have sent.
    requests: u32,
    /// Open requests of Claude, by id.
    asks: BTreeMap<String, OpenAsk>,
}

/// A request of Claude that is not answered yet.
struct OpenAsk {
    /// The tool call it asks about.
    tool_id: Option<String>,
    subject: Subject,
}

/// What the answer is built from.
enum Subject {
    /// The tool's input and the rules that Claude suggests, both JSON.
    Permission { input: String, suggestions: Option<String> },
    /// A question of the model, which is a tool too: its input, and the texts of question and options.
    Question { input: String, question: String, options: Vec<String> },
    /// A hook for this event, and the tool's input if there is one.
    Gate { event: String, input: Option<String> },
}

impl Control {
    /// Stores the settings of a duplex turn that is about to start.
    pub(crate) fn prepare(&mut self, turn: &Turn, prompt: String) {
        self.duplex = true;
        self.prompt = Some(prompt);
        self.gates = turn.option("gates").items().filter_map(Json::string).collect();
        self.commands = turn.option("slash-commands").is_true();
        self.model.clone_from(&turn.model);
        mode(turn).clone_into(&mut self.mode);
    }

    /// Handles every input except answers.
    pub(crate) fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Start if self.duplex => {
                let request = self.hooks(Object::new().str("subtype", "initialize"));
                self.send(request, out);
                out.set_timer(HANDSHAKE, HANDSHAKE_MILLIS);
            }
            Input::Timer(HANDSHAKE) => self.send_prompt(out),
            Input::Message(text) if self.duplex => {
                self.send_prompt(out);
                out.write_line(user_line(&escape_slash(text, self.commands)));
            }
            // In one-shot mode the host stops the process.
            Input::Cancel if self.duplex => {
                self.prompt = None;
                self.send(Object::new().str("subtype", "interrupt"), out);
            }
            Input::Oversized(frame) => {
                out.notice(LogLevel::Warn, format!("skipped a line of {} bytes: it is too long", frame.length));
            }
            _ => {}
        }
    }

    /// Starts another turn in the same process.
    pub(crate) fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        if !self.duplex {
            return;
        }
        if turn.model.is_some() && turn.model != self.model {
            self.model.clone_from(&turn.model);
            let request = Object::new().str("subtype", "set_model").maybe_str("model", turn.model.as_deref());
            self.send(request, out);
        }
        if self.mode != mode(turn) {
            mode(turn).clone_into(&mut self.mode);
            self.send(Object::new().str("subtype", "set_permission_mode").str("mode", mode(turn)), out);
        }
        match prompt(turn) {
            Ok(prompt) => out.write_line(user_line(&prompt)),
            Err(failure) => out.failed(failure),
        }
    }

    /// Adds the hooks to `initialize`. Each calls back under the name of its event.
    fn hooks(&self, initialize: Object) -> Object {
        if self.gates.is_empty() {
            return initialize;
        }
        let hooks = self.gates.iter().fold(Object::new(), |hooks, event| {
            let ids = format!("[{}]", json::quote(event));
            hooks.raw(event, &format!("[{}]", Object::new().raw("hookCallbackIds", &ids).finish()))
        });
        initialize.object("hooks", hooks)
    }

    fn send(&mut self, request: Object, out: &mut Effects) {
        self.requests += 1;
        let id = format!("wharf-{}", self.requests);
        out.write_line(
            Object::new().str("type", "control_request").str("request_id", &id).object("request", request).finish(),
        );
    }

    fn send_prompt(&mut self, out: &mut Effects) {
        if let Some(prompt) = self.prompt.take() {
            out.write_line(user_line(&prompt));
        }
    }

    /// Handles an answer of Claude to one of our requests.
    pub(crate) fn response(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [response] = line.pick(["response"])?;
        let [subtype, error] = response.pick(["subtype", "error"])?;
        if subtype.is("error") {
            out.notice(LogLevel::Warn, error.str().unwrap_or_default());
        }
        // The first answer is the one to `initialize`, whatever it contains.
        self.send_prompt(out);
        Ok(())
    }

    /// Handles a request of Claude.
    pub(crate) fn request(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, request] = line.pick(["request_id", "request"])?;
        let id = id.string().ok_or(Malformed)?;
        let handled = match request.get("subtype").name() {
            Some("can_use_tool") => self.can_use_tool(&id, request, out),
            Some("hook_callback") => self.hook_callback(&id, request, out),
            Some(other) => {
                // These are known, but sent only to a client that offers to serve them, which we do not.
                if !matches!(other, "mcp_message" | "elicitation" | "request_user_dialog" | "oauth_token_refresh") {
                    out.unknown(&format!("control_request/{other}"));
                }
                reject(&id, &format!("{other} is not supported"), out);
                Ok(())
            }
            None => Err(Malformed),
        };
        // Reported here: an error from this function would drop the answer that Claude waits for.
        if handled.is_err() {
            out.malformed(line.raw());
            reject(&id, "the request is malformed", out);
        }
        Ok(())
    }

    fn can_use_tool(&mut self, id: &str, request: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let keys =
            ["tool_name", "display_name", "input", "description", "permission_suggestions", "tool_use_id", "title"];
        let [tool, shown, input, description, suggestions, tool_id, title] = request.pick(keys)?;
        let tool = tool.string().ok_or(Malformed)?;
        let raw = if input.is_object() { input.raw().to_owned() } else { Object::new().finish() };
        let name = shown.filled().unwrap_or(tool.as_str().into());
        let title = match title.filled().or_else(|| description.filled()) {
            Some(description) => format!("{name}: {description}"),
            None => name.into_owned(),
        };
        let mut ask = Ask {
            tool_id: tool_id.string(),
            detail: raw.clone(),
            choices: vec![choice("allow", ChoiceKind::AllowOnce, "Allow")],
            free_text: true,
            input_editable: true,
            tool: Some(tool),
            ..Ask::new(id, AskKind::Permission, title)
        };
        let subject = if ask.tool.as_deref() == Some("AskUserQuestion")
            && let Some((question, options)) = single_question(input)
        {
            ask.kind = AskKind::Question;
            ask.title.clone_from(&question);
            ask.choices = (0..).zip(&options).map(|(number, option)| option_choice(number, option)).collect();
            Subject::Question { input: raw, question, options }
        } else {
            let suggestions = Some(suggestions).filter(|list| list.items().next().is_some());
            if suggestions.is_some() {
                ask.choices.push(choice("allow-always", ChoiceKind::AllowAlways, "Allow, and do not ask again"));
            }
            Subject::Permission { input: raw, suggestions: suggestions.map(|list| list.raw().to_owned()) }
        };
        ask.choices.push(choice("deny", ChoiceKind::RejectOnce, "Deny"));
        ask.choices.push(choice("deny-and-stop", ChoiceKind::RejectAndStop, "Deny and stop the turn"));
        self.asks.insert(id.to_owned(), OpenAsk { tool_id: ask.tool_id.clone(), subject });
        out.emit(Event::Ask(ask));
        Ok(())
    }

    fn hook_callback(&mut self, id: &str, request: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [input, tool_id] = request.pick(["input", "tool_use_id"])?;
        let [event, tool, tool_input] = input.pick(["hook_event_name", "tool_name", "tool_input"])?;
        let event = event.string().ok_or(Malformed)?;
        let (tool, tool_id) = (tool.string(), tool_id.string());
        let title = match &tool {
            Some(tool) => format!("{event}: {tool}"),
            None => event.clone(),
        };
        let kind = if event == "PreToolUse" { AskKind::Permission } else { AskKind::Other };
        let tool_input = Some(tool_input).filter(|input| input.is_object()).map(|input| input.raw().to_owned());
        let choices = vec![
            choice("allow", ChoiceKind::AllowOnce, "Continue"),
            choice("deny", ChoiceKind::RejectOnce, "Block, with a reason"),
        ];
        out.emit(Event::Ask(Ask {
            tool,
            tool_id: tool_id.clone(),
            detail: input.raw().to_owned(),
            choices,
            free_text: true,
            input_editable: event == "PreToolUse",
            ..Ask::new(id, kind, title)
        }));
        self.asks.insert(id.to_owned(), OpenAsk { tool_id, subject: Subject::Gate { event, input: tool_input } });
        Ok(())
    }

    /// Claude no longer needs the answer.
    pub(crate) fn withdraw(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id] = line.pick(["request_id"])?;
        let id = id.string().ok_or(Malformed)?;
        if self.asks.remove(&id).is_some() {
            out.emit(Event::AskWithdrawn(id));
        }
        Ok(())
    }

    /// The turn is over: no answers are needed any more.
    pub(crate) fn withdraw_all(&mut self, out: &mut Effects) {
        for id in std::mem::take(&mut self.asks).into_keys() {
            out.emit(Event::AskWithdrawn(id));
        }
    }

    /// Sends an answer. Returns the tool call that it denies: old versions report a denied tool as a failed one.
    pub(crate) fn answer(&mut self, answer: &Answer, out: &mut Effects) -> Option<String> {
        let ask = self.asks.remove(&answer.ask)?;
        let (response, denies) = match &ask.subject {
            Subject::Permission { input, suggestions } => {
                (permission(answer, input, suggestions.as_deref()), !is_allowed(answer))
            }
            Subject::Question { input, question, options } => (chosen(answer, input, question, options), false),
            Subject::Gate { event, input } => {
                (gate(answer, event, input.as_deref()), event == "PreToolUse" && !is_allowed(answer))
            }
        };
        let response =
            Object::new().str("subtype", "success").str("request_id", &answer.ask).object("response", response);
        out.write_line(Object::new().str("type", "control_response").object("response", response).finish());
        ask.tool_id.filter(|_| denies)
    }
}

/// Answers with an error: Claude waits until it gets an answer.
fn reject(id: &str, reason: &str, out: &mut Effects) {
    let response = Object::new().str("subtype", "error").str("request_id", id).str("error", reason);
    out.write_line(Object::new().str("type", "control_response").object("response", response).finish());
}

fn is_allowed(answer: &Answer) -> bool {
    matches!(answer.choice.as_deref(), Some("allow" | "allow-always"))
}

/// The permission mode for the turn's approvals.
fn mode(turn: &Turn) -> &str {
    permission_mode(turn).unwrap_or(match turn.approvals {
        Approvals::AllowAll => "bypassPermissions",
        Approvals::Ask => "default",
        Approvals::Deny => "dontAsk",
    })
}

/// The answer to a permission request. `updatedInput` is always sent: 2.1.197 denies a tool without it. Anything but an
/// explicit yes is a no.
fn permission(answer: &Answer, input: &str, suggestions: Option<&str>) -> Object {
    let input = answer.input.as_deref().map_or(input.to_owned(), one_line);
    let allowed = Object::new().str("behavior", "allow").raw("updatedInput", &input);
    match (answer.choice.as_deref(), suggestions) {
        (Some("allow"), _) | (Some("allow-always"), None) => allowed,
        (Some("allow-always"), Some(rules)) => allowed.raw("updatedPermissions", rules),
        _ => denied(answer),
    }
}

fn denied(answer: &Answer) -> Object {
    let message = answer.text.as_deref().filter(|text| !text.is_empty()).unwrap_or("The user denied this.");
    let denied = Object::new().str("behavior", "deny").str("message", message);
    if answer.choice.as_deref() == Some("deny-and-stop") { denied.bool("interrupt", true) } else { denied }
}

/// The answer to a question goes into the input of the tool that asked it.
fn chosen(answer: &Answer, input: &str, question: &str, options: &[String]) -> Object {
    if let Some(edited) = &answer.input {
        return permission(&Answer { choice: Some("allow".to_owned()), ..answer.clone() }, edited, None);
    }
    let number = answer.choice.as_deref().and_then(|choice| choice.strip_prefix("option-")?.parse::<usize>().ok());
    let option = number.and_then(|number| options.get(number)).map(String::as_str);
    let free = answer.text.as_deref().filter(|text| !text.is_empty() && answer.choice.is_none());
    match option.or(free) {
        Some(text) => {
            let answers = Object::new().str(question, text);
            let input = Json::parse(input).fields().filter(|(key, _)| *key != "answers");
            let input = input.fold(Object::new(), |object, (key, value)| object.raw(&json::unescape(key), value.raw()));
            Object::new().str("behavior", "allow").object("updatedInput", input.object("answers", answers))
        }
        None => denied(answer),
    }
}

/// The answer to a hook. Without a choice it blocks.
fn gate(answer: &Answer, event: &str, input: Option<&str>) -> Object {
    let reason = answer.text.as_deref().filter(|text| !text.is_empty()).unwrap_or("Blocked by the user.");
    let allowed = answer.choice.as_deref() == Some("allow");
    let decision = |decision: &str| Object::new().str("hookEventName", event).str("permissionDecision", decision);
    match (event, allowed) {
        ("PreToolUse", true) => match answer.input.as_deref().filter(|edited| Some(*edited) != input) {
            Some(edited) => {
                Object::new().object("hookSpecificOutput", decision("allow").raw("updatedInput", &one_line(edited)))
            }
            // No decision: the usual rules and asks still apply.
            None => Object::new(),
        },
        ("PreToolUse", false) => {
            Object::new().object("hookSpecificOutput", decision("deny").str("permissionDecisionReason", reason))
        }
        (_, true) => Object::new(),
        // Claude continues only for a reason. A missing answer must not keep it running forever.
        ("Stop" | "SubagentStop", false) if answer.text.as_deref().is_none_or(str::is_empty) => Object::new(),
        (_, false) => Object::new().str("decision", "block").str("reason", reason),
    }
}

/// JSON written by hand may have line breaks. They occur between tokens only, where a space has the same meaning.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// The question and its options, if the model asks exactly one question with one answer.
fn single_question(input: Json<'_>) -> Option<(String, Vec<String>)> {
    let mut questions = input.get("questions").items();
    let (question, None) = (questions.next()?, questions.next()) else { return None };
    if question.get("multiSelect").is_true() {
        return None;
    }
    let options = question.get("options").items().filter_map(|option| option.get("label").string()).collect();
    Some((question.get("question").string()?, options))
}

fn option_choice(number: usize, label: &str) -> Choice {
    choice(&format!("option-{number}"), ChoiceKind::Other, label)
}

fn choice(id: &str, kind: ChoiceKind, label: &str) -> Choice {
    Choice { id: id.to_owned(), kind, label: label.to_owned() }
}

/// The line for a message of the user.
fn user_line(text: &str) -> String {
    let message = Object::new().str("role", "user").str("content", text);
    let line = Object::new().str("type", "user").object("message", message);
    line.raw("parent_tool_use_id", "null").str("session_id", "").finish()
}
