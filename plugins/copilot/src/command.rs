//! The command line of a turn.

use crate::features::Features;
use crate::{permissions, usage};
use wharf_adapter::json::Object;
use wharf_adapter::{
    Approvals, Arg, Effort, ErrorClass, ExitBehavior, Failure, Json, Launch, SessionChoice, Turn, nearest_effort,
};

/// How the CLI is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One process a turn, events on stdout.
    Lines,
    /// The Agent Client Protocol on stdin and stdout: the one that can ask.
    Acp,
}

impl Transport {
    /// The one that the turn names, or the one that its approvals need.
    pub(crate) fn of(turn: &Turn) -> Transport {
        match turn.option("transport").name() {
            Some("acp") => Transport::Acp,
            Some("jsonl") => Transport::Lines,
            _ if turn.approvals == Approvals::Ask => Transport::Acp,
            _ => Transport::Lines,
        }
    }
}

/// The launch of a turn.
pub(crate) fn build(turn: &Turn, features: Features) -> Result<Launch, Failure> {
    let transport = Transport::of(turn);
    let mut launch = match transport {
        Transport::Lines => {
            let mut launch = Launch::lines(["--output-format", "json", "-s", "--no-ask-user"]);
            launch.pair("--stream", if turn.stream_text { "on" } else { "off" });
            launch
        }
        Transport::Acp => {
            let mut launch = Launch::lines(["--acp"]);
            launch.exit_behavior = ExitBehavior::WhenStdinCloses;
            launch
        }
    };
    launch.arg("--no-auto-update");
    launch.pair("--log-level", "error");
    // The flag alone does not keep the launcher from a newer version that was downloaded earlier.
    launch.set("COPILOT_AUTO_UPDATE", "false");
    permissions::flags(turn, transport, &mut launch);
    if transport == Transport::Lines {
        session(&turn.session, features, &mut launch);
        model(turn, features, &mut launch);
        autopilot(turn, &mut launch);
        usage_file(features, &mut launch);
        if turn.approvals == Approvals::Ask {
            launch.unsupported("approvals", "the JSON lines cannot ask; what would be asked is denied");
        }
    } else {
        protocol_wishes(turn, features, &mut launch);
    }
    mcp_servers(turn, &mut launch)?;
    for dir in &turn.extra_dirs {
        launch.arg(format!("--add-dir={dir}"));
    }
    switches(turn, features, &mut launch);
    impossible(turn, &mut launch);
    Ok(launch)
}

fn session(choice: &SessionChoice, features: Features, launch: &mut Launch) {
    match choice {
        SessionChoice::Fresh(Some(id)) if features.session_id && is_uuid(id) => {
            launch.arg(format!("--session-id={id}"));
        }
        SessionChoice::Fresh(_) => {}
        SessionChoice::Resume(id) => {
            launch.arg(format!("--resume={id}"));
            stay_here(launch);
        }
        SessionChoice::MostRecent => {
            launch.arg("--continue");
            stay_here(launch);
        }
        SessionChoice::Fork(_) => launch.unsupported("session", "Copilot cannot fork a session; a new one is started"),
    }
}

/// A resumed session would move to the folder that it was started in.
fn stay_here(launch: &mut Launch) {
    launch.set("COPILOT_DISABLE_RESUME_AUTO_CD", "1");
}

/// Whether the CLI will take it as the id of a new session.
pub(crate) fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn model(turn: &Turn, features: Features, launch: &mut Launch) {
    if let Some(model) = &turn.model {
        launch.arg(format!("--model={model}"));
    }
    if let Some(effort) = effort(turn, features.efforts, launch) {
        launch.pair("--reasoning-effort", effort.name());
    }
}

/// The effort wished for, or the nearest that this version has.
fn effort(turn: &Turn, offered: &[Effort], launch: &mut Launch) -> Option<Effort> {
    let name = turn.effort.as_deref()?;
    let Some(wish) = Effort::parse(name) else {
        launch.unsupported("effort", &format!("there is no effort `{name}`"));
        return None;
    };
    let given = nearest_effort(wish, offered)?;
    if given != wish {
        launch.unsupported("effort", &format!("this version has no effort `{name}`; `{}` is used", given.name()));
    }
    Some(given)
}

