//! Grants, end to end: what was not granted is denied, and what was granted is not.

use crate::sandbox;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use wharf_test_support::{Finished, Sandbox, echo_component, fake_agent, faulty_guest};

/// `wharf doctor` for the faulty guest, with its agent in PATH.
fn doctor(sandbox: &Sandbox) -> Finished {
    doctor_of(sandbox, faulty_guest().to_str().expect("UTF-8"))
}

fn doctor_of(sandbox: &Sandbox, adapter: &str) -> Finished {
    let folder = fake_agent().parent().expect("a folder");
    let mut command = sandbox.wharf(["doctor", adapter, "--json"]);
    Finished::of(command.env("PATH", folder))
}

#[test]
fn a_file_gets_nothing_of_the_adapter_whose_id_it_claims() {
    let sandbox = sandbox();
    let agent = sandbox
        .write("agent", "#!/bin/sh\necho \"$@\" >> RAN\n".replace("RAN", sandbox.path("ran").to_str().expect("UTF-8")));
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("a program");
    // It is the echo adapter in all but its source.
    let file = sandbox.write("x.wasm", fs::read(echo_component()).expect("the component"));
    let file = file.canonicalize().expect("its real path");
    let file = file.to_str().expect("UTF-8");
    let settings = |key: &str| {
        format!(
            "[programs]\n{key} = {agent:?}\n[options.{key}]\nscript = \"from-config\"\n\
             [grants.{key}]\nprograms = [{agent:?}]\nvariables = [\"HOME\"]\n"
        )
    };
    sandbox.write("config.toml", settings("echo"));
    let shown = sandbox.call(["adapters", "show", "--json", file]).success().json();
    assert_eq!(shown["info"]["id"], "echo", "it claims the id of a bundled adapter");
    assert_eq!(shown["granted"]["programs"], json!([]));
    let explained = sandbox.call(["explain", "--json", "-a", file, "hi"]);
    assert!(!explained.stdout.contains("from-config") && !explained.stdout.contains(agent.to_str().expect("UTF-8")));
    for args in [&["doctor", file][..], &["models", file], &["run", "-a", file, "hi"]] {
        let _ = sandbox.call(args);
        assert!(!sandbox.path("ran").exists(), "{args:?} ran the program of the bundled adapter");
    }

    // Its own keys are its digest and its path.
    let digest = format!("sha256:{}", shown["digest"].as_str().expect("a digest"));
    assert_eq!(shown["keys"], json!([digest, file]));
    for key in [digest.as_str(), file] {
        sandbox.write("config.toml", settings(&format!("{key:?}")));
        let explained = sandbox.call(["explain", "--json", "-a", file, "hi"]).success().json();
        assert_eq!(explained["program"], json!(agent), "{key}");
        assert!(explained["args"].as_array().expect("arguments").contains(&json!("from-config")), "{explained}");
    }
    assert_eq!(sandbox.call(["adapters", "show", "--json", "echo"]).success().json()["keys"], json!(["echo"]));
}

#[test]
fn what_an_adapter_did_not_request_is_denied_even_if_it_was_granted() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    let granted = "[grants.faulty]\nprograms = [\"wharf-fake-agent\", \"sh\", \"/bin/sh\"]\nvariables = [\"PATH\"]\n\
                   files = [\"/etc/passwd\"]\norigins = [\"https://example.com\"]\n";
    for config in ["[grants.faulty]\nprograms = [\"wharf-fake-agent\"]\n", granted] {
        sandbox.write("config.toml", config);
        let found = doctor_of(&sandbox, "faulty").success().json();
        let notes = found[0]["agent"]["notes"].as_array().expect("notes");
        let texts: Vec<&str> = notes.iter().filter_map(|note| note["text"].as_str()).collect();
        for what in [
            "the program sh",
            "running /bin/sh",
            "the variable PATH",
            "the file /etc/passwd",
            "the origin https://example.com",
        ] {
            let denied = format!("{what}: denied: ");
            let text =
                texts.iter().find(|text| text.starts_with(&denied)).unwrap_or_else(|| panic!("{what}: {notes:?}"));
            assert!(text.ends_with("the adapter does not request it"), "{text}");
        }
        assert_eq!(notes.len(), 5, "{notes:?}");
        assert!(notes.iter().all(|note| note["level"] == "info"), "something was not denied: {notes:?}");
    }
}

#[test]
fn what_an_adapter_did_not_request_is_denied_after_the_turn_too() {
    let sandbox = sandbox();
    let script = sandbox.write("script", "line {\"type\":\"hello\",\"session\":\"s\"}\nline {\"type\":\"done\"}\n");
    let mut wharf = sandbox.wharf(["run", "--json", "-o", "fault=ungranted", "-a"]);
    wharf.arg(faulty_guest()).arg("--program").arg(fake_agent()).arg("-o").arg(format!("script={}", script.display()));
    let run = Finished::of(wharf.arg("hello")).success();
    let notices: Vec<&Value> = run.of_type("notice").collect();
    assert_eq!(notices.len(), 5, "{notices:?}");
    for notice in notices {
        let denied = notice["text"].as_str().is_some_and(|text| text.contains(": denied: "));
        assert!(denied && notice["level"] == "info", "{notice}");
    }
}

