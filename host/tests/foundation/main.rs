//! The foundation, through the real binary and the real library: adapters are found and run, what misbehaves is
//! refused or stopped and the host goes on, bad input gets an answer, nothing is granted that was not.

#[path = "../common/mod.rs"]
mod common;
mod components;
mod exit;
mod explain;
mod grants;
mod help;
mod input;
mod prompt;
mod turn;
mod tutorial;
