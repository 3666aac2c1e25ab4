//! The modules of a crate, one per file, and the imports between them.

use super::source::{files, tokens};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The path of a module below the root of its crate.
type Module = Vec<String>;

/// What one file contains, as far as imports are concerned.
#[derive(Default)]
struct Names {
    /// What a name refers to that was imported into the module.
    imported: BTreeMap<String, Reference>,
    /// All paths that the code names, those of re-exports of children excluded.
    used: Vec<Reference>,
}

/// A path, and how many inline modules of the file are around it.
#[derive(Clone)]
struct Reference {
    path: Vec<String>,
    depth: usize,
}

/// The modules of a crate and the imports between them.
pub(super) struct Graph {
    edges: BTreeSet<(Module, Module)>,
}

impl Graph {
    /// Reads all source files of a crate.
    pub(super) fn read(folder: &Path) -> Graph {
        let files = files(folder).into_iter().map(|(path, text)| (module(folder, &path), text));
        Graph::new(&files.collect())
    }

    fn new(files: &BTreeMap<Module, String>) -> Graph {
        let modules: BTreeMap<Module, Names> = files
            .iter()
            .map(|(module, text)| {
                let is_child = |name: &str| files.contains_key(&child(module, name));
                (module.clone(), Reader::read(&tokens(text), is_child))
            })
            .collect();
        let mut edges = BTreeSet::new();
        for (from, names) in &modules {
            for reference in &names.used {
                if let Some(to) = resolve(&modules, from, reference, 0).filter(|to| to != from) {
                    edges.insert((from.clone(), to));
                }
            }
        }
        Graph { edges }
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = (&Module, &Module)> {
        self.edges.iter().map(|(from, to)| (from, to))
    }

    /// The groups of files that import each other, directly or through others.
    pub(super) fn cycles(&self) -> Vec<Vec<String>> {
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            self.edges.iter().map(|(from, _)| (from, self.reachable(from))).collect();
        let mut cycles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (module, reached) in reach.iter().filter(|(module, reached)| reached.contains(*module)) {
            let group = reached.iter().filter(|other| reach.get(*other).is_some_and(|back| back.contains(module)));
            cycles.insert(
                group.map(|module| if module.is_empty() { "the root".to_owned() } else { module.join("::") }).collect(),
            );
        }
        cycles.into_iter().collect()
    }

    fn reachable<'g>(&'g self, from: &Module) -> BTreeSet<&'g Module> {
        let imported = |module: &Module| -> Vec<&'g Module> {
            self.edges.iter().filter(|(start, _)| start == module).map(|(_, to)| to).collect()
        };
        let mut reached = BTreeSet::new();
        let mut pending = imported(from);
        while let Some(module) = pending.pop() {
            if reached.insert(module) {
                pending.extend(imported(module));
            }
        }
        reached
    }
}

/// The module of a file: `a/b.rs` and `a/b/mod.rs` are both `a::b`, `lib.rs` and `main.rs` are the root.
fn module(folder: &Path, path: &Path) -> Module {
    let path = path.strip_prefix(folder).expect("it is below the folder").with_extension("");
    let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    module
}

fn child(module: &Module, name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The file that a path leads to: through modules and through what they import. None if it is in another crate.
fn resolve(modules: &BTreeMap<Module, Names>, from: &Module, reference: &Reference, hops: usize) -> Option<Module> {
    // Two modules may import each other's names by globs.
    if hops > 20 {
        return None;
    }
    let mut depth = reference.depth;
    let mut current = from.clone();
    let mut path = reference.path.iter().peekable();
    match path.peek()?.as_str() {
        "crate" => {
            path.next();
            current.clear();
        }
        "self" => drop(path.next()),
        "super" => {
            while path.next_if(|name| *name == "super").is_some() {
                if depth > 0 { depth -= 1 } else { drop(current.pop()) }
            }
        }
        name if modules.contains_key(&child(&current, name)) => {}
        _ => return None,
    }
    while let Some(name) = path.next() {
        let next = child(&current, name);
        if modules.contains_key(&next) {
            current = next;
        } else if let Some(imported) = modules.get(&current).and_then(|names| names.imported.get(name)) {
            let rest =
                Reference { path: imported.path.iter().chain(path.clone()).cloned().collect(), depth: imported.depth };
            return resolve(modules, &current, &rest, hops + 1).or(Some(current));
        } else {
            break;
        }
    }
    Some(current)
}

/// Reads the tokens of one file.
struct Reader<'t, F> {
    tokens: &'t [String],
    at: usize,
    is_child: F,
    names: Names,
    /// The brace depths at which the inline modules around the current token started.
    inline: Vec<usize>,
    braces: usize,
}

