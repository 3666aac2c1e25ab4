//! Types of events that an adapter knows and does not report.

/// A closed list of native types. A type that is neither handled nor on the list is reported with
/// [`Effects::unknown`](crate::Effects::unknown), so that a change in a new version of the agent is noticed.
#[derive(Debug, Clone, Copy)]
pub struct Ignored(&'static [&'static str]);

impl Ignored {
    /// No types.
    pub const NONE: Ignored = Ignored::new(&[]);

    /// These types. The list must be sorted, without duplicates: in a constant, anything else does not compile.
    pub const fn new(types: &'static [&'static str]) -> Ignored {
        let mut at = 1;
        while at < types.len() {
            assert!(is_before(types[at - 1].as_bytes(), types[at].as_bytes()), "the list is not sorted");
            at += 1;
        }
        Ignored(types)
    }

    /// Whether events of this type are ignored.
    pub fn contains(self, kind: &str) -> bool {
        self.0.binary_search(&kind).is_ok()
    }

    /// The types, sorted.
    pub fn types(self) -> &'static [&'static str] {
        self.0
    }
}

/// Byte order, in a constant.
const fn is_before(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return one[at] < other[at];
        }
        at += 1;
    }
    one.len() < other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_and_closed() {
        const LIST: Ignored = Ignored::new(&["a", "a.b", "ab", "b"]);
        assert!(LIST.types().is_sorted() && LIST.types().iter().all(|kind| LIST.contains(kind)));
        assert!(!LIST.contains("c") && !LIST.contains("") && !Ignored::NONE.contains("a"));
    }

    #[test]
    #[should_panic(expected = "not sorted")]
    fn an_unsorted_list_is_refused() {
        let _ = Ignored::new(&["b", "a"]);
    }

    #[test]
    #[should_panic(expected = "not sorted")]
    fn a_type_that_is_listed_twice_is_refused() {
        let _ = Ignored::new(&["a", "a"]);
    }
}
