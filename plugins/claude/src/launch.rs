//! The command line of a turn.
//!
//! The prompt never stands in it: an argument has a size limit, and flags that take several values would swallow it.
//! The defaults are the safe ones: in `-p` nobody is asked whether a workspace is trusted, so its hooks and MCP servers
//! would run, and with `--setting-sources user --strict-mcp-config` they do not.

use wharf_adapter::json::Object;
use wharf_adapter::{
    Approvals, Binary, Effort, ErrorClass, ExitBehavior, Failure, Json, Launch, SessionChoice, Turn, Version,
    nearest_effort,
};

/// What `--effort` takes.
const EFFORTS: [Effort; 5] = [Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh, Effort::Max];

/// The CLI refuses more than 10 MB on stdin.
const LONGEST_PROMPT: usize = 10 * 1024 * 1024;

/// Linux takes no argument beyond 128 KiB.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

/// Since when `--effort` and `--bare` are there: 2.0.76 has neither, 2.1.197 both.
const SINCE_EFFORT: Version = Version(2, 1, 0);

/// The first version known to keep the system prompt of a session unless told otherwise.
const SINCE_SNAPSHOT: Version = Version(2, 1, 325);

/// Whether a version, where it is known, is at least this one.
pub(crate) fn is_since(binary: &Binary, since: Version) -> Option<bool> {
    binary.version.as_deref().and_then(Version::find).map(|version| version >= since)
}

/// Whether the turn needs stdin beyond the prompt.
pub(crate) fn is_duplex(turn: &Turn) -> bool {
    turn.approvals == Approvals::Ask || turn.option("duplex").is_true() || turn.option("gates").items().next().is_some()
}

/// The prompt as it must be written to reach the model.
pub(crate) fn prompt(turn: &Turn) -> Result<String, Failure> {
    if turn.prompt.len() > LONGEST_PROMPT {
        return Err(Failure::new(
            ErrorClass::InvalidOption,
            "the prompt is longer than the 10 MB that Claude Code takes",
        ));
    }
    Ok(shield(turn.prompt.clone(), turn.option("slash-commands").is_true()))
}

/// A text that begins with a slash would be run as a command; after a blank it is a text like any other.
pub(crate) fn shield(text: String, commands: bool) -> String {
    if text.starts_with('/') && !commands { format!(" {text}") } else { text }
}

/// The launch of a turn.
pub(crate) fn build(turn: &Turn, binary: &Binary) -> Result<Launch, Failure> {
    let mut launch = Launch::lines(["-p", "--output-format", "stream-json", "--verbose"]);
    if turn.stream_text {
        launch.arg("--include-partial-messages");
    }
    if is_duplex(turn) {
        launch.pair("--input-format", "stream-json");
        launch.exit_behavior = ExitBehavior::WhenStdinCloses;
    }
    session(turn, &mut launch);
    thinking(turn, binary, &mut launch);
    instructions(turn, binary, &mut launch);
    permissions(turn, &mut launch, binary);
    isolation(turn, binary, &mut launch);
    caps(turn, &mut launch);
    if let Some(schema) = &turn.output_schema {
        if schema.len() > LONGEST_ARGUMENT {
            return Err(Failure::new(ErrorClass::InvalidOption, "the output schema is too long for a command line"));
        }
        launch.pair("--json-schema", schema.as_str());
    }
    if turn.autopilot {
        launch.unsupported("autopilot", "Claude Code has no such mode: a turn always goes on until it is done");
    }
    launch.set("DISABLE_AUTOUPDATER", "1");
    Ok(launch)
}

fn session(turn: &Turn, launch: &mut Launch) {
    match &turn.session {
        SessionChoice::Fresh(Some(id)) => launch.pair("--session-id", id.as_str()),
        SessionChoice::Fresh(None) => {}
        SessionChoice::Resume(id) => launch.pair("--resume", id.as_str()),
        SessionChoice::Fork(id) => {
            launch.pair("--resume", id.as_str());
            launch.arg("--fork-session");
        }
        SessionChoice::MostRecent => launch.arg("--continue"),
    }
    if turn.option("persist-session").bool() == Some(false) {
        launch.arg("--no-session-persistence");
    }
}

fn thinking(turn: &Turn, binary: &Binary, launch: &mut Launch) {
    if let Some(model) = &turn.model {
        launch.pair("--model", model.as_str());
    }
    if let Some(model) = &turn.fallback_model {
        launch.pair("--fallback-model", model.as_str());
    }
    let Some(wish) = &turn.effort else { return };
    if is_since(binary, SINCE_EFFORT) == Some(false) {
        launch.unsupported("effort", "Claude Code has --effort since 2.1");
        return;
    }
    match Effort::parse(wish).and_then(|wish| nearest_effort(wish, &EFFORTS)) {
        Some(effort) => launch.pair("--effort", effort.name()),
        None => launch.unsupported("effort", "it is not one of none, minimal, low, medium, high, xhigh, max"),
    }
}

