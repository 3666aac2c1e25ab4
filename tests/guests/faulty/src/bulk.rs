//! JSON that is short as a text and large as a value. Neither an option nor a variable reaches `describe`, so a test
//! chooses the place by writing another word of the same length over [`PLACE`] in the component.

use std::hint::black_box;
use wharf_adapter::{Model, ModelList};

/// Where it is: `describe` and `models--` are the other two places.
const PLACE: &str = "bulk-in-nowhere-";

/// How many values the list has: in the host's memory they take many times the bytes of the text.
const VALUES: usize = 1 << 20;

fn is_in(place: &str) -> bool {
    black_box(PLACE).ends_with(place)
}

fn list() -> String {
    format!("[{}0]", "0,".repeat(VALUES))
}

/// The default of an option. It counts twice as much as the host allows.
pub(crate) fn default() -> Option<String> {
    is_in("describe").then(|| format!("[{0},{0},{0},{0}]", list()))
}

/// Four models, each with the list.
pub(crate) fn models() -> ModelList {
    if !is_in("models--") {
        return ModelList::Unsupported;
    }
    let model = |number: usize| Model {
        id: format!("m{number}"),
        name: "A model".to_owned(),
        vendor: None,
        efforts: vec![],
        context: None,
        is_default: false,
        extra: Some(list()),
    };
    ModelList::Models((0..4).map(model).collect())
}
