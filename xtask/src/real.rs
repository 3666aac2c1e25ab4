//! The suite of real agents: installs them, finds a place without a network, and starts the suite there.
//!
//! Agents are installed below the target folder, never for the user, and no script of theirs is run for it. The suite
//! gives them a home of their own, fake keys and nothing of this environment; see `tests/real`.

mod install;
mod order;

use crate::step::{Failed, Step, say};
use crate::workspace::Workspace;
use install::Install;
pub(crate) use order::Order;
use std::env;
use std::path::{Path, PathBuf};

/// Run the suite.
pub(crate) fn run(order: &Order, workspace: &Workspace) -> Result<(), Failed> {
    if order.offline {
        say("xtask: the suite of real agents is skipped: --offline");
        return Ok(());
    }
    let folder = workspace.target.join("real");
    let mut installed = vec![];
    for agent in order.agents() {
        let install = Install::new(agent, &folder);
        match install.ensure(workspace) {
            Ok(()) => installed.push(install),
            Err(why) if order.ci => say(&format!("xtask: {agent} is skipped, for it cannot be installed: {why}")),
            Err(why) => return Err(why),
        }
    }
    if installed.is_empty() {
        return Ok(());
    }
    let wharf = wharf(workspace)?;
    Step::cargo(&["build", "--locked", "--package", "wharf-real-suite"]).run(workspace)?;
    let wrapper = Wrapper::find(workspace);
    say(&format!("xtask: {}", wrapper.says()));
    // All of them, so that one failure does not hide another.
    let mut result = Ok(());
    for install in &installed {
        result = suite(order, workspace, &wrapper, &wharf, install).run(workspace).and(result);
    }
    result
}

/// The binary under test: the one that is named, or the one that is built.
fn wharf(workspace: &Workspace) -> Result<PathBuf, Failed> {
    if let Some(named) = env::var_os("WHARF_BIN").filter(|named| !named.is_empty()) {
        return std::path::absolute(named).map_err(|why| Failed::Other(format!("WHARF_BIN: {why}")));
    }
    Step::cargo(&["build", "--locked", "--package", "wharf"]).run(workspace)?;
    Ok(built(workspace, "wharf"))
}

fn built(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target.join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

fn suite(order: &Order, workspace: &Workspace, wrapper: &Wrapper, wharf: &Path, install: &Install) -> Step {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut words = vec![
        text(&built(workspace, "wharf-real-suite")),
        "--agent".to_owned(),
        install.agent.kind.name().to_owned(),
        "--version".to_owned(),
        install.agent.version.to_owned(),
        "--install".to_owned(),
        text(&install.folder),
        "--work".to_owned(),
        text(&workspace.target.join("real").join("work").join(install.agent.to_string())),
        "--wharf".to_owned(),
        text(wharf),
        "--path".to_owned(),
        search_path(env::var("PATH").unwrap_or_default().as_str(), &|folder| folder.join("node").is_file()),
    ];
    for (name, value) in [("--scenario", &order.scenario), ("--adapter", &env::var("WHARF_REAL_ADAPTER").ok())] {
        words.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
    }
    if !order.ci {
        words.extend(["--table".to_owned(), text(&workspace.root.join("docs").join("compatibility.md"))]);
    }
    wrapper.wrap(words)
}

/// What the agents find programs in: where the system has them, and the folder of `node`, which older ones need.
fn search_path(path: &str, has_node: &dyn Fn(&Path) -> bool) -> String {
    let node = env::split_paths(path).find(|folder| folder.is_absolute() && has_node(folder));
    let node = node.map(|folder| format!("{}:", folder.display())).unwrap_or_default();
    format!("{node}/usr/local/bin:/usr/bin:/bin")
}

/// What keeps the agents from the network.
#[derive(Debug, PartialEq, Eq)]
enum Wrapper {
    /// A namespace of the network that has only loopback, made with these arguments of `unshare`.
    Namespace(&'static [&'static str]),
    /// Nothing: this system allows none.
    None,
}

/// A new namespace has loopback, but down.
const LOOPBACK_UP: &str = "(ip link set lo up || ifconfig lo up) && exec \"$@\"";

impl Wrapper {
    /// The first that works: root makes a namespace as it is, others as root of a namespace of users.
    fn find(workspace: &Workspace) -> Wrapper {
        let ways: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];
        let works = |way: &&&'static [&'static str]| {
            Wrapper::Namespace(way).wrap(vec!["true".to_owned()]).output(workspace).is_ok()
        };
        ways.iter().find(works).map_or(Wrapper::None, |way| Wrapper::Namespace(way))
    }

    fn wrap(&self, words: Vec<String>) -> Step {
        match (self, words.split_first()) {
            (Wrapper::Namespace(way), _) => {
                Step::new("unshare", way).arguments(["sh", "-c", LOOPBACK_UP, "sh"]).arguments(words)
            }
            (Wrapper::None, Some((program, rest))) => Step::new(program, &[]).arguments(rest),
            (Wrapper::None, None) => Step::new("true", &[]),
        }
    }

    fn says(&self) -> &'static str {
        match self {
            Wrapper::Namespace(_) => "the agents get a network that has only loopback",
            Wrapper::None => {
                "no namespace can be made here (unshare, ip): the agents have fake keys, but could reach the network"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_wrapped_where_it_can_be() {
        let words = || ["suite", "--agent", "x"].map(str::to_owned).to_vec();
        let wrapped = Wrapper::Namespace(&["--net"]).wrap(words()).to_string();
        assert!(
            wrapped.starts_with("unshare --net sh -c (ip link") && wrapped.ends_with(" suite --agent x"),
            "{wrapped}"
        );
        assert_eq!(Wrapper::None.wrap(words()).to_string(), "suite --agent x");
    }

    #[test]
    fn node_is_found_where_it_is_and_nothing_else_of_the_users_path_is_passed_on() {
        for (path, expected) in [
            ("/home/u/bin:/opt/node/bin:/bin", "/opt/node/bin:/usr/local/bin:/usr/bin:/bin"),
            ("/home/u/bin", "/usr/local/bin:/usr/bin:/bin"),
            ("", "/usr/local/bin:/usr/bin:/bin"),
        ] {
            assert_eq!(search_path(path, &|folder| folder == Path::new("/opt/node/bin")), expected, "{path}");
        }
    }
}
