//! The functions that an adapter exports, in terms of `wharf-core`.

use super::bindings::types;
use super::budget::{Budget, check_texts};
use super::launch::{self, Launch, PromptDelivery};
use super::lift;
use super::lower::{self, Chunk};
use super::text::Violation;
use super::{Pre, bindings};
use crate::guest::state::State;
use wasmtime::Store;
use wharf_core::model::{AdapterInfo, Binary, Exit, Failure, ModelList, Turn};
use wharf_core::turn::{AdapterInput, Effect};

/// The exports of an instance.
pub(in crate::guest) struct Exports(bindings::Adapter);

/// The effects of a call, not checked yet, with the text that they may refer to.
pub(in crate::guest) struct EffectList {
    effects: Vec<types::Effect>,
    chunk: String,
}

impl EffectList {
    pub(in crate::guest) fn try_each(mut self, mut take: impl FnMut(Effect<'_>)) -> std::result::Result<(), Violation> {
        let mut budget = Budget::of_chunk(&self.chunk);
        self.effects.iter_mut().try_for_each(|effect| {
            budget.take(effect, &self.chunk)?;
            take(lift::effect(effect, &self.chunk)?);
            Ok(())
        })
    }
}

impl From<Vec<types::Effect>> for EffectList {
    fn from(effects: Vec<types::Effect>) -> EffectList {
        EffectList { effects, chunk: String::new() }
    }
}

type Guest = bindings::exports::wharf::runtime::runtime_adapter::Guest;
type Result<T> = wasmtime::Result<T>;

impl Exports {
    pub(in crate::guest) async fn instantiate(pre: &Pre, store: &mut Store<State>) -> Result<Exports> {
        pre.instantiate_async(store).await.map(Exports)
    }

    fn guest(&self) -> &Guest {
        self.0.wharf_runtime_runtime_adapter()
    }

    pub(in crate::guest) async fn describe(&self, store: &mut Store<State>) -> Result<AdapterInfo> {
        let info = self.guest().call_describe(store).await?;
        let defaults = info.options.iter().filter_map(|option| option.default.as_deref());
        check_texts(defaults.chain([info.tested_with.as_str()])).map_err(refused)?;
        Ok(lift::adapter_info(info))
    }

    pub(in crate::guest) async fn resolve_binary(
        &self,
        store: &mut Store<State>,
        program: Option<String>,
        home: Option<String>,
    ) -> Result<std::result::Result<Binary, Failure>> {
        let environment = types::Environment {
            program,
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            home,
            root: is_root(),
        };
        let found = self.guest().call_resolve_binary(store, &environment).await?;
        Ok(found.map(lift::binary).map_err(lift::failure))
    }

    pub(in crate::guest) async fn build_args(
        &self,
        store: &mut Store<State>,
        turn: &Turn,
        binary: &Binary,
        transport: &str,
    ) -> Result<std::result::Result<Launch, Failure>> {
        let (turn, binary) = (lower::turn(turn), lower::binary(binary));
        let built = self.guest().call_build_args(store, &turn, &binary, transport).await?;
        Ok(built.map(launch::launch).map_err(lift::failure))
    }

    pub(in crate::guest) async fn build_prompt(
        &self,
        store: &mut Store<State>,
    ) -> Result<std::result::Result<PromptDelivery, Failure>> {
        let prompt = self.guest().call_build_prompt(store).await?;
        Ok(prompt.map(launch::prompt_delivery).map_err(lift::failure))
    }

    pub(in crate::guest) async fn parse_chunk(&self, store: &mut Store<State>, chunk: Chunk) -> Result<EffectList> {
        let chunk = lower::chunk(chunk);
        let effects = self.guest().call_parse_chunk(store, &chunk).await?;
        let chunk = if let types::Frames::Text(text) = chunk.data { text } else { String::new() };
        Ok(EffectList { effects, chunk })
    }

    pub(in crate::guest) async fn handle(&self, store: &mut Store<State>, input: &AdapterInput) -> Result<EffectList> {
        self.guest().call_handle(store, &lower::input(input)).await.map(EffectList::from)
    }

    pub(in crate::guest) async fn oversized(
        &self,
        store: &mut Store<State>,
        stderr: bool,
        length: u64,
        head: String,
    ) -> Result<EffectList> {
        let oversized = types::Oversized { stream: lower::stream(stderr), length, head };
        self.guest().call_handle(store, &types::Input::Oversized(oversized)).await.map(EffectList::from)
    }

    pub(in crate::guest) async fn finish(&self, store: &mut Store<State>, exit: Exit) -> Result<EffectList> {
        let exited = types::Input::Exited(lower::exit(exit));
        self.guest().call_handle(store, &exited).await.map(EffectList::from)
    }

    pub(in crate::guest) async fn parse_error(
        &self,
        store: &mut Store<State>,
        exit: Exit,
        stdout_tail: String,
        stderr_tail: String,
    ) -> Result<Option<Failure>> {
        let evidence = types::Evidence { exit: lower::exit(exit), stdout_tail, stderr_tail };
        Ok(self.guest().call_parse_error(store, &evidence).await?.map(lift::failure))
    }

    pub(in crate::guest) async fn list_models(
        &self,
        store: &mut Store<State>,
        binary: Option<&Binary>,
    ) -> Result<ModelList> {
        let binary = binary.map(lower::binary);
        let list = self.guest().call_list_models(store, binary.as_ref()).await?;
        if let types::ModelList::Models(models) = &list {
            check_texts(models.iter().filter_map(|model| model.extra.as_deref())).map_err(refused)?;
        }
        Ok(lift::model_list(list))
    }
}

fn refused(Violation(reason): Violation) -> wasmtime::Error {
    wasmtime::Error::msg(reason)
}

/// Whether this process, and so an agent, runs as root. `USER` and `HOME` do not show it.
#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}
