//! Standard input while a turn runs: a person's answers and messages, or a program's lines of JSON. Parsing a line is
//! pure; only `Lines` reads, in a separate thread.

use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::BufRead;
use tokio::sync::mpsc;
use wharf::NextTurn;
use wharf::ask::{Answer, Ask, AskKind, ChoiceKind, Decision, FieldAnswer};

/// How many lines are read ahead. Beyond it the writer has to wait.
const AHEAD: usize = 16;

/// The longest line. It may be a prompt.
const LINE_LIMIT: usize = 16 << 20;

/// A line of `--control --json`.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Control {
    /// A message to the agent.
    Message {
        /// The message.
        text: String,
    },
    /// An answer to an ask.
    Answer(Answer),
    /// Another turn in the same process.
    NextTurn(NextTurn),
    /// Stop: by a request the first time, by killing the second time.
    Cancel {},
}

impl Control {
    /// Parses a line. The error is why it was not understood.
    pub(crate) fn parse(line: &str) -> Result<Control, String> {
        let control = serde_json::from_str(line).map_err(|error| error.to_string())?;
        match &control {
            Control::Message { text } | Control::NextTurn(NextTurn { prompt: text, .. }) if text.contains('\0') => {
                Err("the text has a NUL character in it".to_owned())
            }
            _ => Ok(control),
        }
    }

    /// What a line may be.
    pub(crate) const VALID: &str = r#"{"type":"message","text":"…"}, {"type":"answer","number":1,"decision":"allow"}, {"type":"next-turn","prompt":"…"} or {"type":"cancel"}"#;
}

/// A line, or the beginning of one that cannot be used, and why.
pub(crate) type Line = Result<String, (String, String)>;

