//! The settings of a turn, and the files that register the adapter.

use crate::plain_turn;
use wharf_adapter::testing::{FakeHost, binary, environment, set_option};
use wharf_adapter::{
    Adapter, Approvals, Attachment, Environment, ErrorClass, Launch, ModelList, PromptDelivery, SessionChoice, Support,
    Turn,
};
use wharf_adapter_opencode::OpenCode;

fn launch(turn: &Turn, version: &str, transport: &str) -> Launch {
    OpenCode::default().build_args(turn, &binary(version), transport).expect("a command line")
}

fn args(launch: &Launch) -> Vec<&str> {
    launch.args.iter().map(|arg| arg.text.as_str()).collect()
}

fn variable<'a>(launch: &'a Launch, name: &str) -> Option<&'a str> {
    launch.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.text.as_str())
}

fn unsupported(launch: &Launch) -> Vec<&str> {
    launch.unsupported.iter().map(|setting| setting.name.as_str()).collect()
}

#[test]
fn a_plain_turn_over_each_transport() {
    let acp = launch(&plain_turn(), "1.18.33", "acp");
    assert_eq!(args(&acp), ["acp", "--print-logs", "--log-level", "INFO"]);
    let run = launch(&plain_turn(), "1.18.33", "run");
    assert_eq!(args(&run), ["run", "--format", "json", "--thinking", "--auto", "--print-logs", "--log-level", "INFO"]);
    for launch in [acp, run] {
        assert_eq!((unsupported(&launch).len(), variable(&launch, "OPENCODE_PERMISSION")), (0, None));
        assert_eq!(variable(&launch, "OPENCODE_DISABLE_AUTOUPDATE"), Some("1"));
    }
}

#[test]
fn the_prompt_of_a_run_goes_to_stdin_unchanged() {
    let mut turn = plain_turn();
    "--help \"quoted\"\n".clone_into(&mut turn.prompt);
    let prompt = OpenCode::default().build_prompt(&turn, &binary("1.18.33"), "run");
    assert_eq!(prompt, Ok(PromptDelivery::Stdin(turn.prompt.clone().into_bytes())));
    assert!(!args(&launch(&turn, "1.18.33", "run")).contains(&turn.prompt.as_str()));
    " \n".clone_into(&mut turn.prompt);
    let empty = OpenCode::default().build_args(&turn, &binary("1.18.33"), "run").map_err(|failure| failure.class);
    assert_eq!(empty.err(), Some(ErrorClass::InvalidOption));
}

