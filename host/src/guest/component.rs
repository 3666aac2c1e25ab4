//! A component that passed the checks and is linked, ready to be instantiated. What can be checked without compiling it
//! is checked first.

use super::compiler::Failure;
use super::engine::Engine;
use super::source::Source;
use super::structure::{Problem, Structure};
use super::v0_1::{self, Pre};
use crate::error::{Error, Result};
use bytes::Bytes;
use wasmtime::component::Component;

/// The package whose interfaces the host offers, with the version it speaks.
const PACKAGE: &str = "wharf:runtime";
const VERSION: &str = "0.1";

/// The interface that an adapter exports.
const EXPORT: &str = "wharf:runtime/runtime-adapter";

/// The parts of WASI that the standard libraries of guest languages need to start. Nothing is available through them:
/// no folders, no variables, a clock that never advances, sockets that cannot be created. HTTP is not offered at all.
const WASI: [&str; 6] = ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];

/// A linked component.
pub(crate) struct Linked {
    pub(super) engine: Engine,
    pub(super) pre: Pre,
}

/// Why a component was refused, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    reason: String,
    hint: Option<&'static str>,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal { reason, hint: None }
    }
}

/// The error for a component that is not used as an adapter.
pub(super) fn refused(source: &Source, refusal: impl Into<Refusal>) -> Error {
    let Refusal { reason, hint } = refusal.into();
    let error = Error::adapter(format!("the adapter {source} was refused: {reason}"));
    if let Some(hint) = hint { error.with_hint(hint) } else { error }
}

impl Linked {
    /// Checks a component, compiles it and links it. Also gives its code if that is not in the cache yet.
    pub(super) async fn new(
        engine: &Engine,
        bytes: Bytes,
        digest: &str,
        source: &Source,
    ) -> Result<(Linked, Option<Vec<u8>>)> {
        check_header(&bytes, engine.limits.component).map_err(|reason| refused(source, reason))?;
        let (component, code) = match engine.cached(digest) {
            Some(component) => (component, None),
            None => compile(engine, bytes, source).await?,
        };
        let pre = v0_1::link(&engine.wasm, &component).map_err(|error| refused(source, incomplete(&error)))?;
        Ok((Linked { engine: engine.clone(), pre }, code))
    }
}

/// Checks a component and compiles it. Neither keeps a thread of the runtime from its other tasks.
async fn compile(engine: &Engine, bytes: Bytes, source: &Source) -> Result<(Component, Option<Vec<u8>>)> {
    let checked = bytes.clone();
    let checked = tokio::task::spawn_blocking(move || check_structure(&checked)).await;
    let failed = |error: String| Error::system(format!("compiling the adapter {source}"), error);
    checked.map_err(|error| failed(error.to_string()))?.map_err(|refusal| refused(source, refusal))?;
    let code = engine.compile(bytes, source).await.map_err(|failure| match failure {
        Failure::System(reason) => failed(reason),
        Failure::Invalid(reason) => refused(source, invalid(&reason)),
        Failure::Crashed(reason) => refused(source, format!("the compiler failed: {reason}")),
        Failure::Limit(reason) => refused(source, too_expensive(reason)),
    })?;
    let component = engine.load(&code).map_err(|error| failed(format!("{error:#}")))?;
    Ok((component, Some(code)))
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

/// What a component says of itself before it is compiled.
fn check_structure(bytes: &[u8]) -> Result<(), Refusal> {
    let structure = Structure::read(bytes).map_err(|problem| match problem {
        Problem::Invalid(reason) => invalid(&reason),
        Problem::TooLarge(reason) => reason.into(),
    })?;
    structure.imports.iter().try_for_each(|name| check_import(name))?;
    if structure.is_async {
        return Err(asynchronous(None));
    }
    let is_adapter = |name: &&str| {
        name.split_once('@').is_some_and(|(path, version)| path == EXPORT && is_version(version, VERSION))
    };
    if structure.exports.iter().any(is_adapter) {
        return Ok(());
    }
    Err(Refusal {
        reason: format!(
            "it does not implement the interface {PACKAGE}@{VERSION}: it exports no `{EXPORT}@{VERSION}.0`"
        ),
        hint: Some(OTHER_VERSION),
    })
}

/// An import must be one that is offered, by name.
fn check_import(name: &str) -> Result<(), String> {
    let (path, version) = name.split_once('@').unwrap_or((name, ""));
    let package = path.split('/').next().unwrap_or(path);
    let offered = match package {
        PACKAGE if is_version(version, VERSION) => path.ends_with("/host") || path.ends_with("/types"),
        PACKAGE => {
            return Err(format!("it was built for version {version} of {PACKAGE}, and this host supports {VERSION}"));
        }
        _ => WASI.contains(&package) && is_version(version, "0.2"),
    };
    if offered { Ok(()) } else { Err(format!("it imports `{name}`, which is not offered to adapters")) }
}

/// Whether a version belongs to this series: 0.1.3 belongs to 0.1, 0.10.0 does not.
fn is_version(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Why a component does not compile.
fn invalid(reason: &str) -> Refusal {
    if reason.contains("component model async") || reason.contains("`async`") {
        return asynchronous(Some(reason));
    }
    Refusal {
        reason: format!("it is not a valid component: {}", reason.lines().next().unwrap_or_default()),
        hint: Some("the file may be truncated or damaged; download or build it again"),
    }
}

fn asynchronous(detail: Option<&str>) -> Refusal {
    let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    Refusal {
        reason: format!("it uses async functions of the component model, which adapters do not have{detail}"),
        hint: Some("build it without async; with jco, use `--backend-qjs-disable-async`"),
    }
}

fn too_expensive(reason: String) -> Refusal {
    let hint = "no known adapter needs that; if you trust this one, raise `compile_seconds` or `compile_bytes` under \
                `[limits]` in your configuration";
    Refusal { reason, hint: Some(hint) }
}

const OTHER_VERSION: &str = "build it for a version of the interface that this wharf supports; see wit/README.md";

/// Why a component cannot be linked.
fn incomplete(error: &wasmtime::Error) -> Refusal {
    Refusal {
        reason: format!("it does not implement the interface {PACKAGE}@{VERSION}: {}", first_line(error)),
        hint: Some(OTHER_VERSION),
    }
}

pub(super) fn first_line(error: &wasmtime::Error) -> String {
    let whole = format!("{error:#}");
    whole.lines().next().unwrap_or_default().to_owned()
}
