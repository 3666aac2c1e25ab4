//! The scenarios, in the order of the page. Each is a function that checks one behavior for all agents.
//!
//! A scenario finds out whether an agent offers what it needs: from the capabilities that the adapter reports
//! ([`Scenario::needs`]), from the settings that a report lists as unsupported, or from what the agent did. It never
//! asks which agent it is.

mod approvals;
mod attachments;
mod environment;
mod failures;
mod prompts;
mod replies;
mod sessions;
mod shapes;
mod stops;
mod tools;

use crate::agent::Agent;
use crate::subject::Subject;
use crate::testbed::Testbed;
use crate::{NotPassed, ScenarioResult};

/// A scenario: its name on the page, and its function.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Testbed<'_>) -> ScenarioResult,
    /// The capability without which it is not offered.
    pub(crate) needs: Option<&'static str>,
    only: Option<&'static str>,
    ci: Ci,
}

/// Whether CI runs a scenario with the newest version of each agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ci {
    No,
    /// Over the best transport.
    Best,
    /// Over every transport.
    Every,
}

impl Scenario {
    const fn needs(self, capability: &'static str) -> Scenario {
        Scenario { needs: Some(capability), ..self }
    }

    /// Only for this agent: it is about something that no other agent has.
    const fn only(self, agent: &'static str) -> Scenario {
        Scenario { only: Some(agent), ..self }
    }

    const fn ci(self, ci: Ci) -> Scenario {
        Scenario { ci, ..self }
    }

    pub(crate) fn is_for(&self, agent: &dyn Agent) -> bool {
        self.only.is_none_or(|only| only == agent.id())
    }

    /// Agents of the adapter `acp` differ only in their dialects, which its own tests replay: a few scenarios are enough.
    pub(crate) fn is_in_ci(&self, subject: &Subject) -> bool {
        let has_own_adapter = subject.agent.adapter() == subject.agent.id();
        self.ci == Ci::Every || (self.ci == Ci::Best && subject.is_best_transport() && has_own_adapter)
    }
}

const fn scenario(name: &'static str, run: fn(&Testbed<'_>) -> ScenarioResult) -> Scenario {
    Scenario { name, run, needs: None, only: None, ci: Ci::No }
}

/// All scenarios. The slowest of a group come first, so that the others run in parallel with them.
pub(crate) const ALL: &[Scenario] = &[
    scenario("short reply", replies::short).ci(Ci::Every),
    scenario("429 without retry-after", failures::rate_limit_without_time),
    scenario("500 from the provider", failures::provider),
    scenario("connection refused", failures::refused),
    scenario("429 with retry-after", failures::rate_limit_with_time),
    scenario("429, then an answer", failures::rate_limit_passes),
    scenario("401 from the provider", failures::unauthorized).ci(Ci::Best),
    scenario("unknown model", failures::unknown_model).ci(Ci::Best),
    scenario("no login", failures::no_login),
    scenario("dropped stream, then an answer", failures::dropped),
    scenario("stalled stream", failures::stalled),
    scenario("long unicode reply", replies::long).ci(Ci::Best),
    scenario("text while it is written", replies::streamed).needs("streaming"),
    scenario("reasoning", replies::reasoning),
    scenario("whole messages only", replies::unstreamed),
    scenario("usage of several rounds", replies::usage).ci(Ci::Best),
    scenario("effort", prompts::effort),
    scenario("tools, then an answer", tools::then_answer).ci(Ci::Every),
    scenario("failing tool", tools::failing).ci(Ci::Best),
    scenario("parallel tools", tools::parallel),
    scenario("sub-agent", tools::delegated),
    scenario("tool rule denies", tools::denied_by_rule),
    scenario("tool rule allows", tools::allowed_by_rule),
    scenario("tool not shown", tools::not_shown),
    scenario("MCP server", tools::from_server).ci(Ci::Best),
    scenario("chosen session id", sessions::chosen),
    scenario("resume in a second run", sessions::resumed).ci(Ci::Best),
    scenario("unknown session", sessions::unknown).ci(Ci::Best),
    scenario("system prompt arrives", prompts::system),
    scenario("200 KB prompt arrives", prompts::long).ci(Ci::Best),
    scenario("image arrives", attachments::image).needs("attachments"),
    scenario("instructions of the workspace", prompts::instructions),
    scenario("prompt that begins with a slash", prompts::slash),
    scenario("message in mid-turn", prompts::mid_turn),
    scenario("second turn in the same process", prompts::second).needs("duplex"),
    scenario("nobody approves", approvals::nobody).ci(Ci::Best),
    scenario("ask allowed", approvals::allowed).needs("asks").ci(Ci::Best),
    scenario("ask denied", approvals::denied).needs("asks").ci(Ci::Best),
    scenario("ask edited", approvals::edited).needs("asks"),
    scenario("ask timed out", approvals::timed_out).needs("asks"),
    scenario("cancel in mid-stream", stops::mid_stream).ci(Ci::Best),
    scenario("cancel by protocol", stops::by_protocol).needs("interrupt"),
    scenario("cancel in mid-tool", stops::mid_tool).ci(Ci::Best),
    scenario("cap on turns", stops::turns),
    scenario("cap on cost", stops::cost),
    scenario("same shape as every agent", shapes::same).ci(Ci::Best),
    scenario("model list", environment::models).needs("model-discovery"),
    scenario("GitHub token, responses API", environment::token_responses).only("copilot"),
    scenario("GitHub token, messages API", environment::token_messages).only("copilot"),
    scenario("explain agrees", environment::explained),
    scenario("doctor", environment::doctor).ci(Ci::Best),
    scenario("doctor without a login", environment::doctor_without_login),
    scenario("newer version in the cache", environment::newer_in_cache).only("copilot"),
];

fn not_offered<T>(reason: &str) -> Result<T, NotPassed> {
    Err(NotPassed::NotOffered(reason.to_owned()))
}
