//! What the agent may do without asking, as flags.
//!
//! Everything is allowed at once only where there are no rules. With rules each kind of permission is allowed by name:
//! measured, `--allow-tool` of all kinds is as much as `--allow-all-tools`, and a deny rule wins over either.

use crate::command::Transport;
use wharf_adapter::json::unescape;
use wharf_adapter::{Approvals, Json, Launch, ToolRules, Turn};

/// The kinds of permission that Copilot knows, beside the MCP servers by their names.
const KINDS: [&str; 3] = ["shell", "write", "url"];

/// Whether there is any rule.
pub(crate) fn are_ruled(rules: &ToolRules) -> bool {
    [&rules.allow, &rules.deny, &rules.only, &rules.without].iter().any(|list| !list.is_empty())
}

/// The flags of a turn's approvals and rules.
pub(crate) fn flags(turn: &Turn, transport: Transport, launch: &mut Launch) {
    let rules = &turn.tools;
    let everything = turn.approvals == Approvals::AllowAll;
    let is_ruled = are_ruled(rules);
    // Over ACP it is a setting of the session, made there.
    if everything && !is_ruled && transport == Transport::Lines {
        launch.arg("--allow-all");
    }
    let allowed = if everything && is_ruled && rules.allow.is_empty() {
        KINDS.iter().map(|kind| (*kind).to_owned()).chain(servers(turn)).collect()
    } else {
        rules.allow.clone()
    };
    // `=` because these take several values: a bare one would swallow what follows.
    for tool in allowed {
        launch.arg(format!("--allow-tool={tool}"));
    }
    for tool in &rules.deny {
        launch.arg(format!("--deny-tool={tool}"));
    }
    for (flag, tools) in [("--available-tools", &rules.only), ("--excluded-tools", &rules.without)] {
        if !tools.is_empty() {
            launch.arg(format!("{flag}={}", tools.join(",")));
        }
    }
}

/// The names of the turn's own MCP servers.
fn servers(turn: &Turn) -> Vec<String> {
    let config = Json::parse(turn.mcp_servers.as_deref().unwrap_or_default());
    let nested = config.get("mcpServers");
    let servers = if nested.is_object() { nested } else { config };
    servers.fields().map(|(name, _)| unescape(name).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Copilot;
    use wharf_adapter::testing::turn;

    fn words(transport: Transport, change: impl FnOnce(&mut Turn)) -> String {
        let mut wish = turn::<Copilot>("prompt");
        change(&mut wish);
        let mut launch = Launch::lines([""; 0]);
        flags(&wish, transport, &mut launch);
        launch.args.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    const EACH: &str = "--allow-tool=shell --allow-tool=write --allow-tool=url";

    #[test]
    fn rules_take_the_place_of_allowing_everything() {
        type Change = fn(&mut Turn);
        let rows: [(Change, String); 9] = [
            (|_| {}, "--allow-all".into()),
            (|turn| turn.tools.allow = vec!["shell(git:*)".into()], "--allow-tool=shell(git:*)".into()),
            (|turn| turn.tools.deny = vec!["shell(git:*)".into()], format!("{EACH} --deny-tool=shell(git:*)")),
            (
                |turn| turn.tools.only = vec!["view".into(), "grep".into()],
                format!("{EACH} --available-tools=view,grep"),
            ),
            (|turn| turn.tools.without = vec!["bash".into()], format!("{EACH} --excluded-tools=bash")),
            (
                |turn| {
                    turn.tools.allow = vec!["write".into(), "shell".into()];
                    turn.tools.deny = vec!["shell(rm)".into(), "shell(git push)".into()];
                },
                "--allow-tool=write --allow-tool=shell --deny-tool=shell(rm) --deny-tool=shell(git push)".into(),
            ),
            (
                |turn| {
                    turn.tools.deny = vec!["lab(drop)".into()];
                    turn.mcp_servers = Some(r#"{"mcpServers":{"lab":{},"my tools":{}}}"#.into());
                },
                format!("{EACH} --allow-tool=lab --allow-tool=my tools --deny-tool=lab(drop)"),
            ),
            (|turn| turn.approvals = Approvals::Deny, String::new()),
            (
                |turn| {
                    turn.approvals = Approvals::Deny;
                    turn.tools.deny = vec!["shell".into()];
                },
                "--deny-tool=shell".into(),
            ),
        ];
        for (change, expected) in rows {
            assert_eq!(words(Transport::Lines, change), expected);
        }
    }

    /// Allowing all is a setting there; the rules are flags there too.
    #[test]
    fn the_protocol_has_the_same_rules() {
        assert_eq!(words(Transport::Acp, |_| {}), "");
        let ruled = words(Transport::Acp, |turn| turn.tools.deny = vec!["shell(touch)".into()]);
        assert_eq!(ruled, format!("{EACH} --deny-tool=shell(touch)"));
        let asking = words(Transport::Acp, |turn| {
            turn.approvals = Approvals::Ask;
            turn.tools.allow = vec!["write".into()];
        });
        assert_eq!(asking, "--allow-tool=write");
    }
}
