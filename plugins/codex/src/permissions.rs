//! What Codex may do: the approvals of a turn as its sandbox and its approval policy.
//!
//! | approvals | sandbox | approval policy | |
//! |---|---|---|---|
//! | allow all | `danger-full-access` | `never` | everything runs |
//! | ask | `danger-full-access` | `untrusted` | what is not known to be harmless is asked about |
//! | deny | `read-only` | `on-request` | what changes anything fails in the sandbox, or is asked about, and that is a no |
//!
//! With `never`, what is not allowed is refused without an item: nobody but the model would learn of it.
//!
//! A narrower sandbox would not do for `ask`: in 0.169.0 a command that was allowed runs inside of it, in 0.142.0 outside.

use wharf_adapter::{Approvals, Turn};

/// The options that replace what the approvals give.
pub(crate) const SANDBOX: &str = "sandbox";
pub(crate) const POLICY: &str = "approval-policy";

/// The value of an option that leaves the choice to the approvals.
pub(crate) const BY_APPROVALS: &str = "by-approvals";

/// The values of the options, with the default first.
pub(crate) const SANDBOXES: [&str; 4] = [BY_APPROVALS, "read-only", "workspace-write", "danger-full-access"];
pub(crate) const POLICIES: [&str; 4] = [BY_APPROVALS, "untrusted", "on-request", "never"];

/// What Codex may do in a turn, in its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permissions {
    pub(crate) sandbox: &'static str,
    pub(crate) policy: &'static str,
}

impl Permissions {
    /// Those of a turn.
    pub(crate) fn of(turn: &Turn) -> Permissions {
        let (sandbox, policy) = match turn.approvals {
            Approvals::AllowAll => ("danger-full-access", "never"),
            Approvals::Ask => ("danger-full-access", "untrusted"),
            Approvals::Deny => ("read-only", "on-request"),
        };
        let chosen = |option: &str, values: &[&'static str]| {
            let name = turn.option(option).name()?;
            values.iter().find(|value| **value == name).copied().filter(|value| *value != BY_APPROVALS)
        };
        Permissions {
            sandbox: chosen(SANDBOX, &SANDBOXES).unwrap_or(sandbox),
            policy: chosen(POLICY, &POLICIES).unwrap_or(policy),
        }
    }

    /// Those of a turn over a transport that cannot ask: what would be asked about is not allowed.
    pub(crate) fn without_asks(turn: &Turn) -> Permissions {
        let permissions = Permissions::of(turn);
        let is_chosen = !turn.option(SANDBOX).is(BY_APPROVALS) && turn.option(SANDBOX).is_string();
        let sandbox = if turn.approvals == Approvals::Ask && !is_chosen { "read-only" } else { permissions.sandbox };
        Permissions { sandbox, policy: "never" }
    }

    /// Whether nothing is restricted and nothing asked.
    pub(crate) fn are_all(self) -> bool {
        self.sandbox == "danger-full-access" && self.policy == "never"
    }

    /// The sandbox as `turn/start` names it.
    pub(crate) fn sandbox_type(self) -> &'static str {
        match self.sandbox {
            "danger-full-access" => "dangerFullAccess",
            "workspace-write" => "workspaceWrite",
            _ => "readOnly",
        }
    }
}
