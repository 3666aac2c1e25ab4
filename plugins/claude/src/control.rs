//! The control protocol of duplex runs: requests and responses between the lines of the stream.
//!
//! Claude asks whether it may use a tool, or calls a hook that we put in its way; we ask it to begin, to stop, to
//! change its model. Nothing waits for an answer of Claude but the prompt, and that not for ever: 2.0 leaves requests
//! that it does not know unanswered.

use crate::launch::{permission_mode, prompt, shield};
use std::collections::BTreeMap;
use wharf_adapter::json::{self, Object};
use wharf_adapter::{
    Answer, Approvals, Ask, AskKind, Choice, ChoiceKind, Effects, Event, Input, Json, LogLevel, Malformed, Turn,
};

/// The timer that sends the prompt where `initialize` is not answered.
const HANDSHAKE: u32 = 1;

/// How long `initialize` may take before the prompt is sent anyway.
const HANDSHAKE_MILLIS: u32 = 15_000;

/// Our side of the control protocol.
#[derive(Default)]
pub(crate) struct Control {
    /// Whether stdin is ours to write to.
    duplex: bool,
    /// The prompt, until `initialize` is answered.
    prompt: Option<String>,
    /// Hook events that somebody wants to be asked about.
    gates: Vec<String>,
    /// Whether a text that begins with a slash is a command to the CLI.
    commands: bool,
    /// What the turn set last, to tell what the next one changes.
    model: Option<String>,
    mode: String,
    /// Our own requests so far.
    requests: u32,
    /// Claude's requests that wait for an answer, by their id.
    asks: BTreeMap<String, OpenAsk>,
}

/// A request of Claude that waits for an answer.
struct OpenAsk {
    /// The tool call that it is about.
    tool_id: Option<String>,
    subject: Subject,
}

/// What an answer must be made from.
enum Subject {
    /// The tool's input and the rules that Claude suggests, both JSON.
    Permission { input: String, suggestions: Option<String> },
    /// A question of the model itself, which is a tool too: its input, and the texts of question and options.
    Question { input: String, question: String, options: Vec<String> },
    /// A hook of this event, and the tool's input where there is one.
    Gate { event: String, input: Option<String> },
}

impl Control {
    /// A duplex turn is about to start.
    pub(crate) fn prepare(&mut self, turn: &Turn, prompt: String) {
        self.duplex = true;
        self.prompt = Some(prompt);
        self.gates = turn.option("gates").items().filter_map(Json::string).collect();
        self.commands = turn.option("slash-commands").is_true();
        self.model.clone_from(&turn.model);
        mode(turn).clone_into(&mut self.mode);
    }

    /// The host has something to say.
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
                out.write_line(user_line(&shield(text, self.commands)));
            }
            Input::NextTurn(turn) if self.duplex => self.next_turn(&turn, out),
            // One-shot: the host ends the process, there is nobody to talk to.
            Input::Cancel if self.duplex => {
                self.prompt = None;
                self.send(Object::new().str("subtype", "interrupt"), out);
            }
            Input::Oversized(frame) => {
                out.notice(LogLevel::Warn, format!("a line of {} bytes was too long and was skipped", frame.length));
            }
            Input::Start
            | Input::Answer(_)
            | Input::Timer(_)
            | Input::Message(_)
            | Input::NextTurn(_)
            | Input::Cancel => {}
        }
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
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

    /// `initialize`, with the hooks that somebody wants to be asked about: each calls back under its event's name.
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

    /// Claude answers a request of ours.
    pub(crate) fn response(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [response] = line.pick(["response"])?;
        let [subtype, error] = response.pick(["subtype", "error"])?;
        if subtype.is("error") {
            out.notice(LogLevel::Warn, error.str().unwrap_or_default());
        }
        // The first answer is that to `initialize`, whatever it says.
        self.send_prompt(out);
        Ok(())
    }

    /// Claude wants something of us.
    pub(crate) fn request(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, request] = line.pick(["request_id", "request"])?;
        let id = id.string().ok_or(Malformed)?;
        let read = match request.get("subtype").name() {
            Some("can_use_tool") => self.can_use_tool(&id, request, out),
            Some("hook_callback") => self.hook_callback(&id, request, out),
            Some(other) => {
                // Known, but only sent to a client that offered to serve it, which we do not.
                if !matches!(other, "mcp_message" | "elicitation" | "request_user_dialog" | "oauth_token_refresh") {
                    out.unknown(&format!("control_request/{other}"));
                }
                refuse(&id, &format!("{other} is not supported"), out);
                Ok(())
            }
            None => Err(Malformed),
        };
        // Told here, because an error would drop the answer that it waits for.
        if read.is_err() {
            out.malformed(line.raw());
            refuse(&id, "the request cannot be read", out);
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
            id: id.to_owned(),
            kind: AskKind::Permission,
            title,
            tool_id: tool_id.string(),
            detail: raw.clone(),
            choices: vec![choice("allow", ChoiceKind::AllowOnce, "Allow")],
            free_text: true,
            input_editable: true,
            tool: Some(tool),
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
            choice("allow", ChoiceKind::AllowOnce, "Go on"),
            choice("deny", ChoiceKind::RejectOnce, "Block, with a reason"),
        ];
        out.emit(Event::Ask(Ask {
            id: id.to_owned(),
            kind,
            title,
            tool,
            tool_id: tool_id.clone(),
            detail: input.raw().to_owned(),
            choices,
            free_text: true,
            input_editable: event == "PreToolUse",
        }));
        self.asks.insert(id.to_owned(), OpenAsk { tool_id, subject: Subject::Gate { event, input: tool_input } });
        Ok(())
    }

    /// Claude no longer wants to know.
    pub(crate) fn withdraw(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id] = line.pick(["request_id"])?;
        let id = id.string().ok_or(Malformed)?;
        if self.asks.remove(&id).is_some() {
            out.emit(Event::AskWithdrawn(id));
        }
        Ok(())
    }

    /// The turn is over: nobody waits for an answer any more.
    pub(crate) fn withdraw_all(&mut self, out: &mut Effects) {
        for id in std::mem::take(&mut self.asks).into_keys() {
            out.emit(Event::AskWithdrawn(id));
        }
    }

    /// Pass an answer on. Gives the tool call that it denies: old versions do not tell a denied tool from a failed one.
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