#[test]
fn what_is_shown_as_missing_can_be_pasted_into_the_configuration() {
    let sandbox = sandbox();
    let guest = faulty_guest();
    let guest = guest.to_str().expect("UTF-8");
    let found = doctor(&sandbox);
    assert_eq!((found.code, &found.json()[0]["usable"]), (Some(3), &json!(false)), "nothing is granted: {found:?}");
    assert!(found.stdout.contains("the user has not granted it"), "{found:?}");

    let shown = sandbox.call(["adapters", "show", guest]).success();
    assert!(shown.stdout.contains("wharf-fake-agent not granted"), "{shown:?}");
    let (_, toml) = shown.stderr.split_once("config.toml:\n").expect("it says where to put what");
    sandbox.write("config.toml", toml);

    let shown = sandbox.call(["adapters", "show", guest]).success();
    assert!(shown.stdout.contains("wharf-fake-agent granted"), "{shown:?}");
    assert_eq!(shown.stderr, "", "nothing is missing");
    assert_eq!(doctor(&sandbox).success().json()[0]["usable"], true);
}

#[test]
fn the_second_start_compiles_nothing() {
    let sandbox = sandbox().with_own_cache();
    let compiled = || -> Vec<_> {
        let files = sandbox.files("cache/compiled").into_iter();
        // Beside each there is a file with statistics, which may change.
        files.filter(|(path, _)| path.extension().is_none() && !path.ends_with(".cleanup")).collect()
    };
    let _ = sandbox.call(["run", "-a", "echo", "hello"]).success();
    let first = compiled();
    assert_eq!(first.len(), 1, "one component, one file: {:?}", first.iter().map(|(path, _)| path).collect::<Vec<_>>());
    // Had it been compiled again, the file would have been written again.
    let written = || fs::metadata(&first[0].0).and_then(|found| found.modified()).expect("the file is there");
    let before = written();
    let _ = sandbox.call(["run", "-a", "echo", "hello"]).success();
    assert!(compiled() == first && written() == before, "it was compiled a second time");
}

#[test]
fn an_adapter_describes_itself_with_nothing_granted() {
    let sandbox = sandbox();
    let guest = faulty_guest();
    let args = ["adapters", "show", guest.to_str().expect("UTF-8"), "--json"];
    // Without a program in PATH, a home or a grant: everything is in the component.
    let bare = Finished::of(sandbox.wharf(args).env("PATH", "").env_remove("HOME")).success().json();
    let usual = sandbox.call(args).success().json();
    assert_eq!(bare["info"], usual["info"]);
    assert_eq!(bare["info"]["id"], "faulty");
    let nothing = json!({ "programs": [], "origins": [], "variables": [], "files": [] });
    assert_eq!((&bare["granted"], &bare["missing"]["programs"]), (&nothing, &json!(["wharf-fake-agent"])));
    assert_eq!(bare["source"], Value::from(guest.to_str()));
}

#[test]
fn nothing_that_an_adapter_says_contains_a_secret() {
    const SECRET: &str = "s3cr3t-8c1f20";
    let sandbox = sandbox();
    sandbox.install_faulty();
    sandbox.write(
        "config.toml",
        "[grants.faulty]\nprograms = [\"wharf-fake-agent\"]\nvariables = [\"FAULTY_SECRET\", \"FAULTY_LEAK\"]\n",
    );
    let script = sandbox.write("script", "line {\"type\":\"hello\",\"session\":\"s\"}\nline {\"type\":\"done\"}\n");
    let option = format!("script={}", script.display());
    let call = |leak: &str, args: &[&str]| {
        let mut command = sandbox.wharf(args);
        command.env("PATH", fake_agent().parent().expect("a folder")).env("FAULTY_SECRET", SECRET);
        Finished::of(command.env("FAULTY_LEAK", leak))
    };
    let run = ["run", "--verbose", "--json", "-a", "faulty", "-o", &option, "hello"];
    for (leak, code, said) in [
        ("log", 0, "the log says"),
        ("failure", 3, "the failure says"),
        ("panic", 4, "the panic says"),
        ("program", 4, "/the/program/says/"),
    ] {
        for args in
            [&run[..], &["doctor", "--json", "faulty"], &["models", "faulty"], &["explain", "-a", "faulty", "hi"]]
        {
            let finished = call(leak, args);
            let all = format!("{}{}", finished.stdout, finished.stderr);
            assert!(!all.contains(SECRET), "{leak} {args:?}: {all}");
            if args[0] == "run" {
                assert_eq!(finished.code, Some(code), "{leak}: {finished:?}");
                let clean = format!("{said}[redacted:FAULTY_SECRET]");
                assert!(all.contains(&clean) || all.contains(&clean.replace("[red", " [red")), "{leak}: {all}");
            }
        }
    }
    // The version is in the first event, in the recording and in the receipt.
    assert!(call("log", &["show", "--json", "last"]).success().stdout.contains("1.0.0-[redacted:FAULTY_SECRET]"));
    assert!(call("log", &["receipt", "last"]).success().stdout.contains("1.0.0-[redacted:FAULTY_SECRET]"));
    for folder in ["data", "cache"] {
        let found = wharf_test_support::files_containing(&sandbox.path(folder), SECRET.as_bytes());
        assert!(found.is_empty(), "{found:?}");
    }
}