/// The next line; none at the end. Of a line that is too long only the beginning is kept.
fn read_line(source: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    const SHOWN: usize = 400;
    let (mut line, mut length) = (Vec::new(), 0_usize);
    loop {
        let available = match source.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        if available.is_empty() {
            if length == 0 {
                return Ok(None);
            }
            break;
        }
        let end = memchr(available);
        let piece = &available[..end.unwrap_or(available.len())];
        length = length.saturating_add(piece.len());
        line.extend_from_slice(piece);
        if length > LINE_LIMIT {
            line.truncate(SHOWN);
        }
        let used = piece.len() + usize::from(end.is_some());
        source.consume(used);
        if end.is_some() {
            break;
        }
    }
    let head = || String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned();
    if length > LINE_LIMIT {
        return Ok(Some(Err((head(), format!("the line has {length} bytes, more than {LINE_LIMIT}")))));
    }
    match std::str::from_utf8(&line) {
        Ok(text) if text.contains('\0') => Ok(Some(Err((head(), "the line has a NUL byte in it".to_owned())))),
        Ok(text) => Ok(Some(Ok(text.trim_end_matches('\r').to_owned()))),
        Err(_) => Ok(Some(Err((head(), "the line is not UTF-8".to_owned())))),
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// What a person may type as an answer.
pub(crate) fn choices_text(ask: &Ask) -> String {
    let offers = |kind| ask.choices.iter().any(|choice| choice.kind == kind);
    let plain = [
        (offers(ChoiceKind::AllowOnce), "y = yes"),
        (true, "n = no"),
        (offers(ChoiceKind::AllowAlways), "a = always"),
        (offers(ChoiceKind::RejectAndStop), "s = no, and stop"),
        (ask.input_editable, "e {JSON} = yes, with this input"),
        (ask.free_text, "t TEXT = answer with a text"),
        (!ask.form.is_empty(), r#"f {"QUESTION": "CHOICE OR TEXT", …} = answer the questions"#),
        (takes_value(ask), "v JSON = answer with a value"),
    ];
    let plain = plain.into_iter().filter(|(offered, _)| *offered).map(|(_, text)| text.to_owned());
    let others = ask.choices.iter().filter(|choice| choice.kind == ChoiceKind::Other);
    let others = others.map(|choice| format!("c {} = {}", choice.id, choice.label));
    plain.chain(others).collect::<Vec<_>>().join(", ")
}

/// Whether the answer may have a value.
fn takes_value(ask: &Ask) -> bool {
    ask.schema.is_some() || matches!(ask.kind, AskKind::Tool | AskKind::Hook)
}

/// The answers to a form's questions: a text that is no choice of its question is free text.
fn form_answer(ask: &Ask, text: &str) -> Result<Answer, String> {
    let given: BTreeMap<String, OneOrMore> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut answer = Answer::to(ask, Decision::Allow);
    for (question, given) in given {
        let known = ask.form.iter().find(|known| known.id == question);
        let known = known.ok_or_else(|| format!("there is no question {question:?}"))?;
        let mut field = FieldAnswer { question, choices: vec![], text: None };
        for given in given.into_list() {
            match known.choices.iter().find(|choice| choice.id == given || choice.label == given) {
                Some(choice) => field.choices.push(choice.id.clone()),
                None => field.text = Some(given),
            }
        }
        answer = answer.with_field(field);
    }
    Ok(answer)
}

/// One text or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_list(self) -> Vec<String> {
        match self {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(list) => list,
        }
    }
}

/// The answer that a person typed. No line at all is a no.
pub(crate) fn answer(ask: &Ask, line: Option<&str>) -> Result<Answer, String> {
    let line = line.unwrap_or("n").trim();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let offers = |kind| ask.choices.iter().any(|choice| choice.kind == kind);
    let plain = |decision| Ok(Answer::to(ask, decision));
    match word {
        "y" | "yes" if offers(ChoiceKind::AllowOnce) => plain(Decision::Allow),
        "y" | "yes" if offers(ChoiceKind::AllowAlways) => {
            Err("  it cannot be allowed just once: a = always, n = no".to_owned())
        }
        "a" | "always" => plain(Decision::AllowAlways),
        "n" | "no" => plain(Decision::Deny),
        "s" | "stop" => plain(Decision::DenyAndStop),
        "e" if ask.input_editable => match wharf::parse_json(rest) {
            Ok(input) => Ok(Answer::to(ask, Decision::Allow).with_input(input)),
            Err(error) => Err(format!("  that input is not JSON: {error}")),
        },
        "t" if ask.free_text => Ok(Answer::to(ask, Decision::Allow).with_text(rest)),
        "f" if !ask.form.is_empty() => form_answer(ask, rest).map_err(|error| format!("  {error}")),
        "v" if takes_value(ask) => match wharf::parse_json(rest) {
            Ok(value) => Ok(Answer::to(ask, Decision::Allow).with_value(value)),
            Err(error) => Err(format!("  that value is not JSON: {error}")),
        },
        "c" => plain(Decision::Choice(rest.trim().to_owned())),
        _ => Err("  that is not one of the answers".to_owned()),
    }
}

/// Lines of standard input, from when they are first needed.
#[derive(Default)]
pub(crate) struct Lines {
    receiver: Option<mpsc::Receiver<Line>>,
    ended: bool,
}

impl Lines {
    /// Starts to read, unless that was done before.
    pub(crate) fn start(&mut self) {
        self.receiver.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(AHEAD);
            std::thread::spawn(move || {
                let mut stdin = std::io::stdin().lock();
                while let Ok(Some(line)) = read_line(&mut stdin) {
                    if sender.blocking_send(line).is_err() {
                        return;
                    }
                }
            });
            receiver
        });
    }

    /// Whether there are no more lines.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// The next line; none once there are no more.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        let line = match &mut self.receiver {
            Some(receiver) => receiver.recv().await,
            None => std::future::pending().await,
        };
        self.ended |= line.is_none();
        line
    }

    /// A line that is already there.
    pub(crate) fn waiting(&mut self) -> Option<Line> {
        self.receiver.as_mut()?.try_recv().ok()
    }
}