/// Whoever asks waits for an answer: better an error than silence.
fn refuse(id: &str, why: &str, out: &mut Effects) {
    let response = Object::new().str("subtype", "error").str("request_id", id).str("error", why);
    out.write_line(Object::new().str("type", "control_response").object("response", response).finish());
}

fn is_allowed(answer: &Answer) -> bool {
    matches!(answer.choice.as_deref(), Some("allow" | "allow-always"))
}

/// What the control protocol calls the turn's approvals.
fn mode(turn: &Turn) -> &str {
    permission_mode(turn).unwrap_or(match turn.approvals {
        Approvals::AllowAll => "bypassPermissions",
        Approvals::Ask => "default",
        Approvals::Deny => "dontAsk",
    })
}

/// The answer to a permission. `updatedInput` is always sent: 2.1.197 denies what has none. Anything but a clear yes
/// is a no.
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
        Some(said) => {
            let answers = Object::new().str(question, said);
            let input = Json::parse(input).fields().filter(|(key, _)| *key != "answers");
            let input = input.fold(Object::new(), |object, (key, value)| object.raw(&json::unescape(key), value.raw()));
            Object::new().str("behavior", "allow").object("updatedInput", input.object("answers", answers))
        }
        None => denied(answer),
    }
}

/// The answer to a hook. An answer without a choice blocks.
fn gate(answer: &Answer, event: &str, input: Option<&str>) -> Object {
    let reason = answer.text.as_deref().filter(|text| !text.is_empty()).unwrap_or("Blocked by the user.");
    let allowed = answer.choice.as_deref() == Some("allow");
    let decision = |decision: &str| Object::new().str("hookEventName", event).str("permissionDecision", decision);
    match (event, allowed) {
        ("PreToolUse", true) => match answer.input.as_deref().filter(|edited| Some(*edited) != input) {
            Some(edited) => {
                Object::new().object("hookSpecificOutput", decision("allow").raw("updatedInput", &one_line(edited)))
            }
            // No decision: the usual rules and asks still hold.
            None => Object::new(),
        },
        ("PreToolUse", false) => {
            Object::new().object("hookSpecificOutput", decision("deny").str("permissionDecisionReason", reason))
        }
        (_, true) => Object::new(),
        // Claude goes on for a reason only. An answer that never came must not keep it going for ever.
        ("Stop" | "SubagentStop", false) if answer.text.as_deref().is_none_or(str::is_empty) => Object::new(),
        (_, false) => Object::new().str("decision", "block").str("reason", reason),
    }
}

/// JSON that somebody wrote by hand may have line breaks; between its tokens only, where a blank does as well.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// The question and its options, where the model asks exactly one that takes one answer.
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

/// A message of the user.
fn user_line(text: &str) -> String {
    let message = Object::new().str("role", "user").str("content", text);
    let line = Object::new().str("type", "user").object("message", message);
    line.raw("parent_tool_use_id", "null").str("session_id", "").finish()
}