impl<F: Fn(&str) -> bool> Reader<'_, F> {
    fn read(tokens: &[String], is_child: F) -> Names {
        let mut reader = Reader { tokens, at: 0, is_child, names: Names::default(), inline: vec![], braces: 0 };
        while reader.at < tokens.len() {
            reader.step();
        }
        reader.names
    }

    fn token(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn step(&mut self) {
        let before = self.at.checked_sub(1).map_or("", |at| self.tokens[at].as_str());
        match self.token(0) {
            "use" => self.import(matches!(before, "pub" | ")")),
            "mod" if self.token(2) == "{" => {
                self.inline.push(self.braces);
                self.braces += 1;
                self.at += 3;
            }
            "{" => {
                self.braces += 1;
                self.at += 1;
            }
            "}" => {
                self.braces = self.braces.saturating_sub(1);
                self.inline.pop_if(|start| *start == self.braces);
                self.at += 1;
            }
            _ if before != "::" && self.token(1) == "::" => self.path(),
            _ => self.at += 1,
        }
    }

    /// A path in the code that starts at a module of this crate.
    fn path(&mut self) {
        let mut path = vec![self.token(0).to_owned()];
        self.at += 1;
        while self.token(0) == "::" {
            let name = self.token(1).to_owned();
            self.at += 2;
            if !name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
                break;
            }
            path.push(name);
        }
        let first = path[0].as_str();
        if matches!(first, "crate" | "super" | "self") || (self.inline.is_empty() && (self.is_child)(first)) {
            self.names.used.push(Reference { path, depth: self.inline.len() });
        }
    }

    /// A `use` declaration.
    fn import(&mut self, public: bool) {
        self.at += 1;
        self.tree(&[], public);
    }

    /// One branch of the tree of a `use` declaration, up to the `,`, `}` or `;` after it.
    fn tree(&mut self, before: &[String], public: bool) {
        let mut path = before.to_vec();
        loop {
            match self.token(0).to_owned().as_str() {
                "{" => {
                    while matches!(self.token(0), "{" | ",") {
                        self.at += 1;
                        if self.token(0) != "}" {
                            self.tree(&path, public);
                        }
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    let alias = self.token(1).to_owned();
                    self.at += 2;
                    return self.leaf(path, &alias, public);
                }
                "," | "}" | ";" | "" => {
                    let name = path.last().cloned().unwrap_or_default();
                    if name == "self" {
                        path.pop();
                    }
                    let name = path.last().cloned().unwrap_or_default();
                    return self.leaf(path, &name, public);
                }
                "::" => self.at += 1,
                name => {
                    path.push(name.to_owned());
                    self.at += 1;
                }
            }
        }
    }

    fn leaf(&mut self, path: Vec<String>, name: &str, public: bool) {
        let reference = Reference { depth: self.inline.len(), path };
        let first = reference.path.iter().find(|part| *part != "self").map_or("", String::as_str);
        let re_export = public && (self.is_child)(first);
        if !re_export {
            self.names.used.push(reference.clone());
        }
        if self.inline.is_empty() {
            self.names.imported.insert(name.to_owned(), reference);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> Graph {
        let split = |path: &str| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Graph::new(&files.iter().map(|(path, text)| (split(path), (*text).to_owned())).collect())
    }

    fn shown(graph: &Graph) -> Vec<String> {
        graph.edges().map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::"))).collect()
    }

    #[test]
    fn imports_are_found_in_every_form() {
        let graph = graph(&[
            ("", "mod a; mod b; mod c; pub use a::Item;"),
            ("a", "mod inner; pub use inner::Item; use crate::{b::{self, Other as Alias}, c}; fn f() { b::g() }"),
            ("a::inner", "use super::super::b::Other; mod inline { use super::Private; } fn f() { crate::c::g() }"),
            ("b", "fn f(x: std::vec::Vec<super::c::Item>) { String::new() }"),
            ("c", ""),
        ]);
        assert_eq!(shown(&graph), ["a -> b", "a -> c", "a::inner -> b", "a::inner -> c", "b -> c"]);
        assert!(graph.cycles().is_empty());
    }

    #[test]
    fn an_import_through_a_re_export_is_one_of_the_file_that_has_the_item() {
        let graph = graph(&[
            ("", "mod a; mod b;"),
            ("a", "mod inner; pub(crate) use inner::Item; pub struct Own;"),
            ("a::inner", ""),
            ("b", "use crate::a::{Item, Own};"),
        ]);
        assert_eq!(shown(&graph), ["b -> a", "b -> a::inner"]);
    }

    #[test]
    fn cycles_are_found_through_other_files_and_through_a_parent() {
        let graph = graph(&[
            ("", "mod a; mod b; mod c; mod d;"),
            ("a", "use crate::b::B;"),
            ("b", "use crate::c::C;"),
            ("c", "use crate::a::A;"),
            ("d", "mod inner; fn f() { inner::g() } struct Shared;"),
            ("d::inner", "use super::Shared;"),
        ]);
        assert_eq!(graph.cycles(), [vec!["a", "b", "c"], vec!["d", "d::inner"]]);
    }
}
