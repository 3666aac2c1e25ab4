//! What a turn becomes. The agent's own tests (`agent/tests`) cover the conversation.

use super::*;
use wharf_adapter::ToolRules;
use wharf_adapter::testing::{binary, set_option, turn};

fn launch(turn: &Turn) -> Launch {
    let transport = if turn.approvals == Approvals::Ask { DUPLEX } else { "lines" };
    Echo::default().build_args(turn, &binary("1.0.0"), transport).expect("a command line")
}

fn unsupported(turn: &Turn) -> Vec<String> {
    launch(turn).unsupported.into_iter().map(|setting| setting.name).collect()
}

#[test]
fn settings_that_are_applied_are_on_the_command_line() {
    let mut turn = Turn {
        session: SessionChoice::Resume("s-1".to_owned()),
        model: Some("echo-loud".to_owned()),
        system_prompt: Some("Be kind.".to_owned()),
        approvals: Approvals::Ask,
        ..turn::<Echo>("hello")
    };
    set_option(&mut turn, "delay", "7");
    let launch = launch(&turn);
    let args: Vec<&str> = launch.args.iter().map(|arg| arg.file.as_deref().unwrap_or(&arg.text)).collect();
    let expected = "--resume s-1 --model echo-loud --system system.txt --delay 7 --duplex";
    assert_eq!(args.join(" "), expected);
    assert_eq!(launch.exit_behavior, ExitBehavior::WhenStdinCloses);
    assert_eq!(launch.unsupported, []);
}

#[test]
fn settings_that_are_not_applied_are_unsupported() {
    assert_eq!(unsupported(&turn::<Echo>("hello")), [""; 0]);
    for approvals in [Approvals::AllowAll, Approvals::Deny] {
        assert_eq!(unsupported(&Turn { approvals, ..turn::<Echo>("hello") }), [""; 0]);
    }
    let everything = Turn {
        extra_dirs: vec!["/more".to_owned()],
        fallback_model: Some("echo-1".to_owned()),
        effort: Some("high".to_owned()),
        max_turns: Some(3),
        max_cost_micros: Some(1_000_000),
        tools: ToolRules { allow: vec![], deny: vec!["list_folder".to_owned()], only: vec![], without: vec![] },
        mcp_servers: Some("{}".to_owned()),
        output_schema: Some("{}".to_owned()),
        stream_text: false,
        autopilot: true,
        ..turn::<Echo>("hello")
    };
    let names = [
        "extra-dirs",
        "fallback-model",
        "effort",
        "max-turns",
        "max-cost",
        "tools",
        "mcp-servers",
        "output-schema",
        "stream-text",
        "autopilot",
    ];
    assert_eq!(unsupported(&everything), names);
    for session in [SessionChoice::Fork("s-1".to_owned()), SessionChoice::MostRecent] {
        assert_eq!(unsupported(&Turn { session, ..turn::<Echo>("hello") }), ["session"]);
    }
}
