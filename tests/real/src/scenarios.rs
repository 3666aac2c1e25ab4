//! The scenarios, in the order of the table. Each is a function that checks one behavior for all agents.

mod approvals;
mod environment;
mod failures;
mod prompts;
mod replies;
mod sessions;
mod stops;
mod tools;

use crate::testbed::Testbed;
use crate::{NotPassed, ScenarioResult};

/// A scenario: its name in the table, and its function.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Testbed<'_>) -> ScenarioResult,
}

const fn scenario(name: &'static str, run: fn(&Testbed<'_>) -> ScenarioResult) -> Scenario {
    Scenario { name, run }
}

/// All scenarios. The slowest of a group come first, so that the others run in parallel with them.
pub(crate) const ALL: &[Scenario] = &[
    scenario("short reply", replies::short),
    scenario("429 without retry-after", failures::rate_limit_without_time),
    scenario("500 from the provider", failures::provider),
    scenario("connection refused", failures::refused),
    scenario("429 with retry-after", failures::rate_limit_with_time),
    scenario("429, then an answer", failures::rate_limit_passes),
    scenario("401 from the provider", failures::unauthorized),
    scenario("unknown model", failures::unknown_model),
    scenario("no login", failures::no_login),
    scenario("dropped stream, then an answer", failures::dropped),
    scenario("stalled stream", failures::stalled),
    scenario("long streamed unicode reply", replies::long),
    scenario("reasoning", replies::reasoning),
    scenario("whole messages only", replies::unstreamed),
    scenario("tools, then an answer", tools::then_answer),
    scenario("failing tool", tools::failing),
    scenario("parallel tools", tools::parallel),
    scenario("sub-agent", tools::delegated),
    scenario("tool rule denies", tools::denied_by_rule),
    scenario("tool rule allows", tools::allowed_by_rule),
    scenario("tool not shown", tools::not_shown),
    scenario("MCP server", tools::from_server),
    scenario("chosen session id", sessions::chosen),
    scenario("resume in a second run", sessions::resumed),
    scenario("unknown session", sessions::unknown),
    scenario("system prompt arrives", prompts::system),
    scenario("200 KB prompt arrives", prompts::long),
    scenario("instructions of the workspace", prompts::instructions),
    scenario("prompt that begins with a slash", prompts::slash),
    scenario("message in mid-turn", prompts::mid_turn),
    scenario("second turn in the same process", prompts::second),
    scenario("nobody approves", approvals::nobody),
    scenario("ask allowed", approvals::allowed),
    scenario("ask denied", approvals::denied),
    scenario("ask edited", approvals::edited),
    scenario("ask timed out", approvals::timed_out),
    scenario("cancel in mid-stream", stops::mid_stream),
    scenario("cancel by protocol", stops::by_protocol),
    scenario("cancel in mid-tool", stops::mid_tool),
    scenario("cap on turns", stops::turns),
    scenario("cap on cost", stops::cost),
    scenario("model list", environment::models),
    scenario("GitHub token, responses API", environment::token_responses),
    scenario("GitHub token, messages API", environment::token_messages),
    scenario("explain agrees", environment::explained),
    scenario("doctor", environment::doctor),
    scenario("newer version in the cache", environment::newer_in_cache),
];

fn not_offered(reason: &str) -> ScenarioResult {
    Err(NotPassed::NotOffered(reason.to_owned()))
}
