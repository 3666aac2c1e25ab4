//! Token counts, from the places where this version of the CLI reports them.
//!
//! Newer versions count per model in one format, which is in `session.usage_checkpoint` events, in the usage file and at
//! the end of the session's journal. All three have the same figures, so they share a source: the last one that is read
//! replaces the others. Measured: 1.0.102 counts over all processes of a session; 1.0.35 starts at zero in each.

use crate::login;
use wharf_adapter::json::unescape;
use wharf_adapter::{Effects, Host, Json, LogLevel, Usage, UsageScope, text};

/// The launch file that the CLI writes its figures to.
pub(crate) const FILE: &str = "usage.json";

/// The CLI's input figure is the whole prompt, with cache reads and cache writes, from every provider. A provider that
/// counts them separately (1,234 input, 1,000 read, 11 written) is reported by the CLI as 2,245 input. The figures of the
/// protocol follow the same rule.
pub(crate) const INPUT_INCLUDES_CACHED: bool = true;

/// Which tokens of a run were counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counted {
    /// No tokens.
    #[default]
    Nothing,
    /// Output tokens only.
    Output,
    /// Input and output tokens.
    All,
}

/// The source of all figures in the format of `modelMetrics`.
const ACCOUNTING: &str = "accounting";

/// Reports the output tokens of one message, in versions that have them there. Returns whether it had any.
pub(crate) fn message(output: Json<'_>, model: Option<&str>, out: &mut Effects) -> bool {
    let Some(output) = output.u64() else { return false };
    let model = model.map(str::to_owned);
    out.usage(Usage { model, output: Some(output), ..Usage::new(UsageScope::Delta, "message", INPUT_INCLUDES_CACHED) });
    true
}

/// Reports the figures of the `result` line: requests and time, no tokens.
pub(crate) fn result(usage: Json<'_>, scope: UsageScope, out: &mut Effects) {
    let units: Vec<_> = usage.get("premiumRequests").f64().map(premium).into_iter().collect();
    let api_millis = usage.get("totalApiDurationMs").f64().and_then(whole);
    if !units.is_empty() || api_millis.is_some() {
        out.usage(Usage { units, api_millis, ..Usage::new(scope, "result", INPUT_INCLUDES_CACHED) });
    }
}

/// Reports the premium requests of a run without a `result` line.
pub(crate) fn premium_requests(count: f64, scope: UsageScope, out: &mut Effects) {
    out.usage(Usage { units: vec![premium(count)], ..Usage::new(scope, "result", INPUT_INCLUDES_CACHED) });
}

fn premium(count: f64) -> (String, f64) {
    ("premium-requests".to_owned(), count)
}

/// Rounds milliseconds, which may have a fraction.
fn whole(millis: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the guard")]
    (0.0..9.0e15).contains(&millis).then_some(millis.round() as u64)
}

/// Reports tokens by model, and credits if they are known. Returns whether there were any tokens.
pub(crate) fn accounting(account: Json<'_>, scope: UsageScope, out: &mut Effects) -> bool {
    let mut any = false;
    for (model, metrics) in account.get("modelMetrics").fields() {
        let usage = metrics.get("usage");
        let Ok([input, output, read, write, reasoning]) =
            usage.select(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens"])
        else {
            continue;
        };
        out.usage(Usage {
            model: Some(unescape(model).into_owned()),
            input: input.u64(),
            output: output.u64(),
            cache_read: read.u64(),
            cache_write: write.u64(),
            reasoning: reasoning.u64(),
            ..Usage::new(scope, ACCOUNTING, INPUT_INCLUDES_CACHED)
        });
        any = true;
    }
    // With "unavailable" the figure is a meaningless zero.
    let credits = account.get("totalNanoAiu").f64().filter(|_| !account.get("aiCreditsStatus").is("unavailable"));
    if let Some(nano) = credits.filter(|nano| *nano > 0.0) {
        let units = vec![("ai-credits".to_owned(), nano / 1e9)];
        out.usage(Usage { units, ..Usage::new(scope, ACCOUNTING, INPUT_INCLUDES_CACHED) });
    }
    any
}

/// Reports the figures of the usage file. Returns whether it had any.
pub(crate) fn from_file(host: &dyn Host, out: &mut Effects) -> bool {
    let Ok(content) = host.read_launch_file(FILE) else { return false };
    accounting(Json::parse(&String::from_utf8_lossy(&content)), UsageScope::SessionTotal, out)
}

/// A session's journal: the session, the start of this run, and the scope of the figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Journal<'a> {
    pub(crate) session: &'a str,
    pub(crate) since: &'a str,
    pub(crate) scope: UsageScope,
}

