//! The packages in `tests/guests`: components that misbehave, for the tests.

use std::fs;
use std::path::Path;

/// The names of the packages in a folder's subfolders, sorted.
pub(crate) fn packages(folder: &Path) -> Result<Vec<String>, String> {
    let listing = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let manifests = listing.filter_map(|entry| Some(entry.ok()?.path().join("Cargo.toml")));
    let mut names = Vec::new();
    for manifest in manifests.filter(|manifest| manifest.is_file()) {
        let text =
            fs::read_to_string(&manifest).map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
        let name = package_name(&text).ok_or_else(|| format!("{} has no package name", manifest.display()))?;
        names.push(name.to_owned());
    }
    names.sort();
    Ok(names)
}

/// The `name` in `[package]`. It reads just enough TOML for the manifests of this repository.
fn package_name(manifest: &str) -> Option<&str> {
    let lines = manifest.lines().map(str::trim);
    let mut package = lines.skip_while(|line| *line != "[package]").skip(1).take_while(|line| !line.starts_with('['));
    package.find_map(|line| {
        line.strip_prefix("name")?.trim_start().strip_prefix('=')?.trim().strip_prefix('"')?.strip_suffix('"')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_package() {
        for (manifest, name) in [
            ("[package]\nname = \"a-guest\"\nversion = \"1\"\n", Some("a-guest")),
            ("[lib]\nname = \"other\"\n\n[package]\nedition = \"2024\"\nname=\"b\"\n", Some("b")),
            ("[package]\nedition = \"2024\"\n[lib]\nname = \"other\"\n", None),
            ("[workspace]\n", None),
        ] {
            assert_eq!(package_name(manifest), name, "{manifest}");
        }
    }

    #[test]
    fn every_guest_of_the_repository_is_found() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests");
        let folders = fs::read_dir(&folder).expect("there are guests").count();
        let names = packages(&folder).expect("they have names");
        assert!(folders > 0 && names.len() == folders, "{names:?}");
    }
}
