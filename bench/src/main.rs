//! The benchmark; all of it is in the library beside this.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    wharf_bench::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), &'static str> {
    Err("the benchmark reads /proc, and is for Linux")
}
