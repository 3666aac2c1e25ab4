//! What other files claim about the adapter.

use wharf_adapter::{Adapter, AdapterInfo};
use wharf_adapter_qwen::Qwen;

fn info() -> AdapterInfo {
    Qwen::describe()
}

#[test]
fn the_bundled_grants_are_what_is_requested() {
    let grants = include_str!("../../grants.toml");
    let listed = |key: &str| -> Vec<String> {
        let rest = grants.split_once(&format!("\n{key} = [")).map(|(_, rest)| rest).unwrap_or_default();
        let inside = rest.split_once(']').map(|(inside, _)| inside).unwrap_or_default();
        inside.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let access = info().access;
    assert_eq!(listed("programs"), access.programs);
    assert_eq!(listed("origins"), access.origins);
    assert_eq!(listed("variables"), access.variables);
    assert_eq!(listed("files"), access.files);
}

#[test]
fn the_page_names_the_versions_that_were_tested() {
    let page = include_str!("../../../../docs/adapters/qwen.md");
    for version in info().tested_with.split(", ") {
        assert!(page.contains(version), "{version}");
    }
}
