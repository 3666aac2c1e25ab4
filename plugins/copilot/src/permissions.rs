//! The flags for what the agent may do without asking.
//!
//! `--allow-all` is used only without rules. With rules, each kind of permission is allowed by name: measured,
//! `--allow-tool` for all kinds is the same as `--allow-all-tools`, and a deny rule takes precedence over both.

use crate::transport::Transport;
use wharf_adapter::json::unescape;
use wharf_adapter::{Approvals, Json, Launch, Settings, Turn};

/// The kinds of permission in Copilot. MCP servers are further kinds, by name.
const KINDS: [&str; 3] = ["shell", "write", "url"];

/// Adds the flags for the turn's approvals and rules.
pub(crate) fn flags(settings: &mut Settings<'_>, transport: Transport, launch: &mut Launch) {
    let rules = settings.tools();
    let everything = settings.approvals() == Approvals::AllowAll;
    let has_rules = rules.has_rules();
    // Over ACP this is a setting of the session.
    if everything && !has_rules && transport == Transport::Lines {
        launch.arg("--allow-all");
    }
    let allowed = if everything && has_rules && rules.allow.is_empty() {
        KINDS.iter().map(|kind| (*kind).to_owned()).chain(servers(settings.turn())).collect()
    } else {
        rules.allow.clone()
    };
    // With `=`, because these flags take several values and would consume the next arguments.
    for tool in allowed {
        launch.joined("--allow-tool=", &tool);
    }
    for tool in &rules.deny {
        launch.joined("--deny-tool=", tool);
    }
    for (flag, tools) in [("--available-tools", &rules.only), ("--excluded-tools", &rules.without)] {
        if !tools.is_empty() {
            launch.arg(format!("{flag}={}", tools.join(",")));
        }
    }
}

/// The names of the turn's MCP servers.
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

    fn args(transport: Transport, change: impl FnOnce(&mut Turn)) -> String {
        let mut turn = turn::<Copilot>("prompt");
        change(&mut turn);
        let mut launch = Launch::lines([""; 0]);
        flags(&mut Settings::of(&turn), transport, &mut launch);
        launch.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    const EACH: &str = "--allow-tool=shell --allow-tool=write --allow-tool=url";

    #[test]
    fn rules_replace_allowing_everything() {
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
            assert_eq!(args(Transport::Lines, change), expected);
        }
    }

    /// `--allow-all` is a setting of the session there; rules are flags as with JSON lines.
    #[test]
    fn the_protocol_has_the_same_rules() {
        assert_eq!(args(Transport::Acp, |_| {}), "");
        let with_rules = args(Transport::Acp, |turn| turn.tools.deny = vec!["shell(touch)".into()]);
        assert_eq!(with_rules, format!("{EACH} --deny-tool=shell(touch)"));
        let asking = args(Transport::Acp, |turn| {
            turn.approvals = Approvals::Ask;
            turn.tools.allow = vec!["write".into()];
        });
        assert_eq!(asking, "--allow-tool=write");
    }
}
