//! Finding the CLI: its program, its version, and what that version can do.

use crate::command::NO_AUTO_UPDATE;
use crate::features::{self, Features};
use crate::info::{INSTALL, WINGET};
use crate::login;
use wharf_adapter::{
    Binary, Environment, Failure, FoundProgram, Host, HostError, LogLevel, Output, Probe, Support, Version, locate,
    text,
};

/// A flag of every turn, which the first versions did not have.
const OUTPUT_FORMAT: &str = "--output-format";

/// The first run unpacks 235 MB, which took 10 s on a loaded machine.
const PROBE_MILLIS: u32 = 40_000;

/// Tries in this order: the program that the user named; `copilot` in PATH, or the program that npm's loader there would
/// start; `WinGet`'s link; `gh copilot`.
pub(crate) fn resolve(host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
    let mut binary = find(host, environment)?;
    if binary.version.is_none() {
        binary.version = printed_version(host, &binary);
    }
    let Some(version) = binary.version.as_deref().and_then(Version::find) else {
        // What all versions have: it may be asked without being allowed to look.
        Features::of(&binary).transports(&mut binary);
        return Ok(binary);
    };
    // As `gh copilot` none was tested.
    if binary.leading_args.is_empty() {
        binary.set_version(Some(version), features::TESTED, &[], INSTALL);
    }
    // For versions that were not measured, the help text shows which flags exist.
    let measured = version == features::OLDEST || features::is_new(&binary);
    let help = if measured { None } else { output(host, &binary, "--help").ok() };
    let help = help.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if binary.support == Support::OlderUntested && !help.is_empty() && !text::contains(&help, OUTPUT_FORMAT) {
        binary.support = Support::Unsupported;
        binary.note(LogLevel::Error, format!("it has no {OUTPUT_FORMAT}, which every turn needs"), Some(INSTALL));
    }
    Features::from_help(&binary, &help).transports(&mut binary);
    binary.login = login::check(host, environment.home.as_deref(), &mut binary);
    Ok(binary)
}

fn find(host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
    if let Some(named) = &environment.program {
        let mut binary = Binary::at(locate(host, environment, &[], INSTALL)?);
        // The user chose it, so it is used; but with a warning.
        if host.find_program(named).is_ok_and(|found| loader_scope(&found).is_some()) {
            note_loader(&mut binary);
        }
        return Ok(binary);
    }
    if let Ok(found) = host.find_program("copilot") {
        return Ok(without_loader(host, environment, found));
    }
    let winget =
        environment.home.as_deref().filter(|_| environment.os == "windows").map(|home| format!("{home}/{WINGET}"));
    if let Some(found) = winget.and_then(|path| host.find_program(&path).ok()) {
        return Ok(Binary::at(found.path));
    }
    if let Some(binary) = gh_copilot(host) {
        return Ok(binary);
    }
    locate(host, environment, &["copilot"], INSTALL).map(Binary::at)
}

/// Replaces npm's loader by the program that it would start: signals to the loader do not reach the agent.
fn without_loader(host: &dyn Host, environment: &Environment, found: FoundProgram) -> Binary {
    let Some(scope) = loader_scope(&found) else { return Binary::at(found.path) };
    let native = native_paths(&scope, &environment.os, &environment.arch);
    if let Some(native) = native.iter().find_map(|path| host.find_program(path).ok()) {
        return Binary::at(native.path);
    }
    let mut binary = Binary::at(found.path);
    note_loader(&mut binary);
    binary
}

fn note_loader(binary: &mut Binary) {
    let fix = "install the native package for this platform, or configure its program";
    binary.note(LogLevel::Warn, "this is npm's loader: signals to it do not reach the agent", Some(fix));
}

