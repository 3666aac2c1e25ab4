//! Labels on the command line: `--label task=42`.

use wharf::{Error, Labels, Result};

/// The labels that were given as NAME=VALUE.
pub(crate) fn labels(given: &[String]) -> Result<Labels> {
    let mut labels = Labels::new();
    for label in given {
        let (name, value) = label
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| Error::invalid(format!("`{label}` is not a label")).with_hint("write it as NAME=VALUE"))?;
        if labels.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Error::invalid(format!("the label `{name}` is given twice")).with_hint("give each label once"));
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_a_name_and_a_value() {
        let given = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        let parsed = labels(&given(&["task=42", "note=a=b", "empty="])).expect("labels");
        assert_eq!(parsed.get("note").map(String::as_str), Some("a=b"));
        assert_eq!(parsed.get("empty").map(String::as_str), Some(""));
        for invalid in [&["task"][..], &["=42"], &[" =1"], &["a=1", "a=2"]] {
            assert!(labels(&given(invalid)).is_err(), "{invalid:?}");
        }
    }
}
