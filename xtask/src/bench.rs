//! The benchmark: wharf and what it is measured by, built in one go, and run with the same words.

use crate::step::Step;
use crate::workspace::Workspace;

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
    Ok(arguments.to_vec())
}

/// Build both in one command, so that they share their dependencies' features, and measure.
pub(crate) fn steps(workspace: &Workspace, flags: &[String]) -> Vec<Step> {
    let program = workspace.target.join("release").join(format!("wharf-bench{}", std::env::consts::EXE_SUFFIX));
    let build = Step::cargo(&["build", "--release", "--locked", "--package", "wharf", "--package", "wharf-bench"]);
    let run = Step::new(program, &["--folder"]).arguments([workspace.target.join("bench")]).arguments(flags);
    vec![build.note(" (some minutes the first time)"), run]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_built_is_run_with_the_same_words() {
        let workspace = Workspace { root: "/repository".into(), target: "/elsewhere".into() };
        let flags = ["--only", "start", "--check"].map(str::to_owned);
        let shown: Vec<String> = steps(&workspace, &flags).iter().map(ToString::to_string).collect();
        assert_eq!(shown[0], "cargo build --release --locked --package wharf --package wharf-bench");
        assert!(shown[1].starts_with("wharf-bench"), "{shown:?}");
        assert!(shown[1].ends_with("--folder /elsewhere/bench --only start --check"), "{shown:?}");
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
        ] {
            assert!(parse(line).expect_err(line).contains(word), "{line}");
        }
        for line in ["", "--check", "--quick --rounds 3", "--only start latency --check", "--only operators --record"] {
            assert!(parse(line).is_ok(), "{line}");
        }
    }
}
