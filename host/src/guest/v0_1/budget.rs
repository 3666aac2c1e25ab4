//! How many bytes the effects of one call may take in the host. What a guest returns is small where it refers to the
//! chunk: a thousand effects may each quote the whole line. So an effect counts by what it becomes.

use super::bindings::types;
use super::text::Violation;

/// What any call may return, whatever it was given.
const BASE: usize = 64 << 20;

/// What it may return more for each byte of its chunk. An agent's line may be one large JSON value, which takes several
/// times its length in memory.
const FOR_EACH_BYTE: usize = 16;

/// What an effect takes without its texts.
const EFFECT: usize = 256;

/// What a value inside JSON takes without its text.
const JSON_VALUE: usize = 32;

/// The bytes that are left for the effects of a call.
pub(super) struct Budget {
    limit: usize,
    left: usize,
}

impl Budget {
    pub(super) fn of_chunk(chunk: &str) -> Budget {
        let limit = BASE.saturating_add(chunk.len().saturating_mul(FOR_EACH_BYTE));
        Budget { limit, left: limit }
    }

    /// Takes what an effect needs, before it is lifted.
    pub(super) fn take(&mut self, effect: &types::Effect, chunk: &str) -> Result<(), Violation> {
        let needed = EFFECT.saturating_add(weight(effect, chunk));
        self.left = self.left.checked_sub(needed).ok_or_else(|| {
            Violation(format!(
                "the effects of one call take more than {} bytes, texts that they quote included",
                self.limit
            ))
        })?;
        Ok(())
    }
}

/// Checks what a call returns that has no effects: `texts` are JSON, or lists with commas.
pub(super) fn check_texts<'t>(texts: impl Iterator<Item = &'t str>) -> Result<(), Violation> {
    let taken = texts.fold(0_usize, |taken, text| taken.saturating_add(json(text.as_bytes())));
    if taken > BASE {
        return Err(Violation(format!("the values that it returned in one call take more than {BASE} bytes")));
    }
    Ok(())
}

fn weight(effect: &types::Effect, chunk: &str) -> usize {
    match effect {
        types::Effect::Emit(event) => event_weight(event, chunk),
        types::Effect::Write(bytes) => bytes.len(),
        types::Effect::CloseStdin | types::Effect::SetTimer(_) | types::Effect::TransportFailed(_) => 0,
    }
}

/// Texts without spans and without JSON are not counted: they are as long as the guest returned them, which is limited.
fn event_weight(event: &types::Event, chunk: &str) -> usize {
    let text = |text: &types::Text| content(text, chunk).len();
    let some = |text: Option<&types::Text>| text.map_or(0, |text| content(text, chunk).len());
    let json_text = |text: &types::Text| json(content(text, chunk));
    match event {
        types::Event::TextDelta(part)
        | types::Event::Message(part)
        | types::Event::ThinkingDelta(part)
        | types::Event::Thinking(part)
        | types::Event::Prompt(part)
        | types::Event::ToolOutput(part) => sum([text(&part.text), text(&part.id), some(part.parent.as_ref())]),
        types::Event::Discard(id) => text(id),
        types::Event::Round(round) => some(round.parent.as_ref()),
        types::Event::Subagent(subagent) => text(&subagent.id),
        types::Event::Tool(call) => {
            let diffs = call.diffs.iter().flat_map(|diff| [some(diff.old.as_ref()), text(&diff.new)]);
            let ids = [text(&call.id), some(call.parent.as_ref())];
            let content = [call.input.as_ref().map_or(0, json_text), some(call.output.as_ref())];
            sum(diffs.chain(ids).chain(content))
        }
        types::Event::Ask(ask) => {
            let diffs = ask.actions.iter().filter_map(|action| match action {
                types::Action::Write(write) => write.diff.as_ref(),
                _ => None,
            });
            let diffs = diffs.flat_map(|diff| [some(diff.old.as_ref()), text(&diff.new)]);
            let schema = ask.schema.as_ref().map_or(0, |schema| json(schema.as_bytes()));
            sum(diffs.chain([json(ask.detail.as_bytes()), schema]))
        }
        types::Event::TurnEnded(end) => {
            let structured = end.structured_output.as_ref().map_or(0, |output| json(output.as_bytes()));
            end.answer.as_ref().map_or(0, text).saturating_add(structured)
        }
        types::Event::Other((_, payload)) => json(payload.as_bytes()),
        _ => 0,
    }
}

fn sum(weights: impl IntoIterator<Item = usize>) -> usize {
    weights.into_iter().fold(0, usize::saturating_add)
}

/// The bytes of a text. A span that is not inside the chunk has none: it is refused when it is lifted.
fn content<'a>(text: &'a types::Text, chunk: &'a str) -> &'a [u8] {
    match text {
        types::Text::Inline(text) => text.as_bytes(),
        types::Text::Verbatim(span) | types::Text::Quoted(span) => {
            let start = span.start as usize;
            let end = start.saturating_add(span.length as usize);
            chunk.as_bytes().get(start..end).unwrap_or_default()
        }
    }
}

/// At least what a JSON text takes as a value: every value but the first comes after one of these characters.
fn json(text: &[u8]) -> usize {
    let values = text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b':')).count();
    text.len().saturating_add(values.saturating_mul(JSON_VALUE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: u32) -> types::Effect {
        let text = types::Text::Quoted(types::Span { start: 0, length });
        types::Effect::Emit(types::Event::Message(types::TextPart {
            id: types::Text::Inline(String::new()),
            parent: None,
            text,
        }))
    }

    #[test]
    fn a_quoted_text_counts_each_time_it_is_quoted() {
        let chunk = "x".repeat(1 << 20);
        let mut budget = Budget::of_chunk(&chunk);
        let taken = (0..5000).take_while(|_| budget.take(&message(1 << 20), &chunk).is_ok()).count();
        assert_eq!(taken, 79, "64 MiB and 16 times the chunk, less a little for each effect");
    }

    #[test]
    fn json_counts_as_the_value_that_it_becomes() {
        let text = format!("[{}0]", "0,".repeat(1 << 20));
        let effect = types::Effect::Emit(types::Event::Other((String::new(), text)));
        let mut budget = Budget::of_chunk("");
        assert!(budget.take(&effect, "").is_ok());
        assert!(budget.take(&effect, "").is_err(), "34 MiB each");
    }

    #[test]
    fn the_models_and_the_description_of_an_adapter_count_as_the_values_that_they_become() {
        let list = "0,".repeat(1 << 20);
        assert!(check_texts([list.as_str()].into_iter()).is_ok());
        assert!(check_texts([list.as_str(), &list].into_iter()).is_err(), "34 MiB each");
    }

    #[test]
    fn what_an_agent_may_write_in_one_line_fits_twice() {
        let line = "\"".repeat(16 << 20);
        let mut budget = Budget::of_chunk(&line);
        let whole = 16 << 20;
        assert!(budget.take(&message(whole), &line).is_ok() && budget.take(&message(whole), &line).is_ok());
    }
}
