//! The lines of stderr: `OpenCode`'s log, and its remarks.
//!
//! A failed model call that is retried is only in the log. Old versions write it as `ERROR time service=llm … error={JSON}`,
//! newer ones as `level=ERROR … message="stream error" … error.error="…"`.

use crate::failure::{self, Moment};
use wharf_adapter::{ErrorClass, Failure, Json, text};

/// A line of the log about an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a>(&'a str);

impl<'a> Entry<'a> {
    /// Reads a line, if it is a line of the log that matters: an error, or the start of a model call.
    pub(crate) fn read(line: &'a str) -> Option<Entry<'a>> {
        let is_error =
            line.starts_with("ERROR ") || (line.starts_with("timestamp=") && text::contains(line, " level=ERROR "));
        (is_error || Entry(line).starts_call()).then_some(Entry(line))
    }

    /// Whether a model call of the turn starts, and not one for a title.
    pub(crate) fn starts_call(self) -> bool {
        let new = self.0.starts_with("timestamp=")
            && text::contains(self.0, " level=INFO ")
            && text::contains(self.0, " message=stream ");
        let old = self.0.starts_with("INFO ") && text::contains(self.0, " service=llm ") && self.0.ends_with(" stream");
        (new || old) && text::contains(self.0, " small=false ")
    }

    /// The model that is called: `provider/model`.
    pub(crate) fn model(self) -> Option<String> {
        Some(format!("{}/{}", self.field(" providerID=").map(word)?, self.field(" modelID=").map(word)?))
    }

    /// The session that it is about.
    pub(crate) fn session(self) -> Option<&'a str> {
        self.field(" session.id=").map(word)
    }

    /// Whether a model call of the turn itself failed, and not one for a title.
    pub(crate) fn is_model_call(self) -> bool {
        let is_call = text::contains(self.0, "message=\"stream error\"") || text::contains(self.0, " service=llm ");
        is_call && text::contains(self.0, " small=false ") && !self.starts_call()
    }

    /// What failed.
    pub(crate) fn failure(self) -> Option<Failure> {
        if let Some(quoted) = self.field(" error.error=") {
            return Some(of_text(&Json::parse(quoted_part(quoted)).string()?));
        }
        let error = self.field(" error=")?;
        let error = if error.starts_with('{') {
            Json::parse(object_part(error)).get("error")
        } else {
            wharf_adapter::json::MISSING
        };
        if error.is_object() {
            let message = error.get("message").filled().or_else(|| error.get("responseBody").filled());
            let message = message.unwrap_or("a model call failed".into());
            return Some(failure::named("APIError", &message, error, Moment { answered: true, at: None }));
        }
        let text = self.field(" error=").map(quoted_part)?;
        Some(of_text(&Json::parse(text).string().unwrap_or_else(|| text.to_owned())))
    }

    /// What follows a key.
    fn field(self, key: &str) -> Option<&'a str> {
        text::find(self.0, key).map(|at| &self.0[at + key.len()..])
    }
}

/// A value up to the next space.
fn word(value: &str) -> &str {
    value.split(' ').next().unwrap_or_default()
}

/// A value in quotes, with them; or all of it.
fn quoted_part(value: &str) -> &str {
    if !value.starts_with('"') {
        return value;
    }
    let mut escaped = false;
    for (at, byte) in value.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return &value[..=at],
            _ => {}
        }
    }
    value
}

/// An object without the words after it.
fn object_part(value: &str) -> &str {
    value.rfind('}').map_or(value, |end| &value[..=end])
}

/// A failure of which only the text is known: `AI_APICallError: Internal server error`.
fn of_text(text: &str) -> Failure {
    let message = text.strip_prefix("AI_APICallError: ").unwrap_or(text);
    Failure::new(failure::class_of(text).unwrap_or(ErrorClass::Provider), message)
}

/// A remark for people on stderr.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// It rejected a permission itself, because nobody can be asked.
    Rejected(String),
    /// Anything else, such as an agent that it does not know.
    Other(String),
}

