//! What reaches the terminal and comes from it. Only this room prints, and text from agents is made visible here.

mod common;
pub(crate) mod input;
pub(crate) mod logs;
pub(crate) mod output;
mod shell;
mod view;
mod visible;

pub(crate) use common::Common;
pub(crate) use shell::{BAD, BOLD, DIM, GOOD, ODD, Shell, styled};
pub(crate) use view::{View, outcome_text, usage_text};
pub(crate) use visible::{visible, visible_line};
