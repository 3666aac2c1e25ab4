//! What comes in on standard input while a turn runs: a person's answers and messages, or the lines of a program that
//! has nothing but this command. What a line means is pure; only `Lines` reads, in a thread of its own.

use serde::Deserialize;
use std::io::BufRead as _;
use tokio::sync::mpsc;
use wharf::{Answer, Ask, ChoiceKind, Decision, NextTurn};

/// How many lines are read ahead. Beyond it whoever writes them waits.
const AHEAD: usize = 16;

/// A line of `--messages --json`.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Said {
    /// Something more for the agent.
    Message {
        /// What.
        text: String,
    },
    /// To an ask.
    Answer(Answer),
    /// Another turn in the same process.
    NextTurn(NextTurn),
    /// Stop: politely the first time, at once the second time.
    Cancel,
}

impl Said {
    /// The error says what would have been understood.
    pub(crate) fn read(line: &str) -> Result<Said, String> {
        serde_json::from_str(line).map_err(|why| {
            let shown: String = line.chars().take(100).collect();
            format!(
                "a line of standard input was not understood ({why}): {shown}\n\
                 hint: {{\"type\":\"message\",\"text\":\"…\"}}, \
                 {{\"type\":\"answer\",\"ask\":\"…\",\"decision\":\"allow\"}}, \
                 {{\"type\":\"next-turn\",\"prompt\":\"…\"}} or {{\"type\":\"cancel\"}}"
            )
        })
    }
}

/// What a person may type at an ask.
pub(crate) fn ways(ask: &Ask) -> String {
    let offers = |kind| ask.choices.iter().any(|choice| choice.kind == kind);
    let plain = [
        (offers(ChoiceKind::AllowOnce), "y = yes"),
        (true, "n = no"),
        (offers(ChoiceKind::AllowAlways), "a = always"),
        (offers(ChoiceKind::RejectAndStop), "s = no, and stop"),
        (ask.input_editable, "e {JSON} = yes, with this input"),
        (ask.free_text, "t TEXT = answer with a text"),
    ];
    let plain = plain.into_iter().filter(|(offered, _)| *offered).map(|(_, way)| way.to_owned());
    let others = ask.choices.iter().filter(|choice| choice.kind == ChoiceKind::Other);
    let others = others.map(|choice| format!("c {} = {}", choice.id, choice.label));
    plain.chain(others).collect::<Vec<_>>().join(", ")
}

/// What a person's line means to an ask. No line at all is a no.
pub(crate) fn answer(ask: &Ask, line: Option<&str>) -> Result<Answer, String> {
    let line = line.unwrap_or("n").trim();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let offers = |kind| ask.choices.iter().any(|choice| choice.kind == kind);
    let plain = |decision| Ok(Answer::new(&ask.id, decision));
    match word {
        "y" | "yes" if offers(ChoiceKind::AllowOnce) => plain(Decision::Allow),
        "y" | "yes" if offers(ChoiceKind::AllowAlways) => {
            Err("  it cannot be allowed only once: a = always, n = no".to_owned())
        }
        "a" | "always" => plain(Decision::AllowAlways),
        "n" | "no" => plain(Decision::Deny),
        "s" | "stop" => plain(Decision::DenyAndStop),
        "e" if ask.input_editable => match serde_json::from_str(rest) {
            Ok(input) => Ok(Answer { input: Some(input), ..Answer::new(&ask.id, Decision::Allow) }),
            Err(why) => Err(format!("  that input is not JSON: {why}")),
        },
        "t" if ask.free_text => Ok(Answer { text: Some(rest.to_owned()), ..Answer::new(&ask.id, Decision::Allow) }),
        "c" => plain(Decision::Choice(rest.trim().to_owned())),
        _ => Err("  that is none of the answers".to_owned()),
    }
}

/// Lines of standard input, from when they were first wanted.
#[derive(Default)]
pub(crate) struct Lines {
    receiver: Option<mpsc::Receiver<String>>,
    ended: bool,
}