#[test]
fn every_setting_of_a_run_has_its_flag() {
    let mut turn = plain_turn();
    turn.session = SessionChoice::Fork("ses_1".to_owned());
    turn.model = Some("lab/mock".to_owned());
    turn.effort = Some("high".to_owned());
    turn.system_prompt = Some("Be brief.".to_owned());
    turn.mcp_servers = Some(r#"{"mcpServers":{"lab":{"command":"py"}}}"#.to_owned());
    turn.extra_dirs = vec!["/more".to_owned()];
    set_option(&mut turn, "agent", "\"plan\"");
    let attachment = |name: &str, path: Option<&str>, bytes: Option<&[u8]>| Attachment {
        name: name.to_owned(),
        media_type: "image/png".to_owned(),
        path: path.map(str::to_owned),
        bytes: bytes.map(<[u8]>::to_vec),
    };
    turn.attachments =
        vec![attachment("a.png", Some("/pictures/a.png"), Some(b"x")), attachment("../b c.png", None, Some(b"y"))];
    turn.extra_args = vec!["--title=x".to_owned()];
    set_option(&mut turn, "no-plugins", "true");
    set_option(&mut turn, "no-project-config", "true");
    let launch = launch(&turn, "1.15.4", "run");
    for flag in [
        "--session=ses_1",
        "--fork",
        "--model=lab/mock",
        "--variant",
        "high",
        "--agent",
        "plan",
        "--pure",
        "--dangerously-skip-permissions",
    ] {
        assert!(args(&launch).contains(&flag), "{flag}");
    }
    assert!(args(&launch).contains(&"--file=/pictures/a.png") && args(&launch).contains(&"--title=x"));
    let file = launch.args.iter().find(|arg| arg.file.is_some()).expect("a file of the launch");
    assert_eq!((file.text.as_str(), file.file.as_deref()), ("--file=", Some("1-..bc.png")));
    let config = variable(&launch, "OPENCODE_CONFIG_CONTENT").expect("a configuration");
    let config: serde_json::Value = serde_json::from_str(config).expect("JSON");
    assert_eq!(config["agent"]["plan"]["prompt"], "Be brief.");
    assert_eq!(config["mcp"]["lab"]["command"], serde_json::json!(["py"]));
    assert!(variable(&launch, "OPENCODE_PERMISSION").is_some_and(|rules| rules.contains("/more/*")));
    assert_eq!(variable(&launch, "OPENCODE_DISABLE_PROJECT_CONFIG"), Some("1"));
    assert!(launch.instructions.iter().all(|file| !file.read));
    assert_eq!(unsupported(&launch), [""; 0]);
}

#[test]
fn what_cannot_be_set_is_reported() {
    let mut turn = plain_turn();
    turn.session = SessionChoice::Fresh(Some("chosen".to_owned()));
    turn.approvals = Approvals::Ask;
    turn.max_turns = Some(3);
    turn.max_cost_micros = Some(1);
    turn.fallback_model = Some("m".to_owned());
    turn.output_schema = Some("{}".to_owned());
    turn.autopilot = true;
    let launch = launch(&turn, "1.18.33", "run");
    let mut names = unsupported(&launch);
    names.sort_unstable();
    assert_eq!(
        names,
        ["approvals", "autopilot", "fallback-model", "max-cost", "max-turns", "output-schema", "session"]
    );
    assert!(!args(&launch).contains(&"--auto"));
}

#[test]
fn a_turn_that_denies_hides_what_changes_something() {
    let mut turn = plain_turn();
    turn.approvals = Approvals::Deny;
    let rules = variable(&launch(&turn, "1.18.33", "acp"), "OPENCODE_PERMISSION").map(str::to_owned).expect("rules");
    let rules: serde_json::Value = serde_json::from_str(&rules).expect("JSON");
    assert_eq!((&rules["*"], &rules["grep"]), (&"deny".into(), &"allow".into()));
}

#[test]
fn a_fork_has_its_own_variables_versions_and_flags() {
    let mut host = FakeHost::default().program("/opt/kilo", "/opt/kilo").output("/opt/kilo --version", 0, "7.8.1\n");
    host.variables.insert("KILO_CONFIG_CONTENT".to_owned(), "{}".to_owned());
    let named = Environment { program: Some("/opt/kilo".into()), ..environment() };
    let found = OpenCode::default().resolve_binary(&host, &named).expect("a program");
    assert_eq!((found.version.as_deref(), found.support), (Some("7.8.1"), Support::Tested));
    let mut turn = plain_turn();
    turn.system_prompt = Some("Be brief.".to_owned());
    let launch = OpenCode::default().build_args(&turn, &found, "run").expect("a command line");
    assert!(args(&launch).contains(&"--auto"));
    assert_eq!(variable(&launch, "KILO_DISABLE_AUTOUPDATE"), Some("1"));
    assert!(launch.variables.iter().any(|(name, value)| name == "KILO_CONFIG" && value.file.is_some()));
}

#[test]
fn the_version_decides_the_support() {
    for (printed, support) in [
        ("1.18.33\n", Support::Tested),
        ("1.15.4\n", Support::Tested),
        ("1.17.0\n", Support::BetweenTested),
        ("2.0.0\n", Support::NewerUntested),
        ("1.0.0\n", Support::OlderUntested),
    ] {
        let host = FakeHost::default().program("opencode", "/usr/bin/opencode").output(
            "/usr/bin/opencode --version",
            0,
            printed,
        );
        let binary = OpenCode::default().resolve_binary(&host, &environment()).expect("a program");
        assert_eq!(binary.support, support, "{printed}");
    }
    let missing = OpenCode::default().resolve_binary(&FakeHost::default(), &environment());
    assert_eq!(missing.map_err(|failure| failure.class), Err(ErrorClass::NotFound));
}

/// The form of `opencode models --verbose` in both versions.
#[test]
fn models_are_listed_with_their_efforts() {
    let printed = "opencode/free\nlab/mock-model\n{\n  \"id\": \"mock-model\",\n  \"name\": \"Mock\",\n  \"providerID\": \"lab\",\n  \"api\": {\n    \"url\": \"http://h/v1\"\n  },\n  \"limit\": {\n    \"context\": 200000\n  },\n  \"variants\": {\n    \"low\": {},\n    \"thinking\": {}\n  }\n}\nvendor/deep/model\n{}\n";
    let host = FakeHost::default().program("opencode", "/usr/bin/opencode").output(
        "/usr/bin/opencode models --verbose",
        0,
        printed,
    );
    let ModelList::Models(models) = OpenCode::default().list_models(&host, None) else { panic!("no list") };
    let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["opencode/free", "lab/mock-model", "vendor/deep/model"]);
    let mock = &models[1];
    assert_eq!((mock.name.as_str(), mock.vendor.as_deref(), mock.context), ("Mock", Some("lab"), Some(200_000)));
    assert_eq!(mock.efforts, ["low"]);
    let none = OpenCode::default().list_models(&FakeHost::default(), None);
    assert!(matches!(none, ModelList::Unavailable(_)));
}