/// Whether this program may read its terminal. A background process that tries is stopped by the system.
pub(crate) fn in_foreground() -> bool {
    #[cfg(unix)]
    {
        rustix::termios::tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }
    #[cfg(not(unix))]
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf::ask::{AskKind, Choice};

    fn ask(kinds: &[ChoiceKind]) -> Ask {
        let choices = kinds.iter().enumerate();
        let choice = |(number, kind): (usize, &ChoiceKind)| Choice {
            id: number.to_string(),
            kind: *kind,
            label: format!("choice {number}"),
        };
        let mut ask = Ask::new("a", AskKind::Permission, "may I?");
        ask.choices = choices.map(choice).collect();
        ask
    }

    #[test]
    fn a_yes_never_allows_more_than_once() {
        let always = ask(&[ChoiceKind::AllowAlways, ChoiceKind::RejectOnce]);
        assert!(answer(&always, Some("y")).is_err_and(|reason| reason.contains("a = always")));
        assert_eq!(choices_text(&always), "n = no, a = always");
        let once = ask(&[ChoiceKind::AllowAlways, ChoiceKind::AllowOnce]);
        assert_eq!(answer(&once, Some("y")), Ok(Answer::to(&once, Decision::Allow)));
        assert_eq!(choices_text(&once), "y = yes, n = no, a = always");
        assert!(
            answer(&ask(&[ChoiceKind::Other]), Some("y"))
                .is_err_and(|reason| reason.contains("not one of the answers"))
        );
    }

    #[test]
    fn a_persons_line_is_parsed_as_an_answer() {
        let mut asked = ask(&[ChoiceKind::AllowOnce, ChoiceKind::Other]);
        let plain = |decision| Ok(Answer::to(&ask(&[]), decision));
        for (line, expected) in [
            (None, plain(Decision::Deny)),
            (Some(" no "), plain(Decision::Deny)),
            (Some("s"), plain(Decision::DenyAndStop)),
            (Some("c 1"), plain(Decision::Choice("1".to_owned()))),
            (Some("e {}"), Err("  that is not one of the answers".to_owned())),
            (Some("t why"), Err("  that is not one of the answers".to_owned())),
            (Some(""), Err("  that is not one of the answers".to_owned())),
        ] {
            assert_eq!(answer(&asked, line), expected, "{line:?}");
        }
        asked.input_editable = true;
        asked.free_text = true;
        let edited = answer(&asked, Some("e {\"n\": 1}")).expect("an answer");
        assert_eq!((edited.decision, edited.input), (Decision::Allow, Some(serde_json::json!({ "n": 1 }))));
        assert!(answer(&asked, Some("e {")).is_err_and(|reason| reason.contains("not JSON")));
        assert_eq!(answer(&asked, Some("t so be it")).expect("an answer").text.as_deref(), Some("so be it"));
        assert!(choices_text(&asked).ends_with("c 1 = choice 1"));
    }

    #[test]
    fn a_programs_line_is_parsed_as_a_control() {
        let mut louder = NextTurn::new("p");
        louder.model = Some("m".to_owned());
        louder.approvals = Some(wharf::Approvals::AllowAll);
        let mut numbered = Answer::new("", Decision::Deny);
        (numbered.ask, numbered.number) = (None, Some(7));
        for (line, control) in [
            (r#"{"type":"message","text":"a\nb"}"#, Control::Message { text: "a\nb".to_owned() }),
            (r#"{"type":"cancel"}"#, Control::Cancel {}),
            (r#"{"type":"next-turn","prompt":"p"}"#, Control::NextTurn(NextTurn::new("p"))),
            (r#"{"type":"next-turn","prompt":"p","model":"m","approvals":"allow-all"}"#, Control::NextTurn(louder)),
            (r#"{"type":"answer","number":7,"decision":"deny"}"#, Control::Answer(numbered)),
            (r#"{"type":"answer","ask":"a","decision":"deny"}"#, Control::Answer(Answer::new("a", Decision::Deny))),
            (
                r#"{"type":"answer","ask":"a","decision":{"choice":"x"},"text":"t"}"#,
                Control::Answer(Answer::new("a", Decision::Choice("x".to_owned())).with_text("t")),
            ),
        ] {
            assert_eq!(Control::parse(line), Ok(control), "{line}");
        }
        for line in
            ["", "hello", "[]", r#"{"type":"message"}"#, r#"{"type":"dance"}"#, r#"{"type":"answer","ask":"a"}"#]
        {
            assert!(Control::parse(line).is_err(), "{line}");
        }
        let nul = r#"{"type":"message","text":"a\u0000b"}"#;
        assert!(Control::parse(nul).is_err_and(|reason| reason.contains("NUL")));
        for valid in Control::VALID.replace(" or ", ", ").split("}, ") {
            let line = format!("{}}}", valid.trim_end_matches('}'));
            assert!(Control::parse(&line).is_ok(), "{line}");
        }
    }

    /// With `"inptu"` the tool ran with the input that the caller had meant to change.
    #[test]
    fn a_misspelt_field_of_a_line_was_ignored() {
        for line in [
            r#"{"type":"answer","number":1,"decision":"allow","inptu":{"command":"ls"}}"#,
            r#"{"type":"message","text":"a","name":"b"}"#,
            r#"{"type":"next-turn","prompt":"p","modle":"m"}"#,
            r#"{"type":"cancel","run":"r"}"#,
        ] {
            assert!(Control::parse(line).is_err_and(|reason| reason.contains("unknown field")), "{line}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_used_is_told_with_its_beginning_and_the_next_one_is_read() {
        let long = "x".repeat(LINE_LIMIT + 1);
        let bytes = [b"one\r\n", b"\xff\xfe\n".as_slice(), b"a\0b\n", long.as_bytes(), b"\n\nlast"].concat();
        let mut source = std::io::BufReader::new(&bytes[..]);
        let mut next = || read_line(&mut source).expect("bytes can be read");
        assert_eq!(next(), Some(Ok("one".to_owned())));
        for reason in ["not UTF-8", "NUL", "more than 16777216"] {
            let Some(Err((head, found))) = next() else { panic!("{reason}") };
            assert!(head.len() <= 400 && found.contains(reason), "{found}");
        }
        // An empty line is a line, and the last one needs no end.
        assert_eq!([next(), next(), next()], [Some(Ok(String::new())), Some(Ok("last".to_owned())), None]);
    }
}
