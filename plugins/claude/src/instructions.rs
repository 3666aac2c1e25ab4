//! The instructions of the workspace: which of its files the CLI reads in a turn.
//!
//! With the workspace's settings excluded, the CLI does not look for its CLAUDE.md either. But it reads the CLAUDE.md of
//! additional folders, if a variable is set, and the workspace can be one of them. Measured on 2.1.197, 2.1.250 and
//! 2.1.325: it then reads CLAUDE.md, .claude/CLAUDE.md and .claude/rules, and neither settings, hooks, skills, agents nor
//! plugins. 2.1.100 also loads plugins that the workspace's settings name, so that older versions do not get it.

use wharf_adapter::{Binary, Launch, Turn, Version};

/// The first version that was seen to read the instructions of an additional folder and nothing else.
const SINCE: Version = Version(2, 1, 197);

/// The first version that was seen to read AGENTS.md, if there is no CLAUDE.md.
const AGENTS_SINCE: Version = Version(2, 1, 325);

/// Makes the CLI read the CLAUDE.md of additional folders.
const VARIABLE: &str = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD";

/// Read in either way.
const FILES: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules"];

/// How the CLI reads the instructions of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// Together with the workspace's settings and hooks.
    WithSettings,
    /// Alone.
    Alone,
    /// Not at all: the caller excludes them.
    Excluded,
    /// Not at all: this version cannot read them alone.
    Impossible,
}

/// How the instructions of a turn are read. An unknown version is treated as a new one.
pub(crate) fn of(turn: &Turn, binary: &Binary) -> Instructions {
    let version = binary.version.as_deref().and_then(Version::find);
    if turn.option("bare").is_true() {
        Instructions::Excluded
    } else if turn.option("project-settings").is_true() {
        Instructions::WithSettings
    } else if turn.option("project-instructions").bool() == Some(false) {
        Instructions::Excluded
    } else if version.is_some_and(|version| version < SINCE) {
        Instructions::Impossible
    } else {
        Instructions::Alone
    }
}

/// Lets the CLI read them, and reports which files count.
pub(crate) fn apply(turn: &Turn, binary: &Binary, launch: &mut Launch) {
    let how = of(turn, binary);
    if how == Instructions::Alone {
        launch.pair("--add-dir", turn.workspace.as_str());
        launch.set(VARIABLE, "1");
    }
    let version = binary.version.as_deref().and_then(Version::find);
    let trusted = how == Instructions::WithSettings;
    launch.instructions(&FILES, matches!(how, Instructions::WithSettings | Instructions::Alone));
    launch.instructions(&["CLAUDE.local.md"], trusted);
    launch.instructions(&["AGENTS.md"], trusted && version.is_some_and(|version| version >= AGENTS_SINCE));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claude;
    use wharf_adapter::testing::{binary, set_option, turn};

    fn applied(version: &str, options: &[(&str, &str)]) -> (Launch, Vec<String>) {
        let mut turn = turn::<Claude>("go");
        for (name, value) in options {
            set_option(&mut turn, name, value);
        }
        let mut launch = Launch::lines([""; 0]);
        apply(&turn, &binary(version), &mut launch);
        let read = launch.instructions.iter().filter(|file| file.read).map(|file| file.path.clone()).collect();
        (launch, read)
    }

    #[test]
    fn claude_md_is_read_by_default_and_the_settings_beside_it_are_not() {
        for version in ["2.1.197", "2.1.325", "3.0.0"] {
            let (launch, read) = applied(version, &[]);
            assert_eq!(read, FILES, "{version}");
            let args: Vec<&str> = launch.args.iter().map(|arg| arg.text.as_str()).collect();
            assert_eq!(args, ["--add-dir", "/home/user/project"]);
            assert_eq!(launch.variables, [(VARIABLE.to_owned(), "1".into())]);
        }
    }

    #[test]
    fn options_and_old_versions_change_which_files_count() {
        for (version, options, read) in [
            ("2.1.325", &[("project-instructions", "false")][..], &[][..]),
            ("2.1.325", &[("bare", "true")], &[]),
            ("2.1.100", &[], &[]),
            ("2.0.76", &[("project-settings", "true")], &[FILES[0], FILES[1], FILES[2], "CLAUDE.local.md"]),
            (
                "2.1.325",
                &[("project-settings", "true")],
                &[FILES[0], FILES[1], FILES[2], "CLAUDE.local.md", "AGENTS.md"],
            ),
        ] {
            let (launch, found) = applied(version, options);
            assert_eq!(found, read, "{version} {options:?}");
            assert!(launch.args.is_empty() && launch.variables.is_empty(), "{version} {options:?}");
            assert_eq!(launch.instructions.len(), 5, "all are named, so that it is known which are not read");
        }
    }
}
