//! The questions of `app-server`: may it run this command, apply this patch, have more permissions, call this tool; and
//! questions of the model and of MCP servers.
//!
//! Each is a request that Codex waits for. Every one gets an answer, a malformed one a no.

use crate::items::{COMMAND, Items, PATCH, mcp_name};
use crate::shell;
use std::borrow::Cow;
use wharf_adapter::json::{Object, array, quote};
use wharf_adapter::{
    Action, Answer, Approvals, Ask, AskKind, Choice, ChoiceKind, FieldAnswer, FileWrite, Json, Malformed, McpCall,
    Question,
};

/// An ask that was not answered yet.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    /// The request's id, as JSON.
    pub(crate) id: String,
    /// The results of the request, by the ids of the choices.
    results: Vec<(Choice, String)>,
    /// The result that says no.
    no: String,
    /// What else than a choice is asked for.
    value: Value,
}

/// What an answer contains beside a choice.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    None,
    /// The answers to a form.
    Fields,
    /// A value with a schema.
    Content,
}

/// An ask that Codex has just asked, for the caller and for its answer.
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    pub(crate) open: OpenAsk,
}

impl OpenAsk {
    /// The result of the request for an answer.
    pub(crate) fn result(&self, answer: &Answer) -> String {
        match &answer.value {
            _ if self.value == Value::Fields && !answer.fields.is_empty() => return answered(&answer.fields),
            Some(value) if self.value == Value::Content => {
                return Object::new().str("action", "accept").raw("content", value).finish();
            }
            _ => {}
        }
        let chosen = answer.choice.as_deref();
        let result = self.results.iter().find(|(choice, _)| Some(choice.id.as_str()) == chosen);
        result.map_or_else(|| self.no.clone(), |(_, result)| result.clone())
    }

    /// What the approvals of the turn decide without the caller. A question is for the caller.
    pub(crate) fn decided(&self, kind: AskKind, approvals: Approvals) -> Option<String> {
        let allowed = || self.results.iter().find(|(choice, _)| choice.kind == ChoiceKind::AllowOnce);
        match approvals {
            Approvals::Deny => Some(self.no.clone()),
            Approvals::AllowAll if kind == AskKind::Permission => allowed().map(|(_, result)| result.clone()),
            Approvals::AllowAll | Approvals::Ask => None,
        }
    }

    /// The result that says no.
    pub(crate) fn no(&self) -> &str {
        &self.no
    }
}

/// The result that says no, for a request that cannot be read.
pub(crate) fn refusal(method: &str) -> Option<&'static str> {
    Some(match method {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => r#"{"decision":"decline"}"#,
        "item/permissions/requestApproval" => r#"{"permissions":{}}"#,
        "item/tool/requestUserInput" => r#"{"answers":{}}"#,
        "mcpServer/elicitation/request" => r#"{"action":"decline"}"#,
        "item/tool/call" => r#"{"contentItems":[],"success":false}"#,
        // Of an older protocol.
        "applyPatchApproval" | "execCommandApproval" => r#"{"decision":"denied"}"#,
        _ => return None,
    })
}

/// Reads a request.
pub(crate) fn read(id: &str, method: &str, params: Json<'_>, items: &Items) -> Result<Option<Asked>, Malformed> {
    let no = refusal(method).unwrap_or_default();
    Ok(Some(match method {
        "item/commandExecution/requestApproval" => command(id, params, no)?,
        "item/fileChange/requestApproval" => patch(id, params, no, items)?,
        "item/permissions/requestApproval" => permissions(id, params, no)?,
        "item/tool/requestUserInput" => question(id, params, no)?,
        "mcpServer/elicitation/request" => elicitation(id, params, no, items)?,
        _ => return Ok(None),
    }))
}

