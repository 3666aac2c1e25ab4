//! What the two files may set, and what is refused.

use super::*;
use crate::project::PROJECT_FILE;
use std::time::Duration;
use wharf_core::turn::Timeouts;

fn load(user: &str, project: &str) -> Result<Config> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.toml"), user).expect("written");
    std::fs::write(folder.path().join(PROJECT_FILE), project).expect("written");
    Config::load(&folder.path().join("config.toml"), folder.path())
}

#[test]
fn the_projects_file_overrides_the_users() {
    let config =
        load("adapter = \"claude\"\nmodel = \"opus\"\n[timeouts]\nidle = 30\n", "model = \"haiku\"\n").expect("good");
    assert_eq!((config.adapter.as_deref(), config.model.as_deref()), (Some("claude"), Some("haiku")));
    assert_eq!(config.timeouts.timeouts().idle, Some(Duration::from_secs(30)));
    assert!(config.recording.enabled);
}

#[test]
fn unknown_keys_are_errors_that_name_the_file_and_the_line() {
    let error = load("adapter = \"x\"\n\n[timeouts]\nidel = 3\n", "").expect_err("refused").to_string();
    assert!(error.contains("config.toml, line 4") && error.contains("idel"), "{error}");
    let error = load("", "modle = \"x\"\n").expect_err("refused").to_string();
    assert!(error.contains(".wharf.toml, line 1"), "{error}");
    let error = load("adapter = [", "").expect_err("refused").to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn a_variable_can_be_marked_as_secret_or_not() {
    let config = load(
        "environment = [\n  \"A\",\n  { name = \"TASK_ID\", secret = false },\n  { name = \"B\", secret = true },\n  { name = \"C\" },\n]\n",
        "",
    );
    let environment = config.expect("good").environment;
    let found: Vec<(&str, Option<bool>)> = environment.iter().map(|one| (one.name.as_str(), one.secret)).collect();
    assert_eq!(found, [("A", None), ("TASK_ID", Some(false)), ("B", Some(true)), ("C", None)]);
}

#[test]
fn a_malformed_variable_is_an_error_that_names_the_file_and_the_line() {
    for (entry, reason) in [
        ("\"A=1\"", "not a variable's name"),
        ("\"\"", "not a variable's name"),
        ("7", "a variable's name"),
        ("{ secret = false }", "missing key `name`"),
        ("{ name = \"A\", secret = \"no\" }", "expected a boolean"),
        ("{ name = \"A\", value = \"1\" }", "unknown key `value`"),
        ("{ name = \"A=1\", secret = false }", "not a variable's name"),
    ] {
        let error = load(&format!("environment = [\n  \"GOOD\",\n  {entry},\n]\n"), "").expect_err(entry);
        let text = error.to_string();
        assert!(text.contains("config.toml, line 3") && text.contains(reason), "{entry}: {text}");
    }
}

#[test]
fn a_project_cannot_grant_anything() {
    for (key, content) in [
        ("grants", "[grants.x]\nprograms = [\"sh\"]\n"),
        ("programs", "[programs]\nclaude = \"/tmp/evil\"\n"),
        ("approvals", "approvals = \"allow-all\"\n"),
        ("environment", "environment = [\"AWS_SECRET_ACCESS_KEY\"]\n"),
        ("options", "[options.x]\na = 1\n"),
        ("agents", "[agents.x]\ncommand = [\"/tmp/evil\"]\n"),
        ("models", "[models]\nfast = { claude = \"opus\" }\n"),
    ] {
        let error = load("", content).expect_err("refused");
        assert!(error.hint().is_some_and(|hint| hint.contains("own file")), "{key}: {error}");
    }
}

#[test]
fn an_agent_has_a_valid_name_and_one_program() {
    let text = "[agents.goose]\ncommand = [\"goose\", \"acp\"]\nenvironment = [\"GOOSE_MODEL\"]\n\n[agents.claude]\nversion = \"2.1.325\"\n";
    let config = load(text, "").expect("valid");
    assert_eq!(config.agents["goose"].command, ["goose", "acp"]);
    assert_eq!(config.agents["claude"].version.as_deref(), Some("2.1.325"));
    for (text, reason) in [
        ("[agents.Goose]\ncommand = [\"goose\"]\n", "cannot be the name"),
        ("[agents.\"../x\"]\nversion = \"1\"\n", "cannot be the name"),
        ("[agents.goose]\ncommand = []\n", "line 2: the command is empty"),
        ("[agents.goose]\ncommand = [\"./goose\"]\n", "line 2: the program \"./goose\" is neither"),
        ("[agents.goose]\ncommand = \"goose acp\"\n", "expected a list"),
        ("[agents.goose]\nprogram = \"goose\"\n", "unknown key `program`"),
        ("[agents.x]\nversion = \"1\"\n[programs]\nx = \"/bin/x\"\n", "`[programs]` and `version`"),
        ("[agents.x]\ncommand = [\"x\"]\n[programs]\nx = \"/bin/x\"\n", "`[programs]` and `command`"),
        ("[models]\nfast = \"haiku\"\n", "line 2"),
    ] {
        let error = load(text, "").expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn a_project_cannot_bring_its_own_adapter() {
    for adapter in ["./evil.wasm", "evil.wasm", "/tmp/evil"] {
        let error = load("", &format!("adapter = {adapter:?}\n")).expect_err("refused");
        assert!(error.to_string().contains("by a path"), "{error}");
    }
}

#[test]
fn an_invalid_value_is_an_error_and_not_the_default() {
    for (section, key, value) in [
        ("timeouts", "idle", "-1"),
        ("timeouts", "total", "nan"),
        ("timeouts", "ask", "-0.5"),
        ("timeouts", "grace", "-inf"),
        ("limits", "runs", "0"),
        ("limits", "runs", "-1"),
        ("limits", "compile_seconds", "0"),
        ("limits", "compile_bytes", "-1"),
    ] {
        let error = load(&format!("[{section}]\n{key} = {value}\n"), "").expect_err("refused").to_string();
        assert!(error.contains("config.toml, line 2"), "{key} = {value}: {error}");
    }
    let error = load("effort = \"huge\"\n", "").expect_err("refused").to_string();
    assert!(error.contains("line 1") && error.contains("xhigh"), "{error}");
}

#[test]
fn a_timeout_is_a_number_of_seconds_a_duration_or_none() {
    let user = "[timeouts]\nfirst_output = \"none\"\nidle = \"1h30m\"\ntotal = 0.5\nask = \"none\"\ngrace = \"2s\"\n";
    let timeouts = load(user, "").expect("valid").timeouts.timeouts();
    assert_eq!((timeouts.first_output, timeouts.ask), (None, None));
    assert_eq!((timeouts.idle, timeouts.total), (Some(Duration::from_mins(90)), Some(Duration::from_millis(500))));
    assert_eq!(timeouts.grace, Duration::from_secs(2));
    let defaults = load("", "").expect("valid").timeouts.timeouts();
    assert_eq!(defaults, Timeouts::default());
    let error = load("[timeouts]\nask = \"soon\"\n", "").expect_err("refused").to_string();
    assert!(error.contains("line 2") && error.contains("\"soon\"") && error.contains("1h30m"), "{error}");
    assert!(load("[timeouts]\ngrace = \"none\"\n", "").is_err(), "an agent has to end at some time");
}

#[test]
fn prices_are_amounts_of_the_users_own_file() {
    let config = load("[prices.\"m-*\"]\ninput = 3\noutput = 15.5\ncached = 0.3\n", "").expect("valid");
    assert_eq!(config.prices.of("m-1").map(|price| price.output), Some(15.5));
    for invalid in ["input = -1\noutput = 1", "input = 1", "input = 1\noutput = nan", "input = 1\noutput = 1\nx = 1"] {
        let error = load(&format!("[prices.m]\n{invalid}\n"), "").expect_err(invalid).to_string();
        assert!(error.contains("config.toml, line "), "{invalid}: {error}");
    }
    let error = load("[prices.\"m*x\"]\ninput = 1\noutput = 1\n", "").expect_err("refused").to_string();
    assert!(error.contains("line 1") && error.contains("m*x"), "{error}");
    assert!(load("", "[prices.m]\ninput = 1\noutput = 1\n").is_err());
}

#[cfg(unix)]
#[test]
fn a_projects_file_that_is_a_link_a_pipe_or_too_large_is_refused_at_once() {
    let refusal = |make: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().expect("a folder");
        make(&folder.path().join(PROJECT_FILE));
        let error = Config::load(Path::new("/no/such/file"), folder.path()).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Config);
        error.to_string()
    };
    let link = |target: &'static str| move |path: &Path| std::os::unix::fs::symlink(target, path).expect("a link");
    assert!(refusal(&link("/dev/zero")).contains("a link"));
    assert!(refusal(&link("/dev/stdin")).contains("a link"));
    assert!(refusal(&link("/etc/passwd")).contains("a link"));
    let pipe = |path: &Path| {
        let status = std::process::Command::new("mkfifo").arg(path).status();
        assert!(status.expect("every system has mkfifo").success());
    };
    assert!(refusal(&pipe).contains("not a plain file"));
    let large = |path: &Path| {
        std::fs::write(path, format!("model = [{}]", "\"x\",".repeat(1 << 20))).expect("written");
    };
    assert!(refusal(&large).contains("more than 65536 bytes"));
}

#[test]
fn missing_files_set_nothing() {
    let config = Config::load(Path::new("/no/such/file"), Path::new("/no/such/folder")).expect("defaults");
    assert_eq!(config.adapter, None);
}

#[test]
fn a_value_of_another_type_is_told_in_words_that_are_not_rusts() {
    for (text, expected) in [
        ("[limits]\nframe_bytes = \"1k\"\n", "expected a whole number"),
        ("[recording]\nkeep_runs = -1\n", "expected a whole number"),
        ("[prices.m]\ninput = \"3\"\noutput = 1\n", "expected a number"),
        ("shadow = \"claude\"\n", "expected a list"),
        ("[programs]\necho = 3\n", "expected a path"),
        ("effort = 3\n", "expected a string"),
    ] {
        let error = load(text, "").expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
