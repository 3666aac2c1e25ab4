//! Two tenants in one process: each run has its own variables, home and state folder, and nothing of one reaches the
//! other.

use crate::events_of;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use wharf::event::{Event, EventKind, Outcome};
use wharf::{RunOptions, Turn};
use wharf_test_support::{DONE, HELLO, Sandbox, Script, files_containing, wait_until};

/// A tenant, and what a run for it may see.
struct Tenant {
    name: &'static str,
    token: &'static str,
}

const TENANTS: [Tenant; 2] = [
    Tenant { name: "red", token: "red-token-5f4dcc3b5aa7" },
    Tenant { name: "blue", token: "blue-token-27c8a90e61fd" },
];

impl Tenant {
    fn folder(&self, sandbox: &Sandbox, what: &str) -> PathBuf {
        sandbox.path(format!("{}-{what}", self.name))
    }

    fn options(&self, sandbox: &Sandbox) -> RunOptions {
        let mut options = RunOptions::default();
        options.variables.insert("TENANT_TOKEN".into(), self.token.into());
        options.variables.insert(format!("ONLY_{}", self.name), "yes".into());
        options.labels.insert("tenant".into(), self.name.into());
        let home = self.folder(sandbox, "home");
        fs::create_dir_all(&home).unwrap();
        options.home = Some(home);
        options
    }
}

/// The environment that an agent wrote to a file.
fn environment(file: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_at_once_have_their_own_variables_and_homes_and_neither_has_the_others_token() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let mut runs = Vec::new();
    for tenant in &TENANTS {
        // Each agent says its token, and waits until the other has started.
        let script = Script::new()
            .line(HELLO)
            .step(&format!("write-env {}", tenant.folder(&sandbox, "environment").display()))
            .line(&format!(r#"{{"type":"say","id":"1","text":"my token is {}"}}"#, tenant.token))
            .step(&format!("wait-file {}", sandbox.path("go").display()))
            .step(&format!("stderr {} on stderr\\n", tenant.token))
            .line(DONE);
        let turn = sandbox.turn(tenant.name, &script);
        runs.push(host.start(&adapter, turn, tenant.options(&sandbox)).await.unwrap());
    }
    tokio::task::block_in_place(|| wait_until("both agents run at once", || sandbox.agents().len() == 2));
    sandbox.write("go", "");
    let ids: Vec<String> = runs.iter().map(|run| run.id().to_owned()).collect();
    let mut events: Vec<Vec<Event>> = Vec::new();
    for run in runs {
        events.push(events_of(run).await);
    }

    for (index, tenant) in TENANTS.iter().enumerate() {
        let other = &TENANTS[1 - index];
        let seen = environment(&tenant.folder(&sandbox, "environment"));
        assert_eq!(seen["TENANT_TOKEN"], tenant.token);
        assert_eq!(seen["HOME"], tenant.folder(&sandbox, "home").to_str().unwrap());
        assert!(seen.contains_key(&format!("ONLY_{}", tenant.name)), "{seen:?}");
        assert!(!seen.contains_key(&format!("ONLY_{}", other.name)), "{seen:?}");
        assert!(!seen.values().any(|value| value.contains(other.token)), "{seen:?}");

        let folder = host.runs().find(&ids[index]).unwrap().path().to_owned();
        let printed = format!("{:?}", events[index]);
        for token in [tenant.token, other.token] {
            assert_eq!(files_containing(&folder, token.as_bytes()), Vec::<PathBuf>::new(), "{}", tenant.name);
            assert!(!printed.contains(token), "{printed}");
        }
        assert!(printed.contains("my token is "), "the message itself is there: {printed}");
        let Some(EventKind::Report(report)) = events[index].last().map(|event| &event.kind) else {
            panic!("{printed}")
        };
        assert_eq!(report.outcome, Outcome::Completed);
    }
    // The tokens are in no other file of wharf either.
    for tenant in &TENANTS {
        assert_eq!(files_containing(&sandbox.path("data"), tenant.token.as_bytes()), Vec::<PathBuf>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_folder_is_created_and_given_to_the_agent_in_its_own_variable() {
    let sandbox = Sandbox::new();
    // An agent that only writes its environment.
    let agent = sandbox.write(
        "claude",
        "#!/bin/sh\ncase \"$*\" in *--version) echo '2.1.325 (Claude Code)'; exit ;; esac\nenv > \"$ENVIRONMENT_FILE\"\n",
    );
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["claude", "copilot"] {
        let host = sandbox.host_with(|config| {
            config.programs.insert(name.to_owned(), agent.clone());
        });
        let adapter = host.adapter(name).await.unwrap();
        let variable = adapter.info().state_variable.clone().expect("these agents have a variable for their state");
        let runs = TENANTS.iter().map(async |tenant| {
            let mut options = tenant.options(&sandbox);
            let file = tenant.folder(&sandbox, name);
            options.variables.insert("ENVIRONMENT_FILE".into(), file.to_str().unwrap().into());
            options.state_dir = Some(tenant.folder(&sandbox, "state"));
            let turn = Turn::new("go").with_workspace(sandbox.path("workspace"));
            // The agent says nothing, so the turn fails; what it was started with is what counts.
            let report = host.start(&adapter, turn, options).await.unwrap().finish().await.unwrap();
            assert_eq!(report.outcome, Outcome::Failed);
            let seen = environment(&file);
            let state = tenant.folder(&sandbox, "state");
            assert!(state.is_dir());
            assert_eq!(seen[&variable], state.to_str().unwrap());
            assert_eq!(seen["HOME"], tenant.folder(&sandbox, "home").to_str().unwrap());
        });
        for run in runs {
            run.await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_variable_for_its_state_an_agent_gets_the_state_folder_as_its_home() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let file = sandbox.path("environment");
    let script = Script::new().line(HELLO).step(&format!("write-env {}", file.display())).line(DONE);
    let mut options = RunOptions::default();
    options.state_dir = Some(sandbox.path("state"));
    let run = host.start(&adapter, sandbox.turn("script", &script), options).await.unwrap();
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Completed);
    assert_eq!(environment(&file)["HOME"], sandbox.path("state").to_str().unwrap());
}
