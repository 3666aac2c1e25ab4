//! The trait that an adapter implements.

use crate::json::find_newline;
use crate::tape::{Tape, skip_spaces};
use crate::{
    AdapterInfo, Binary, Chunk, Effects, Environment, Evidence, ExitStatus, Failure, Frames, Host, Input, Json, Launch,
    Malformed, ModelList, PromptDelivery, Stream, Turn, failure_from_stderr,
};

/// One coding-agent CLI, as the host sees it.
///
/// One value serves one run: made by `Default`, it lives through `resolve_binary`, `build_args`, `build_prompt`, the
/// chunks and inputs, and `finish`. Everything but `resolve_binary`, `finish` and `list_models` is a pure function of
/// what it was given so far: recordings are replayed through it, and must give the same effects again.
pub trait Adapter: Default + 'static {
    /// Who the adapter is and what it may ever ask for. Runs with nothing granted.
    fn describe() -> AdapterInfo;

    /// Find the program, its version and what that version can do.
    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure>;

    /// The command line of this turn. What cannot be honoured goes into `ignored`.
    fn build_args(&mut self, turn: &Turn, binary: &Binary) -> Result<Launch, Failure>;

    /// How the prompt reaches the agent. By default on stdin, which is then closed.
    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary) -> Result<PromptDelivery, Failure> {
        Ok(PromptDelivery::Stdin(turn.prompt.clone().into_bytes()))
    }

    /// One line of JSON from the agent's stdout. An error makes it a `malformed` event and drops what the line had
    /// already put into `out`.
    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed>;

    /// One line of the agent's stderr. By default it is only evidence, for [`Adapter::parse_error`].
    fn stderr_line(&mut self, _line: &str, _out: &mut Effects) {}

    /// Whole frames. The default cuts them into lines; only a runtime that does not speak JSON lines needs its own.
    fn parse_chunk(&mut self, chunk: &Chunk, out: &mut Effects) {
        let Frames::Text(text) = &chunk.data else {
            return;
        };
        let bytes = text.as_bytes();
        let mut tape = Tape::new();
        // About what comes of such a text: the list grows by copying, and its items are large.
        out.reserve((text.len() / 1024).min(1024));
        let mut start = 0;
        while start < text.len() {
            if chunk.stream == Stream::Stderr {
                let end = find_newline(text, start);
                self.stderr_line(text[start..end].trim_ascii_end(), out);
                start = end + 1;
                continue;
            }
            let begin = skip_spaces(bytes, start);
            if bytes.get(begin) == Some(&b'\n') {
                start = begin + 1;
                continue;
            }
            // A line ends where its value does: only one that is not as it should be is looked through for its end.
            let mark = out.len();
            let (end, done) = if let Some((line, end)) = Json::read(text, begin, &mut tape) {
                (end, self.line(line, out))
            } else {
                let end = find_newline(text, start);
                (end, Json::whole(text, start, end, &mut tape).and_then(|line| self.line(line, out)))
            };
            let line = || text[start..end].trim_ascii_end();
            if done.is_err() && !line().is_empty() {
                out.truncate(mark);
                out.malformed(line());
            }
            start = end + 1;
        }
    }

    /// The host has something to say: the start, an answer, a message, a timer, a cancellation.
    fn handle(&mut self, _input: Input, _out: &mut Effects) {}

    /// The process is gone. The last chance to emit, and to look up what the stream did not say.
    fn finish(&mut self, _host: &dyn Host, _exit: ExitStatus, _out: &mut Effects) {}

    /// Nothing in the stream said how the turn went: say it from the exit status and the tails. Never from what the
    /// model said.
    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        failure_from_stderr(&evidence.stderr_tail)
    }

    /// The models on offer.
    fn list_models(&mut self, _host: &dyn Host, _binary: Option<&Binary>) -> ModelList {
        ModelList::Unsupported
    }
}
