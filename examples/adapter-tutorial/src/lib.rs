//! The adapter of the tutorial, docs/writing-an-adapter.md. Its agent is `scribe`, a dozen lines of shell.

use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Capabilities, Effects, Environment, ErrorClass, Event, Failure, Host, Json, Launch,
    Login, Malformed, Probe, SessionChoice, SessionInfo, Settings, Tested, ToolCall, ToolStatus, Usage, UsageScope,
    Version, locate,
};

#[cfg(test)]
mod tests;

const INSTALL: &str = "put examples/adapter-tutorial/scribe into a folder of your PATH";

/// The versions that the adapter was tested with.
const TESTED: Tested = Tested(&[Version(1, 0, 0), Version(1, 2, 0)]);

/// The state of one run.
#[derive(Default)]
pub struct Scribe {
    /// The session to resume.
    requested: Option<String>,
}

impl Adapter for Scribe {
    fn describe() -> AdapterInfo {
        AdapterInfo {
            tested_with: TESTED.to_string(),
            install_hint: INSTALL.to_owned(),
            ..AdapterInfo::new("scribe", "Scribe, the word counter", env!("CARGO_PKG_VERSION"))
        }
        .program("scribe")
        .variables(&["SCRIBE_KEY"])
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        let mut binary = Binary::at(locate(host, environment, &["scribe"], INSTALL)?);
        binary.set_version(Probe::new(host, &binary).version(), TESTED, &[], INSTALL);
        binary.login = match host.variable("SCRIBE_KEY") {
            Ok(Some(_)) => Login::Present("SCRIBE_KEY".to_owned()),
            Ok(None) => Login::Missing("set SCRIBE_KEY".to_owned()),
            Err(_) => Login::Unknown,
        };
        binary.transport("json-lines", Capabilities::SESSION_RESUME | Capabilities::TOKEN_USAGE);
        Ok(binary)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, _binary: &Binary) -> Result<Launch, Failure> {
        let mut launch = Launch::lines(["--json"]);
        settings.otherwise("scribe only counts words");
        match settings.session() {
            SessionChoice::Fresh(_) => {}
            SessionChoice::Resume(id) => {
                launch.pair("--resume", id.as_str());
                self.requested = Some(id.clone());
            }
            SessionChoice::Fork(_) | SessionChoice::MostRecent => {
                settings.report("session", "scribe resumes by id only");
            }
        }
        // It may be on or off: scribe never streams.
        settings.stream_text();
        Ok(launch)
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [event, id, text, session] = line.pick(["event", "id", "text", "session"])?;
        match event.name().ok_or(Malformed)? {
            "start" => {
                let id = session.string().ok_or(Malformed)?;
                let resumed = self.requested.as_ref().map(|requested| *requested == id);
                out.emit(Event::Session(SessionInfo { id: Some(id), resumed, model: None, agent_version: None }));
            }
            "text" => out.message(&id.str().ok_or(Malformed)?, None, text.text().ok_or(Malformed)?),
            "tool" => out.tool(tool(&id.str().ok_or(Malformed)?, line)?),
            "end" => end(line, out)?,
            other => out.unknown(other),
        }
        Ok(())
    }
}

fn tool(id: &str, line: Json<'_>) -> Result<ToolCall, Malformed> {
    let [name, state, input, output] = line.pick(["name", "state", "input", "output"])?;
    let status = match state.name() {
        Some("done") => ToolStatus::Succeeded,
        Some("error") => ToolStatus::Failed,
        _ => ToolStatus::Running,
    };
    let (name, input, output) = (name.string(), input.verbatim(), output.text());
    Ok(ToolCall { name, input, output, ..ToolCall::new(id, status) })
}

fn end(line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
    let [ok, error, tokens] = line.pick(["ok", "error", "tokens"])?;
    if tokens.is_object() {
        let (input, output) = (tokens.get("in").u64(), tokens.get("out").u64());
        out.usage(Usage { input, output, ..Usage::new(UsageScope::TurnTotal, "end", true) });
    }
    if ok.bool().ok_or(Malformed)? {
        out.completed(None);
    } else {
        out.failed(Failure::new(ErrorClass::Other, error.str().unwrap_or_default()));
    }
    Ok(())
}

wharf_adapter::export!(Scribe);
