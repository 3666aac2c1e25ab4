//! The `wharf` command: a thin shell around the library.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
