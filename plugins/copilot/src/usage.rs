//! Token counts, from wherever this version of the CLI has them.
//!
//! Newer versions count per model in one shape, which stands in `session.usage_checkpoint` events, in the usage file
//! and at the end of the session's journal. All three describe the same, so they share a source: the last one that is
//! read replaces the others. Measured: 1.0.102 counts over all of a session, in whichever process; 1.0.35 anew in each.

use crate::login;
use wharf_adapter::json::unescape;
use wharf_adapter::{Effects, Host, Json, LogLevel, Usage, UsageScope};

/// The name of the launch file that the CLI writes its accounting to.
pub(crate) const FILE: &str = "usage.json";

/// The CLI's input figure is the whole prompt, with cache reads and cache writes, from every provider. A provider that
/// counts them apart (1,234 input, 1,000 read, 11 written) is reported by the CLI as 2,245 input. The figures of the
/// protocol follow the same rule.
pub(crate) const INPUT_INCLUDES_CACHED: bool = true;

/// Which tokens of a run were counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counted {
    /// None.
    #[default]
    Nothing,
    /// Those that the model wrote.
    Written,
    /// Those that were sent to it too.
    All,
}

/// The source of everything that has the shape of `modelMetrics`.
const ACCOUNTING: &str = "accounting";

/// Tokens of one assistant message, in versions that count them there.
pub(crate) fn message(output: Json<'_>, model: Option<&str>, out: &mut Effects) -> bool {
    let Some(output) = output.u64() else { return false };
    let model = model.map(str::to_owned);
    out.usage(Usage { model, output: Some(output), ..Usage::new(UsageScope::Delta, "message", INPUT_INCLUDES_CACHED) });
    true
}

/// What the `result` line counts: requests and time, no tokens.
pub(crate) fn result(usage: Json<'_>, scope: UsageScope, out: &mut Effects) {
    let units: Vec<_> = usage.get("premiumRequests").f64().map(premium).into_iter().collect();
    let api_millis = usage.get("totalApiDurationMs").f64().and_then(whole);
    if !units.is_empty() || api_millis.is_some() {
        out.usage(Usage { units, api_millis, ..Usage::new(scope, "result", INPUT_INCLUDES_CACHED) });
    }
}

/// The premium requests of a run that ended before its `result` line.
pub(crate) fn premium_requests(count: f64, scope: UsageScope, out: &mut Effects) {
    out.usage(Usage { units: vec![premium(count)], ..Usage::new(scope, "result", INPUT_INCLUDES_CACHED) });
}

fn premium(count: f64) -> (String, f64) {
    ("premium-requests".to_owned(), count)
}

/// Milliseconds may have a fraction.
fn whole(millis: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the guard")]
    (0.0..9.0e15).contains(&millis).then_some(millis.round() as u64)
}

/// An accounting: tokens by model, and the credits where they are known. Says whether it had any.
pub(crate) fn accounting(account: Json<'_>, scope: UsageScope, out: &mut Effects) -> bool {
    let mut any = false;
    for (model, metrics) in account.get("modelMetrics").fields() {
        let usage = metrics.get("usage");
        let Ok([input, output, read, write, reasoning]) =
            usage.pick(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens"])
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
    // "unavailable" comes with a zero that means nothing.
    let credits = account.get("totalNanoAiu").f64().filter(|_| !account.get("aiCreditsStatus").is("unavailable"));
    if let Some(nano) = credits.filter(|nano| *nano > 0.0) {
        let units = vec![("ai-credits".to_owned(), nano / 1e9)];
        out.usage(Usage { units, ..Usage::new(scope, ACCOUNTING, INPUT_INCLUDES_CACHED) });
    }
    any
}

/// The usage file, as the CLI left it.
pub(crate) fn from_file(host: &dyn Host, out: &mut Effects) -> bool {
    let Ok(content) = host.read_launch_file(FILE) else { return false };
    accounting(Json::parse(&String::from_utf8_lossy(&content)), UsageScope::SessionTotal, out)
}

/// A session's journal: whose it is, since when it is this run's, and what its figures count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Journal<'a> {
    pub(crate) session: &'a str,
    pub(crate) since: &'a str,
    pub(crate) scope: UsageScope,
}

/// The last accounting of a journal, unless it is older than this run.
pub(crate) fn from_journal(host: &dyn Host, home: Option<&str>, journal: Journal<'_>, out: &mut Effects) -> bool {
    let Some(content) = read(host, home, journal.session) else { return false };
    let shutdown = sums(&content).next_back();
    shutdown.is_some_and(|(stamp, data)| stamp >= journal.since && accounting(data, journal.scope, out))
}

/// What this run added to a session that goes on, where its journal has the sums of before and of now. Then nobody has
/// to know the session's past.
pub(crate) fn added(host: &dyn Host, home: Option<&str>, journal: Journal<'_>, out: &mut Effects) {
    let Some(content) = read(host, home, journal.session) else { return };
    let now = sums(&content).next_back().filter(|(stamp, _)| *stamp >= journal.since);
    let before = sums(&content).rfind(|(stamp, _)| *stamp < journal.since);
    let (Some((_, now)), Some((_, before))) = (now, before) else { return };
    let grown = |now: Json<'_>, before: Json<'_>| now.u64().map(|now| now.saturating_sub(before.u64().unwrap_or(0)));
    for (model, metrics) in now.get("modelMetrics").fields() {
        let earlier = before.get("modelMetrics").fields().find(|(name, _)| *name == model);
        let figure = |key: &str| {
            let earlier = earlier.map_or(Json::parse(""), |(_, metrics)| metrics.at(&["usage", key]));
            grown(metrics.at(&["usage", key]), earlier)
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

fn read(host: &dyn Host, home: Option<&str>, session: &str) -> Option<String> {
    let folder = login::folder(host, home)?;
    // The id came from the agent: it must not lead out of the folder.
    if session.contains(['/', '\\']) || session.contains("..") {
        return None;
    }
    let Ok(content) = host.read_file(&format!("{folder}/session-state/{session}/events.jsonl")) else {
        host.log(LogLevel::Debug, "the session's journal cannot be read, so its token counts are not known");
        return None;
    };
    Some(String::from_utf8_lossy(&content).into_owned())
}

/// The sums that each process of a session left in its journal, with their stamps.
fn sums(content: &str) -> impl DoubleEndedIterator<Item = (&str, Json<'_>)> {
    let ends = content.lines().map(Json::parse).filter(|line| line.get("type").is("session.shutdown"));
    ends.filter_map(|line| Some((line.get("timestamp").name()?, line.get("data"))))
}
