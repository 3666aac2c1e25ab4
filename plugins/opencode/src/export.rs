//! A session as `opencode export` prints it: what the output of a turn lacked is looked up there.

use crate::usage;
use wharf_adapter::{Binary, Host, Json, Probe, Usage};

/// A program that was just used starts in a second or two; a busy machine needs longer.
const MILLIS: u32 = 30_000;

/// Runs `opencode export SESSION`. The program reads its own database: this works in any folder, and without a network.
pub(crate) fn fetch(host: &dyn Host, program: &str, session: &str) -> Option<String> {
    // An id never looks like a flag; a broken line might.
    if session.is_empty() || session.starts_with('-') {
        return None;
    }
    let output = Probe::new(host, &Binary::at(program.to_owned())).timeout_ms(MILLIS).run(&["export", session]).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.code == Some(0) && text.trim_start().starts_with('{')).then_some(text)
}

/// An exported session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Export<'a>(Json<'a>);

impl<'a> Export<'a> {
    pub(crate) fn read(text: &'a str) -> Export<'a> {
        Export(Json::parse(text))
    }

    /// The model that answered last.
    pub(crate) fn model(&self) -> Option<String> {
        let last = self.messages().filter(Message::is_answer).last()?;
        let [provider, model] = last.0.get("info").select(["providerID", "modelID"]).ok()?;
        Some(format!("{}/{}", provider.str()?, model.str()?))
    }

    /// The answers of the turn that this message belongs to, else of the last turn.
    pub(crate) fn turn(&self, message: Option<&str>) -> Vec<Message<'a>> {
        let known = message.and_then(|id| self.messages().find(|message| message.id() == id)?.parent());
        let last = || self.messages().filter(|message| !message.is_answer()).last().map(|message| message.id());
        let Some(prompt) = known.or_else(last) else { return vec![] };
        self.messages().skip_while(|message| message.id() != prompt).filter(Message::is_answer).collect()
    }

    fn messages(&self) -> impl Iterator<Item = Message<'a>> {
        self.0.get("messages").items().map(Message)
    }
}

/// A message: one call of the model, or a prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a>(Json<'a>);

impl<'a> Message<'a> {
    pub(crate) fn id(&self) -> String {
        self.0.at(&["info", "id"]).string().unwrap_or_default()
    }

    fn parent(&self) -> Option<String> {
        self.0.at(&["info", "parentID"]).string()
    }

    fn is_answer(&self) -> bool {
        self.0.at(&["info", "role"]).is("assistant")
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = Json<'a>> {
        self.0.get("parts").items()
    }

    /// Why it ended.
    pub(crate) fn finish(&self) -> Option<String> {
        self.0.at(&["info", "finish"]).string()
    }

    pub(crate) fn error(&self) -> Option<Json<'a>> {
        Some(self.0.at(&["info", "error"])).filter(|error| error.is_object())
    }

    pub(crate) fn usage(&self, model: Option<&str>) -> Option<Usage> {
        let [tokens, cost] = self.0.get("info").select(["tokens", "cost"]).ok()?;
        usage::of_step(tokens, cost, model)
    }
}