fn instructions(turn: &Turn, binary: &Binary, launch: &mut Launch) {
    if let Some(system) = &turn.system_prompt {
        let replace = turn.option("system-prompt-mode").is("replace");
        let file = launch.file("system-prompt.md", system.as_str());
        launch.pair(if replace { "--system-prompt-file" } else { "--append-system-prompt-file" }, file);
        let resumed = !matches!(turn.session, SessionChoice::Fresh(_));
        if resumed && is_since(binary, SINCE_SNAPSHOT) == Some(true) {
            launch.pair("--system-prompt-snapshot", "off");
        }
    }
    for folder in &turn.extra_dirs {
        launch.pair("--add-dir", folder.as_str());
    }
    if let Some(agents) = option_json(turn, "agents") {
        launch.pair("--agents", agents);
    }
}

/// The permission mode that was asked for by name.
pub(crate) fn permission_mode(turn: &Turn) -> Option<&str> {
    turn.option("permission-mode").name().filter(|mode| *mode != "by-approvals")
}

fn permissions(turn: &Turn, launch: &mut Launch, binary: &Binary) {
    match (permission_mode(turn), turn.approvals) {
        (Some(mode), _) => launch.pair("--permission-mode", mode),
        (None, Approvals::AllowAll) => launch.arg("--dangerously-skip-permissions"),
        // 2.0 denies by itself whatever nobody can be asked about.
        (None, Approvals::Deny) if is_since(binary, SINCE_EFFORT) == Some(false) => {}
        (None, Approvals::Deny) => launch.pair("--permission-mode", "dontAsk"),
        (None, Approvals::Ask) => {}
    }
    if turn.approvals == Approvals::Ask {
        launch.pair("--permission-prompt-tool", "stdio");
    }
    if turn.option("sandboxed").is_true() {
        launch.set("IS_SANDBOX", "1");
    }
    let rules = &turn.tools;
    if !rules.only.is_empty() {
        launch.pair("--tools", rules.only.join(","));
    }
    several("--allowedTools", rules.allow.iter(), launch);
    several("--disallowedTools", rules.deny.iter().chain(&rules.without), launch);
}

/// A flag that takes several values. They stand one by one, since a rule may have commas and blanks in it.
fn several<'a>(flag: &str, values: impl Iterator<Item = &'a String>, launch: &mut Launch) {
    let mut values = values.peekable();
    if values.peek().is_some() {
        launch.arg(flag);
        values.for_each(|value| launch.arg(value.as_str()));
    }
}

fn isolation(turn: &Turn, binary: &Binary, launch: &mut Launch) {
    if !turn.option("project-settings").is_true() {
        launch.pair("--setting-sources", "user");
        launch.arg("--strict-mcp-config");
    }
    if let Some(servers) = &turn.mcp_servers {
        let servers = Json::parse(servers);
        let config = if servers.get("mcpServers").is_object() {
            servers.raw().to_owned()
        } else {
            Object::new().raw("mcpServers", servers.raw()).finish()
        };
        let file = launch.file("mcp.json", config);
        launch.pair("--mcp-config", file);
    }
    if let Some(settings) = option_json(turn, "settings") {
        let file = launch.file("settings.json", settings);
        launch.pair("--settings", file);
    }
    if turn.option("bare").is_true() {
        if is_since(binary, SINCE_EFFORT) == Some(false) {
            launch.unsupported("bare", "Claude Code has --bare since 2.1");
        } else {
            launch.arg("--bare");
        }
    }
}

fn caps(turn: &Turn, launch: &mut Launch) {
    if let Some(turns) = turn.max_turns {
        launch.pair("--max-turns", turns.to_string());
    }
    if let Some(micros) = turn.max_cost_micros {
        launch.pair("--max-budget-usd", dollars(micros));
    }
    if let Some(retries) = turn.option("max-retries").u64() {
        launch.set("CLAUDE_CODE_MAX_RETRIES", retries.to_string());
    }
    if turn.option("background-tasks").bool() == Some(false) {
        launch.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
    }
}

