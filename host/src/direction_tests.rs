//! The direction of imports, checked in the sources of the workspace: no cycle between the files of a crate, no import
//! against the direction of the rooms, and WIT types in one folder only. Test code may import anything.
//!
//! A re-export of a child module (`pub use child::Item` in its parent) is not an import: it is how a room offers what
//! is inside. An import through a re-export is an import of the file that has the item.

mod graph;
mod source;

use graph::Graph;
use std::path::{Path, PathBuf};

/// A room, and the other rooms of its crate that it may import.
type Room = (&'static str, &'static [&'static str]);

/// The rooms of `wharf-core`, lowest first.
const CORE: &[Room] = &[("model", &[]), ("policy", &["model"]), ("stream", &["model"]), ("turn", &["model", "stream"])];

/// The rooms of `wharf`, lowest first. Those of the facade import anything; nothing imports them.
const HOST: &[Room] = &[
    ("error", &[]),
    ("disk", &[]),
    ("digest", &["disk"]),
    ("dirs", &["disk", "error"]),
    ("packages", &[]),
    ("agents", &["disk", "error", "packages"]),
    ("project", &[]),
    ("config", &["disk", "error", "project"]),
    ("temp_folder", &[]),
    ("guest", &["agents", "config", "digest", "disk", "error", "packages", "temp_folder"]),
    ("install", &["agents", "error", "guest", "packages"]),
    ("sessions", &["disk", "error"]),
    ("record", &["config", "digest", "disk", "error", "sessions"]),
    ("run", &["error", "guest", "record"]),
    (
        "launch",
        &[
            "agents",
            "config",
            "digest",
            "dirs",
            "disk",
            "error",
            "guest",
            "packages",
            "record",
            "run",
            "sessions",
            "temp_folder",
        ],
    ),
    ("replay", &["error", "guest", "launch", "record", "run"]),
    (
        "host",
        &["agents", "config", "dirs", "error", "guest", "install", "launch", "record", "replay", "run", "sessions"],
    ),
    ("measure", &["agents", "config", "error", "guest", "launch"]),
    ("adapter", &["guest"]),
    ("agent", &["agents", "packages"]),
    ("ask", &[]),
    ("event", &[]),
    ("recording", &["record", "replay"]),
    ("session", &["sessions"]),
];

/// The source folder of a crate of the workspace. A packaged crate does not have those of the others.
fn source_folder(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    folder.is_dir().then_some(folder)
}

fn graph(name: &str) -> Option<Graph> {
    Some(Graph::read(&source_folder(name)?))
}

#[test]
fn no_two_files_of_a_crate_import_each_other() {
    let mut cycles = Vec::new();
    for name in ["core", "host", "supervisor", "cli"] {
        let Some(graph) = graph(name) else { continue };
        assert!(graph.edges().count() > 10, "{name}: the imports were not found");
        cycles.extend(graph.cycles().iter().map(|cycle| format!("{name}: {}", cycle.join(" <-> "))));
    }
    assert!(cycles.is_empty(), "files that import each other:\n{}", cycles.join("\n"));
}

#[test]
fn imports_follow_the_direction_of_the_rooms() {
    for (name, rooms) in [("core", CORE), ("host", HOST)] {
        let Some(graph) = graph(name) else { continue };
        let mut against = Vec::new();
        for (from, to) in graph.edges() {
            let (Some(room), Some(imported)) = (from.first(), to.first()) else { continue };
            let allowed = rooms.iter().find(|(name, _)| name == room);
            let Some((_, allowed)) = allowed else { panic!("{name}: the room {room} has no declared direction") };
            if room != imported && !allowed.contains(&imported.as_str()) {
                against.push(format!("{} imports {}", from.join("::"), to.join("::")));
            }
        }
        assert!(against.is_empty(), "against the direction of {name}:\n{}", against.join("\n"));
    }
}

#[test]
fn the_declared_direction_has_no_cycle() {
    for rooms in [CORE, HOST] {
        for (at, (name, imports)) in rooms.iter().enumerate() {
            let lower = |room: &&str| rooms[..at].iter().any(|(other, _)| other == room);
            assert!(imports.iter().all(lower), "{name} imports a room that is not below it");
        }
    }
}

#[test]
fn wit_types_are_named_in_one_folder_only() {
    for name in ["core", "host", "supervisor", "cli"] {
        let Some(folder) = source_folder(name) else { continue };
        for (path, text) in source::files(&folder) {
            let allowed = name == "host" && path.starts_with(folder.join("guest/v0_1"));
            let tokens = source::tokens(&text);
            // wasmtime's own bindings of WASI are another interface.
            let wasi = |at: usize| at > 1 && tokens[at - 2..at] == ["p2", "::"];
            let named = (0..tokens.len()).any(|at| tokens[at] == "bindings" && !wasi(at));
            assert!(allowed || !named, "{} names the generated bindings", path.display());
        }
    }
}
