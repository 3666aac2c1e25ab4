//! The echo agent as a program. In a release it is a hidden command of `wharf`.

use std::process::ExitCode;

fn main() -> ExitCode {
    wharf_echo_agent::main(std::env::args().skip(1))
}
