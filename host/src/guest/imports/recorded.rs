//! The host's answers to an adapter, kept for the recording and repeated in a replay.

use super::types::HostError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::VecDeque;

/// How many bytes of answers, as JSON, a run may record. An adapter can ask without end, and each answer is kept until
/// the call ends.
const LIMIT: usize = 64 << 20;

/// The function of the last entry if the limit was reached.
const LIMIT_REACHED: &str = "limit";

/// Answers to be recorded, or read from a recording.
#[derive(Default)]
pub(super) struct Answers {
    /// Given and not yet recorded, as JSON.
    given: Vec<String>,
    /// How many bytes may still be recorded. None if nothing is recorded, and nothing is kept.
    left: Option<usize>,
    /// Whether the limit was reached. Then nothing more is answered, so that a replay can give the same answers.
    exhausted: bool,
    /// In a replay: the recorded answers. Then nothing else is done.
    replayed: Option<VecDeque<String>>,
}

#[derive(Serialize, Deserialize)]
struct Entry<T> {
    function: String,
    answer: Result<T, HostError>,
}

impl Answers {
    pub(super) fn replaying() -> Answers {
        Answers { replayed: Some(VecDeque::new()), ..Answers::default() }
    }

    /// From now on answers are kept for the recording.
    pub(super) fn keep(&mut self) {
        self.left.get_or_insert(LIMIT);
    }

    pub(super) fn replay(&mut self, answer: String) {
        self.replayed.get_or_insert_default().push_back(answer);
    }

    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.given)
    }

    /// The answer that is known without asking the host: in a replay the recorded one, and a refusal after the limit.
    pub(super) fn recorded<T: DeserializeOwned>(&mut self, function: &str) -> Option<Result<T, HostError>> {
        if self.exhausted {
            return Some(Err(no_more()));
        }
        let next = self.replayed.as_mut()?.pop_front();
        if next.as_deref().is_some_and(is_limit) {
            self.exhausted = true;
            return Some(Err(no_more()));
        }
        let entry = next.and_then(|text| serde_json::from_str::<Entry<T>>(&text).ok());
        let same = entry.filter(|entry| entry.function == function);
        let missing = || Err(HostError::Failed("the recording has no answer to this".to_owned()));
        Some(same.map_or_else(missing, |entry| entry.answer))
    }

    /// Keeps an answer for the recording, if there is one. An answer beyond the limit becomes a refusal.
    pub(super) fn record<T: Serialize>(
        &mut self,
        function: &str,
        answer: Result<T, HostError>,
    ) -> Result<T, HostError> {
        let Some(left) = self.left else { return answer };
        let entry = Entry { function: function.to_owned(), answer };
        let Ok(text) = serde_json::to_string(&entry) else { return entry.answer };
        if let Some(left) = left.checked_sub(text.len()) {
            self.left = Some(left);
            self.given.push(text);
            return entry.answer;
        }
        self.exhausted = true;
        let last = Entry::<()> { function: LIMIT_REACHED.to_owned(), answer: Err(no_more()) };
        self.given.extend(serde_json::to_string(&last));
        Err(no_more())
    }
}

fn no_more() -> HostError {
    HostError::Failed(format!("the host has answered {LIMIT} bytes in this run, and answers no more"))
}

fn is_limit(text: &str) -> bool {
    // An answer may be large; only the short last entry is parsed here.
    let parsed = (text.len() < 1024).then(|| serde_json::from_str::<Entry<()>>(text).ok()).flatten();
    parsed.is_some_and(|entry| entry.function == LIMIT_REACHED)
}

#[cfg(test)]
mod tests {
    use super::super::types::{Content, Output};
    use super::*;

    #[test]
    fn an_answer_is_repeated_for_the_same_function_only() {
        let mut live = Answers::default();
        live.keep();
        let output =
            Output { code: Some(3), stdout: b"text".to_vec(), stderr: vec![0xff, 0], timed_out: false, signal: None };
        live.record("run", Ok(output)).expect("it is passed on");
        live.record::<Output>("run", Err(HostError::TimedOut)).expect_err("it is passed on");
        live.record("variable", Ok(Some("x".to_owned()))).expect("it is passed on");
        let mut replay = Answers::replaying();
        live.take().into_iter().for_each(|answer| replay.replay(answer));
        let output: Output = replay.recorded("run").expect("a replay").expect("an answer");
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"text"[..], &[0xff, 0][..]));
        assert_eq!(replay.recorded::<Output>("run").expect("a replay").expect_err("recorded"), HostError::TimedOut);
        assert!(matches!(replay.recorded::<Output>("run"), Some(Err(HostError::Failed(_)))), "another function");
        assert!(live.recorded::<Output>("run").is_none(), "a run asks the host");
    }
    #[test]
    fn answers_are_kept_only_for_a_recording() {
        let mut unrecorded = Answers::default();
        unrecorded.record("variable", Ok(Some("x".to_owned()))).expect("it is passed on");
        assert!(unrecorded.take().is_empty());
    }

    #[test]
    fn answers_beyond_the_limit_are_refused_in_the_run_and_in_its_replay() {
        let ask = |answers: &mut Answers| -> Vec<Result<Content, HostError>> {
            let mut given = Vec::new();
            for _ in 0..6 {
                let recorded = answers.recorded("read-file");
                given.push(recorded.unwrap_or_else(|| answers.record("read-file", Ok(Content(vec![b'x'; 16 << 20])))));
            }
            given
        };
        let lengths = |given: &[Result<Content, HostError>]| -> Vec<Option<usize>> {
            given.iter().map(|answer| answer.as_ref().ok().map(|content| content.0.len())).collect()
        };
        let mut live = Answers::default();
        live.keep();
        let given = ask(&mut live);
        assert_eq!(lengths(&given), [Some(16 << 20), Some(16 << 20), Some(16 << 20), None, None, None]);
        let recorded = live.take();
        assert!(recorded.iter().map(String::len).sum::<usize>() <= LIMIT);
        let mut replay = Answers::replaying();
        for answer in recorded {
            replay.replay(answer);
        }
        let repeated = ask(&mut replay);
        assert_eq!(lengths(&repeated), lengths(&given));
        for (first, second) in given.iter().zip(&repeated) {
            assert_eq!(first.as_ref().err(), second.as_ref().err());
        }
    }
}
