//! `wharf usage`: what the recorded runs have used.

use crate::host::host_without_project;
use crate::labels::labels;
use crate::ui::{BOLD, DIM, Shell, Text, foreign, ours, usage_text};
use clap::Args;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use wharf::session::{UsageGroup, UsageKey, UsageQuery};
use wharf::{Error, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct UsageArgs {
    /// What to add up by: day (UTC), adapter, model, label:NAME; several with commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "adapter,model")]
    by: Vec<String>,
    /// Only runs since then: a date (2026-11-18), a time (RFC 3339), or a duration before now (7d, 12h)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only runs of this adapter
    #[arg(short, long, value_name = "ADAPTER")]
    adapter: Option<String>,
    /// Only runs with this label, as NAME=VALUE; repeat it for several
    #[arg(long = "label", value_name = "NAME=VALUE")]
    labels: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn usage(args: &UsageArgs, shell: &Shell) -> Result<ExitCode> {
    let mut query = UsageQuery::default();
    query.by = args.by.iter().map(|key| key.parse()).collect::<Result<Vec<UsageKey>>>()?;
    query.since = args.since.as_deref().map(|text| since(text, SystemTime::now())).transpose()?;
    query.adapter.clone_from(&args.adapter);
    query.labels = labels(&args.labels)?;
    let groups = host_without_project()?.usage(&query)?;
    if args.json {
        return shell.json(&groups);
    }
    for group in &groups {
        shell.line(line(group, &query.by));
    }
    if groups.is_empty() {
        shell.say(ours("no recorded run matches"));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(group: &UsageGroup, by: &[UsageKey]) -> Text {
    let value = |key: &UsageKey| match group.group.get(&key.to_string()).cloned().flatten() {
        Some(value) => foreign(value),
        None => ours("(no ").foreign(key).ours(")"),
    };
    let mut parts = vec![foreign(group.runs).ours(if group.runs == 1 { " run" } else { " runs" })];
    parts.extend(Some(usage_text(&group.usage)).filter(|text| !text.is_empty()).map(foreign));
    let unknown = [(group.unknown_tokens, ours("tokens of ")), (group.unknown_cost, ours("cost of "))];
    let unknown = unknown.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(unknown.map(|(count, what)| what.foreign(count).ours(" unknown").in_style(DIM)));
    Text::joined(by.iter().map(value), " ").in_style(BOLD).ours(" ").then(Text::joined(parts, " · "))
}

/// The time that a text names.
fn since(text: &str, now: SystemTime) -> Result<SystemTime> {
    const DAY: Duration = Duration::from_hours(24);
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()).map(|days| DAY * days);
    let ago = days.or_else(|| wharf::parse_duration(text).ok()).and_then(|ago| now.checked_sub(ago));
    ago.or_else(|| wharf::parse_time(&format!("{text}T00:00:00Z"))).or_else(|| wharf::parse_time(text)).ok_or_else(
        || {
            Error::invalid(format!("`{text}` is not a time")).with_hint(
                "a date such as 2026-11-18, a time such as 2026-11-18T08:00:00Z, or a duration such as 7d or 12h",
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_a_time_or_a_duration_before_now() {
        let now = wharf::parse_time("2026-11-18T12:00:00Z").expect("a time");
        for (text, time) in [
            ("7d", "2026-11-11T12:00:00Z"),
            ("1h30m", "2026-11-18T10:30:00Z"),
            ("2026-11-01", "2026-11-01T00:00:00Z"),
            ("2026-11-01T08:00:00+01:00", "2026-11-01T07:00:00Z"),
        ] {
            assert_eq!(since(text, now).ok(), wharf::parse_time(time), "{text}");
        }
        for invalid in ["", "yesterday", "-1", "2026-13-01", "d", "99999999999d"] {
            assert!(since(invalid, now).is_err(), "{invalid}");
        }
    }
}
