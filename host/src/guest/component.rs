//! A component that passed the checks and is linked, ready to be instantiated.

use super::engine::Engine;
use super::v0_1::{self, Pre};
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// The package whose interfaces the host offers, with the version it speaks.
const PACKAGE: &str = "wharf:runtime";
const VERSION: &str = "0.1";

/// The parts of WASI that the standard libraries of guest languages need to start. Nothing is available through them:
/// no folders, no variables, a clock that never advances, sockets that cannot be created. HTTP is not offered at all.
const WASI: [&str; 6] = ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];

/// A linked component.
pub(crate) struct Linked {
    pub(super) engine: Engine,
    pub(super) pre: Pre,
}

/// Why a component was refused, and what to do.
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) hint: Option<&'static str>,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal { reason, hint: None }
    }
}

impl Linked {
    /// Checks a component, compiles it and links it.
    pub(super) fn new(engine: &Engine, bytes: &[u8], digest: &str) -> Result<Linked, Refusal> {
        check_header(bytes, engine.limits.component)?;
        let component = engine.component(bytes, digest).map_err(|error| invalid(&error))?;
        check_imports(engine, &component)?;
        let pre = v0_1::link(&engine.wasm, &component).map_err(|error| Refusal {
            reason: format!("it does not implement the interface {PACKAGE}@{VERSION}: {}", first_line(&error)),
            hint: Some("build it for a version of the interface that this wharf supports; see wit/README.md"),
        })?;
        Ok(Linked { engine: engine.clone(), pre })
    }
}

/// Why a component does not compile.
fn invalid(error: &wasmtime::Error) -> Refusal {
    let whole = format!("{error:#}");
    if whole.contains("component model async") || whole.contains("`async`") {
        return Refusal {
            reason: format!("it uses async functions of the component model, which adapters do not have: {whole}"),
            hint: Some("build it without async; with jco, use `--backend-qjs-disable-async`"),
        };
    }
    Refusal {
        reason: format!("it is not a valid component: {}", first_line(error)),
        hint: Some("the file may be truncated or damaged; download or build it again"),
    }
}

/// What the first bytes and the size say.
fn check_header(bytes: &[u8], limit: usize) -> Result<(), String> {
    if bytes.len() > limit {
        return Err(format!("it is larger than {limit} bytes, the largest component that is loaded"));
    }
    match bytes {
        [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err("it is a core module, not a component; build it for \
             wasm32-wasip2, or wrap it with `wasm-tools component new`"
            .to_owned()),
        [0, b'a', b's', b'm', ..] => Err("it is WebAssembly of an unknown version".to_owned()),
        [] => Err("the file is empty".to_owned()),
        _ => Err("it is not WebAssembly".to_owned()),
    }
}

/// Every import must be one that is offered, by name.
fn check_imports(engine: &Engine, component: &Component) -> Result<(), String> {
    let kind = component.component_type();
    for (name, item) in kind.imports(&engine.wasm) {
        if matches!(item.ty, ComponentItem::Type(_)) {
            continue;
        }
        let (path, version) = name.split_once('@').unwrap_or((name, ""));
        let package = path.split('/').next().unwrap_or(path);
        let offered = match package {
            PACKAGE if is_version(version, VERSION) => path.ends_with("/host") || path.ends_with("/types"),
            PACKAGE => {
                return Err(format!(
                    "it was built for version {version} of {PACKAGE}, and this host supports {VERSION}"
                ));
            }
            _ => WASI.contains(&package) && is_version(version, "0.2"),
        };
        if !offered {
            return Err(format!("it imports `{name}`, which is not offered to adapters"));
        }
    }
    Ok(())
}

/// Whether a version belongs to this series: 0.1.3 belongs to 0.1, 0.10.0 does not.
fn is_version(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

pub(super) fn first_line(error: &wasmtime::Error) -> String {
    let whole = format!("{error:#}");
    whole.lines().next().unwrap_or_default().to_owned()
}