/// Reports the last figures of a journal, unless they are older than this run. Returns whether it had any.
pub(crate) fn from_journal(host: &dyn Host, home: Option<&str>, journal: Journal<'_>, out: &mut Effects) -> bool {
    let Some(content) = read(host, home, journal.session) else { return false };
    let shutdown = totals(&content).next_back();
    shutdown.is_some_and(|(timestamp, data)| timestamp >= journal.since && accounting(data, journal.scope, out))
}

/// Reports what this run added to a session that it continued, if the journal has the totals of before and of now. So
/// the host need not know the session's past.
pub(crate) fn added(host: &dyn Host, home: Option<&str>, journal: Journal<'_>, out: &mut Effects) {
    let Some(content) = read(host, home, journal.session) else { return };
    let now = totals(&content).next_back().filter(|(timestamp, _)| *timestamp >= journal.since);
    let before = totals(&content).rfind(|(timestamp, _)| *timestamp < journal.since);
    let (Some((_, now)), Some((_, before))) = (now, before) else { return };
    let difference =
        |now: Json<'_>, before: Json<'_>| now.u64().map(|now| now.saturating_sub(before.u64().unwrap_or(0)));
    for (model, metrics) in now.get("modelMetrics").fields() {
        let earlier = before.get("modelMetrics").fields().find(|(name, _)| *name == model);
        let figure = |key: &str| {
            let earlier = earlier.map_or(Json::parse(""), |(_, metrics)| metrics.at(&["usage", key]));
            difference(metrics.at(&["usage", key]), earlier)
        };
        out.usage(Usage {
            model: Some(unescape(model).into_owned()),
            input: figure("inputTokens"),
            output: figure("outputTokens"),
            cache_read: figure("cacheReadTokens"),
            cache_write: figure("cacheWriteTokens"),
            reasoning: figure("reasoningTokens"),
            ..Usage::new(UsageScope::TurnTotal, ACCOUNTING, INPUT_INCLUDES_CACHED)
        });
    }
    let more = |key: &str| Some((now.get(key).f64()? - before.get(key).f64()?).max(0.0));
    let units = more("totalPremiumRequests").map(premium).into_iter().collect();
    let api_millis = more("totalApiDurationMs").and_then(whole);
    out.usage(Usage { units, api_millis, ..Usage::new(UsageScope::TurnTotal, "result", INPUT_INCLUDES_CACHED) });
}

/// Whether the session had a prompt before this run, if its journal can be read.
pub(crate) fn has_history(host: &dyn Host, home: Option<&str>, session: &str, since: &str) -> Option<bool> {
    let content = read(host, home, session)?;
    let mut prompts = content.lines().map(Json::parse).filter(|line| line.get("type").is("user.message"));
    Some(prompts.any(|line| line.get("timestamp").name().is_some_and(|timestamp| timestamp < since)))
}

fn read(host: &dyn Host, home: Option<&str>, session: &str) -> Option<String> {
    let folder = login::folder(host, home)?;
    // The id came from the agent: it must not point outside of the folder.
    if session.contains(['/', '\\']) || text::contains(session, "..") {
        return None;
    }
    let Ok(content) = host.read_file(&format!("{folder}/session-state/{session}/events.jsonl")) else {
        host.log(LogLevel::Debug, "the session's journal cannot be read, so its token counts are unknown");
        return None;
    };
    Some(String::from_utf8_lossy(&content).into_owned())
}

/// The totals that each process of a session wrote to its journal, with their timestamps.
fn totals(content: &str) -> impl DoubleEndedIterator<Item = (&str, Json<'_>)> {
    let ends = content.lines().map(Json::parse).filter(|line| line.get("type").is("session.shutdown"));
    ends.filter_map(|line| Some((line.get("timestamp").name()?, line.get("data"))))
}