fn command(id: &str, params: Json<'_>, no: &str) -> Result<Asked, Malformed> {
    let [command, call, decisions] = params.select(["command", "itemId", "availableDecisions"])?;
    let call = call.string().ok_or(Malformed)?;
    let mut results: Vec<(Choice, String)> = decisions.items().filter_map(decision).collect();
    for default in ["accept", "decline"] {
        // `decline` is taken although it is not on the list.
        if !results.iter().any(|(choice, _)| choice.id == default) {
            results.extend(decision(Json::parse(&quote(default))));
        }
    }
    let mut ask = permission(id, COMMAND, params);
    ask.tool_id = Some(call);
    match command.filled() {
        Some(command) => {
            let script = shell::script(&command);
            ask.title = format!("run {script}");
            ask.actions.push(Action::Run(script));
        }
        None => ask.title = reason(params).unwrap_or_else(|| "run a command".to_owned()),
    }
    Ok(asked(ask, results, no))
}

fn patch(id: &str, params: Json<'_>, no: &str, items: &Items) -> Result<Asked, Malformed> {
    let call = params.get("itemId").string().ok_or(Malformed)?;
    let decisions = ["\"accept\"", "\"acceptForSession\"", "\"decline\"", "\"cancel\""];
    let results = decisions.into_iter().filter_map(|name| decision(Json::parse(name))).collect();
    let mut ask = permission(id, PATCH, params);
    ask.title = reason(params).unwrap_or_else(|| "change files".to_owned());
    ask.actions = items.patch_actions(&call);
    ask.tool_id = Some(call);
    Ok(asked(ask, results, no))
}

/// The sandbox is too narrow for what the model intends.
fn permissions(id: &str, params: Json<'_>, no: &str) -> Result<Asked, Malformed> {
    let [call, wanted] = params.select(["itemId", "permissions"])?;
    let call = call.string().ok_or(Malformed)?;
    let granted = |scope: &str| Object::new().raw("permissions", wanted.raw()).str("scope", scope).finish();
    let results = vec![
        (choice("turn", ChoiceKind::AllowOnce, "allow for this turn"), granted("turn")),
        (choice("session", ChoiceKind::AllowAlways, "allow for this session"), granted("session")),
        (choice("decline", ChoiceKind::RejectOnce, "reject"), no.to_owned()),
    ];
    let mut ask = permission(id, "permissions", params);
    ask.title = reason(params).unwrap_or_else(|| "have more permissions".to_owned());
    ask.tool_id = Some(call);
    let paths =
        |key: &str| -> Vec<String> { wanted.at(&["fileSystem", key]).items().filter_map(Json::string).collect() };
    ask.actions.extend(paths("read").into_iter().map(Action::Read));
    ask.actions.extend(paths("write").into_iter().map(|path| Action::Write(FileWrite { path, diff: None })));
    Ok(asked(ask, results, no))
}

/// A permission to use a tool, without its choices.
fn permission(id: &str, tool: &str, params: Json<'_>) -> Ask {
    let mut ask = Ask::new(id, AskKind::Permission, String::new());
    ask.tool = Some(tool.to_owned());
    params.raw().clone_into(&mut ask.detail);
    ask
}

fn reason(params: Json<'_>) -> Option<String> {
    params.get("reason").filled().map(Cow::into_owned)
}

/// The ask with its choices.
fn asked(mut ask: Ask, results: Vec<(Choice, String)>, no: &str) -> Asked {
    ask.choices = results.iter().map(|(choice, _)| choice.clone()).collect();
    Asked { open: OpenAsk { id: ask.id.clone(), results, no: no.to_owned(), value: Value::None }, ask }
}

/// A decision that Codex offers: a word, or an object with what it would remember.
fn decision(offered: Json<'_>) -> Option<(Choice, String)> {
    let name = offered.name().or_else(|| offered.fields().next().map(|(name, _)| name))?;
    let (kind, label) = match name {
        "accept" => (ChoiceKind::AllowOnce, "allow"),
        "acceptForSession" => (ChoiceKind::AllowAlways, "allow for this session"),
        "acceptWithExecpolicyAmendment" => (ChoiceKind::AllowAlways, "allow commands like this from now on"),
        "applyNetworkPolicyAmendment" => (ChoiceKind::Other, "apply the network rule from now on"),
        "decline" => (ChoiceKind::RejectOnce, "reject"),
        "cancel" => (ChoiceKind::RejectAndStop, "reject and stop the turn"),
        _ => (ChoiceKind::Other, name),
    };
    Some((choice(name, kind, label), Object::new().raw("decision", offered.raw()).finish()))
}

