//! Testing an adapter natively: a fake host, and a player for recorded output. With the feature `transcripts`, recorded
//! runs become the reports that the host would make.

#[cfg(feature = "transcripts")]
mod activity;
#[cfg(feature = "transcripts")]
mod lift;
#[cfg(feature = "transcripts")]
mod transcript;

#[cfg(feature = "transcripts")]
pub use transcript::{Replayed, Transcript, read, transcript, transcripts};

use crate::{
    Action, Adapter, Approvals, Binary, Chunk, Command, Diff, Effect, Effects, Environment, Event, ExitStatus,
    FileWrite, FoundProgram, Frames, HookPoints, Host, HostError, LogLevel, Output, Request, Response, SessionChoice,
    Stream, Text, ToolRules, Turn, json,
};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A host that answers from its fields. Anything else is not found or fails.
#[derive(Default)]
pub struct FakeHost {
    /// Path and real path of programs, by the requested name or path.
    pub programs: BTreeMap<String, (String, String)>,
    /// Outputs of commands, by command line: "PATH ARG ARG".
    pub outputs: BTreeMap<String, Output>,
    /// Responses, by request: "METHOD URL".
    pub responses: BTreeMap<String, Response>,
    /// Contents of files, by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Contents of the run's launch files, by name.
    pub launch_files: BTreeMap<String, Vec<u8>>,
    /// Environment variables, all of them granted.
    pub variables: BTreeMap<String, String>,
    /// The requests that the adapter has sent.
    pub requests: RefCell<Vec<Request>>,
    /// The messages that the adapter has logged.
    pub log: RefCell<Vec<String>>,
}

impl FakeHost {
    /// Adds a program: the name to look up, and the path where it is found.
    #[must_use]
    pub fn program(mut self, name: &str, path: &str) -> FakeHost {
        self.programs.insert(name.to_owned(), (path.to_owned(), path.to_owned()));
        self
    }