/// Millionths of a dollar as dollars, exactly.
fn dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn option_json(turn: &Turn, name: &str) -> Option<String> {
    Some(turn.option(name)).filter(|value| !value.is_null()).map(|value| value.raw().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claude;
    use wharf_adapter::testing::{binary, set_option, turn};
    use wharf_adapter::{Adapter as _, Arg};

    /// What stands at the end of every command line that asks for nothing.
    const ISOLATED: &str = "--setting-sources user --strict-mcp-config";

    fn line(words: &[Arg]) -> String {
        let word = |word: &Arg| match &word.file {
            Some(file) => format!("{}<{file}>", word.text),
            None => word.text.clone(),
        };
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn built(version: &str, change: impl FnOnce(&mut Turn)) -> Launch {
        let mut turn = turn::<Claude>("go");
        turn.session = SessionChoice::Fresh(None);
        turn.stream_text = false;
        turn.approvals = Approvals::Deny;
        change(&mut turn);
        build(&turn, &binary(version)).expect("a launch")
    }

    #[test]
    fn each_wish_has_its_flag() {
        type Change = fn(&mut Turn);
        let rows: [(&str, Change, &str); 27] = [
            ("2.1.325", |_| {}, "--permission-mode dontAsk"),
            ("2.0.76", |_| {}, ""),
            ("2.1.325", |turn| turn.approvals = Approvals::AllowAll, "--dangerously-skip-permissions"),
            (
                "2.1.325",
                |turn| turn.approvals = Approvals::Ask,
                "--input-format stream-json --permission-prompt-tool stdio",
            ),
            (
                "2.1.325",
                |turn| set_option(turn, "duplex", "true"),
                "--input-format stream-json --permission-mode dontAsk",
            ),
            (
                "2.1.325",
                |turn| set_option(turn, "gates", "[\"Stop\"]"),
                "--input-format stream-json --permission-mode dontAsk",
            ),
            ("2.1.325", |turn| set_option(turn, "permission-mode", "\"plan\""), "--permission-mode plan"),
            ("2.0.76", |turn| turn.stream_text = true, "--include-partial-messages"),
            ("2.0.76", |turn| turn.session = SessionChoice::Fresh(Some("u".into())), "--session-id u"),
            ("2.0.76", |turn| turn.session = SessionChoice::Resume("u".into()), "--resume u"),
            ("2.0.76", |turn| turn.session = SessionChoice::Fork("u".into()), "--resume u --fork-session"),
            ("2.0.76", |turn| turn.session = SessionChoice::MostRecent, "--continue"),
            ("2.0.76", |turn| set_option(turn, "persist-session", "false"), "--no-session-persistence"),
            ("2.0.76", |turn| turn.model = Some("opus".into()), "--model opus"),
            ("2.0.76", |turn| turn.fallback_model = Some("haiku".into()), "--fallback-model haiku"),
            ("2.1.197", |turn| turn.effort = Some("minimal".into()), "--effort low --permission-mode dontAsk"),
            ("2.1.197", |turn| turn.effort = Some("max".into()), "--effort max --permission-mode dontAsk"),
            ("2.0.76", |turn| turn.effort = Some("high".into()), ""),
            ("2.0.76", |turn| turn.system_prompt = Some("s".into()), "--append-system-prompt-file <system-prompt.md>"),
            (
                "2.0.76",
                |turn| {
                    turn.system_prompt = Some("s".into());
                    set_option(turn, "system-prompt-mode", "\"replace\"");
                },
                "--system-prompt-file <system-prompt.md>",
            ),
            (
                "2.1.325",
                |turn| {
                    turn.system_prompt = Some("s".into());
                    turn.session = SessionChoice::Resume("u".into());
                },
                "--resume u --append-system-prompt-file <system-prompt.md> --system-prompt-snapshot off \
                 --permission-mode dontAsk",
            ),
            (
                "2.1.197",
                |turn| {
                    turn.system_prompt = Some("s".into());
                    turn.session = SessionChoice::Resume("u".into());
                },
                "--resume u --append-system-prompt-file <system-prompt.md> --permission-mode dontAsk",
            ),
            ("2.0.76", |turn| turn.extra_dirs = vec!["/a".into(), "/b".into()], "--add-dir /a --add-dir /b"),
            ("2.0.76", |turn| turn.tools.only = vec!["Bash".into(), "Read".into()], "--tools Bash,Read"),
            (
                "2.0.76",
                |turn| turn.tools.allow = vec!["Bash(git *)".into(), "Edit".into()],
                "--allowedTools Bash(git *) Edit",
            ),
            (
                "2.0.76",
                |turn| {
                    turn.tools.deny = vec!["Bash(rm *)".into()];
                    turn.tools.without = vec!["WebFetch".into()];
                },
                "--disallowedTools Bash(rm *) WebFetch",
            ),
            ("2.1.325", |turn| turn.model = Some("x".into()), "--model x --permission-mode dontAsk"),
        ];
        for (version, change, flags) in rows {
            let launch = built(version, change);
            let wanted = format!("-p --output-format stream-json --verbose {flags} {ISOLATED}").replace("  ", " ");
            assert_eq!(line(&launch.args), wanted, "{version}");
        }
    }

    #[test]
    fn what_follows_the_isolation() {
        type Change = fn(&mut Turn);
        let rows: [(Change, &str); 7] = [
            (|turn| turn.mcp_servers = Some("{\"a\":{}}".into()), "--mcp-config <mcp.json>"),
            (|turn| set_option(turn, "settings", "{}"), "--settings <settings.json>"),
            (|turn| set_option(turn, "bare", "true"), "--bare"),
            (|turn| turn.max_turns = Some(3), "--max-turns 3"),
            (|turn| turn.max_cost_micros = Some(1_250_000), "--max-budget-usd 1.25"),
            (|turn| turn.max_cost_micros = Some(100), "--max-budget-usd 0.0001"),
            (|turn| turn.output_schema = Some("{}".into()), "--json-schema {}"),
        ];
        for (change, flags) in rows {
            let args = line(&built("2.1.325", change).args);
            assert!(args.ends_with(&format!("{ISOLATED} {flags}")), "{args}");
        }
        let open = line(&built("2.1.325", |turn| set_option(turn, "project-settings", "true")).args);
        assert!(!open.contains("setting-sources") && !open.contains("strict-mcp-config"), "{open}");
    }

    #[test]
    fn what_a_version_cannot_do_is_reported() {
        let ignored = |version: &str, change: fn(&mut Turn)| -> Vec<String> {
            built(version, change).unsupported.into_iter().map(|wish| wish.name).collect()
        };
        assert_eq!(ignored("2.0.76", |turn| turn.effort = Some("high".into())), ["effort"]);
        assert_eq!(ignored("2.0.76", |turn| set_option(turn, "bare", "true")), ["bare"]);
        assert_eq!(ignored("2.1.325", |turn| turn.effort = Some("bogus".into())), ["effort"]);
        assert_eq!(ignored("2.1.325", |turn| turn.autopilot = true), ["autopilot"]);
        assert_eq!(ignored("2.1.325", |turn| turn.effort = Some("high".into())), [""; 0]);
    }

    #[test]
    fn files_and_variables_carry_the_rest() {
        let launch = built("2.1.325", |turn| {
            turn.mcp_servers = Some("{\"lab\":{\"command\":\"x\"}}".into());
            turn.system_prompt = Some("be brief".into());
            set_option(turn, "background-tasks", "false");
            set_option(turn, "sandboxed", "true");
        });
        let file = |name: &str| {
            let file = launch.files.iter().find(|file| file.name == name).expect("the file");
            String::from_utf8(file.content.clone()).expect("text")
        };
        assert_eq!(file("mcp.json"), r#"{"mcpServers":{"lab":{"command":"x"}}}"#);
        assert_eq!(file("system-prompt.md"), "be brief");
        let whole = built("2.1.325", |turn| turn.mcp_servers = Some("{\"mcpServers\":{}}".into()));
        assert_eq!(whole.files[0].content, b"{\"mcpServers\":{}}");

        let set: Vec<(&str, &str)> =
            launch.variables.iter().map(|(name, word)| (name.as_str(), word.text.as_str())).collect();
        let wanted = [
            ("IS_SANDBOX", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "4"),
            ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ];
        assert_eq!(set, wanted);
        let needed = Claude::describe().access.variables;
        assert!(set.iter().all(|(name, _)| needed.iter().any(|needed| needed == name)));
    }

    #[test]
    fn a_prompt_reaches_the_model_as_text() {
        for (text, commands, written) in [
            ("hello", "false", "hello"),
            ("/usage", "false", " /usage"),
            ("/usr/bin/env is a path", "false", " /usr/bin/env is a path"),
            ("/usage", "true", "/usage"),
            ("-p", "false", "-p"),
        ] {
            let mut turn = turn::<Claude>(text);
            set_option(&mut turn, "slash-commands", commands);
            assert_eq!(prompt(&turn), Ok(written.to_owned()));
        }
        let huge = turn::<Claude>(&"x".repeat(LONGEST_PROMPT + 1));
        assert_eq!(prompt(&huge).map_err(|failure| failure.class), Err(ErrorClass::InvalidOption));
    }

    #[test]
    fn duplex_ends_with_stdin_and_one_shot_by_itself() {
        assert_eq!(
            built("2.1.325", |turn| turn.approvals = Approvals::Ask).exit_behavior,
            ExitBehavior::WhenStdinCloses
        );
        assert_eq!(built("2.1.325", |_| {}).exit_behavior, ExitBehavior::ByItself);
    }
}