impl Lines {
    /// Begin to read, unless that was done.
    pub(crate) fn start(&mut self) {
        self.receiver.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(AHEAD);
            std::thread::spawn(move || {
                // Not `lines`: one that is not UTF-8 is told of like any other that is not understood, and ends nothing.
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

    /// Whether there is nothing more to come.
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

    /// What came already.
    pub(crate) fn waiting(&mut self) -> Option<String> {
        self.receiver.as_mut()?.try_recv().ok()
    }
}

/// Whether this program may read its terminal. One in the background that tries is stopped by the system.
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
    use wharf::Choice;

    fn ask(kinds: &[ChoiceKind]) -> Ask {
        let choices = kinds.iter().enumerate();
        let choice = |(number, kind): (usize, &ChoiceKind)| Choice {
            id: number.to_string(),
            kind: *kind,
            label: format!("choice {number}"),
        };
        Ask {
            id: "a".to_owned(),
            kind: "permission".to_owned(),
            title: "may I?".to_owned(),
            tool: None,
            tool_id: None,
            detail: serde_json::Value::Null,
            choices: choices.map(choice).collect(),
            free_text: false,
            input_editable: false,
        }
    }

    #[test]
    fn a_yes_is_never_more_than_once() {
        let always = ask(&[ChoiceKind::AllowAlways, ChoiceKind::RejectOnce]);
        assert!(answer(&always, Some("y")).is_err_and(|why| why.contains("a = always")));
        assert_eq!(ways(&always), "n = no, a = always");
        let once = ask(&[ChoiceKind::AllowAlways, ChoiceKind::AllowOnce]);
        assert_eq!(answer(&once, Some("y")), Ok(Answer::new("a", Decision::Allow)));
        assert_eq!(ways(&once), "y = yes, n = no, a = always");
        assert!(answer(&ask(&[ChoiceKind::Other]), Some("y")).is_err_and(|why| why.contains("none of the answers")));
    }

    #[test]
    fn what_a_person_types() {
        let plain = |decision| Ok(Answer::new("a", decision));
        let mut asked = ask(&[ChoiceKind::AllowOnce, ChoiceKind::Other]);
        for (line, meant) in [
            (None, plain(Decision::Deny)),
            (Some(" no "), plain(Decision::Deny)),
            (Some("s"), plain(Decision::DenyAndStop)),
            (Some("c 1"), plain(Decision::Choice("1".to_owned()))),
            (Some("e {}"), Err("  that is none of the answers".to_owned())),
            (Some("t why"), Err("  that is none of the answers".to_owned())),
            (Some(""), Err("  that is none of the answers".to_owned())),
        ] {
            assert_eq!(answer(&asked, line), meant, "{line:?}");
        }
        asked.input_editable = true;
        asked.free_text = true;
        let edited = answer(&asked, Some("e {\"n\": 1}")).expect("an answer");
        assert_eq!((edited.decision, edited.input), (Decision::Allow, Some(serde_json::json!({ "n": 1 }))));
        assert!(answer(&asked, Some("e {")).is_err_and(|why| why.contains("not JSON")));
        assert_eq!(answer(&asked, Some("t so be it")).expect("an answer").text.as_deref(), Some("so be it"));
        assert!(ways(&asked).ends_with("c 1 = choice 1"));
    }

    #[test]
    fn what_a_program_writes() {
        for (line, said) in [
            (r#"{"type":"message","text":"a\nb"}"#, Said::Message { text: "a\nb".to_owned() }),
            (r#"{"type":"cancel"}"#, Said::Cancel),
            (r#"{"type":"next-turn","prompt":"p"}"#, Said::NextTurn(NextTurn::new("p"))),
            (
                r#"{"type":"next-turn","prompt":"p","model":"m","approvals":"allow-all"}"#,
                Said::NextTurn(NextTurn {
                    model: Some("m".to_owned()),
                    approvals: Some(wharf::Approvals::AllowAll),
                    ..NextTurn::new("p")
                }),
            ),
            (r#"{"type":"answer","ask":"a","decision":"deny"}"#, Said::Answer(Answer::new("a", Decision::Deny))),
            (
                r#"{"type":"answer","ask":"a","decision":{"choice":"x"},"text":"t"}"#,
                Said::Answer(Answer {
                    text: Some("t".to_owned()),
                    ..Answer::new("a", Decision::Choice("x".to_owned()))
                }),
            ),
        ] {
            assert_eq!(Said::read(line), Ok(said), "{line}");
        }
        for line in
            ["", "hello", "[]", r#"{"type":"message"}"#, r#"{"type":"dance"}"#, r#"{"type":"answer","ask":"a"}"#]
        {
            assert!(Said::read(line).is_err_and(|why| why.contains("hint:")), "{line}");
        }
    }
}
