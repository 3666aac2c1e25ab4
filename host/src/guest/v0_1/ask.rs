//! Asks, from the interface to `wharf-core`.

use super::bindings::types;
use super::text::{Violation, text};
use wharf_core::model::{Action, Ask, AskKind, Choice, ChoiceKind, Diff, Question, json_or_text};

pub(super) fn ask(ask: types::Ask, chunk: &str) -> Result<Ask, Violation> {
    let kind = match ask.kind {
        types::AskKind::Permission => AskKind::Permission,
        types::AskKind::Question => AskKind::Question,
        types::AskKind::Tool => AskKind::Tool,
        types::AskKind::Hook => AskKind::Hook,
        types::AskKind::Other => AskKind::Other,
    };
    let mut lifted = Ask::new(ask.id, kind, ask.title);
    lifted.tool = ask.tool;
    lifted.tool_id = ask.tool_id;
    lifted.actions = ask.actions.into_iter().map(|one| action(one, chunk)).collect::<Result<_, _>>()?;
    lifted.detail = json_or_text(ask.detail);
    lifted.choices = ask.choices.into_iter().map(choice).collect();
    lifted.free_text = ask.free_text;
    lifted.input_editable = ask.input_editable;
    lifted.form = ask.form.into_iter().map(question).collect();
    lifted.schema = ask.schema.map(json_or_text);
    Ok(lifted)
}

fn action(action: types::Action, chunk: &str) -> Result<Action, Violation> {
    Ok(match action {
        types::Action::Run(command) => Action::Run { command },
        types::Action::Read(path) => Action::Read { path },
        types::Action::Write(write) => {
            Action::Write { path: write.path, diff: write.diff.map(|one| diff(one, chunk)).transpose()? }
        }
        types::Action::Fetch(url) => Action::Fetch { url },
        types::Action::CallTool(call) => Action::CallTool { server: call.server, tool: call.tool },
    })
}

pub(super) fn diff(mut diff: types::Diff, chunk: &str) -> Result<Diff, Violation> {
    let old = diff.old.as_mut().map(|old| text(old, chunk)).transpose()?;
    let new = text(&mut diff.new, chunk)?.into_string();
    Ok(Diff { path: diff.path, old: old.map(wharf_core::stream::Text::into_string), new })
}

fn question(question: types::Question) -> Question {
    let mut lifted = Question::new(question.id, question.text);
    lifted.title = question.title;
    lifted.choices = question.choices.into_iter().map(choice).collect();
    lifted.multiple = question.multiple;
    lifted.free_text = question.free_text;
    lifted
}

fn choice(choice: types::Choice) -> Choice {
    let kind = match choice.kind {
        types::ChoiceKind::AllowOnce => ChoiceKind::AllowOnce,
        types::ChoiceKind::AllowAlways => ChoiceKind::AllowAlways,
        types::ChoiceKind::RejectOnce => ChoiceKind::RejectOnce,
        types::ChoiceKind::RejectAlways => ChoiceKind::RejectAlways,
        types::ChoiceKind::RejectAndStop => ChoiceKind::RejectAndStop,
        types::ChoiceKind::Other => ChoiceKind::Other,
    };
    Choice { id: choice.id, kind, label: choice.label }
}
