//! Keeps docs/writing-an-adapter.md and this package the same.
//!
//! Every code block of the document names a file of this package (```` ```rust src/lib.rs ````) and consists of
//! consecutive lines of it. Together the blocks show the whole adapter and the whole agent.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A code block: the text after the opening backticks, and its lines.
struct Block<'a> {
    info: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> Block<'a> {
    fn file(&self) -> &'a str {
        self.info.split_whitespace().nth(1).unwrap_or_default()
    }
}

fn package_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn blocks(document: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            let lines = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
            blocks.push(Block { info, lines });
        }
    }
    blocks
}

/// The position of a block's lines in a file.
fn position(block: &[&str], file: &[&str]) -> Option<usize> {
    file.windows(block.len().max(1)).position(|window| window == block)
}

#[test]
fn every_block_is_part_of_a_file() {
    let document = package_file("../../docs/writing-an-adapter.md");
    let blocks = blocks(&document);
    assert!(!blocks.is_empty());
    for block in blocks {
        assert!(!block.file().is_empty(), "the block ```{} names no file", block.info);
        let file = package_file(block.file());
        let file: Vec<&str> = file.lines().collect();
        assert!(
            position(&block.lines, &file).is_some(),
            "this block is not part of {}:\n{}",
            block.file(),
            block.lines.join("\n")
        );
    }
}

#[test]
fn the_blocks_show_the_whole_adapter_and_its_agent() {
    let document = package_file("../../docs/writing-an-adapter.md");
    let mut shown: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for block in blocks(&document) {
        shown.entry(block.file()).or_default().push(block.lines);
    }
    for name in ["src/lib.rs", "scribe", "config.toml"] {
        let text = package_file(name);
        let file: Vec<&str> = text.lines().collect();
        let mut missing: Vec<bool> = file.iter().map(|line| !line.trim().is_empty()).collect();
        for block in shown.get(name).into_iter().flatten() {
            if let Some(start) = position(block, &file) {
                missing[start..start + block.len()].fill(false);
            }
        }
        let missing: Vec<&str> =
            file.iter().zip(missing).filter(|(_, missing)| *missing).map(|(line, _)| *line).collect();
        assert!(missing.is_empty(), "the document does not show these lines of {name}:\n{}", missing.join("\n"));
    }
}

#[test]
fn a_block_that_differs_in_one_letter_is_not_found() {
    let file = ["fn a() {", "    b();", "}"];
    assert_eq!(position(&["    b();", "}"], &file), Some(1));
    assert_eq!(position(&["    c();", "}"], &file), None);
    assert_eq!(position(&["fn a() {", "}"], &file), None);
    assert_eq!(position(&[], &file), None);
}
