//! Compiles components: in a child process with limits, if this program can be one, or on a thread without limits.
//!
//! The time and the memory that a component needs do not follow from its size, and a compiler that is at work cannot be
//! interrupted. Only a process can. Its code is trusted like that in the cache: the child is this program, but it has
//! read what somebody else wrote.

mod child;
mod failure;
mod limits;
mod process;
mod reply;

pub use child::compile_in_child;
pub(crate) use failure::Failure;
pub(crate) use limits::CompileLimits;

/// Where components are compiled.
#[derive(Debug, Clone, Copy)]
pub(super) enum Compiler {
    /// On another thread of this process.
    Thread,
    /// In a child that is this program.
    Child,
}

impl Compiler {
    /// A child if this program can be one.
    pub(super) fn best() -> Compiler {
        if child::is_served() { Compiler::Child } else { Compiler::Thread }
    }

    /// The serialized code of a component, for engines like this one.
    pub(super) async fn compile(
        self,
        engine: &wasmtime::Engine,
        component: bytes::Bytes,
        limits: CompileLimits,
    ) -> Result<Vec<u8>, Failure> {
        match self {
            Compiler::Child => {
                let program = child::program().map_err(|error| Failure::System(error.to_string()))?;
                process::compile(&program, &component, limits).await
            }
            Compiler::Thread => {
                let engine = engine.clone();
                let compiled = tokio::task::spawn_blocking(move || engine.precompile_component(&component)).await;
                let compiled = compiled.map_err(|error| Failure::Crashed(error.to_string()))?;
                compiled.map_err(|error| Failure::Invalid(format!("{error:#}")))
            }
        }
    }
}
