//! Files that are not adapters: each must be refused, with an error that says why.

use crate::{Sandbox, echo_component, faulty_guest};
use std::fs;
use std::path::PathBuf;

/// A file that is not an adapter.
#[derive(Debug)]
pub struct InvalidComponent {
    /// A name for the file.
    pub name: &'static str,
    /// Its bytes.
    pub content: Vec<u8>,
    /// Parts of the error.
    pub error_parts: &'static [&'static str],
}

/// More bytes than a component may have.
const TOO_LARGE: u64 = (32 << 20) + 1;

/// A file that is larger than any component may be. It takes no space on the disk.
pub fn too_large_component(sandbox: &Sandbox) -> PathBuf {
    let path = sandbox.path("too-large.wasm");
    fs::File::create(&path).and_then(|file| file.set_len(TOO_LARGE)).expect("a sparse file");
    path
}

/// WebAssembly, from its text format.
pub fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The bytes of the echo adapter.
pub fn echo_bytes() -> Vec<u8> {
    fs::read(echo_component()).expect("the echo component")
}

/// The bytes of the adapter that misbehaves.
pub fn faulty_bytes() -> Vec<u8> {
    fs::read(faulty_guest()).expect("the faulty component")
}

/// The echo adapter as if it were built for another version of the interface: the names have the same length.
fn echo_for_version(version: &str) -> Vec<u8> {
    let mut component = echo_bytes();
    let mut found = 0;
    for name in ["host", "types", "runtime-adapter"] {
        let (from, to) = (format!("wharf:runtime/{name}@0.1.0"), format!("wharf:runtime/{name}@{version}"));
        assert_eq!(from.len(), to.len());
        for at in 0..component.len() - from.len() {
            if component[at..].starts_with(from.as_bytes()) {
                component[at..at + to.len()].copy_from_slice(to.as_bytes());
                found += 1;
            }
        }
    }
    assert!(found >= 3, "the names of the interfaces were found");
    component
}

/// Files that are not adapters, one for each reason to refuse a file.
pub fn invalid_components() -> Vec<InvalidComponent> {
    let invalid = |name, content, error_parts| InvalidComponent { name, content, error_parts };
    let half = echo_bytes().len() / 2;
    vec![
        invalid("empty", vec![], &["the file is empty"]),
        invalid("text", b"adapter, be good\n".to_vec(), &["it is not WebAssembly"]),
        invalid("core-module", wat("(module)"), &["it is a core module, not a component", "wasm32-wasip2"]),
        invalid("later-wasm", b"\0asm\x0e\0\x01\0".to_vec(), &["WebAssembly of an unknown version"]),
        invalid("truncated", echo_bytes()[..half].to_vec(), &["it is not a valid component"]),
        invalid(
            "nothing",
            wat("(component)"),
            &["does not implement the interface wharf:runtime@0.1", "runtime-adapter@0.1.0"],
        ),
        invalid(
            "http",
            wat("(component (import \"wasi:http/outgoing-handler@0.2.0\" (instance)))"),
            &["it imports `wasi:http/outgoing-handler@0.2.0`, which is not offered"],
        ),
        invalid(
            "async",
            wat("(component (core module $m (func (export \"f\"))) (core instance $i (instantiate $m)) \
                 (func (export \"f\") async (canon lift (core func $i \"f\") async)))"),
            &["async functions of the component model"],
        ),
        invalid(
            "function",
            wat("(component (import \"launch\" (func)))"),
            &["it imports `launch`, which is not offered"],
        ),
        invalid(
            "wasi-0.3",
            wat("(component (import \"wasi:cli/stdin@0.3.0\" (instance)))"),
            &["`wasi:cli/stdin@0.3.0`"],
        ),
        invalid(
            "own-interface",
            wat("(component (import \"wharf:runtime/secrets@0.1.0\" (instance)))"),
            &["it imports `wharf:runtime/secrets@0.1.0`, which is not offered"],
        ),
        invalid("later-version", echo_for_version("0.2.0"), &["built for version 0.2.0 of wharf:runtime", "0.1"]),
        invalid("earlier-version", echo_for_version("0.0.9"), &["built for version 0.0.9 of wharf:runtime"]),
    ]
}
