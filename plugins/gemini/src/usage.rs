//! Token counts of a result.
//!
//! `stats` covers the process, which is one turn. `input_tokens` includes what was cached, `input` does not. Thoughts are in
//! `total_tokens` only.

use wharf_adapter::{Effects, Json, Usage, UsageScope};

/// Whether `input_tokens` includes the cached tokens.
const INPUT_INCLUDES_CACHED: bool = true;

/// Reports the figures of a result: by model, or in sum if no model is named.
pub(crate) fn report(stats: Json<'_>, out: &mut Effects) {
    let mut is_by_model = false;
    for (name, figures) in stats.get("models").fields() {
        is_by_model |= add(figures, Some(wharf_adapter::json::unescape(name).into_owned()), out);
    }
    if !is_by_model {
        add(stats, None, out);
    }
}

fn add(figures: Json<'_>, model: Option<String>, out: &mut Effects) -> bool {
    let [input, output, cached] = ["input_tokens", "output_tokens", "cached"].map(|key| figures.get(key).u64());
    let is_known = input.is_some() || output.is_some();
    if is_known {
        let usage = Usage::new(UsageScope::TurnTotal, "result", INPUT_INCLUDES_CACHED);
        out.usage(Usage { model, input, output, cache_read: cached, ..usage });
    }
    is_known
}