impl Remark {
    /// Reads a line: `OpenCode` marks its remarks with an exclamation mark.
    pub(crate) fn read(line: &str) -> Option<Remark> {
        let line = failure::plain(line);
        let text = line.trim().strip_prefix('!')?.trim();
        Some(match text.strip_suffix("; auto-rejecting") {
            Some(what) => Remark::Rejected(what.strip_prefix("permission requested: ").unwrap_or(what).to_owned()),
            None => Remark::Other(text.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by 1.18.33 and 1.15.4, the request shortened.
    const NEW: &str = r#"timestamp=2026-11-18T16:36:46.476Z level=ERROR run=2156673e message="stream error" providerID=lab modelID=mock-model session.id=ses_e107 small=false agent=build mode=primary error.error="AI_APICallError: the \"mock\" answers 500""#;
    const OLD: &str = r#"ERROR 2026-11-18T16:37:04 +1797ms service=llm providerID=lab modelID=mock-model session.id=ses_e107 small=false agent=build mode=primary error={"error":{"name":"AI_APICallError","url":"http://h/v1","requestBodyValues":{"messages":[{"content":"401 unauthorized"}]},"statusCode":500,"responseBody":"{\"error\":{\"message\":\"the mock\"}}","isRetryable":true}} stream error"#;

    #[test]
    fn a_failed_model_call_is_read_from_the_log() {
        let entry = Entry::read(NEW).expect("an entry");
        assert_eq!((entry.session(), entry.is_model_call()), (Some("ses_e107"), true));
        let failure = entry.failure().expect("a failure");
        assert_eq!((failure.class, failure.message.as_str()), (ErrorClass::Provider, "the \"mock\" answers 500"));

        let entry = Entry::read(OLD).expect("an entry");
        assert_eq!((entry.session(), entry.is_model_call()), (Some("ses_e107"), true));
        let failure = entry.failure().expect("a failure");
        assert_eq!((failure.class, failure.http_status), (ErrorClass::Provider, Some(500)), "the request is not read");
    }

    /// Written by 1.18.33 and 1.15.4.
    #[test]
    fn the_start_of_a_model_call_names_the_model() {
        let new = "timestamp=2026-11-18T17:59:10.319Z level=INFO run=05c02883 message=stream providerID=lab modelID=mock-model session.id=ses_e1 small=false agent=build mode=primary";
        let old = "INFO  2026-11-18T17:59:11 +1ms service=llm providerID=lab modelID=mock-model session.id=ses_e1 small=false agent=build mode=primary stream";
        for line in [new, old] {
            let entry = Entry::read(line).expect("an entry");
            assert!(entry.starts_call() && !entry.is_model_call() && entry.failure().is_none());
            assert_eq!((entry.session(), entry.model().as_deref()), (Some("ses_e1"), Some("lab/mock-model")));
            assert!(Entry::read(&line.replace("small=false", "small=true")).is_none());
        }
    }

    #[test]
    fn what_is_no_model_call_of_the_turn_does_not_count() {
        let title = NEW.replace("small=false", "small=true");
        assert!(!Entry::read(&title).expect("an entry").is_model_call());
        assert!(Entry::read("INFO 2026 service=llm small=false ").is_none());
        assert!(Entry::read("the model said level=ERROR ").is_none());
    }

    #[test]
    fn remarks_are_read_without_their_colors() {
        let mark = "\u{1b}[93m\u{1b}[1m! \u{1b}[0m";
        let rejected = format!("{mark}permission requested: bash (echo hi, pwd); auto-rejecting");
        assert_eq!(Remark::read(&rejected), Some(Remark::Rejected("bash (echo hi, pwd)".to_owned())));
        let agent = format!("{mark} agent \"nosuch\" not found. Falling back to default agent");
        let text = "agent \"nosuch\" not found. Falling back to default agent";
        assert_eq!(Remark::read(&agent), Some(Remark::Other(text.to_owned())));
        assert_eq!(Remark::read("plain text"), None);
    }
}