/// The folder `…/node_modules/@github` of npm's loader or its bundle. On Windows npm installs a script instead of a link.
fn loader_scope(found: &FoundProgram) -> Option<String> {
    let path = found.real_path.replace('\\', "/");
    let (folder, file) = path.rsplit_once('/')?;
    match file {
        "npm-loader.js" | "index.js" => folder.strip_suffix("/copilot").filter(|scope| scope.ends_with("/@github")),
        "copilot.cmd" | "copilot.ps1" => return Some(format!("{folder}/node_modules/@github")),
        _ => None,
    }
    .map(str::to_owned)
}

/// Where npm may have installed the executable for this platform: next to the loader's package, or inside it.
fn native_paths(scope: &str, os: &str, arch: &str) -> Vec<String> {
    let systems: &[&str] = match os {
        "linux" => &["linux", "linuxmusl"],
        "macos" => &["darwin"],
        "windows" => &["win32"],
        _ => &[],
    };
    let arch = if arch == "aarch64" { "arm64" } else { "x64" };
    let program = if os == "windows" { "copilot.exe" } else { "copilot" };
    let mut paths = vec![];
    for place in ["", "/copilot/node_modules/@github"] {
        for system in systems {
            paths.push(format!("{scope}{place}/copilot-{system}-{arch}/{program}"));
        }
    }
    paths
}

/// GitHub's CLI can include Copilot. An older extension of the same name is a different program.
fn gh_copilot(host: &dyn Host) -> Option<Binary> {
    let program = host.find_program("gh").ok()?.path;
    let leading_args = vec!["copilot".to_owned()];
    let mut binary = Binary { leading_args, ..Binary::at(program) };
    let output = output(host, &binary, "--version").ok().filter(|output| output.code == Some(0))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !text::contains(&text, "GitHub Copilot CLI") {
        return None;
    }
    binary.version = Some(Version::find(&text)?.to_string());
    binary.note(LogLevel::Warn, "found as `gh copilot`, which was not tested", Some(INSTALL));
    Some(binary)
}

/// Runs a probe as turns are run: without `--no-auto-update` the program starts the newest version that was ever unpacked
/// below the cache folder, which need not be the one that a turn gets. A program that does not know the flag has no such
/// cache.
fn output(host: &dyn Host, binary: &Binary, flag: &str) -> Result<Output, HostError> {
    let probe = Probe::new(host, binary).timeout_ms(PROBE_MILLIS);
    // `gh` handles this flag itself unless it follows two dashes. It also handles `--remove`; no turn uses either.
    let dashes: &[&str] = if flag == "--help" && !binary.leading_args.is_empty() { &["--"] } else { &[] };
    let run = |flags: &[&str]| probe.run(&[dashes, flags].concat());
    let output = run(&[NO_AUTO_UPDATE, flag])?;
    let refused = output.code != Some(0) && text::contains(&String::from_utf8_lossy(&output.stderr), NO_AUTO_UPDATE);
    if refused { run(&[flag]) } else { Ok(output) }
}

