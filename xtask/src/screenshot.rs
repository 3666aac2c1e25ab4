//! The picture of a terminal in the README: `wharf demo`, as SVG.
//!
//! What differs between two runs is replaced, so that the file changes only when the output changes.

use crate::command::{Command, Error, print};
use crate::tasks;
use crate::workspace::Workspace;
use anstyle_svg::{Term, WIN10_CONSOLE};
use std::fs;
use std::path::Path;

/// The picture.
const PICTURE: &str = "docs/images/demo.svg";

/// What is in the folder that the demo works in.
const FILES: [&str; 3] = ["Cargo.toml", "README.md", "main.rs"];

/// The session in the picture.
const SESSION: &str = "0d5c21f2-6b1e-4f0a-9c3d-5e8a7b9f1c42";

/// Runs the demo and writes the picture.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    tasks::build_wharf().run(workspace)?;
    let folder = workspace.target.join("screenshot");
    prepare(&folder).map_err(|error| Error::Other(format!("cannot prepare {}: {error}", folder.display())))?;
    let output = demo(workspace, &folder).output(workspace)?;
    let picture = workspace.root.join(PICTURE);
    picture
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&picture, svg(&stable(&output))))
        .map_err(|error| Error::Other(format!("cannot write {PICTURE}: {error}")))?;
    print(PICTURE);
    Ok(())
}

/// Creates an empty folder with the workspace of the demo in it.
fn prepare(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder.join("project"))?;
    FILES.into_iter().try_for_each(|file| fs::write(folder.join("project").join(file), ""))
}

/// The demo, with stdout and stderr in the order in which they are written. The user's own configuration and data are
/// not touched.
fn demo(workspace: &Workspace, folder: &Path) -> Command {
    let script = "cd \"$1\" && exec \"$2\" demo --color always 2>&1";
    Command::new("sh", &["-c", script, "sh"])
        .args([folder.join("project"), workspace.debug_program("wharf")])
        .variable("WHARF_CONFIG", folder.join("config.toml"))
        .variable("WHARF_DATA", folder.join("data"))
        .variable("WHARF_CACHE", folder.join("cache"))
}

/// The output with a fixed session, and without the time that the tools took.
fn stable(output: &str) -> String {
    let mut words: Vec<String> = output.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        let is_id = |word: &str| word.is_char_boundary(SESSION.len()) && word.matches('-').count() == 4;
        if words[at].starts_with("ms") && words[at - 1].parse::<u32>().is_ok() {
            "1".clone_into(&mut words[at - 1]);
        } else if words[at - 1] == "session" && is_id(&words[at]) {
            words[at].replace_range(..SESSION.len(), SESSION);
        }
    }
    words.join(" ")
}

/// With a view box, so that a narrow page shows a smaller picture and not a part of it. Dim text is dim by its fill: not
/// every renderer applies the opacity of a part of a text.
fn svg(output: &str) -> String {
    let svg = Term::new().palette(WIN10_CONSOLE).min_width_px(0).render_svg(output.trim_end());
    let sizes: Vec<&str> = svg.splitn(5, '"').skip(1).step_by(2).map(|size| size.trim_end_matches("px")).collect();
    let view_box = format!("<svg viewBox=\"0 0 {}\" role=\"img\" ", sizes.get(..2).unwrap_or_default().join(" "));
    svg.replacen("<svg ", &view_box, 1).replacen(".dimmed { opacity: 0.4;", ".dimmed { fill-opacity: 0.6;", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_two_runs_is_replaced() {
        let output = "✓ list exit 0 17 ms\u{1b}[0m 3 entries\n● done · session 5328a744-edcd-4c65-928b-2a7b7b1e68f7\n";
        let expected = format!("✓ list exit 0 1 ms\u{1b}[0m 3 entries\n● done · session {SESSION}\n");
        assert_eq!(stable(output), expected);
        assert_eq!(stable(&expected), expected);
        assert_eq!(stable("a session of work, 3 ms"), "a session of work, 1 ms");
    }

    #[test]
    fn the_picture_has_a_view_box_and_escaped_text() {
        let svg = svg("\u{1b}[2m$ wharf <run>\u{1b}[0m\n");
        assert!(svg.starts_with("<svg viewBox=\"0 0 130 38\" role=\"img\" width=\"130px\" height=\"38px\""), "{svg}");
        assert!(svg.contains(".dimmed { fill-opacity: 0.6; }"), "{svg}");
        assert!(svg.contains("$ wharf &lt;run&gt;"), "{svg}");
    }
}
