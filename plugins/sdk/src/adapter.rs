//! The trait that an adapter implements.

use crate::json::find_newline;
use crate::skip::skip_spaces;
use crate::tape::Tape;
use crate::{
    AdapterInfo, Binary, Chunk, Effects, Environment, Evidence, ExitStatus, Failure, Frames, Host, Input, Json, Launch,
    Malformed, ModelList, PromptDelivery, Settings, Stream, Turn, failure_from_stderr,
};

/// One coding-agent CLI, as the host sees it.
///
/// One value serves one run. `Default` creates it; then come `resolve_binary`, `build_args`, `build_prompt`, chunks and
/// inputs, and `finish`. Everything except `resolve_binary`, `finish` and `list_models` is a pure function of its input
/// so far: a replayed recording must give the same effects.
pub trait Adapter: Default + 'static {
    /// Name, options, and all the access that the adapter may ever use. Called before anything is granted.
    fn describe() -> AdapterInfo;

    /// Finds the program, its version and what that version can do.
    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure>;

    /// The command line of this turn. Take from the settings what the agent can apply: everything else is reported as
    /// unsupported.
    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure>;

    /// What the host calls: [`Adapter::launch`], with every setting that it did not take reported as unsupported.
    fn build_args(&mut self, turn: &Turn, binary: &Binary, transport: &str) -> Result<Launch, Failure> {
        let mut settings = Settings::of(turn).over(transport);
        let mut launch = self.launch(&mut settings, binary)?;
        settings.finish(&mut launch);
        Ok(launch)
    }

    /// How the prompt reaches the agent. By default it is written to stdin, which is then closed.
    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary, _transport: &str) -> Result<PromptDelivery, Failure> {
        Ok(PromptDelivery::Stdin(turn.prompt.clone().into_bytes()))
    }

    /// One line of JSON from the agent's stdout. An error turns the line into a `malformed` event and removes the
    /// effects that the line has already added to `out`.
    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed>;

    /// One line of the agent's stderr. By default stderr is only evidence for [`Adapter::parse_error`].
    fn stderr_line(&mut self, _line: &str, _out: &mut Effects) {}

    /// Whole frames. The default splits them into lines. Override it only for an agent that does not print JSON lines.
    fn parse_chunk(&mut self, chunk: &Chunk, out: &mut Effects) {
        let Frames::Text(text) = &chunk.data else {
            return;
        };
        let bytes = text.as_bytes();
        let mut tape = Tape::new();
        // A rough estimate: the list grows by copying, and its items are large.
        out.reserve((text.len() / 1024).min(1024));
        let mut start = 0;
        while start < text.len() {
            if chunk.stream == Stream::Stderr {
                let end = find_newline(text, start);
                self.stderr_line(text[start..end].trim_ascii_end(), out);
                start = end + 1;
                continue;
            }
            let value_start = skip_spaces(bytes, start);
            if bytes.get(value_start) == Some(&b'\n') {
                start = value_start + 1;
                continue;
            }
            // A line ends where its value does. Only for a malformed line is the newline searched for.
            let before = out.len();
            let (end, result) = if let Some((line, end)) = Json::read(text, value_start, &mut tape) {
                (end, self.line(line, out))
            } else {
                let end = find_newline(text, start);
                (end, Json::whole(text, start, end, &mut tape).and_then(|line| self.line(line, out)))
            };
            let line = || text[start..end].trim_ascii_end();
            if result.is_err() && !line().is_empty() {
                out.truncate(before);
                out.malformed(line());
            }
            start = end + 1;
        }
    }

    /// Another turn in the same process: the first one, with another prompt, and perhaps another model and other approvals.
    /// By default nothing is written, and the caller learns that the agent takes only one turn.
    fn next_turn(&mut self, _turn: &Turn, _out: &mut Effects) {}

    /// Anything but output: the start, an answer, a message, a timer, a cancellation. Never [`Input::NextTurn`] and
    /// [`Input::Exited`]: they are [`Adapter::next_turn`] and [`Adapter::finish`].
    fn handle(&mut self, _input: Input, _out: &mut Effects) {}

    /// The process has exited. The last chance to emit events, and to look up what the output did not contain.
    fn finish(&mut self, _host: &dyn Host, _exit: ExitStatus, _out: &mut Effects) {}

    /// Called if no event said how the turn ended: classifies the exit status and the last output. Never classify by
    /// text that the model wrote.
    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        failure_from_stderr(&evidence.stderr_tail)
    }

    /// The models that a turn can name.
    fn list_models(&mut self, _host: &dyn Host, _binary: Option<&Binary>) -> ModelList {
        ModelList::Unsupported
    }
}
