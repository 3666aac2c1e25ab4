//! The suite of real agents: lets it install them, and starts it without a network if the system allows it.
//!
//! Agents are installed in the target folder, never for the user, and without their install scripts. The suite gives
//! them a separate home, fake keys and nothing of this environment; see `tests/real`.

mod args;

use crate::command::{Command, Error, log};
use crate::tasks::build_wharf;
use crate::workspace::Workspace;
pub(crate) use args::RealArgs;
use std::env;
use std::path::{Path, PathBuf};

/// Runs the suite.
pub(crate) fn run(args: &RealArgs, workspace: &Workspace) -> Result<(), Error> {
    if args.offline {
        log("xtask: the suite of real agents: skipped (--offline)");
        return Ok(());
    }
    Command::cargo(&["build", "--locked", "--package", "wharf-real-suite"]).run(workspace)?;
    let suite = text(&workspace.debug_program("wharf-real-suite"));
    let folder = ["--folder".to_owned(), text(&workspace.target.join("real"))];
    Command::new(&suite, &["install"]).args(args.selection()).args(folder.clone()).run(workspace)?;
    let isolation = Isolation::find(workspace);
    log(&format!("xtask: {}", isolation.describe()));
    let mut line = vec![suite];
    if args.by_hand.is_some() {
        line.push("by-hand".to_owned());
    } else {
        line.push("run".to_owned());
        line.extend(run_args(args, workspace)?);
    }
    line.extend(args.selection());
    line.extend(folder);
    line.extend(["--work".to_owned(), text(&workspace.target.join("real").join("work"))]);
    let path = env::var("PATH").unwrap_or_default();
    line.extend(["--path".to_owned(), search_path(&path, &|folder| folder.join("node").is_file())]);
    line.extend(args.by_hand.iter().flatten().cloned());
    isolation.wrap(line).run(workspace)
}

/// The arguments of a run, beside what it selects.
fn run_args(args: &RealArgs, workspace: &Workspace) -> Result<Vec<String>, Error> {
    let tests = workspace.root.join("tests").join("real");
    let mut all = args.scenario();
    all.extend(args::option("--adapter", env::var("WHARF_REAL_ADAPTER").ok().as_ref()));
    all.extend(["--wharf".to_owned(), text(&wharf(workspace)?)]);
    all.extend(["--results".to_owned(), text(&tests.join("results.jsonl"))]);
    if !args.ci {
        all.extend(["--page".to_owned(), text(&workspace.root.join("docs").join("compatibility.md"))]);
    }
    Ok(all)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The binary under test: the one in `WHARF_BIN`, or one that is built now.
fn wharf(workspace: &Workspace) -> Result<PathBuf, Error> {
    if let Some(path) = env::var_os("WHARF_BIN").filter(|path| !path.is_empty()) {
        return std::path::absolute(path).map_err(|error| Error::Other(format!("WHARF_BIN: {error}")));
    }
    build_wharf().run(workspace)?;
    Ok(workspace.debug_program("wharf"))
}

/// The agents' PATH: the system's folders, and the folder of `node`, which older agents need.
fn search_path(path: &str, has_node: &dyn Fn(&Path) -> bool) -> String {
    let node = env::split_paths(path).find(|folder| folder.is_absolute() && has_node(folder));
    let node = node.map(|folder| format!("{}:", folder.display())).unwrap_or_default();
    format!("{node}/usr/local/bin:/usr/bin:/bin")
}

/// How the agents are kept from the network.
#[derive(Debug, PartialEq, Eq)]
enum Isolation {
    /// A network namespace with only loopback, created by `unshare` with these arguments.
    Namespace(&'static [&'static str]),
    /// Not at all: this system allows no namespace.
    None,
}

/// Loopback exists in a new namespace, but it is down.
const LOOPBACK_UP: &str = "(ip link set lo up || ifconfig lo up) && exec \"$@\"";

impl Isolation {
    /// The first that works: root can create a network namespace directly, other users only inside a user namespace.
    fn find(workspace: &Workspace) -> Isolation {
        let options: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];
        let works = |options: &&&'static [&'static str]| {
            Isolation::Namespace(options).wrap(vec!["true".to_owned()]).output(workspace).is_ok()
        };
        options.iter().find(works).map_or(Isolation::None, |options| Isolation::Namespace(options))
    }

    fn wrap(&self, line: Vec<String>) -> Command {
        match (self, line.split_first()) {
            (Isolation::Namespace(options), _) => {
                Command::new("unshare", options).args(["sh", "-c", LOOPBACK_UP, "sh"]).args(line)
            }
            (Isolation::None, Some((program, args))) => Command::new(program, &[]).args(args),
            (Isolation::None, None) => Command::new("true", &[]),
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            Isolation::Namespace(_) => "the agents run in a network namespace with only loopback",
            Isolation::None => {
                "no network namespace can be created here (unshare, ip): the agents have fake keys, but could reach the \
                 network"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_wrapped_if_possible() {
        let line = || ["suite", "--agent", "x"].map(str::to_owned).to_vec();
        let wrapped = Isolation::Namespace(&["--net"]).wrap(line()).to_string();
        assert!(
            wrapped.starts_with("unshare --net sh -c (ip link") && wrapped.ends_with(" suite --agent x"),
            "{wrapped}"
        );
        assert_eq!(Isolation::None.wrap(line()).to_string(), "suite --agent x");
    }

    // The suite runs only on Unix.
    #[cfg(unix)]
    #[test]
    fn only_the_folder_of_node_is_taken_from_the_users_path() {
        for (path, expected) in [
            ("/home/u/bin:/opt/node/bin:/bin", "/opt/node/bin:/usr/local/bin:/usr/bin:/bin"),
            ("/home/u/bin", "/usr/local/bin:/usr/bin:/bin"),
            ("", "/usr/local/bin:/usr/bin:/bin"),
        ] {
            assert_eq!(search_path(path, &|folder| folder == Path::new("/opt/node/bin")), expected, "{path}");
        }
    }
}
