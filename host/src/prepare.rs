//! From a turn to something that can be started: the program found, the command line built, all of it checked.

use crate::adapter::Adapter;
use crate::bindings::types;
use crate::driver::Ending;
use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Failure, IgnoredWish, Retry};
use crate::frame::Framing;
use crate::grants::Policy;
use crate::info::Binary;
use crate::instance::Instance;
use crate::turn::Turn;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What will be started, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The program's path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<Word>,
    /// What the adapter sets in its environment.
    pub variables: Vec<(String, Word)>,
    /// The files it gets: names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// How its output is cut.
    pub framing: FramingKind,
    /// How it ends.
    pub ends: Ending,
    /// What is written to its stdin at first.
    pub stdin: Vec<u8>,
    /// Whether its stdin stays open after that.
    pub stdin_open: bool,
    /// Wishes that this runtime cannot honour.
    pub ignored: Vec<IgnoredWish>,
}

/// A word of the command line: a text, followed by the path of a file where one is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// The text.
    pub text: String,
    /// The file.
    pub file: Option<String>,
}

impl Word {
    /// The word itself, with the files in this folder.
    pub(crate) fn resolve(&self, folder: &Path) -> String {
        match &self.file {
            Some(file) => format!("{}{}", self.text, folder.join(file).display()),
            None => self.text.clone(),
        }
    }
}

/// How output is cut, as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FramingKind {
    /// Lines.
    Lines,
    /// Bodies with their length before them.
    ContentLength,
    /// Not at all.
    Raw,
}

impl From<FramingKind> for Framing {
    fn from(kind: FramingKind) -> Framing {
        match kind {
            FramingKind::Lines => Framing::Lines,
            FramingKind::ContentLength => Framing::ContentLength,
            FramingKind::Raw => Framing::Raw,
        }
    }
}

/// Let the adapter build its command line, and check what it built.
pub(crate) async fn plan(
    adapter: &Adapter,
    instance: &mut Instance,
    turn: &Turn,
    binary: &Binary,
    policy: &Policy,
    environment: &Environment,
) -> Result<Plan> {
    let id = &adapter.info().id;
    let plan = plan_unchecked(id, instance, turn, binary).await?;
    let denied = |denial: crate::grants::Denial| {
        Error::adapter(format!("the adapter {id} wants {denial}"))
            .hint(format!("`wharf adapters show {id}` tells what it asks for and what is granted"))
    };
    policy.run_program(&binary.program, |name| environment.program_path(name)).map_err(denied)?;
    for (name, _) in &plan.variables {
        policy.set_variable(name).map_err(denied)?;
    }
    Ok(plan)
}

/// Let the adapter build its command line for something that will not be started.
pub(crate) async fn plan_unchecked(id: &str, instance: &mut Instance, turn: &Turn, binary: &Binary) -> Result<Plan> {
    let launch =
        instance.build_args(turn, binary).await?.map_err(|failure| refused(id, "build the command line", &failure))?;
    let prompt =
        instance.build_prompt(turn, binary).await?.map_err(|failure| refused(id, "build the prompt", &failure))?;
    check_files(id, &launch)?;
    let word = |word: types::Word| Word { text: word.text, file: word.file };
    let plain = |text: &String| Word { text: text.clone(), file: None };
    let mut args: Vec<Word> = binary.leading_args.iter().map(plain).collect();
    args.extend(launch.args.into_iter().map(word));
    let (stdin, stdin_open) = match prompt {
        types::PromptDelivery::Stdin(bytes) => (bytes, false),
        types::PromptDelivery::StdinOpen(bytes) => (bytes, true),
        types::PromptDelivery::InProtocol => (vec![], true),
        types::PromptDelivery::Args(words) => {
            args.extend(words.iter().map(plain));
            (vec![], false)
        }
    };
    let ignored = launch.ignored.into_iter().map(|wish| IgnoredWish { name: wish.name, why: wish.why });
    let deaf = deafness(stdin_open, &binary.capabilities).filter(|_| turn.messages);
    let deaf = deaf.map(|why| IgnoredWish { name: "messages".to_owned(), why: why.to_owned() });
    Ok(Plan {
        program: binary.program.clone(),
        args,
        variables: launch.variables.into_iter().map(|(name, value)| (name, word(value))).collect(),
        files: launch.files.into_iter().map(|file| (file.name, file.content)).collect(),
        framing: match launch.framing {
            types::Framing::Lines => FramingKind::Lines,
            types::Framing::ContentLength => FramingKind::ContentLength,
            types::Framing::Raw => FramingKind::Raw,
        },
        ends: match launch.ends {
            types::Ending::ByItself => Ending::ByItself,
            types::Ending::WhenStdinCloses => Ending::WhenStdinCloses,
            types::Ending::WhenStopped => Ending::WhenStopped,
        },
        stdin,
        stdin_open,
        ignored: ignored.chain(deaf).collect(),
    })
}

/// Why an agent can be told nothing more in the middle of its turn, if so.
fn deafness(stdin_open: bool, capabilities: &[String]) -> Option<&'static str> {
    if !capabilities.iter().any(|capability| capability == "steering") {
        return Some("this agent takes no messages while it works on a turn");
    }
    (!stdin_open).then_some("the agent's stdin does not stay open in such a turn")
}

/// Files must have plain names, and words must name files that there are.
fn check_files(id: &str, launch: &types::Launch) -> Result<()> {
    let plain = |name: &str| {
        let fits = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(fits)
    };
    if let Some(file) = launch.files.iter().find(|file| !plain(&file.name)) {
        return Err(Error::adapter(format!(
            "the adapter {id} broke the interface: {:?} is not a name for a file",
            file.name
        )));
    }
    let words = launch.args.iter().chain(launch.variables.iter().map(|(_, value)| value));
    let known = |name: &String| launch.files.iter().any(|file| file.name == *name);
    match words.filter_map(|word| word.file.as_ref()).find(|name| !known(name)) {
        Some(name) => Err(Error::adapter(format!(
            "the adapter {id} broke the interface: a word names the file {name:?}, which is not there"
        ))),
        None => Ok(()),
    }
}

/// The runtime cannot be used, in words.
pub(crate) fn refused(adapter: &str, attempt: &str, failure: &Failure) -> Error {
    let error =
        Error::new(ErrorKind::Runtime, format!("the adapter {adapter} could not {attempt}: {}", failure.message));
    match &failure.retry {
        Retry::AfterUserAction { action } => error.hint(action.clone()),
        _ => error.hint(format!("`wharf doctor {adapter}` tells more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_hears_where_it_can_be_steered_and_its_stdin_stays_open() {
        let steering = ["duplex".to_owned(), "steering".to_owned()];
        for (open, capabilities, why) in [
            (true, &steering[..], None),
            (false, &steering, Some("stdin does not stay open")),
            (true, &steering[..1], Some("takes no messages")),
            (false, &[], Some("takes no messages")),
        ] {
            let found = deafness(open, capabilities);
            assert_eq!(found.is_some(), why.is_some(), "{open} {capabilities:?}");
            assert!(found.unwrap_or_default().contains(why.unwrap_or_default()), "{found:?}");
        }
    }
}
