//! Agents that have a name and no adapter of that name: the user's own ones, `[agents.NAME]`, and those whose package is
//! known. Another adapter runs them, mostly `acp`.

use crate::agents::Agents;
use crate::config::{AgentConfig, Config};
use crate::error::{Error, ErrorKind, Result};
use crate::packages::Package;

/// The adapter that runs an agent if none is named.
const ACP: &str = "acp";

/// An agent that an adapter of another name runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedAgent {
    /// By which it is chosen: `--adapter NAME`.
    pub name: String,
    /// The id of the adapter that runs it.
    pub adapter: String,
    /// Its program and the first arguments; empty if the adapter finds the program.
    pub command: Vec<String>,
}

/// Those that can be listed: the configured ones, and those that were installed. `ids` are the adapters.
pub(super) fn all(config: &Config, agents: &Agents, ids: &[String]) -> Result<Vec<NamedAgent>> {
    let mut all = Vec::new();
    for (name, settings) in &config.agents {
        check(name, settings, ids)?;
        all.extend(find(name, config, ids)?);
    }
    // A folder that cannot be listed, or trusted, is reported when an agent of it is needed.
    for installed in agents.list().unwrap_or_default() {
        let known = all.iter().any(|agent| agent.name == installed.agent);
        if !known && ids.iter().any(|id| id == ACP) {
            all.extend(find(&installed.agent, config, ids)?);
        }
    }
    Ok(all)
}

/// The agent of this name; none if that is the id of an adapter, or nothing is known about it.
pub(super) fn find(name: &str, config: &Config, ids: &[String]) -> Result<Option<NamedAgent>> {
    if ids.iter().any(|id| id == name) {
        return Ok(None);
    }
    let known = Package::of(name).and_then(|package| Some((package.program, package.acp?)));
    let settings = config.agents.get(name);
    if settings.is_none_or(|settings| !settings.names_an_agent()) && known.is_none() {
        return Ok(None);
    }
    let adapter = settings.and_then(|settings| settings.adapter.as_deref()).unwrap_or(ACP);
    let mut command = settings.map(|settings| settings.command.clone()).unwrap_or_default();
    if let (true, ACP, Some((program, arguments))) = (command.is_empty(), adapter, known) {
        command = std::iter::once(program).chain(arguments.iter().copied()).map(str::to_owned).collect();
    }
    if adapter == ACP && command.is_empty() {
        return Err(Error::new(ErrorKind::Config, format!("`[agents.{name}]` does not say how the agent is started"))
            .with_hint(format!("add its command: command = [\"{name}\", \"acp\"]")));
    }
    Ok(Some(NamedAgent { name: name.to_owned(), adapter: adapter.to_owned(), command }))
}

/// Refuses settings that would replace an adapter, or that concern nothing.
fn check(name: &str, settings: &AgentConfig, ids: &[String]) -> Result<()> {
    let is_id = ids.iter().any(|id| id == name);
    let refuse = |message: String, hint: String| Err(Error::new(ErrorKind::Config, message).with_hint(hint));
    if settings.names_an_agent() && is_id {
        return refuse(
            format!("`[agents.{name}]` has the name of an adapter, and would replace it"),
            format!(
                "choose another name; for another program of the same agent, use `[programs]` or `version`: {name}"
            ),
        );
    }
    if let Some(adapter) = settings.adapter.as_deref().filter(|adapter| !ids.iter().any(|id| id == adapter)) {
        return refuse(
            format!("`[agents.{name}]` names the adapter `{adapter}`, which does not exist"),
            format!("the adapters are {}", ids.join(", ")),
        );
    }
    if !settings.names_an_agent() && !is_id && Package::of(name).is_none() {
        return refuse(
            format!("`[agents.{name}]` is neither an adapter nor an agent that wharf knows"),
            format!("the adapters are {}; another agent needs a `command`", ids.join(", ")),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn config(text: &str) -> Config {
        toml::from_str(text).expect("a configuration")
    }

    fn ids() -> Vec<String> {
        ["acp", "claude", "echo"].map(str::to_owned).to_vec()
    }

    fn nowhere() -> Agents {
        Agents::new(PathBuf::from("/nowhere"))
    }

    #[test]
    fn a_command_makes_a_name_for_the_adapter_of_acp() {
        let config = config(
            "[agents.mine]\ncommand = [\"mine\", \"acp\"]\n[agents.old]\nadapter = \"claude\"\nversion = \"2.0.76\"\n[agents.claude]\nversion = \"2.1.325\"\n",
        );
        let found = all(&config, &nowhere(), &ids()).expect("valid");
        let found: Vec<_> =
            found.iter().map(|agent| (agent.name.as_str(), agent.adapter.as_str(), agent.command.len())).collect();
        assert_eq!(found, [("mine", "acp", 2), ("old", "claude", 0)]);
    }

    #[test]
    fn a_known_agent_needs_no_settings() {
        let goose = find("goose", &Config::default(), &ids()).expect("valid").expect("known");
        assert_eq!((goose.adapter.as_str(), goose.command[..2].to_vec()), ("acp", vec!["goose".into(), "acp".into()]));
        assert_eq!(all(&Config::default(), &nowhere(), &ids()).expect("valid"), [], "it is not listed");
        // It has an adapter of its own, which is missing here.
        assert_eq!(find("codex", &Config::default(), &ids()).expect("valid"), None);
        let own = config("[agents.goose]\ncommand = [\"/opt/goose\", \"serve\"]\n");
        assert_eq!(find("goose", &own, &ids()).expect("valid").expect("known").command, ["/opt/goose", "serve"]);
    }

    #[test]
    fn settings_that_would_replace_an_adapter_or_concern_nothing_are_refused() {
        for (text, reason) in [
            ("[agents.claude]\ncommand = [\"x\"]\n", "would replace it"),
            ("[agents.echo]\nadapter = \"claude\"\n", "would replace it"),
            ("[agents.x]\nadapter = \"nope\"\n", "adapter `nope`, which does not exist"),
            ("[agents.x]\nadapter = \"acp\"\n", "does not say how the agent is started"),
            ("[agents.cluade]\nversion = \"1\"\n", "neither an adapter nor an agent"),
        ] {
            let error = all(&config(text), &nowhere(), &ids()).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.to_string().contains(reason) && error.hint().is_some(), "{text}: {error}");
        }
    }
}