fn autopilot(turn: &Turn, launch: &mut Launch) {
    if turn.autopilot {
        launch.arg("--autopilot");
        // Never without a cap: 1.0.35 would go on for ever.
        let default = turn.option("max-autopilot-continues").u64().unwrap_or(50);
        let cap = turn.max_turns.map_or(default, u64::from);
        launch.pair("--max-autopilot-continues", cap.to_string());
    } else if turn.max_turns.is_some() {
        launch.unsupported("max-turns", "Copilot caps only the continuations of its autopilot");
    }
}

fn usage_file(features: Features, launch: &mut Launch) {
    if features.usage_file {
        let file = launch.file(usage::FILE, "");
        launch.pair("--usage-output-file", file);
    }
}

/// What the protocol has no words for; model, effort, mode and session are set in it.
fn protocol_wishes(turn: &Turn, features: Features, launch: &mut Launch) {
    if turn.mcp_servers.is_some() && !features.protocol_servers {
        launch.unsupported("mcp-servers", "over ACP, versions before 1.0.102 may start no MCP servers");
    }
    if turn.max_turns.is_some() {
        launch.unsupported("max-turns", "it cannot be set over ACP");
    }
    if turn.autopilot && turn.approvals != Approvals::AllowAll {
        launch.unsupported("autopilot", "over ACP it would allow everything");
    }
    match turn.session {
        SessionChoice::Fork(_) => launch.unsupported("session", "Copilot cannot fork a session; a new one is started"),
        SessionChoice::MostRecent => {
            launch.unsupported("session", "ACP resumes a session by its id only; a new one is started");
        }
        SessionChoice::Fresh(_) | SessionChoice::Resume(_) => {}
    }
    if !turn.stream_text {
        launch.unsupported("stream-text", "ACP always streams");
    }
}

fn mcp_servers(turn: &Turn, launch: &mut Launch) -> Result<(), Failure> {
    let Some(servers) = &turn.mcp_servers else { return Ok(()) };
    let given = Json::parse(servers);
    if !given.is_object() {
        return Err(Failure::new(ErrorClass::InvalidOption, "mcp-servers is not a JSON object"));
    }
    let config = if given.get("mcpServers").is_object() {
        servers.clone()
    } else {
        Object::new().raw("mcpServers", given.raw()).finish()
    };
    // In a file, for it may hold secrets that a command line would show.
    let file = launch.file("mcp.json", config);
    launch.pair("--additional-mcp-config", Arg { text: "@".to_owned(), ..file });
    Ok(())
}

fn switches(turn: &Turn, features: Features, launch: &mut Launch) {
    for (option, flag) in [
        ("no-custom-instructions", "--no-custom-instructions"),
        ("disable-builtin-mcps", "--disable-builtin-mcps"),
        ("reasoning-summaries", "--enable-reasoning-summaries"),
        ("experimental", "--experimental"),
    ] {
        if turn.option(option).is_true() {
            launch.arg(flag);
        }
    }
    if let Some(agent) = turn.option("agent").filled() {
        launch.arg(format!("--agent={agent}"));
    }
    if let Some(credits) = turn.option("max-ai-credits").u64() {
        if features.credits_cap {
            launch.pair("--max-ai-credits", credits.to_string());
        } else {
            launch.unsupported("max-ai-credits", "this version has no cap on AI credits");
        }
    }
}

