//! The permissions of a turn, in `OpenCode`'s own form: `{"bash": {"*": "ask", "git *": "allow"}, "edit": "deny"}`.
//!
//! Of the rules that match, `OpenCode` uses the last one. It merges this object into the user's own, after it.

use wharf_adapter::json::{Object, quote};
use wharf_adapter::{Approvals, Decision, PolicyArea, PolicyRule, Settings, ToolRules};

/// What is allowed in a turn that asks or denies: it changes nothing and reaches nothing.
const HARMLESS: &[&str] = &["glob", "grep", "list", "lsp", "skill", "task", "todoread", "todowrite"];

/// Permissions: an action for everything, and exceptions for patterns of what a tool is used for.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    /// A tool, as permissions name it; `*` is all of them.
    tool: String,
    /// What the tool is used for: a command, a path. Absent: anything.
    pattern: Option<String>,
    action: &'static str,
}

impl Permissions {
    /// Those of a turn. Empty if `OpenCode`'s own are fine.
    pub(crate) fn of(approvals: Approvals, tools: &ToolRules, extra_dirs: &[String]) -> Permissions {
        let mut permissions = Permissions::default();
        let base = match approvals {
            Approvals::AllowAll => None,
            Approvals::Ask => Some("ask"),
            Approvals::Deny => Some("deny"),
        };
        if let Some(action) = base {
            permissions.add("*", None, action);
            for tool in HARMLESS {
                permissions.add(tool, None, "allow");
            }
            // As OpenCode has it: files with secrets are not read just so.
            let read = [("*", "allow"), ("*.env", action), ("*.env.*", action), ("*.env.example", "allow")];
            for (pattern, action) in read {
                permissions.add("read", Some(pattern), action);
            }
        }
        for folder in extra_dirs {
            let folder = folder.trim_end_matches('/');
            permissions.add("external_directory", Some(folder), "allow");
            permissions.add("external_directory", Some(&format!("{folder}/*")), "allow");
        }
        if !tools.only.is_empty() {
            permissions.add("*", None, "deny");
            permissions.add_rules(&tools.only, "allow");
        }
        permissions.add_rules(&tools.allow, "allow");
        permissions.add_rules(&tools.without, "deny");
        permissions.add_rules(&tools.deny, "deny");
        permissions
    }