fn choice(id: &str, kind: ChoiceKind, label: &str) -> Choice {
    Choice { id: id.to_owned(), kind, label: label.to_owned() }
}

/// The result for questions of the model.
fn answered(fields: &[FieldAnswer]) -> String {
    let answers = fields.iter().fold(Object::new(), |answers, field| {
        let texts = field.choices.iter().chain(&field.text).map(|text| quote(text));
        answers.object(&field.question, Object::new().raw("answers", &array(texts)))
    });
    Object::new().object("answers", answers).finish()
}

/// Questions of the model.
fn question(id: &str, params: Json<'_>, no: &str) -> Result<Asked, Malformed> {
    let form: Vec<Question> = params.get("questions").items().filter_map(of_form).collect();
    let first = form.first().ok_or(Malformed)?;
    let mut ask = Ask::new(id, AskKind::Question, first.text.clone());
    params.raw().clone_into(&mut ask.detail);
    ask.tool_id = params.get("itemId").string();
    ask.form = form;
    Ok(Asked { open: OpenAsk { id: id.to_owned(), results: vec![], no: no.to_owned(), value: Value::Fields }, ask })
}

fn of_form(question: Json<'_>) -> Option<Question> {
    let [id, header, text, options, other] =
        question.select(["id", "header", "question", "options", "isOther"]).ok()?;
    let labels = options.items().filter_map(|option| option.get("label").string());
    let choices: Vec<Choice> = labels.map(|label| choice(&label, ChoiceKind::Other, &label)).collect();
    Some(Question {
        id: id.string()?,
        title: header.string().unwrap_or_default(),
        text: text.string()?,
        free_text: choices.is_empty() || other.is_true(),
        choices,
        multiple: false,
    })
}

/// A question of an MCP server, or of Codex about a tool of one.
fn elicitation(id: &str, params: Json<'_>, no: &str, items: &Items) -> Result<Asked, Malformed> {
    let [server, message, meta, schema] = params.select(["serverName", "message", "_meta", "requestedSchema"])?;
    let (server, title) = (server.string().unwrap_or_default(), message.string().ok_or(Malformed)?);
    let accept = Object::new().str("action", "accept").raw("content", "{}");
    let mut results = vec![(choice("accept", ChoiceKind::AllowOnce, "accept"), accept.clone().finish())];
    if meta.get("persist").items().any(|scope| scope.is("session")) {
        let for_session = accept.object("_meta", Object::new().str("persist", "session")).finish();
        results.push((choice("session", ChoiceKind::AllowAlways, "accept for this session"), for_session));
    }
    results.push((choice("decline", ChoiceKind::RejectOnce, "decline"), no.to_owned()));
    let mut ask = permission(id, &server, params);
    ask.title = title;
    if !meta.get("codex_approval_kind").is("mcp_tool_call") {
        ask.kind = AskKind::Question;
        ask.schema = Some(schema.raw().to_owned()).filter(|_| schema.is_object());
        let mut asked = asked(ask, results, no);
        asked.open.value = Value::Content;
        return Ok(asked);
    }
    // 0.142.0 does not name the tool: it is that of the call that waits.
    let open = items.mcp_open(&server);
    ask.tool_id = open.map(|(id, _)| id.to_owned());
    let tool = meta.get("tool_name").string().or_else(|| open.map(|(_, call)| call.tool.clone()));
    if let Some(tool) = tool {
        let call = McpCall { server, tool };
        ask.tool = Some(mcp_name(&call));
        ask.actions.push(Action::CallTool(call));
    }
    Ok(asked(ask, results, no))
}
