//! What reaches the terminal and comes from it. Only this room prints, and it prints no foreign text that was not made
//! visible: `Text` takes our own words as literals, and everything else as foreign.

mod common;
pub(crate) mod input;
pub(crate) mod logs;
pub(crate) mod output;
pub(crate) mod panics;
mod shell;
mod text;
mod view;
mod visible;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod source_tests;

pub(crate) use common::Common;
pub(crate) use shell::Shell;
pub(crate) use text::{BAD, BOLD, DIM, GOOD, ODD, Text, foreign, ours};
pub(crate) use view::{View, outcome_text, usage_text};
pub(crate) use visible::line as visible_line;
