//! Updates of a session beside texts and tools: its mode, its title, its commands, a compaction, the prompt.

use crate::{CommandInfo, Compaction, Effects, Event, Json, Phase, Text, TextPart};

/// Reports an update. Returns whether it is one of these.
pub(super) fn report(kind: &str, update: Json<'_>, out: &mut Effects) -> bool {
    match kind {
        "current_mode_update" => out_if(update.get("currentModeId").string().map(Event::Mode), out),
        "session_info_update" => {
            let title = update.get("title").filled().map(|title| Event::Title(title.into_owned()));
            out_if(title, out);
        }
        "available_commands_update" => {
            let commands = update.get("availableCommands").items().filter_map(command);
            out.emit(Event::Commands(commands.collect()));
        }
        "compaction_update" => out_if(compaction(update).map(Event::Compaction), out),
        "user_message_chunk" => {
            let id = update.get("messageId").text().unwrap_or(Text::Inline("prompt".to_owned()));
            let text = update.at(&["content", "text"]).text();
            out_if(text.map(|text| Event::Prompt(TextPart { id, parent: None, text })), out);
        }
        _ => return false,
    }
    true
}

fn out_if(event: Option<Event>, out: &mut Effects) {
    if let Some(event) = event {
        out.emit(event);
    }
}

fn command(command: Json<'_>) -> Option<CommandInfo> {
    let [name, description] = command.select(["name", "description"]).ok()?;
    Some(CommandInfo { name: name.string()?, description: description.string().unwrap_or_default() })
}

fn compaction(update: Json<'_>) -> Option<Compaction> {
    let status = update.get("status").name()?;
    let error = update.get("error").filled().map(std::borrow::Cow::into_owned);
    let (phase, error) = match status {
        "in_progress" => (Phase::Begun, None),
        "completed" => (Phase::Ended, None),
        other => (Phase::Ended, error.or_else(|| Some(other.to_owned()))),
    };
    Some(Compaction { phase, trigger: None, tokens_before: None, tokens_after: None, error })
}
