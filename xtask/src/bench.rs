//! The benchmark: wharf and what it is measured by, built in one go, and run with the same words.

use crate::step::Step;
use crate::workspace::Workspace;
use std::path::PathBuf;

/// What the benchmark takes. Looked at before the build, which takes minutes.
const FLAGS: [&str; 6] = ["--check", "--quick", "--profile", "--record", "--report", "--only"];

/// What `--only` takes.
const SECTIONS: [&str; 7] = ["operators", "parse", "start", "latency", "memory", "growth", "pipeline"];

/// The flags as they are, or what is wrong with them.
pub(crate) fn parse(arguments: &[String]) -> Result<Vec<String>, String> {
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--only" => {
                let mut named = 0;
                while let Some(name) = words.next_if(|word| !word.starts_with("--")) {
                    if !SECTIONS.contains(&name.as_str()) {
                        return Err(format!("`bench` has no section `{name}`; it has {}", SECTIONS.join(", ")));
                    }
                    named += 1;
                }
                if named == 0 {
                    return Err("`--only` needs the name of a section".to_owned());
                }
            }
            "--rounds" => {
                let rounds = words.next().and_then(|number| number.parse::<usize>().ok());
                if rounds.is_none_or(|rounds| rounds % 2 == 0) {
                    return Err("`--rounds` needs an odd number".to_owned());
                }
            }
            flag if FLAGS.contains(&flag) => {}
            other => return Err(format!("`bench` has no flag `{other}`")),
        }
    }
    // What would be passed over in silence.
    let given = |flag: &&str| arguments.iter().any(|word| word == flag);
    let tasks: Vec<&str> = ["--profile", "--record", "--report"].into_iter().filter(given).collect();
    match tasks[..] {
        [one, other, ..] => Err(format!("`{one}` and `{other}` do not go together")),
        [task @ ("--profile" | "--record")] if given(&"--check") => {
            Err(format!("`{task}` measures nothing that `--check` could look at"))
        }
        _ => Ok(arguments.to_vec()),
    }
}

/// Build both in one command, so that they share their dependencies' features, and measure.
pub(crate) fn steps(workspace: &Workspace, flags: &[String]) -> Vec<Step> {
    let build = Step::cargo(&["build", "--release", "--locked", "--package", "wharf", "--package", "wharf-bench"]);
    let build = build.note(" (some minutes the first time)");
    let (build, target) = if flags.iter().any(|flag| flag == "--profile") {
        profiled(build, workspace)
    } else {
        (build, workspace.target.clone())
    };
    let program = target.join("release").join(format!("wharf-bench{}", std::env::consts::EXE_SUFFIX));
    let run = Step::new(program, &["--folder"]).arguments([workspace.target.join("bench")]).arguments(flags);
    vec![build, run]
}

/// The build for a profile: with frames, by which perf finds who called whom, and with the names of the guests'
/// functions. In a folder of its own, because the two builds would throw each other's work away.
fn profiled(build: Step, workspace: &Workspace) -> (Step, PathBuf) {
    let target = workspace.target.join("profiled");
    // A user's own RUSTFLAGS give way: without frames the chains are cut, and nothing in the graph would say so.
    let build = build
        .variable("RUSTFLAGS", "-Cforce-frame-pointers=yes")
        .variable("CARGO_PROFILE_ADAPTER_STRIP", "none")
        .variable("CARGO_TARGET_DIR", &target);
    (build, target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_was_built_is_run_with_the_same_words() {
        let workspace = Workspace { root: "/repository".into(), target: "/elsewhere".into() };
        let flags = ["--only", "start", "--check"].map(str::to_owned);
        let steps = steps(&workspace, &flags);
        let shown: Vec<String> = steps.iter().map(ToString::to_string).collect();
        assert_eq!(shown[0], "cargo build --release --locked --package wharf --package wharf-bench");
        assert_eq!(shown[1], "wharf-bench --folder /elsewhere/bench --only start --check");
        assert_eq!(steps[1], run_from("/elsewhere/release", &flags));
    }

    #[test]
    fn a_profile_is_of_a_build_of_its_own() {
        let workspace = Workspace { root: "/repository".into(), target: "/elsewhere".into() };
        let flags = ["--profile", "--quick"].map(str::to_owned);
        let steps = steps(&workspace, &flags);
        assert_eq!(
            steps[0].to_string(),
            "RUSTFLAGS=-Cforce-frame-pointers=yes CARGO_PROFILE_ADAPTER_STRIP=none CARGO_TARGET_DIR=/elsewhere/profiled \
             cargo build --release --locked --package wharf --package wharf-bench"
        );
        assert_eq!(steps[1], run_from("/elsewhere/profiled/release", &flags));
    }

    /// The program of this folder, with the files where they always are.
    fn run_from(folder: &str, flags: &[String]) -> Step {
        let program = Path::new(folder).join(format!("wharf-bench{}", std::env::consts::EXE_SUFFIX));
        Step::new(program, &["--folder", "/elsewhere/bench"]).arguments(flags)
    }

    #[test]
    fn wrong_flags_are_told_before_anything_is_built() {
        let parse = |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for (line, word) in [
            ("fast", "`fast`"),
            ("--only", "`--only`"),
            ("--only speed", "`speed`"),
            ("--only start --quick now", "`now`"),
            ("--rounds 2", "`--rounds`"),
            ("--profile --check", "`--profile` measures nothing"),
            ("--only operators --record --check", "`--record` measures nothing"),
            ("--report --quick --profile", "`--profile` and `--report`"),
        ] {
            assert!(parse(line).expect_err(line).contains(word), "{line}");
        }
        for line in [
            "",
            "--check",
            "--quick --rounds 3",
            "--only start latency --check",
            "--only operators --record",
            "--report --check",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
    }
}
