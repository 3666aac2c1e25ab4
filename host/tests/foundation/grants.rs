//! Grants, end to end: what was not granted is denied, what was is not, and bundled adapters go through the same check.

use crate::common::{Machine, Ran, fake_agent, faulty_guest};
use serde_json::{Value, json};
use std::fs;
use wharf::{Needs, Source, Why};

/// The machine's own words for the faulty guest, with its agent in PATH.
fn doctor(machine: &Machine) -> Ran {
    let folder = fake_agent().parent().expect("a folder");
    let guest = faulty_guest();
    let mut command = machine.wharf(["doctor", guest.to_str().expect("UTF-8"), "--json"]);
    Ran::of(command.env("PATH", folder))
}

#[test]
fn what_an_adapter_did_not_declare_is_denied_even_where_it_was_granted() {
    let machine = Machine::new();
    let granted = "[grants.faulty]\nprograms = [\"wharf-fake-agent\", \"sh\", \"/bin/sh\"]\nvariables = [\"PATH\"]\n\
                   files = [\"/etc/passwd\"]\norigins = [\"https://example.com\"]\n";
    for config in ["[grants.faulty]\nprograms = [\"wharf-fake-agent\"]\n", granted] {
        machine.write("config.toml", config);
        let found = doctor(&machine).good().json();
        let notes = found[0]["runtime"]["notes"].as_array().expect("notes");
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
            assert!(text.ends_with("the adapter does not name it in its needs"), "{text}");
        }
        assert_eq!(notes.len(), 5, "{notes:?}");
        assert!(notes.iter().all(|note| note["level"] == "info"), "a thing was not denied: {notes:?}");
    }
}

#[test]
fn what_an_adapter_did_not_declare_is_denied_after_the_turn_too() {
    let machine = Machine::new();
    let script = machine.write("script", "line {\"type\":\"hello\",\"session\":\"s\"}\nline {\"type\":\"done\"}\n");
    let mut wharf = machine.wharf(["run", "--json", "-o", "fault=ungranted", "-a"]);
    wharf.arg(faulty_guest()).arg("--program").arg(fake_agent()).arg("-o").arg(format!("script={}", script.display()));
    let ran = Ran::of(wharf.arg("hello")).good();
    let notices: Vec<Value> = ran.events().into_iter().filter(|event| event["type"] == "notice").collect();
    assert_eq!(notices.len(), 5, "{notices:?}");
    for notice in notices {
        let denied = notice["text"].as_str().is_some_and(|text| text.contains(": denied: "));
        assert!(denied && notice["level"] == "info", "{notice}");
    }
}

#[test]
fn what_is_shown_as_missing_can_be_pasted_and_is_granted_then() {
    let machine = Machine::new();
    let guest = faulty_guest();
    let guest = guest.to_str().expect("UTF-8");
    let found = doctor(&machine);
    assert_eq!((found.code, &found.json()[0]["usable"]), (Some(3), &json!(false)), "nothing is granted: {found:?}");
    assert!(found.stdout.contains("the user has not granted it"), "{found:?}");

    let shown = machine.run(["adapters", "show", guest]).good();
    assert!(shown.stdout.contains("wharf-fake-agent not granted"), "{shown:?}");
    let (_, toml) = shown.stderr.split_once("config.toml:\n").expect("it says where to put what");
    machine.write("config.toml", toml);

    let shown = machine.run(["adapters", "show", guest]).good();
    assert!(shown.stdout.contains("wharf-fake-agent granted"), "{shown:?}");
    assert_eq!(shown.stderr, "", "nothing is missing");
    assert_eq!(doctor(&machine).good().json()[0]["usable"], true);
}

#[tokio::test]
async fn bundled_adapters_are_granted_what_they_need_by_the_same_check() {
    let machine = Machine::new();
    let host = machine.host();
    let mut bundled = 0;
    for entry in host.adapters().expect("a list").into_iter().filter(|entry| entry.source == Source::Bundled) {
        bundled += 1;
        let adapter = host.adapter(&entry.id).await.expect("a bundled adapter loads");
        let policy = host.policy(&adapter).expect("a policy");
        assert_eq!(policy.missing(), Needs::default(), "{}", entry.id);
        assert_ne!(policy.needs, Needs::default(), "{} needs nothing, so that this shows nothing", entry.id);
        // What it did not ask for it does not get: being bundled is no way around.
        let denial = policy.program("/bin/sh").expect_err("a shell is granted to nobody");
        assert_eq!(denial.why, Why::NotDeclared, "{}", entry.id);
        assert!(policy.set_variable("LD_PRELOAD").is_err(), "{}", entry.id);
    }
    assert!(bundled >= 2, "{bundled}");
}

#[test]
fn the_second_start_compiles_nothing() {
    let machine = Machine::new();
    let compiled = || -> Vec<_> {
        let files = machine.files("cache/compiled").into_iter();
        // Beside each there is a file of statistics, which may change.
        files.filter(|(path, _)| path.extension().is_none() && !path.ends_with(".cleanup")).collect()
    };
    machine.run(["run", "-a", "echo", "hello"]).good();
    let first = compiled();
    assert_eq!(first.len(), 1, "one component, one file: {:?}", first.iter().map(|(path, _)| path).collect::<Vec<_>>());
    // Had it been compiled again, the file would have been written again.
    let written = || fs::metadata(&first[0].0).and_then(|found| found.modified()).expect("the file is there");
    let before = written();
    machine.run(["run", "-a", "echo", "hello"]).good();
    assert!(compiled() == first && written() == before, "it was compiled a second time");
}

#[test]
fn an_adapter_describes_itself_with_nothing_granted() {
    let machine = Machine::new();
    let guest = faulty_guest();
    let words = ["adapters", "show", guest.to_str().expect("UTF-8"), "--json"];
    // Neither a program in PATH, nor a home, nor a grant: it is all in the component.
    let bare = Ran::of(machine.wharf(words).env("PATH", "").env_remove("HOME")).good().json();
    let usual = machine.run(words).good().json();
    assert_eq!(bare["info"], usual["info"]);
    assert_eq!(bare["info"]["id"], "faulty");
    let nothing = json!({ "programs": [], "origins": [], "variables": [], "files": [] });
    assert_eq!((&bare["granted"], &bare["missing"]["programs"]), (&nothing, &json!(["wharf-fake-agent"])));
    assert_eq!(bare["source"], Value::from(guest.to_str()));
}
