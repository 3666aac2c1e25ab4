//! Rules about tools as a policy file of the CLI.
//!
//! A file that `--policy` names replaces the folder of the user's own policies, so that folder is named beside it. A rule of
//! the caller that allows has a low priority, so that the user's own rules count before it; one that denies the highest.

use wharf_adapter::json::quote;
use wharf_adapter::{Approvals, Decision, Launch, PolicyArea, Settings, ToolRules};

/// The tool that runs commands.
const SHELL: &str = "run_shell_command";

/// The folder of the user's own policies. The CLI expands the tilde, with its own idea of the home folder.
const OF_USER: &str = "~/.gemini/policies";

/// The tools that the CLI runs without asking in every mode.
const READ_ONLY: [&str; 7] = [
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "search_file_content",
];

/// Gives the rules about tools to the CLI, and of the policy what it enforces itself: what is denied.
pub(crate) fn apply(settings: &mut Settings<'_>, launch: &mut Launch) {
    let mut file = policies(settings.tools(), settings.turn().approvals);
    settings.enforce(|denied| {
        let tool = match (denied.area, denied.decision, denied.pattern.as_deref()) {
            (PolicyArea::Tools, Decision::Deny, Some(name)) => name.to_owned(),
            // The CLI compares the beginning of each command, without wildcards.
            (PolicyArea::Commands, Decision::Deny, Some(words)) if !words.bytes().any(|byte| byte == b'*') => {
                format!("{SHELL}({words})")
            }
            _ => return false,
        };
        rule(&tool, "deny", 999, &mut file);
        true
    });
    if !file.is_empty() {
        let file = launch.file("policy.toml", file);
        launch.pair("--policy", file);
        launch.pair("--policy", OF_USER);
    }
}

/// The content of the file.
fn policies(rules: &ToolRules, approvals: Approvals) -> String {
    let mut file = String::new();
    for tool in rules.deny.iter().chain(&rules.without) {
        rule(tool, "deny", 999, &mut file);
    }
    if !rules.only.is_empty() {
        for tool in &rules.only {
            match approvals {
                _ if READ_ONLY.contains(&tool.as_str()) => rule(tool, "allow", 998, &mut file),
                Approvals::AllowAll => rule(tool, "allow", 998, &mut file),
                Approvals::Ask => rule(tool, "ask_user", 998, &mut file),
                Approvals::Deny => {}
            }
        }
        rule("*", "deny", 997, &mut file);
    }
    for tool in &rules.allow {
        // Above the rule that denies all others, but otherwise below the rules of the user.
        rule(tool, "allow", if rules.only.is_empty() { 1 } else { 998 }, &mut file);
    }
    file
}

/// One rule. `run_shell_command(git status)` is about commands that start with the words in brackets.
fn rule(tool: &str, decision: &str, priority: u32, file: &mut String) {
    let (name, prefix) = match tool.strip_suffix(')').and_then(|tool| tool.split_once('(')) {
        Some((name, prefix)) => (name, Some(prefix)),
        None => (tool, None),
    };
    let mut add = |key: &str, value: &str| {
        for part in [key, " = ", value, "\n"] {
            file.push_str(part);
        }
    };
    add("[[rule]]\ntoolName", &quote(name));
    if let Some(prefix) = prefix {
        add("commandPrefix", &quote(prefix));
    }
    add("decision", &quote(decision));
    add("priority", &priority.to_string());
    if decision == "allow" {
        // Otherwise a command that redirects its output needs another permission.
        add("allowRedirection", "true");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], deny: &[&str], only: &[&str], without: &[&str]) -> ToolRules {
        let list = |tools: &[&str]| tools.iter().map(|tool| (*tool).to_owned()).collect();
        ToolRules { allow: list(allow), deny: list(deny), only: list(only), without: list(without) }
    }

    /// The rules in a file, as (tool, command, decision, priority).
    fn read(file: &str) -> Vec<(String, String, String, u32)> {
        let value = |rule: &str, key: &str| {
            let line = rule.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.unwrap_or_default().trim_matches('"').to_owned()
        };
        let rules = file.split("[[rule]]\n").skip(1);
        rules
            .map(|rule| {
                let priority = value(rule, "priority").parse().expect("a priority");
                (value(rule, "toolName"), value(rule, "commandPrefix"), value(rule, "decision"), priority)
            })
            .collect()
    }

    #[test]
    fn a_no_counts_before_the_users_rules_and_a_yes_after_them() {
        let file = policies(&rules(&["run_shell_command(git)"], &["web_fetch"], &[], &["mcp_lab_*"]), Approvals::Deny);
        let rule = |tool: &str, command: &str, decision: &str, priority| {
            (tool.to_owned(), command.to_owned(), decision.to_owned(), priority)
        };
        let expected = [
            rule("web_fetch", "", "deny", 999),
            rule("mcp_lab_*", "", "deny", 999),
            rule("run_shell_command", "git", "allow", 1),
        ];
        assert_eq!(read(&file), expected);
    }

    #[test]
    fn only_the_named_tools_are_left_and_the_approvals_decide_about_them() {
        for (approvals, decisions) in [
            (Approvals::AllowAll, vec![("read_file", "allow"), ("write_file", "allow"), ("*", "deny")]),
            (Approvals::Ask, vec![("read_file", "allow"), ("write_file", "ask_user"), ("*", "deny")]),
            (Approvals::Deny, vec![("read_file", "allow"), ("*", "deny")]),
        ] {
            let file = policies(&rules(&[], &[], &["read_file", "write_file"], &[]), approvals);
            let read = read(&file);
            let found: Vec<(&str, &str)> =
                read.iter().map(|(tool, _, decision, _)| (tool.as_str(), decision.as_str())).collect();
            assert_eq!(found, decisions);
            assert!(read.iter().rev().skip(1).all(|(.., priority)| *priority > read[read.len() - 1].3));
        }
    }

    #[test]
    fn a_name_cannot_break_out_of_its_rule() {
        let file = policies(&rules(&[], &["x\"\ndecision = \"allow\""], &[], &[]), Approvals::Deny);
        assert_eq!(file.lines().filter(|line| line.starts_with("decision")).count(), 1, "{file}");
    }
}
