//! npm: which versions a package has, and how one is installed into a folder. With its own cache and prefix, and without
//! the packages' install scripts.

use super::content::Content;
use super::program::{self, Found};
use super::tool::{Base, Call, Ended, circumstance, last_lines};
use crate::agents::{Manifest, compare, is_preview};
use crate::error::{Error, Result};
use crate::packages::{Package, Registry};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wharf_core::model::parse_json;
use wharf_core::model::time::whole_millis;

/// How many versions an error names.
const NAMED: usize = 5;

/// The program `npm`.
pub(super) struct Npm<'a> {
    base: Base<'a>,
    program: PathBuf,
    cache: PathBuf,
}

/// What a registry says about a package.
#[derive(Debug, Deserialize)]
struct Versions {
    versions: Value,
    #[serde(default, rename = "dist-tags")]
    tags: BTreeMap<String, String>,
}

impl<'a> Npm<'a> {
    pub(super) fn find(base: Base<'a>, cache: &Path) -> Result<Npm<'a>> {
        let program = base.environment.find_program("npm").ok_or_else(|| {
            Error::system("installing an agent from npm", "there is no program `npm` in PATH")
                .with_hint("install Node.js, which includes npm: https://nodejs.org")
        })?;
        Ok(Npm { base, program, cache: cache.join("npm") })
    }

    /// The version to install: the one that was requested, by its number or by a tag such as `next`, or the latest.
    pub(super) async fn choose(&self, package: &Package, requested: Option<&str>) -> Result<String> {
        let name = package.name();
        (self.base.progress)(&format!("asking npm for the versions of {name}"));
        let folder = std::env::temp_dir();
        let ended = self.call(&["view", &name, "versions", "dist-tags", "--json"], &folder).await?;
        if !ended.success {
            return Err(failed(&format!("asking npm for the versions of {name}"), &ended));
        }
        let unreadable = |error: String| Error::system(format!("reading what npm says about {name}"), error);
        let value = parse_json(&ended.stdout).map_err(|error| unreadable(error.to_string()))?;
        let known: Versions = serde_json::from_value(value).map_err(|error| unreadable(error.to_string()))?;
        choose(&name, &known, requested)
    }

    pub(super) async fn install(&self, package: &Package, version: String, folder: &Path) -> Result<Content> {
        let name = package.name();
        let attempt = format!("installing {name} {version} with npm");
        (self.base.progress)(&attempt);
        let mut args = vec!["install".to_owned(), format!("{name}@{version}")];
        args.extend(package.companion.map(|companion| companion.package.to_owned()));
        args.push("--json".to_owned());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ended = self.call(&args, folder).await?;
        if !ended.success {
            return Err(failed(&attempt, &ended));
        }
        let is_program = |path: &Path| self.base.environment.find_program(&path.to_string_lossy()).is_some();
        let found = program::find(folder, package, is_program).ok_or_else(|| {
            let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
            Error::agent(format!("{name} {version} has no program `{}` for {os} on {arch}", package.program))
                .with_hint("install another version")
        })?;
        let Found { program, node } = found;
        if let Some(required) = &node {
            self.check_node(&name, required).await;
        }
        let companion = package.companion.map(|companion| {
            (companion.variable.to_owned(), PathBuf::from("node_modules/.bin").join(companion.program))
        });
        let installed = whole_millis(SystemTime::now());
        let manifest = Manifest { registry: Registry::Npm, package: name, program, node, installed, companion };
        Ok(Content { version, manifest })
    }

    async fn call(&self, args: &[&str], folder: &Path) -> Result<Ended> {
        let mut all: Vec<OsString> = args.iter().map(OsString::from).collect();
        // Whatever the user's configuration says: into this folder, quietly, and without running code of packages.
        let fixed = [
            "--ignore-scripts",
            "--global=false",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--fetch-retries=2",
            "--fetch-retry-mintimeout=1000",
            "--fetch-retry-maxtimeout=5000",
            "--loglevel=error",
            "--prefix",
        ];
        all.extend(fixed.iter().map(OsString::from));
        all.extend([folder.into(), OsString::from("--cache"), self.cache.clone().into_os_string()]);
        let call = Call { base: self.base, program: self.program.clone(), args: all, folder, variables: vec![] };
        call.run().await
    }

    /// Says so if the agent needs a newer Node.js than there is.
    async fn check_node(&self, name: &str, required: &str) {
        let Some(least) = least_major(required) else { return };
        let Some(node) = self.base.environment.find_program("node") else {
            (self.base.progress)(&format!("warning: {name} needs Node.js {required}, and there is no `node` in PATH"));
            return;
        };
        let folder = std::env::temp_dir();
        let args = vec!["--version".into()];
        let call = Call { base: self.base, program: node, args, folder: &folder, variables: vec![] };
        let version = call.run().await.map(|ended| ended.stdout.trim().to_owned()).unwrap_or_default();
        if version.strip_prefix('v').and_then(least_number).is_some_and(|major| major < least) {
            (self.base.progress)(&format!("warning: {name} needs Node.js {required}, and `node` in PATH is {version}"));
        }
    }
}

/// The version to install.
fn choose(name: &str, known: &Versions, requested: Option<&str>) -> Result<String> {
    // A package with one version has a text instead of a list.
    let mut versions: Vec<&str> = match &known.versions {
        Value::String(version) => vec![version],
        versions => versions.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    versions.sort_by(|a, b| compare(b, a));
    let latest = || known.tags.get("latest").map(String::as_str).or_else(|| versions.first().copied());
    let chosen = match requested {
        None => latest(),
        Some(requested) => {
            let exact = versions.iter().copied().find(|version| *version == requested);
            exact.or_else(|| known.tags.get(requested).map(String::as_str))
        }
    };
    chosen.map(str::to_owned).ok_or_else(|| match requested {
        None => Error::agent(format!("{name} has no version that can be installed")),
        Some(requested) => no_such_version(name, requested, &versions),
    })
}

/// An error that names some versions that exist, given from the newest to the oldest.
pub(super) fn no_such_version(name: &str, requested: &str, versions: &[&str]) -> Error {
    let released = versions.iter().filter(|version| !is_preview(version));
    // Those that look alike first: one may have been meant.
    let start = requested.rsplit_once('.').map_or(requested, |(start, _)| start);
    let alike =
        released.clone().filter(|version| version.strip_prefix(start).is_some_and(|rest| rest.starts_with('.')));
    let mut named: Vec<&str> = alike.copied().take(NAMED).collect();
    named.extend(released.copied().take(NAMED).filter(|version| !named.contains(version)).collect::<Vec<_>>());
    let error = Error::invalid(format!("{name} has no version {requested}"));
    if named.is_empty() { error } else { error.with_hint(format!("some that it has: {}", named.join(", "))) }
}

/// Why npm failed, in its own words where they help.
fn failed(attempt: &str, ended: &Ended) -> Error {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Report {
        error: Reason,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Reason {
        code: String,
        summary: String,
    }
    let report = parse_json(&ended.stdout).ok().and_then(|value| serde_json::from_value(value).ok());
    let Report { error: Reason { code, summary } } = report.unwrap_or_default();
    if let Some(error) = circumstance(attempt, &format!("{code} {summary} {}", ended.stderr)) {
        return error;
    }
    let summary = summary.lines().next().unwrap_or_default().trim();
    let reason = match (code.as_str(), summary) {
        ("E404", _) => "the registry has no such package".to_owned(),
        ("", "") => last_lines(&ended.stderr, 2),
        (code, summary) => format!("{summary} ({code})"),
    };
    let reason = if reason.is_empty() { "npm gave no reason".to_owned() } else { reason };
    Error::system(attempt, reason)
}

/// The least major version of a range such as `>=22` or `>=22.19.0`; none for other forms.
fn least_major(range: &str) -> Option<u32> {
    least_number(range.trim().strip_prefix(">=")?.trim_start())
}

fn least_number(text: &str) -> Option<u32> {
    text.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Versions {
        let versions = ["1.0.9", "1.0.10", "1.1.0-next.1", "1.1.0", "2.0.0", "2.1.0", "2.1.1", "3.0.0-beta"];
        let tags = [("latest", "2.1.1"), ("next", "3.0.0-beta")];
        let tags = tags.map(|(tag, version)| (tag.to_owned(), version.to_owned())).into();
        Versions { versions: serde_json::json!(versions), tags }
    }

    #[test]
    fn a_version_is_chosen_by_its_number_by_a_tag_or_by_default() {
        for (requested, expected) in [(None, "2.1.1"), (Some("1.0.9"), "1.0.9"), (Some("next"), "3.0.0-beta")] {
            assert_eq!(choose("p", &known(), requested).expect("a version"), expected);
        }
        let single = Versions { versions: serde_json::json!("1.0.0"), tags: BTreeMap::new() };
        assert_eq!(choose("p", &single, None).expect("a version"), "1.0.0");
        assert!(choose("p", &single, Some("2")).is_err());
    }

    #[test]
    fn an_unknown_version_is_refused_with_some_that_exist() {
        let error = choose("p", &known(), Some("1.0.11")).expect_err("refused");
        assert_eq!(error.to_string(), "p has no version 1.0.11");
        assert_eq!(error.hint(), Some("some that it has: 1.0.10, 1.0.9, 2.1.1, 2.1.0, 2.0.0, 1.1.0"));
    }

    #[test]
    fn why_npm_failed_is_told_in_words() {
        let report = |code: &str, summary: &str| {
            let stdout = serde_json::json!({"error": {"code": code, "summary": summary}}).to_string();
            failed("installing p", &Ended { success: false, stdout, stderr: String::new() })
        };
        for (code, summary, expected) in [
            ("ENOTFOUND", "getaddrinfo ENOTFOUND registry", "installing p: the registry of packages cannot be reached"),
            ("ENOSPC", "write", "installing p: the disk is full"),
            ("E404", "Not Found - GET …", "installing p: the registry has no such package"),
            ("EBADPLATFORM", "Unsupported platform\nmore", "installing p: Unsupported platform (EBADPLATFORM)"),
        ] {
            assert_eq!(report(code, summary).to_string(), expected);
        }
        let plain = |stderr: &str| {
            failed("x", &Ended { success: false, stdout: String::new(), stderr: stderr.to_owned() }).to_string()
        };
        assert_eq!(plain("one\n\ntwo\nthree\n"), "x: two; three");
        assert_eq!(plain(""), "x: npm gave no reason");
    }

    #[test]
    fn the_least_node_is_read_from_the_usual_form() {
        for (range, least) in [(">=22", Some(22)), (">= 22.19.0", Some(22)), ("^20 || >=22", None), ("", None)] {
            assert_eq!(least_major(range), least, "{range}");
        }
    }
}
