//! The host's answers to an adapter, kept for the recording and repeated in a replay.

use super::types::HostError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::VecDeque;

/// Answers to be recorded, or read from a recording.
#[derive(Default)]
pub(super) struct Answers {
    /// Given and not yet recorded, as JSON.
    given: Vec<String>,
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
        Answers { given: vec![], replayed: Some(VecDeque::new()) }
    }

    pub(super) fn replay(&mut self, answer: String) {
        self.replayed.get_or_insert_default().push_back(answer);
    }

    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.given)
    }

    /// In a replay: the recorded answer to this function.
    pub(super) fn recorded<T: DeserializeOwned>(&mut self, function: &str) -> Option<Result<T, HostError>> {
        let next = self.replayed.as_mut()?.pop_front();
        let entry = next.and_then(|text| serde_json::from_str::<Entry<T>>(&text).ok());
        let same = entry.filter(|entry| entry.function == function);
        let missing = || Err(HostError::Failed("the recording has no answer to this".to_owned()));
        Some(same.map_or_else(missing, |entry| entry.answer))
    }

    /// Keeps an answer for the recording.
    pub(super) fn record<T: Serialize>(
        &mut self,
        function: &str,
        answer: Result<T, HostError>,
    ) -> Result<T, HostError> {
        let entry = Entry { function: function.to_owned(), answer };
        self.given.extend(serde_json::to_string(&entry));
        entry.answer
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::Output;
    use super::*;

    #[test]
    fn an_answer_is_repeated_for_the_same_function_only() {
        let mut live = Answers::default();
        let output = Output { code: Some(3), stdout: b"text".to_vec(), stderr: vec![0xff, 0], timed_out: false };
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
}