fn impossible(turn: &Turn, launch: &mut Launch) {
    if turn.max_cost_micros.is_some() {
        launch.unsupported("max-cost", "Copilot has no prices in dollars; see the option max-ai-credits");
    }
    if turn.fallback_model.is_some() {
        launch.unsupported("fallback-model", "Copilot takes one model");
    }
    if turn.output_schema.is_some() {
        launch.unsupported("output-schema", "Copilot cannot be held to a schema");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Copilot;
    use wharf_adapter::Binary;
    use wharf_adapter::testing::{set_option, turn};

    const ID: &str = "11111111-2222-4333-8444-555555555555";

    fn features(version: Option<&str>) -> Features {
        Features::of(&Binary { version: version.map(str::to_owned), ..Binary::at("/usr/bin/copilot".to_owned()) })
    }

    fn built(version: Option<&str>, change: impl FnOnce(&mut Turn)) -> Launch {
        let mut wish = turn::<Copilot>("prompt");
        change(&mut wish);
        build(&wish, features(version)).expect("a command line")
    }

    fn words(launch: &Launch) -> String {
        let words: Vec<String> = launch
            .args
            .iter()
            .map(|word| word.file.as_ref().map_or(word.text.clone(), |file| format!("{}<{file}>", word.text)))
            .collect();
        words.join(" ")
    }

    fn ignored(launch: &Launch) -> Vec<&str> {
        launch.unsupported.iter().map(|wish| wish.name.as_str()).collect()
    }

    #[test]
    fn a_plain_turn() {
        let launch = built(Some("1.0.102"), |_| {});
        assert_eq!(
            words(&launch),
            format!(
                "--output-format json -s --no-ask-user --stream on --no-auto-update --log-level error --allow-all \
                 --session-id={ID} --usage-output-file <usage.json> --no-custom-instructions --disable-builtin-mcps"
            )
        );
        let launch = built(Some("1.0.35"), |_| {});
        assert_eq!(
            words(&launch),
            "--output-format json -s --no-ask-user --stream on --no-auto-update --log-level error --allow-all \
             --no-custom-instructions --disable-builtin-mcps"
        );
        assert_eq!(words(&built(None, |_| {})), words(&launch), "an unknown version gets what all have");
        assert!(launch.unsupported.is_empty() && launch.files.is_empty());
    }

    /// A change to the turn, and what it must add to the command line.
    type Case = (fn(&mut Turn), &'static str);

    #[test]
    fn every_wish_has_its_words() {
        let cases: [Case; 15] = [
            (
                |turn| {
                    turn.autopilot = true;
                    set_option(turn, "max-autopilot-continues", "7");
                },
                "--max-autopilot-continues 7",
            ),
            (|turn| turn.stream_text = false, "--stream off"),
            (|turn| turn.model = Some("gpt-5.4".into()), "--model=gpt-5.4"),
            (|turn| turn.effort = Some("max".into()), "--reasoning-effort max"),
            (|turn| turn.effort = Some("none".into()), "--reasoning-effort none"),
            (|turn| turn.autopilot = true, "--autopilot --max-autopilot-continues 50"),
            (
                |turn| {
                    turn.autopilot = true;
                    turn.max_turns = Some(3);
                },
                "--max-autopilot-continues 3",
            ),
            (|turn| turn.session = SessionChoice::Resume("abc".into()), "--resume=abc"),
            (|turn| turn.session = SessionChoice::MostRecent, "--continue"),
            (|turn| turn.extra_dirs = vec!["/a".into(), "/b".into()], "--add-dir=/a --add-dir=/b"),
            (|turn| turn.mcp_servers = Some("{}".into()), "--additional-mcp-config @<mcp.json>"),
            (|turn| set_option(turn, "agent", "\"reviewer\""), "--agent=reviewer"),
            (|turn| set_option(turn, "reasoning-summaries", "true"), "--enable-reasoning-summaries"),
            (|turn| set_option(turn, "experimental", "true"), "--experimental"),
            (|turn| set_option(turn, "max-ai-credits", "40"), "--max-ai-credits 40"),
        ];
        for (change, expected) in cases {
            let launch = built(Some("1.0.102"), change);
            assert!(words(&launch).contains(expected), "{expected} is not in {}", words(&launch));
            assert!(launch.unsupported.is_empty(), "{expected}: {:?}", launch.unsupported);
            assert!(!words(&launch).contains("--verbose"));
        }
        let quiet = built(Some("1.0.102"), |turn| {
            set_option(turn, "no-custom-instructions", "false");
            set_option(turn, "disable-builtin-mcps", "false");
        });
        assert!(!words(&quiet).contains("custom") && !words(&quiet).contains("builtin"));
    }

    #[test]
    fn what_cannot_be_honoured_is_said() {
        let launch = built(Some("1.0.35"), |turn| {
            turn.max_cost_micros = Some(1);
            turn.fallback_model = Some("m".into());
            turn.output_schema = Some("{}".into());
            turn.max_turns = Some(2);
            turn.session = SessionChoice::Fork(ID.into());
            turn.effort = Some("max".into());
            set_option(turn, "max-ai-credits", "40");
        });
        let expected =
            ["session", "effort", "max-turns", "max-ai-credits", "max-cost", "fallback-model", "output-schema"];
        assert_eq!(ignored(&launch), expected);
        assert!(words(&launch).contains("--reasoning-effort xhigh") && !words(&launch).contains("session"));
        assert_eq!(ignored(&built(None, |turn| turn.effort = Some("heroic".into()))), ["effort"]);
        let asking = built(None, |turn| {
            turn.approvals = Approvals::Ask;
            set_option(turn, "transport", "\"jsonl\"");
        });
        assert_eq!(ignored(&asking), ["approvals"]);
    }

    #[test]
    fn a_resumed_session_stays_in_the_workspace() {
        let launch = built(Some("1.0.102"), |turn| turn.session = SessionChoice::Resume(ID.into()));
        let set: Vec<_> = launch.variables.iter().map(|(name, value)| (name.as_str(), value.text.as_str())).collect();
        assert_eq!(set, [("COPILOT_AUTO_UPDATE", "false"), ("COPILOT_DISABLE_RESUME_AUTO_CD", "1")]);
        let needs = crate::info::describe().access.variables;
        assert!(set.iter().all(|(name, _)| needs.iter().any(|need| need == name)), "they must be among the needs");
    }

    #[test]
    fn mcp_servers_are_wrapped_where_they_are_bare() {
        for (given, written) in [
            (r#"{"a":{"command":"x"}}"#, r#"{"mcpServers":{"a":{"command":"x"}}}"#),
            (r#"{"mcpServers":{"a":{}}}"#, r#"{"mcpServers":{"a":{}}}"#),
        ] {
            let launch = built(None, |turn| turn.mcp_servers = Some(given.to_owned()));
            assert_eq!(launch.files[0].content, written.as_bytes());
        }
        let mut wish = turn::<Copilot>("prompt");
        wish.mcp_servers = Some("[1]".to_owned());
        assert_eq!(build(&wish, features(None)).map_err(|failure| failure.class), Err(ErrorClass::InvalidOption));
    }

    #[test]
    fn asking_needs_the_protocol() {
        let launch = built(Some("1.0.102"), |turn| turn.approvals = Approvals::Ask);
        assert!(words(&launch).starts_with("--acp ") && launch.exit_behavior == ExitBehavior::WhenStdinCloses);
        assert!(!words(&launch).contains("--allow") && !words(&launch).contains("--session-id"));
        let launch = built(Some("1.0.102"), |turn| {
            turn.approvals = Approvals::Ask;
            turn.autopilot = true;
            turn.max_turns = Some(1);
            turn.stream_text = false;
            turn.session = SessionChoice::MostRecent;
            turn.mcp_servers = Some("{}".into());
        });
        assert_eq!(ignored(&launch), ["max-turns", "autopilot", "session", "stream-text"]);
        assert!(words(&launch).contains("--additional-mcp-config @<mcp.json>"), "the protocol's own field is not read");
        let old = built(Some("1.0.35"), |turn| {
            turn.approvals = Approvals::Ask;
            turn.mcp_servers = Some("{}".into());
        });
        assert_eq!(ignored(&old), ["mcp-servers"]);
    }

    #[test]
    fn only_uuids_may_name_a_new_session() {
        for (id, valid) in
            [(ID, true), ("my-own-id", false), ("11111111-2222-4333-8444-55555555555g", false), ("", false)]
        {
            assert_eq!(is_uuid(id), valid, "{id}");
        }
    }
}
