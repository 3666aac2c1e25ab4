//! The words of the formats that wharf writes: field names and fixed values of events, turns and records.
//!
//! Everybody knows them, so none of them is a secret; and replacing one would make a record unreadable.

use crate::model::{Turn, schema};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Words of records that are neither in the schema of events nor among the fields of a turn.
const OTHERS: [&str; 12] = [
    "allow-all",
    "by-itself",
    "content-length",
    "exit_behavior",
    "environment",
    "frame_limit",
    "leading_args",
    "most-recent",
    "next-turn",
    "used_before",
    "when-stdin-closes",
    "when-stopped",
];

static WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut words: HashSet<String> = OTHERS.map(str::to_owned).into();
    collect(&schema(), &mut words);
    collect(&serde_json::to_value(Turn::new("")).unwrap_or_default(), &mut words);
    words
});

/// Whether a value is one of the words.
pub(super) fn contains(value: &str) -> bool {
    // Most values need no look at the words, which take a moment to collect.
    let plain = value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_');
    plain && WORDS.contains(value)
}

/// All keys, and all strings that may be fixed values. Descriptions come along, and are no plain words.
fn collect(value: &Value, words: &mut HashSet<String>) {
    match value {
        Value::String(text) => drop(words.insert(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            words.insert(name.clone());
            collect(field, words);
        }),
        _ => {}
    }
}
