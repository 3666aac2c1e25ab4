//! Command lines of both transports.

use super::*;
use crate::Codex;
use wharf_adapter::testing::{binary, set_option, turn};
use wharf_adapter::{Adapter, CallerTool, HookPoints};

fn built(transport: &str, version: &str, change: impl FnOnce(&mut Turn)) -> Launch {
    let mut turn = turn::<Codex>("go");
    turn.session = SessionChoice::Fresh(None);
    change(&mut turn);
    Codex::default().build_args(&turn, &binary(version), transport).expect("a command line")
}

fn args(launch: &Launch) -> String {
    launch.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn unsupported(launch: &Launch) -> Vec<&str> {
    launch.unsupported.iter().map(|setting| setting.name.as_str()).collect()
}

const EXEC: &str = "exec --json --skip-git-repo-check";
const ALL: &str = "--dangerously-bypass-approvals-and-sandbox";

#[test]
fn exec_has_its_settings_on_the_command_line() {
    type Change = fn(&mut Turn);
    let rows: [(Change, String); 10] = [
        (|_| {}, format!("{EXEC} {ALL} -")),
        (|turn| turn.approvals = Approvals::Deny, format!("{EXEC} --sandbox read-only -")),
        (|turn| turn.model = Some("gpt-5.5".into()), format!("{EXEC} {ALL} --model gpt-5.5 -")),
        (|turn| turn.effort = Some("high".into()), format!("{EXEC} {ALL} -c model_reasoning_effort=\"high\" -")),
        (
            |turn| turn.system_prompt = Some("Say \"hi\"\n".into()),
            format!(r#"{EXEC} {ALL} -c developer_instructions="Say \"hi\"\n" -"#),
        ),
        (|turn| turn.extra_dirs = vec!["/a b".into()], format!("{EXEC} {ALL} --add-dir /a b -")),
        (|turn| turn.session = SessionChoice::Resume("id".into()), format!("{EXEC} {ALL} resume id -")),
        (|turn| turn.session = SessionChoice::MostRecent, format!("{EXEC} {ALL} resume --last -")),
        (|turn| turn.session = SessionChoice::Fork("id".into()), format!("{EXEC} {ALL} fork id -")),
        (|turn| set_option(turn, "ephemeral", "true"), format!("{EXEC} {ALL} --ephemeral -")),
    ];
    for (change, expected) in rows {
        let launch = built("exec", "0.169.0", change);
        assert_eq!(args(&launch), expected);
        assert_eq!(unsupported(&launch), [""; 0], "{expected}");
    }
    let schema = built("exec", "0.169.0", |turn| turn.output_schema = Some("{}".into()));
    assert_eq!(args(&schema), format!("{EXEC} {ALL} --output-schema  -"), "the path of a file follows");
    assert_eq!(schema.files[0].content, b"{}");
}

#[test]
fn what_exec_cannot_do_is_reported() {
    let asks = built("exec", "0.169.0", |turn| turn.approvals = Approvals::Ask);
    assert_eq!(unsupported(&asks), ["approvals"]);
    assert_eq!(args(&asks), format!("{EXEC} --sandbox read-only -"), "what nobody can allow is not allowed");
    let old = built("exec", "0.142.0", |turn| turn.session = SessionChoice::Fork("id".into()));
    assert_eq!(unsupported(&old), ["session"]);
    assert!(!args(&old).contains("fork"), "{}", args(&old));
    let chosen = built("exec", "0.169.0", |turn| turn.session = SessionChoice::Fresh(Some("id".into())));
    assert_eq!(unsupported(&chosen), ["session"]);
    let mut long = turn::<Codex>("go");
    long.system_prompt = Some("x".repeat(200_000));
    assert!(Codex::default().build_args(&long, &binary("0.169.0"), "exec").is_err());
}

#[test]
fn app_server_gets_only_settings_of_codex_itself() {
    let plain = built("app-server", "0.169.0", |turn| {
        turn.model = Some("m".into());
        turn.system_prompt = Some("s".into());
        turn.effort = Some("low".into());
        turn.approvals = Approvals::Ask;
    });
    assert_eq!((args(&plain), unsupported(&plain)), ("app-server".to_owned(), vec![]));
    assert_eq!(plain.exit_behavior, ExitBehavior::WhenStdinCloses);
    let more = built("app-server", "0.169.0", |turn| {
        turn.extra_dirs = vec!["/a".into(), "/b".into()];
        set_option(turn, "no-custom-instructions", "true");
        set_option(turn, "reasoning-summary", "\"detailed\"");
    });
    let expected = "app-server -c project_doc_max_bytes=0 -c model_reasoning_summary=\"detailed\"";
    assert_eq!(args(&more), expected);
    assert!(more.instructions.iter().filter(|file| file.path.starts_with("AGENTS")).all(|file| !file.read));
}

#[test]
fn what_codex_lacks_is_reported_by_both() {
    for transport in ["app-server", "exec"] {
        let launch = built(transport, "0.169.0", |turn| {
            turn.fallback_model = Some("m".into());
            turn.max_turns = Some(1);
            turn.max_cost_micros = Some(1);
            turn.tools.deny = vec!["x".into()];
            turn.autopilot = true;
            turn.hooks = HookPoints::BEFORE_TOOL;
            turn.caller_tools =
                vec![CallerTool { name: "t".into(), description: String::new(), input_schema: "{}".into() }];
        });
        let expected = ["caller-tools", "hooks", "fallback-model", "max-turns", "max-cost", "tools", "autopilot"];
        assert_eq!(unsupported(&launch), expected);
    }
}

#[test]
fn mcp_servers_are_settings_in_codexs_words() {
    let servers = r#"{"mcpServers":{
        "echo":{"type":"stdio","command":"/bin/echo","args":["a b"],"env":{"K":"v"}},
        "my docs":{"type":"http","url":"https://h/mcp","headers":{"X-Key":"k"}}}}"#;
    for transport in ["app-server", "exec"] {
        let launch = built(transport, "0.169.0", |turn| turn.mcp_servers = Some(servers.into()));
        let configs: Vec<&str> =
            launch.args.iter().map(|arg| arg.text.as_str()).filter(|arg| arg.starts_with("mcp_servers")).collect();
        let expected = [
            r#"mcp_servers.echo={"command"="/bin/echo","args"=["a b"],"env"={"K"="v"}}"#,
            r#"mcp_servers."my docs"={"url"="https://h/mcp","http_headers"={"X-Key"="k"}}"#,
        ];
        assert_eq!(configs, expected);
    }
}

