//! Permission requests and the answers to them.

use super::tool;
use wharf_adapter::json::Object;
use wharf_adapter::{Ask, AskKind, Choice, ChoiceKind, Json, Malformed};

/// Turns a request into an ask with the id of the request. `name_of` gives the name of the tool if its call was reported
/// before.
pub(super) fn permission<'a>(
    id: &str,
    params: Json<'_>,
    name_of: impl FnOnce(&str) -> Option<&'a str>,
) -> Result<Ask, Malformed> {
    let [call, options] = params.pick(["toolCall", "options"])?;
    let [tool_id, title, kind, input] = call.pick(["toolCallId", "title", "kind", "rawInput"])?;
    let title = title.string().unwrap_or_default();
    let known = tool_id.str().and_then(|id| name_of(&id)).map(str::to_owned);
    let choices = options.items().filter_map(|option| {
        let [id, kind, label] = option.pick(["optionId", "kind", "name"]).ok()?;
        Some(Choice { id: id.string()?, kind: choice_kind(kind.name()), label: label.string().unwrap_or_default() })
    });
    Ok(Ask {
        id: id.to_owned(),
        kind: AskKind::Permission,
        tool: known.or_else(|| tool::name(kind.name(), &title, input)),
        title,
        tool_id: tool_id.string(),
        detail: if input.is_missing() { "{}".to_owned() } else { input.raw().to_owned() },
        choices: choices.collect(),
        free_text: false,
        input_editable: false,
    })
}

fn choice_kind(kind: Option<&str>) -> ChoiceKind {
    match kind {
        Some("allow_once") => ChoiceKind::AllowOnce,
        Some("allow_always") => ChoiceKind::AllowAlways,
        Some("reject_once") => ChoiceKind::RejectOnce,
        Some("reject_always") => ChoiceKind::RejectAlways,
        _ => ChoiceKind::Other,
    }
}

/// The id of a choice that rejects, if there is one.
pub(super) fn rejection(ask: &Ask) -> Option<&str> {
    let rejects = |choice: &&Choice| matches!(choice.kind, ChoiceKind::RejectOnce | ChoiceKind::RejectAlways);
    ask.choices.iter().find(rejects).map(|choice| choice.id.as_str())
}

/// The response with the choice. Without a choice the agent treats it as a no.
pub(super) fn answer(id: &str, choice: Option<&str>) -> String {
    let outcome = match choice {
        Some(choice) => Object::new().str("outcome", "selected").str("optionId", choice),
        None => Object::new().str("outcome", "cancelled"),
    };
    let result = Object::new().object("outcome", outcome);
    Object::new().str("jsonrpc", "2.0").raw("id", id).object("result", result).finish()
}
