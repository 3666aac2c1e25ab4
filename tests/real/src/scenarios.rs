//! The scenarios, in the order of the table. Each is a function that says what must come out, whichever agent runs.

mod approvals;
mod failures;
mod prompts;
mod replies;
mod sessions;
mod stops;
mod surroundings;
mod tools;

use crate::stage::Stage;
use crate::{Shortfall, Verdict};

/// One scenario.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Stage<'_>) -> Verdict,
}

const fn scenario(name: &'static str, run: fn(&Stage<'_>) -> Verdict) -> Scenario {
    Scenario { name, run }
}

/// All of them. Those that wait longest come first within their group, so that the others run beside them.
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
    scenario("tool not shown", tools::hidden),
    scenario("MCP server", tools::of_server),
    scenario("chosen session id", sessions::chosen),
    scenario("resume in a second run", sessions::resumed),
    scenario("unknown session", sessions::unknown),
    scenario("system prompt arrives", prompts::system),
    scenario("200 KB prompt arrives", prompts::long),
    scenario("prompt that begins with a slash", prompts::slash),
    scenario("message in mid-turn", prompts::in_mid_turn),
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
    scenario("model list", surroundings::models),
    scenario("GitHub token, responses API", surroundings::token_responses),
    scenario("GitHub token, messages API", surroundings::token_messages),
    scenario("explain agrees", surroundings::explained),
    scenario("doctor", surroundings::doctor),
];

fn not_offered(why: &str) -> Verdict {
    Err(Shortfall::NotOffered(why.to_owned()))
}