    /// Adds the rules of the turn's policy that `OpenCode` enforces as they are meant.
    pub(crate) fn enforce(&mut self, settings: &mut Settings<'_>, approvals: Approvals) {
        let mut rules: Vec<(u8, Rule)> = vec![];
        settings.enforce(|rule| match translated(rule, approvals) {
            Some((rank, more)) => {
                rules.extend(more.into_iter().map(|rule| (rank, rule)));
                true
            }
            None => false,
        });
        // The last one counts: first what is for everything, then what allows, asks and denies.
        for rank in 0..=3 {
            let (of_rank, rest) = rules.into_iter().partition(|(of_rule, _)| *of_rule == rank);
            rules = rest;
            let of_rank: Vec<(u8, Rule)> = of_rank;
            self.rules.extend(of_rank.into_iter().map(|(_, rule)| rule));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Rules in the form `tool` or `tool(pattern)`.
    fn add_rules(&mut self, rules: &[String], action: &'static str) {
        for rule in rules {
            match rule.strip_suffix(')').and_then(|rule| rule.split_once('(')) {
                Some((tool, pattern)) => self.add(name(tool), Some(pattern), action),
                None => self.add(name(rule), None, action),
            }
        }
    }

    fn add(&mut self, tool: &str, pattern: Option<&str>, action: &'static str) {
        self.rules.push(Rule { tool: tool.to_owned(), pattern: pattern.map(str::to_owned), action });
    }

    /// As JSON. A tool with patterns is an object; the keys stay in the order in which they were first named.
    pub(crate) fn to_json(&self) -> String {
        let mut tools: Vec<&str> = vec![];
        for rule in &self.rules {
            // A later rule for everything overrides what came before it.
            if rule.tool == "*" {
                tools.clear();
            }
            if !tools.contains(&rule.tool.as_str()) {
                tools.push(&rule.tool);
            }
        }
        let start = self.rules.iter().rposition(|rule| rule.tool == "*").unwrap_or(0);
        let object = tools.iter().fold(Object::new(), |object, tool| {
            let rules = || self.rules[start..].iter().filter(|rule| rule.tool == *tool);
            if rules().all(|rule| rule.pattern.is_none()) {
                return object.raw(tool, &quote(rules().next_back().map_or("allow", |rule| rule.action)));
            }
            let patterns = rules().fold(Object::new(), |patterns, rule| {
                patterns.str(rule.pattern.as_deref().unwrap_or("*"), rule.action)
            });
            object.object(tool, patterns)
        });
        object.finish()
    }
}

/// A rule of the policy as permissions, with its place among them. None if `OpenCode` has nothing that means the same: it
/// matches paths relative to the workspace, and tools that change files only together.
fn translated(rule: &PolicyRule, approvals: Approvals) -> Option<(u8, Vec<Rule>)> {
    let (action, rank) = match rule.decision {
        Decision::Allow => ("allow", 1),
        // What it asks for is answered with a yes, unless the turn asks.
        Decision::Ask => (if approvals == Approvals::Ask { "ask" } else { return None }, 2),
        Decision::Deny => ("deny", 3),
    };
    let make =
        |tool: &str, pattern: Option<&str>| Rule { tool: tool.to_owned(), pattern: pattern.map(str::to_owned), action };
    let rules = match (rule.area, rule.pattern.as_deref()) {
        (PolicyArea::Commands, Some(pattern)) => {
            let pattern = pattern.trim_end_matches('*').trim_end();
            vec![make("bash", Some(pattern)), make("bash", Some(&format!("{pattern} *")))]
        }
        (PolicyArea::Commands, None) => vec![make("bash", Some("*"))],
        (PolicyArea::Tools, Some(tool)) if name(tool) == tool && tool != "edit" => vec![make(tool, None)],
        (PolicyArea::McpServers, Some(server)) => vec![make(&format!("{server}_*"), None)],
        _ => return None,
    };
    Some((if rule.pattern.is_none() { 0 } else { rank }, rules))
}

/// The permission of a tool: every tool that changes files has that of `edit`.
fn name(tool: &str) -> &str {
    match tool.trim() {
        "write" | "multiedit" | "patch" | "apply_patch" => "edit",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], deny: &[&str], only: &[&str], without: &[&str]) -> ToolRules {
        let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        ToolRules { allow: list(allow), deny: list(deny), only: list(only), without: list(without) }
    }

    fn json(approvals: Approvals, tools: &ToolRules, dirs: &[&str]) -> String {
        let dirs: Vec<String> = dirs.iter().map(|dir| (*dir).to_owned()).collect();
        Permissions::of(approvals, tools, &dirs).to_json()
    }

    #[test]
    fn a_turn_that_allows_everything_has_none() {
        assert!(Permissions::of(Approvals::AllowAll, &rules(&[], &[], &[], &[]), &[]).is_empty());
    }

    #[test]
    fn asking_and_denying_leave_what_only_reads() {
        let none = rules(&[], &[], &[], &[]);
        for (approvals, action) in [(Approvals::Ask, "ask"), (Approvals::Deny, "deny")] {
            let written = json(approvals, &none, &[]);
            let parsed: serde_json::Value = serde_json::from_str(&written).expect("JSON");
            assert_eq!((&parsed["*"], &parsed["grep"]), (&action.into(), &"allow".into()));
            assert_eq!((&parsed["read"]["*"], &parsed["read"]["*.env"]), (&"allow".into(), &action.into()));
            assert!(written.starts_with(r#"{"*":"#), "the last rule counts, so that for everything is the first");
        }
    }

    #[test]
    fn rules_of_tools_become_permissions() {
        let all = Approvals::AllowAll;
        let tools = rules(&["bash(git *)"], &["bash(rm *)", "webfetch"], &[], &["write"]);
        assert_eq!(
            json(all, &tools, &[]),
            r#"{"bash":{"git *":"allow","rm *":"deny"},"edit":"deny","webfetch":"deny"}"#
        );
        assert_eq!(json(all, &rules(&[], &[], &["read"], &[]), &[]), r#"{"*":"deny","read":"allow"}"#);
        assert_eq!(
            json(all, &rules(&[], &[], &[], &[]), &["/more/"]),
            r#"{"external_directory":{"/more":"allow","/more/*":"allow"}}"#
        );
    }

    #[test]
    fn the_rules_of_a_policy_that_mean_the_same_are_enforced() {
        let rule =
            |area, pattern: Option<&str>, decision| PolicyRule { area, pattern: pattern.map(str::to_owned), decision };
        let policy = vec![
            rule(PolicyArea::Commands, Some("git push"), Decision::Deny),
            rule(PolicyArea::Commands, Some("git *"), Decision::Allow),
            rule(PolicyArea::Commands, None, Decision::Deny),
            rule(PolicyArea::WritePaths, Some("/etc/*"), Decision::Deny),
            rule(PolicyArea::Tools, Some("webfetch"), Decision::Ask),
            rule(PolicyArea::McpServers, Some("lab"), Decision::Deny),
        ];
        let turn = wharf_adapter::Turn { policy, ..wharf_adapter::testing::turn::<crate::OpenCode>("go") };
        let mut settings = Settings::of(&turn);
        let mut permissions = Permissions::default();
        permissions.enforce(&mut settings, Approvals::AllowAll);
        assert_eq!(
            permissions.to_json(),
            r#"{"bash":{"*":"deny","git":"allow","git *":"allow","git push":"deny","git push *":"deny"},"lab_*":"deny"}"#
        );
        let mut launch = wharf_adapter::Launch::lines([""; 0]);
        settings.finish(&mut launch);
        assert_eq!(launch.enforced, [0, 1, 2, 5]);
    }

    #[test]
    fn a_list_of_the_only_tools_overrides_what_approvals_allow() {
        let written = json(Approvals::Ask, &rules(&[], &[], &["read"], &[]), &[]);
        assert_eq!(written, r#"{"*":"deny","read":"allow"}"#);
    }
}
