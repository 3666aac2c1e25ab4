//! The questions of `app-server`: may it run this command, apply this patch, have more permissions, call this tool; and
//! questions of the model and of MCP servers.
//!
//! Each is a request that Codex waits for. Every one gets an answer, a malformed one a no.

use wharf_adapter::json::{Object, array, quote};
use wharf_adapter::{Answer, Approvals, Ask, AskKind, Choice, ChoiceKind, Json, Malformed};

/// An ask that was not answered yet.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    /// The request's id, as JSON.
    pub(crate) id: String,
    /// The results of the request, by the ids of the choices.
    results: Vec<(Choice, String)>,
    /// The result that says no.
    no: String,
    /// The question that free text answers.
    question: Option<String>,
}

/// An ask that Codex has just asked, for the caller and for its answer.
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    pub(crate) open: OpenAsk,
}

impl OpenAsk {
    /// The result of the request for an answer.
    pub(crate) fn result(&self, answer: &Answer) -> String {
        if let (Some(question), Some(text)) = (&self.question, &answer.text) {
            return answered(question, text);
        }
        let chosen = answer.choice.as_deref();
        let result = self.results.iter().find(|(choice, _)| Some(choice.id.as_str()) == chosen);
        result.map_or_else(|| self.no.clone(), |(_, result)| result.clone())
    }

    /// What the approvals of the turn decide without the caller. A question is for the caller.
    pub(crate) fn decided(&self, kind: AskKind, approvals: Approvals) -> Option<String> {
        match approvals {
            Approvals::Ask => None,
            Approvals::Deny => Some(self.no.clone()),
            Approvals::AllowAll if kind == AskKind::Permission => {
                let allows = |kind| matches!(kind, ChoiceKind::AllowOnce);
                self.results.iter().find(|(choice, _)| allows(choice.kind)).map(|(_, result)| result.clone())
            }
            Approvals::AllowAll => None,
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
pub(crate) fn read(id: &str, method: &str, params: Json<'_>) -> Result<Option<Asked>, Malformed> {
    let no = refusal(method).unwrap_or_default();
    Ok(Some(match method {
        "item/commandExecution/requestApproval" => command(id, params, no)?,
        "item/fileChange/requestApproval" => patch(id, params, no)?,
        "item/permissions/requestApproval" => permissions(id, params, no)?,
        "item/tool/requestUserInput" => question(id, params, no)?,
        "mcpServer/elicitation/request" => elicitation(id, params, no)?,
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
    let title = match command.filled() {
        Some(command) => format!("run {command}"),
        None => params.get("reason").filled().map_or("run a command".to_owned(), |reason| reason.into_owned()),
    };
    Ok(permission(id, "command_execution", title, Some(call), params, results, no))
}

fn patch(id: &str, params: Json<'_>, no: &str) -> Result<Asked, Malformed> {
    let call = params.get("itemId").string().ok_or(Malformed)?;
    let decisions = ["\"accept\"", "\"acceptForSession\"", "\"decline\"", "\"cancel\""];
    let results = decisions.into_iter().filter_map(|name| decision(Json::parse(name))).collect();
    let title = params.get("reason").filled().map_or("change files".to_owned(), |reason| reason.into_owned());
    Ok(permission(id, "file_change", title, Some(call), params, results, no))
}

/// The sandbox is too narrow for what the model intends.
fn permissions(id: &str, params: Json<'_>, no: &str) -> Result<Asked, Malformed> {
    let [call, wanted, reason] = params.select(["itemId", "permissions", "reason"])?;
    let call = call.string().ok_or(Malformed)?;
    let granted = |scope: &str| Object::new().raw("permissions", wanted.raw()).str("scope", scope).finish();
    let results = vec![
        (choice("turn", ChoiceKind::AllowOnce, "allow for this turn"), granted("turn")),
        (choice("session", ChoiceKind::AllowAlways, "allow for this session"), granted("session")),
        (choice("decline", ChoiceKind::RejectOnce, "reject"), no.to_owned()),
    ];
    let title = reason.filled().map_or("have more permissions".to_owned(), |reason| reason.into_owned());
    Ok(permission(id, "permissions", title, Some(call), params, results, no))
}

fn permission(
    id: &str,
    tool: &str,
    title: String,
    call: Option<String>,
    params: Json<'_>,
    results: Vec<(Choice, String)>,
    no: &str,
) -> Asked {
    let ask = Ask {
        id: id.to_owned(),
        kind: AskKind::Permission,
        title,
        tool: Some(tool.to_owned()),
        tool_id: call,
        detail: params.raw().to_owned(),
        choices: results.iter().map(|(choice, _)| choice.clone()).collect(),
        free_text: false,
        input_editable: false,
    };
    Asked { ask, open: OpenAsk { id: id.to_owned(), results, no: no.to_owned(), question: None } }
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

/// The result for a question of the model.
fn answered(question: &str, text: &str) -> String {
    let answers = Object::new().raw("answers", &array([quote(text)]));
    Object::new().object("answers", Object::new().object(question, answers)).finish()
}

/// A question of the model. Of several, the first is asked.
fn question(id: &str, params: Json<'_>, no: &str) -> Result<Asked, Malformed> {
    let first = params.get("questions").items().next().ok_or(Malformed)?;
    let [question, text, options, other] = first.select(["id", "question", "options", "isOther"])?;
    let (question, title) = (question.string().ok_or(Malformed)?, text.string().ok_or(Malformed)?);
    let labels = options.items().filter_map(|option| option.get("label").string());
    let results: Vec<(Choice, String)> =
        labels.map(|label| (choice(&label, ChoiceKind::Other, &label), answered(&question, &label))).collect();
    let ask = Ask {
        id: id.to_owned(),
        kind: AskKind::Question,
        title,
        tool: None,
        tool_id: params.get("itemId").string(),
        detail: params.raw().to_owned(),
        choices: results.iter().map(|(choice, _)| choice.clone()).collect(),
        free_text: results.is_empty() || other.is_true(),
        input_editable: false,
    };
    let question = ask.free_text.then_some(question);
    Ok(Asked { open: OpenAsk { id: id.to_owned(), results, no: no.to_owned(), question }, ask })
}

/// A question of an MCP server, or of Codex about a tool of one.
fn elicitation(id: &str, params: Json<'_>, no: &str) -> Result<Asked, Malformed> {
    let [server, message, meta] = params.select(["serverName", "message", "_meta"])?;
    let is_approval = meta.get("codex_approval_kind").is("mcp_tool_call");
    let accept = Object::new().str("action", "accept").raw("content", "{}");
    let mut results = vec![(choice("accept", ChoiceKind::AllowOnce, "accept"), accept.clone().finish())];
    if meta.get("persist").items().any(|scope| scope.is("session")) {
        let for_session = accept.object("_meta", Object::new().str("persist", "session")).finish();
        results.push((choice("session", ChoiceKind::AllowAlways, "accept for this session"), for_session));
    }
    results.push((choice("decline", ChoiceKind::RejectOnce, "decline"), no.to_owned()));
    let title = message.string().ok_or(Malformed)?;
    let mut asked = permission(id, &server.str().unwrap_or_default(), title, None, params, results, no);
    if !is_approval {
        asked.ask.kind = AskKind::Question;
    }
    Ok(asked)
}