/// The version that the program prints. If it prints none, the host says why the program cannot be used.
fn printed_version(host: &dyn Host, binary: &Binary) -> Option<String> {
    let output = output(host, binary, "--version").ok().filter(|output| output.code == Some(0))?;
    Version::find(&String::from_utf8_lossy(&output.stdout)).map(|version| version.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::{FakeHost, environment};
    use wharf_adapter::{Capabilities, ErrorClass, Login, Retry};

    const NEW: &str = "GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.\n";

    #[test]
    fn a_program_in_path_is_used() {
        let host = FakeHost::default().program("copilot", "/usr/bin/copilot").output(
            "/usr/bin/copilot --no-auto-update --version",
            0,
            NEW,
        );
        let binary = resolve(&host, &environment()).expect("a program");
        assert_eq!((binary.program.as_str(), binary.version.as_deref()), ("/usr/bin/copilot", Some("1.0.102")));
        assert_eq!(binary.support, Support::Tested);
        assert!(binary.can(Capabilities::CHOOSE_SESSION_ID) && binary.leading_args.is_empty());
    }

    #[test]
    fn a_program_that_the_user_named_is_used() {
        let host = FakeHost::default()
            .program("copilot", "/usr/bin/copilot")
            .program("/opt/copilot", "/opt/copilot")
            .output("/opt/copilot --no-auto-update --version", 0, "GitHub Copilot CLI 1.0.35.");
        let named = Environment { program: Some("/opt/copilot".into()), ..environment() };
        let binary = resolve(&host, &named).expect("a program");
        assert_eq!((binary.program.as_str(), binary.version.as_deref()), ("/opt/copilot", Some("1.0.35")));
        assert!(!binary.can(Capabilities::CHOOSE_SESSION_ID));
        let missing = Environment { program: Some("/nowhere".into()), ..environment() };
        assert_eq!(resolve(&host, &missing).map_err(|failure| failure.class), Err(ErrorClass::NotFound));
    }

    #[test]
    fn npms_loader_is_replaced() {
        let loader = "/usr/lib/node_modules/@github/copilot/npm-loader.js";
        for native in [
            "/usr/lib/node_modules/@github/copilot-linux-x64/copilot",
            "/usr/lib/node_modules/@github/copilot-linuxmusl-x64/copilot",
            "/usr/lib/node_modules/@github/copilot/node_modules/@github/copilot-linux-x64/copilot",
        ] {
            let mut host = FakeHost::default().program(native, native).output(
                &format!("{native} --no-auto-update --version"),
                0,
                NEW,
            );
            host.programs.insert("copilot".into(), ("/usr/bin/copilot".into(), loader.into()));
            assert_eq!(resolve(&host, &environment()).expect("a program").program, native);
        }
        let mut host = FakeHost::default().output("/usr/bin/copilot --no-auto-update --version", 0, NEW);
        host.programs.insert("copilot".into(), ("/usr/bin/copilot".into(), loader.into()));
        let binary = resolve(&host, &environment()).expect("the loader");
        assert_eq!(binary.program, "/usr/bin/copilot");
        assert!(binary.notes.iter().any(|note| note.text.contains("loader")));
    }

    #[test]
    fn npms_script_on_windows_is_replaced_too() {
        let native = "C:/npm/node_modules/@github/copilot/node_modules/@github/copilot-win32-x64/copilot.exe";
        let mut host =
            FakeHost::default().program(native, native).output(&format!("{native} --no-auto-update --version"), 0, NEW);
        host.programs.insert("copilot".into(), ("C:\\npm\\copilot.cmd".into(), "C:\\npm\\copilot.cmd".into()));
        let windows = Environment { os: "windows".into(), ..environment() };
        assert_eq!(resolve(&host, &windows).expect("a program").program, native);
    }

    #[test]
    fn the_help_text_of_versions_in_between_is_read() {
        let host = FakeHost::default()
            .program("copilot", "/usr/bin/copilot")
            .output("/usr/bin/copilot --no-auto-update --version", 0, "GitHub Copilot CLI 1.0.60.")
            .output("/usr/bin/copilot --no-auto-update --help", 0, "  --session-id <id>");
        let found = resolve(&host, &environment()).expect("a program");
        assert!(found.can(Capabilities::CHOOSE_SESSION_ID));
        assert!(!found.can(Capabilities::TOKEN_USAGE));
    }

    #[test]
    fn winget_and_gh_are_the_last_fallbacks() {
        let link = "C:/Users/u/AppData/Local/Microsoft/WinGet/Links/copilot.exe";
        let host =
            FakeHost::default().program(link, link).output(&format!("{link} --no-auto-update --version"), 0, NEW);
        let windows = Environment { os: "windows".into(), home: Some("C:/Users/u".into()), ..environment() };
        assert_eq!(resolve(&host, &windows).expect("a program").program, link);

        let gh = |prints| {
            FakeHost::default().program("gh", "/bin/gh").output("/bin/gh copilot --no-auto-update --version", 0, prints)
        };
        let binary = resolve(&gh(NEW), &environment()).expect("a program");
        assert_eq!((binary.program.as_str(), binary.leading_args.as_slice()), ("/bin/gh", &["copilot".to_owned()][..]));
        assert_eq!(binary.support, Support::BestEffort);

        let host = gh("GitHub Copilot CLI 1.0.60.").output(
            "/bin/gh copilot -- --no-auto-update --help",
            0,
            "  --session-id <id>",
        );
        let found = resolve(&host, &environment()).expect("a program");
        assert!(found.can(Capabilities::CHOOSE_SESSION_ID), "the CLI's own help is read, not gh's");

        let failure = resolve(&gh("version 1.0.5 (2024-01-01)"), &environment()).expect_err("another program");
        assert_eq!(failure.retry, Retry::AfterUserAction(INSTALL.to_owned()));
    }

    #[test]
    fn nothing_is_claimed_of_a_program_that_prints_no_version() {
        let output = |code, text: &str, timed_out| Output { code, stdout: text.into(), stderr: vec![], timed_out };
        for output in [output(Some(1), "1.0.102", false), output(None, "", true), output(Some(0), "hello", false)] {
            let mut host =
                FakeHost::default().program("copilot", "/usr/bin/copilot").with_variable("GH_TOKEN", "gho_x");
            host.outputs.insert("/usr/bin/copilot --no-auto-update --version".into(), output);
            let binary = resolve(&host, &environment()).expect("a program");
            assert!(!binary.can(Capabilities::CHOOSE_SESSION_ID));
            assert_eq!((binary.version, binary.support, binary.login), (None, Support::BestEffort, Login::Unknown));
        }
    }

    #[test]
    fn a_version_without_json_output_is_unsupported() {
        for (help, support) in
            [("  --model <model>", Support::Unsupported), ("  --output-format <format>", Support::OlderUntested)]
        {
            let host = FakeHost::default()
                .program("copilot", "/usr/bin/copilot")
                .output("/usr/bin/copilot --no-auto-update --version", 0, "0.0.340")
                .output("/usr/bin/copilot --no-auto-update --help", 0, help);
            assert_eq!(resolve(&host, &environment()).expect("a program").support, support);
        }
    }

    /// The launcher of 1.0.60, with 1.0.92 in its cache: only the flag makes it start itself.
    #[test]
    fn a_copilot_that_updated_itself_is_probed_as_the_version_that_turns_run() {
        let host = FakeHost::default()
            .program("copilot", "/usr/bin/copilot")
            .output("/usr/bin/copilot --version", 0, "GitHub Copilot CLI 1.0.92.")
            .output("/usr/bin/copilot --help", 0, "  --session-id <id>\n  --usage-output-file <file>")
            .output("/usr/bin/copilot --no-auto-update --version", 0, "GitHub Copilot CLI 1.0.60.")
            .output("/usr/bin/copilot --no-auto-update --help", 0, "  --session-id <id>");
        let binary = resolve(&host, &environment()).expect("a program");
        assert_eq!(binary.version.as_deref(), Some("1.0.60"));
        assert!(!binary.can(Capabilities::TOKEN_USAGE), "1.0.60 has no usage file");
    }

    #[test]
    fn a_version_without_the_flag_against_updates_is_still_probed() {
        let mut host = FakeHost::default().program("copilot", "/usr/bin/copilot").output(
            "/usr/bin/copilot --version",
            0,
            "0.0.300",
        );
        let stderr = "error: unknown option '--no-auto-update'\n".into();
        let refused = Output { code: Some(1), stdout: vec![], stderr, timed_out: false };
        host.outputs.insert("/usr/bin/copilot --no-auto-update --version".into(), refused);
        assert_eq!(resolve(&host, &environment()).expect("a program").version.as_deref(), Some("0.0.300"));
    }
}
