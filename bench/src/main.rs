//! The benchmark; all of it is in the library of this package.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    wharf_bench::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), &'static str> {
    Err("the benchmark reads /proc, and runs on Linux only")
}
