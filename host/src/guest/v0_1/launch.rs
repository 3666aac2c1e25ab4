//! The launch of an agent, from the interface to `wharf-core`. Not checked yet: see `launch/plan.rs`.

use super::bindings::types;
use wharf_core::model::{Arg, ExitBehavior, Framing, InstructionFile, StopSignal, UnsupportedSetting};

/// The command line that an adapter built, not checked yet.
pub(crate) struct Launch {
    pub(crate) args: Vec<Arg>,
    pub(crate) variables: Vec<(String, Arg)>,
    pub(crate) files: Vec<(String, Vec<u8>)>,
    pub(crate) framing: Framing,
    pub(crate) exit_behavior: ExitBehavior,
    pub(crate) stop_signal: Option<StopSignal>,
    pub(crate) stop_ms: Option<u32>,
    pub(crate) unsupported: Vec<UnsupportedSetting>,
    pub(crate) enforced: Vec<u32>,
    pub(crate) instructions: Vec<InstructionFile>,
}

pub(super) fn launch(launch: types::Launch) -> Launch {
    let arg = |arg: types::Arg| Arg { text: arg.text, file: arg.file };
    let unsupported =
        |setting: types::UnsupportedSetting| UnsupportedSetting { name: setting.name, reason: setting.reason };
    let instruction = |file: types::InstructionFile| InstructionFile { path: file.path, read: file.read };
    Launch {
        args: launch.args.into_iter().map(arg).collect(),
        variables: launch.variables.into_iter().map(|(name, value)| (name, arg(value))).collect(),
        files: launch.files.into_iter().map(|file| (file.name, file.content)).collect(),
        framing: match launch.framing {
            types::Framing::Lines => Framing::Lines,
            types::Framing::ContentLength => Framing::ContentLength,
            types::Framing::Raw => Framing::Raw,
        },
        exit_behavior: match launch.exit_behavior {
            types::ExitBehavior::ByItself => ExitBehavior::ByItself,
            types::ExitBehavior::WhenStdinCloses => ExitBehavior::WhenStdinCloses,
            types::ExitBehavior::WhenStopped => ExitBehavior::WhenStopped,
        },
        stop_signal: launch.stop_signal.map(|signal| match signal {
            types::StopSignal::Interrupt => StopSignal::Interrupt,
            types::StopSignal::Terminate => StopSignal::Terminate,
        }),
        stop_ms: launch.stop_ms,
        enforced: launch.enforced,
        unsupported: launch.unsupported.into_iter().map(unsupported).collect(),
        instructions: launch.instructions.into_iter().map(instruction).collect(),
    }
}

/// How the prompt reaches the agent.
pub(crate) enum PromptDelivery {
    /// On stdin, which is then closed.
    Stdin(Vec<u8>),
    /// On stdin, which stays open.
    StdinOpen(Vec<u8>),
    /// As the last arguments.
    Args(Vec<String>),
    /// By the adapter's own writes.
    InProtocol,
}

pub(super) fn prompt_delivery(delivery: types::PromptDelivery) -> PromptDelivery {
    match delivery {
        types::PromptDelivery::Stdin(bytes) => PromptDelivery::Stdin(bytes),
        types::PromptDelivery::StdinOpen(bytes) => PromptDelivery::StdinOpen(bytes),
        types::PromptDelivery::Args(args) => PromptDelivery::Args(args),
        types::PromptDelivery::InProtocol => PromptDelivery::InProtocol,
    }
}