    /// Adds the exit code and the stdout of a command line.
    #[must_use]
    pub fn output(mut self, command_line: &str, code: i32, stdout: &str) -> FakeHost {
        let output = Output { code: Some(code), stdout: stdout.into(), stderr: vec![], timed_out: false };
        self.outputs.insert(command_line.to_owned(), output);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> FakeHost {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn file(mut self, path: &str, content: &str) -> FakeHost {
        self.files.insert(path.to_owned(), content.into());
        self
    }

    /// Adds the response to "METHOD URL".
    #[must_use]
    pub fn response(mut self, request: &str, status: u16, body: &str) -> FakeHost {
        self.responses.insert(request.to_owned(), Response { status, headers: vec![], body: body.into() });
        self
    }
}

impl Host for FakeHost {
    fn find_program(&self, name: &str) -> Result<FoundProgram, HostError> {
        let (path, real_path) = self.programs.get(name).cloned().ok_or(HostError::NotFound(name.to_owned()))?;
        Ok(FoundProgram { path, real_path })
    }
    fn run(&self, command: &Command) -> Result<Output, HostError> {
        let mut line = command.program.clone();
        command.args.iter().for_each(|arg| {
            line.push(' ');
            line.push_str(arg);
        });
        self.outputs.get(&line).cloned().ok_or(HostError::Failed(format!("no output for `{line}`")))
    }
    fn fetch(&self, request: &Request) -> Result<Response, HostError> {
        self.requests.borrow_mut().push(request.clone());
        let key = format!("{} {}", request.method, request.url);
        self.responses.get(&key).cloned().ok_or(HostError::Failed(format!("no response for `{key}`")))
    }
    fn read_file(&self, path: &str) -> Result<Vec<u8>, HostError> {
        self.files.get(path).cloned().ok_or(HostError::NotFound(path.to_owned()))
    }
    fn read_launch_file(&self, name: &str) -> Result<Vec<u8>, HostError> {
        self.launch_files.get(name).cloned().ok_or(HostError::NotFound(name.to_owned()))
    }
    fn variable(&self, name: &str) -> Result<Option<String>, HostError> {
        Ok(self.variables.get(name).cloned().filter(|value| !value.is_empty()))
    }
    fn log(&self, _level: LogLevel, message: &str) {
        self.log.borrow_mut().push(message.to_owned());
    }
}

/// The environment of a Linux user with a home folder.
pub fn environment() -> Environment {
    Environment {
        program: None,
        os: "linux".into(),
        arch: "x86_64".into(),
        home: Some("/home/user".into()),
        root: false,
    }
}

/// A plain turn: a prompt, no settings, and the default values of the adapter's options.
pub fn turn<A: Adapter>(prompt: &str) -> Turn {
    let defaults = A::describe().options.into_iter().filter_map(|option| Some((option.name, option.default?)));
    Turn {
        prompt: prompt.to_owned(),
        attachments: vec![],
        policy: vec![],
        caller_tools: vec![],
        hooks: HookPoints::empty(),
        extra_args: vec![],
        system_prompt: None,
        workspace: "/home/user/project".to_owned(),
        extra_dirs: vec![],
        session: SessionChoice::Fresh(Some("11111111-2222-4333-8444-555555555555".to_owned())),
        model: None,
        fallback_model: None,
        effort: None,
        max_turns: None,
        max_cost_micros: None,
        approvals: Approvals::AllowAll,
        tools: ToolRules { allow: vec![], deny: vec![], only: vec![], without: vec![] },
        mcp_servers: None,
        output_schema: None,
        stream_text: true,
        autopilot: false,
        options: defaults.collect(),
    }
}

/// Sets an option of a turn; the value is JSON.
pub fn set_option(turn: &mut Turn, name: &str, value: &str) {
    turn.options.retain(|(key, _)| key != name);
    turn.options.push((name.to_owned(), value.to_owned()));
}

/// A program of this version, at a made-up path.
pub fn binary(version: &str) -> Binary {
    Binary { version: Some(version.to_owned()), ..Binary::at("/usr/bin/agent".to_owned()) }
}

/// Feeds output to an adapter as the host does: whole lines, `lines_per_chunk` of them in each call. Every span in the
/// effects is replaced by its text. Call `build_args` first.
pub fn play<A: Adapter>(adapter: &mut A, stream: Stream, output: &str, lines_per_chunk: usize) -> Vec<Effect> {
    let mut effects = Vec::new();
    let mut offset = 0;
    let lines: Vec<&str> = output.split_inclusive('\n').collect();
    for lines in lines.chunks(lines_per_chunk.max(1)) {
        let text: String = lines.concat();
        let length = text.len() as u64;
        effects.extend(feed(adapter, stream, offset, text));
        offset += length;
    }
    effects
}

fn feed<A: Adapter>(adapter: &mut A, stream: Stream, offset: u64, text: String) -> Vec<Effect> {
    let chunk = Chunk { stream, offset, data: Frames::Text(text) };
    let mut out = Effects::default();
    adapter.parse_chunk(&chunk, &mut out);
    let Frames::Text(text) = &chunk.data else { unreachable!("the chunk was created as text") };
    let mut effects = out.into_vec();
    for effect in &mut effects {
        resolve_effect(effect, text);
    }
    effects
}

/// The effects of `finish`, after the process exited with `code`.
pub fn finish<A: Adapter>(adapter: &mut A, host: &dyn Host, code: i32) -> Vec<Effect> {
    let mut out = Effects::default();
    adapter.finish(host, ExitStatus { code: Some(code), signal: None }, &mut out);
    out.into_vec()
}

/// The events among the effects.
pub fn events(effects: &[Effect]) -> Vec<&Event> {
    effects.iter().filter_map(|effect| if let Effect::Emit(event) = effect { Some(event) } else { None }).collect()
}

/// The text of an event that [`play`] returned.
pub fn inline(text: &Text) -> &str {
    if let Text::Inline(text) = text { text } else { panic!("{text:?} is a span, not a text") }
}

fn resolve_effect(effect: &mut Effect, chunk: &str) {
    let Effect::Emit(event) = effect else { return };
    match event {
        Event::TextDelta(part)
        | Event::Message(part)
        | Event::ThinkingDelta(part)
        | Event::Thinking(part)
        | Event::Prompt(part)
        | Event::ToolOutput(part) => {
            part.parent.iter_mut().chain([&mut part.id, &mut part.text]).for_each(|text| resolve(text, chunk));
        }
        Event::Discard(id) => resolve(id, chunk),
        Event::Round(round) => round.parent.iter_mut().for_each(|parent| resolve(parent, chunk)),
        Event::Subagent(subagent) => resolve(&mut subagent.id, chunk),
        Event::Tool(call) => {
            let optional = [&mut call.parent, &mut call.input, &mut call.output].into_iter().flatten();
            optional.chain([&mut call.id]).for_each(|text| resolve(text, chunk));
            call.diffs.iter_mut().for_each(|diff| resolve_diff(diff, chunk));
        }
        Event::Ask(ask) => ask.actions.iter_mut().for_each(|action| {
            if let Action::Write(FileWrite { diff: Some(diff), .. }) = action {
                resolve_diff(diff, chunk);
            }
        }),
        Event::TurnEnded(end) => end.answer.iter_mut().for_each(|text| resolve(text, chunk)),
        _ => {}
    }
}

fn resolve_diff(diff: &mut Diff, chunk: &str) {
    diff.old.iter_mut().chain([&mut diff.new]).for_each(|text| resolve(text, chunk));
}

fn resolve(text: &mut Text, chunk: &str) {
    let cut = |span: &crate::Span| {
        let start = span.start as usize;
        chunk.get(start..start + span.length as usize).expect("the adapter returned a span outside of its chunk")
    };
    let resolved = match text {
        Text::Inline(_) => return,
        Text::Quoted(span) => json::unescape(cut(span)).into_owned(),
        Text::Verbatim(span) => cut(span).to_owned(),
    };
    *text = Text::Inline(resolved);
}
