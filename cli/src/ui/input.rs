//! Standard input while a turn runs: a person's answers and messages, or a program's lines of JSON. Parsing a line is
//! pure; only `Lines` reads, in a separate thread.

use schemars::JsonSchema;
use serde::Deserialize;
use std::io::BufRead as _;
use tokio::sync::mpsc;
use wharf::NextTurn;
use wharf::ask::{Answer, Ask, ChoiceKind, Decision};

/// How many lines are read ahead. Beyond it the writer has to wait.
const AHEAD: usize = 16;

/// A line of `--messages --json`.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
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
    Cancel,
}

impl Control {
    /// Parses a line. The error says what is valid.
    pub(crate) fn parse(line: &str) -> Result<Control, String> {
        serde_json::from_str(line).map_err(|error| {
            let shown: String = line.chars().take(100).collect();
            format!(
                "a line of standard input was not understood ({error}): {shown}\n\
                 hint: {{\"type\":\"message\",\"text\":\"…\"}}, \
                 {{\"type\":\"answer\",\"ask\":\"…\",\"decision\":\"allow\"}}, \
                 {{\"type\":\"next-turn\",\"prompt\":\"…\"}} or {{\"type\":\"cancel\"}}"
            )
        })
    }
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
    ];
    let plain = plain.into_iter().filter(|(offered, _)| *offered).map(|(_, text)| text.to_owned());
    let others = ask.choices.iter().filter(|choice| choice.kind == ChoiceKind::Other);
    let others = others.map(|choice| format!("c {} = {}", choice.id, choice.label));
    plain.chain(others).collect::<Vec<_>>().join(", ")
}

/// The answer that a person typed. No line at all is a no.
pub(crate) fn answer(ask: &Ask, line: Option<&str>) -> Result<Answer, String> {
    let line = line.unwrap_or("n").trim();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let offers = |kind| ask.choices.iter().any(|choice| choice.kind == kind);
    let plain = |decision| Ok(Answer::new(&ask.id, decision));
    match word {
        "y" | "yes" if offers(ChoiceKind::AllowOnce) => plain(Decision::Allow),
        "y" | "yes" if offers(ChoiceKind::AllowAlways) => {
            Err("  it cannot be allowed just once: a = always, n = no".to_owned())
        }
        "a" | "always" => plain(Decision::AllowAlways),
        "n" | "no" => plain(Decision::Deny),
        "s" | "stop" => plain(Decision::DenyAndStop),
        "e" if ask.input_editable => match wharf::parse_json(rest) {
            Ok(input) => Ok(Answer::new(&ask.id, Decision::Allow).with_input(input)),
            Err(error) => Err(format!("  that input is not JSON: {error}")),
        },
        "t" if ask.free_text => Ok(Answer::new(&ask.id, Decision::Allow).with_text(rest)),
        "c" => plain(Decision::Choice(rest.trim().to_owned())),
        _ => Err("  that is not one of the answers".to_owned()),
    }
}

/// Lines of standard input, from when they are first needed.
#[derive(Default)]
pub(crate) struct Lines {
    receiver: Option<mpsc::Receiver<String>>,
    ended: bool,
}

impl Lines {
    /// Starts to read, unless that was done before.
    pub(crate) fn start(&mut self) {
        self.receiver.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(AHEAD);
            std::thread::spawn(move || {
                // Not `lines`: a line that is not UTF-8 is reported like any other that is not understood.
                for line in std::io::stdin().lock().split(b'\n') {
                    let Ok(line) = line else { return };
                    let line = String::from_utf8_lossy(&line);
                    if sender.blocking_send(line.trim_end_matches('\r').to_owned()).is_err() {
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
    pub(crate) async fn next(&mut self) -> Option<String> {
        let line = match &mut self.receiver {
            Some(receiver) => receiver.recv().await,
            None => std::future::pending().await,
        };
        self.ended |= line.is_none();
        line
    }

    /// A line that is already there.
    pub(crate) fn waiting(&mut self) -> Option<String> {
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
        assert_eq!(answer(&once, Some("y")), Ok(Answer::new("a", Decision::Allow)));
        assert_eq!(choices_text(&once), "y = yes, n = no, a = always");
        assert!(
            answer(&ask(&[ChoiceKind::Other]), Some("y"))
                .is_err_and(|reason| reason.contains("not one of the answers"))
        );
    }

    #[test]
    fn a_persons_line_is_parsed_as_an_answer() {
        let plain = |decision| Ok(Answer::new("a", decision));
        let mut asked = ask(&[ChoiceKind::AllowOnce, ChoiceKind::Other]);
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
        for (line, control) in [
            (r#"{"type":"message","text":"a\nb"}"#, Control::Message { text: "a\nb".to_owned() }),
            (r#"{"type":"cancel"}"#, Control::Cancel),
            (r#"{"type":"next-turn","prompt":"p"}"#, Control::NextTurn(NextTurn::new("p"))),
            (r#"{"type":"next-turn","prompt":"p","model":"m","approvals":"allow-all"}"#, Control::NextTurn(louder)),
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
            assert!(Control::parse(line).is_err_and(|reason| reason.contains("hint:")), "{line}");
        }
    }
}
