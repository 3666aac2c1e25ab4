//! A loaded adapter: a component that passed the checks.

use crate::bindings::AdapterPre;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::info::AdapterInfo;
use crate::instance::{Instance, State};
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasSelf, Linker};

/// The package whose interfaces the host offers, with the version it speaks.
const PACKAGE: &str = "wharf:runtime";
const VERSION: &str = "0.1";

/// The parts of WASI that the standard libraries of guest languages need to start. They are offered with nothing
/// behind them: no folders, no variables, a clock that stands still. Sockets and HTTP are not offered at all.
const WASI: [&str; 5] = ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random"];

/// Where an adapter came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// It is part of the host.
    Bundled,
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Bundled => formatter.write_str("bundled"),
            Source::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// An adapter that is ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Adapter {
    inner: Arc<Inner>,
}

struct Inner {
    info: AdapterInfo,
    digest: String,
    source: Source,
    pre: AdapterPre<State>,
    engine: Engine,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Adapter").field("info", &self.inner.info).field("source", &self.inner.source).finish()
    }
}

impl Adapter {
    /// Who it is.
    pub fn info(&self) -> &AdapterInfo {
        &self.inner.info
    }

    /// The SHA-256 of the component, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.inner.digest
    }

    /// Where it came from.
    pub fn source(&self) -> &Source {
        &self.inner.source
    }

    pub(crate) fn pre(&self) -> &AdapterPre<State> {
        &self.inner.pre
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Check a component, compile it, and let it describe itself with nothing granted.
    pub(crate) async fn load(engine: &Engine, bytes: &[u8], source: Source) -> Result<Adapter> {
        let refuse = |why: String| Error::adapter(format!("the adapter {source} was refused: {why}"));
        check_header(bytes, engine.limits.component).map_err(refuse)?;
        let digest = digest(bytes);
        let component = engine.component(bytes, &digest).map_err(|why| {
            refuse(format!("it is not a valid component: {}", first_line(&why)))
                .hint("the file may be cut short or damaged; fetch or build it again")
        })?;
        check_imports(engine, &component).map_err(refuse)?;
        let pre = linker(engine)
            .and_then(|linker| linker.instantiate_pre(&component))
            .and_then(AdapterPre::new)
            .map_err(|why| {
                refuse(format!("it does not fit the interface {PACKAGE}@{VERSION}: {}", first_line(&why)))
                    .hint("build it against a version of the interface that this wharf speaks; see wit/README.md")
            })?;
        let inner = Inner { info: placeholder(), digest, source: source.clone(), pre, engine: engine.clone() };
        let mut adapter = Adapter { inner: Arc::new(inner) };
        let describe = async { Instance::start(&adapter, None).await?.describe().await };
        let info = describe.await.map_err(|why| refuse(why.to_string()))?;
        check_info(&info).map_err(refuse)?;
        Arc::get_mut(&mut adapter.inner).expect("nobody else has it yet").info = info;
        Ok(adapter)
    }
}

fn placeholder() -> AdapterInfo {
    AdapterInfo {
        id: String::new(),
        name: String::new(),
        version: String::new(),
        tested_with: String::new(),
        install_hint: String::new(),
        needs: crate::info::Needs::default(),
        options: vec![],
    }
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The host's side of the interface, and the hollow WASI.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(&engine.wasm);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    crate::bindings::host::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    crate::bindings::types::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// What can be told from the first bytes and the size.
fn check_header(bytes: &[u8], limit: usize) -> Result<(), String> {
    if bytes.len() > limit {
        return Err(format!("it is larger than {limit} bytes, which is the most that is loaded"));
    }
    match bytes {
        [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            Err("it is a core module, not a component; build it for wasm32-wasip2, or wrap it with `wasm-tools component new`".to_owned())
        }
        [0, b'a', b's', b'm', ..] => Err("it is WebAssembly of a version that is not known here".to_owned()),
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
                return Err(format!("it was built for version {version} of {PACKAGE}, and this host speaks {VERSION}"));
            }
            _ => WASI.contains(&package) && is_version(version, "0.2"),
        };
        if !offered {
            return Err(format!("it imports `{name}`, which is not offered to adapters"));
        }
    }
    Ok(())
}

/// Whether a version is of this series: 0.1.3 is of 0.1, 0.10.0 is not.
fn is_version(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn check_info(info: &AdapterInfo) -> Result<(), String> {
    let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    if info.id.is_empty() || info.id.len() > 64 || !info.id.chars().all(plain) {
        return Err(format!("its id {:?} is not made of lower-case letters, digits and hyphens", info.id));
    }
    Ok(())
}

pub(crate) fn first_line(why: &wasmtime::Error) -> String {
    let whole = format!("{why:#}");
    whole.lines().next().unwrap_or_default().to_owned()
}