#[test]
fn app_server_reads_the_key_that_exec_reads_by_itself() {
    let mut binary = binary("0.169.0");
    for (login, is_set) in [(Login::Present(KEY.into()), true), (Login::Present("codex login".into()), false)] {
        binary.login = login;
        let launch = Codex::default().build_args(&turn::<Codex>("go"), &binary, "").expect("a command line");
        assert_eq!(args(&launch).contains("env_key=\"CODEX_API_KEY\""), is_set);
    }
}

#[test]
fn no_workspace_becomes_trusted() {
    let expected = r#"-c projects={"/home/user/project"={"trust_level"="untrusted"}}"#;
    for (transport, version, approvals, is_set) in [
        ("exec", "0.142.0", Approvals::AllowAll, true),
        ("exec", "0.142.0", Approvals::Deny, false),
        ("exec", "0.169.0", Approvals::AllowAll, false),
        ("app-server", "0.142.0", Approvals::AllowAll, false),
    ] {
        let launch = built(transport, version, |turn| turn.approvals = approvals);
        assert_eq!(args(&launch).contains(expected), is_set, "{transport} {version} {approvals:?}");
    }
}

#[test]
fn an_empty_prompt_is_an_error() {
    let turn = turn::<Codex>(" \n");
    let failure =
        Codex::default().build_args(&turn, &binary("0.169.0"), "").map(|_| ()).map_err(|failure| failure.class);
    assert_eq!(failure, Err(ErrorClass::InvalidOption));
}

#[test]
fn extra_arguments_are_passed_unchanged() {
    for (transport, expected) in
        [("app-server", "app-server -p work".to_owned()), ("exec", format!("{EXEC} {ALL} -p work resume id -"))]
    {
        let launch = built(transport, "0.169.0", |turn| {
            turn.extra_args = vec!["-p".into(), "work".into()];
            turn.session = SessionChoice::Resume("id".into());
        });
        assert_eq!((args(&launch), unsupported(&launch)), (expected, vec![]));
    }
}
