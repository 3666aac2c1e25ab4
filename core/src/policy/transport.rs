//! Which transport a turn uses: the one that the caller chose, else the first of those that have most of what the turn
//! needs.

use crate::model::{Approvals, Binary, Capability, SessionChoice, SettingError, ToolRules, Transport, Turn};

/// The transports for a turn, in the order in which they are tried. With a choice of the caller there is one.
pub fn transports<'b>(binary: &'b Binary, turn: &Turn, keep_alive: bool) -> Result<Vec<&'b Transport>, SettingError> {
    if let Some(name) = &turn.transport {
        return binary.transport(name).map(|chosen| vec![chosen]).ok_or_else(|| {
            let names: Vec<&str> = binary.transports.iter().map(|transport| transport.name.as_str()).collect();
            SettingError {
                message: format!("the agent has no transport `{name}`"),
                hint: format!("choose one of: {}; or none, for the best", names.join(", ")),
            }
        });
    }
    let needs = needs(turn, keep_alive);
    let lacks = |transport: &&Transport| needs.iter().filter(|need| !transport.can(**need)).count();
    let mut ordered: Vec<&Transport> = binary.transports.iter().collect();
    // Stable: among equals, the adapter's order.
    ordered.sort_by_key(lacks);
    Ok(ordered)
}

/// The capabilities that some transports of an agent may lack, and that this turn needs.
fn needs(turn: &Turn, keep_alive: bool) -> Vec<Capability> {
    let needs = [
        (Capability::Asks, turn.approvals == Approvals::Ask),
        (Capability::Steering, turn.messages),
        (Capability::Duplex, keep_alive),
        (Capability::Attachments, !turn.attachments.is_empty()),
        (Capability::CallerTools, !turn.caller_tools.is_empty()),
        (Capability::Hooks, !turn.hooks.is_empty()),
        (Capability::Policy, !turn.policy.is_empty()),
        (Capability::StructuredOutput, turn.output_schema.is_some()),
        (Capability::McpServers, turn.mcp_servers.is_some()),
        (Capability::EffortLevels, turn.effort.is_some()),
        (Capability::FallbackModel, turn.fallback_model.is_some()),
        (Capability::BudgetCap, turn.max_cost.is_some()),
        (Capability::TurnCap, turn.max_turns.is_some()),
        (Capability::ToolRules, turn.tools != ToolRules::default()),
        (Capability::Autopilot, turn.autopilot),
        (Capability::SessionResume, matches!(turn.session, SessionChoice::Resume(_) | SessionChoice::MostRecent)),
        (Capability::SessionFork, matches!(turn.session, SessionChoice::Fork(_))),
        (Capability::ChooseSessionId, matches!(turn.session, SessionChoice::Fresh(Some(_)))),
    ];
    needs.into_iter().filter(|(_, needed)| *needed).map(|(capability, _)| capability).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary() -> Binary {
        let transport = |name: &str, capabilities: &[Capability]| Transport {
            name: name.to_owned(),
            capabilities: capabilities.to_vec(),
        };
        let mut binary = Binary::new("/bin/agent");
        binary.transports = vec![
            transport("lines", &[Capability::TurnCap, Capability::StructuredOutput]),
            transport("acp", &[Capability::Asks, Capability::Steering]),
            transport("sdk", &[Capability::Asks, Capability::Steering, Capability::Attachments]),
        ];
        binary
    }

    fn order(turn: &Turn) -> Vec<String> {
        let binary = binary();
        let ordered = transports(&binary, turn, false).expect("transports");
        ordered.iter().map(|transport| transport.name.clone()).collect()
    }

    #[test]
    fn the_first_that_has_what_the_turn_needs_is_tried_first() {
        assert_eq!(order(&Turn::new("hi")), ["lines", "acp", "sdk"]);
        assert_eq!(order(&Turn::new("hi").with_approvals(Approvals::Ask)), ["acp", "sdk", "lines"]);
        let mut turn = Turn::new("hi");
        turn.max_turns = Some(1);
        turn.messages = true;
        assert_eq!(order(&turn), ["lines", "acp", "sdk"], "each lacks one");
    }

    #[test]
    fn a_chosen_transport_is_not_replaced_and_an_unknown_one_is_refused() {
        assert_eq!(order(&Turn::new("hi").with_transport("sdk")), ["sdk"]);
        let refused = transports(&binary(), &Turn::new("hi").with_transport("tcp"), false).expect_err("refused");
        assert!(refused.message.contains("`tcp`") && refused.hint.contains("lines, acp, sdk"), "{refused:?}");
    }
}
