//! The fields of a tool call, and what agents put into them.

use crate::{ChangeKind, Diff, FileChange, Json, Malformed, Text, ToolCall, ToolKind, ToolStatus};

/// The fields of a `tool_call`, a `tool_call_update`, or the `toolCall` of a permission request.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names of the protocol")]
pub struct ToolFields<'a> {
    pub id: Json<'a>,
    pub kind: Json<'a>,
    pub title: Json<'a>,
    pub status: Json<'a>,
    /// `rawInput`.
    pub input: Json<'a>,
    /// `rawOutput`.
    pub output: Json<'a>,
    pub content: Json<'a>,
    pub meta: Json<'a>,
    pub locations: Json<'a>,
    /// Not in the protocol, but some agents have it.
    pub name: Json<'a>,
}

impl<'a> ToolFields<'a> {
    pub(super) fn read(update: Json<'a>) -> Result<ToolFields<'a>, Malformed> {
        let keys =
            ["toolCallId", "kind", "title", "status", "rawInput", "rawOutput", "content", "_meta", "locations", "name"];
        let [id, kind, title, status, input, output, content, meta, locations, name] = update.select(keys)?;
        Ok(ToolFields { id, kind, title, status, input, output, content, meta, locations, name })
    }

    /// The name, as most agents have it: in a field of their own, in their metadata, or as the title; else the kind.
    pub fn usual_name(&self) -> Option<String> {
        let in_meta = || {
            let of = |value: Json<'_>| value.first_of(&["toolName", "tool_name"]).string();
            let vendor = |value: Json<'_>| {
                of(value).or_else(|| of(value.get("toolCall"))).or_else(|| value.get("name").string())
            };
            of(self.meta).or_else(|| self.meta.fields().find_map(|(_, value)| vendor(value)))
        };
        let title = || self.title.string().filter(|title| is_name(title));
        self.name.string().or_else(in_meta).or_else(title).or_else(|| self.kind.string())
    }

    /// The call as it is reported, without its output.
    pub(super) fn reported(&self, id: &str, name: Option<String>, status: ToolStatus) -> ToolCall {
        ToolCall {
            name,
            kind: self.tool_kind(),
            title: self.title.string(),
            input: self.input.verbatim(),
            paths: self.paths(),
            diffs: self.diffs(),
            ..ToolCall::new(id, status)
        }
    }

    /// The status, if the update has one.
    pub(super) fn status(&self) -> Option<ToolStatus> {
        Some(match self.status.name()? {
            "pending" => ToolStatus::Pending,
            "completed" => ToolStatus::Succeeded,
            "failed" => ToolStatus::Failed,
            _ => ToolStatus::Running,
        })
    }

    /// Whether the update says nothing but what is in its metadata.
    pub(super) fn is_meta_only(&self) -> bool {
        [self.kind, self.title, self.status, self.input, self.output, self.content]
            .iter()
            .all(|field| field.is_missing())
    }

    /// What the tool printed: the plain text if there is one, else the text that is shown to people.
    pub(super) fn output_text(&self) -> Option<Text> {
        let plain = [self.output, self.output.first_of(&["output", "message", "error"])];
        let plain = self.output.get("content").text().or_else(|| plain.into_iter().find_map(Json::text));
        plain.or_else(|| self.shown()).or_else(|| self.output.verbatim().filter(|_| self.output.is_array()))
    }

    /// The text blocks of the content.
    fn shown(&self) -> Option<Text> {
        let mut texts = self.content.items().map(|item| item.at(&["content", "text"])).filter(|text| text.is_string());
        let (first, second) = (texts.next()?, texts.next());
        let Some(second) = second else { return first.text() };
        let all = [first, second].into_iter().chain(texts).filter_map(Json::string);
        Some(Text::Inline(all.collect::<Vec<_>>().join("\n")))
    }

    /// The exit code of a command.
    pub(super) fn exit_code(&self) -> Option<i32> {
        let code = self.output.first_of(&["exit_code", "exitCode"]).i32();
        code.or_else(|| self.output.at(&["metadata", "exit"]).i32())
            .or_else(|| self.meta.at(&["terminal_exit", "exit_code"]).i32())
    }

    /// Output of a command that still runs.
    pub(super) fn more_output(&self) -> Option<Text> {
        self.meta.first_of(&["terminal_output_delta", "terminal_output"]).get("data").text()
    }

    /// The files that the tool changes.
    pub(super) fn changes(&self) -> impl Iterator<Item = FileChange> + 'a {
        self.content.items().filter_map(|item| {
            let path = item.get("path").string().filter(|_| item.get("type").is("diff"))?;
            let is_new = item.get("oldText").filled().is_none();
            let kind = match item.at(&["_meta", "kind"]).name() {
                Some("delete") => ChangeKind::Deleted,
                _ if is_new => ChangeKind::Created,
                _ => ChangeKind::Edited,
            };
            Some(FileChange { path, kind, added: None, removed: None })
        })
    }

    /// The kind, if the update has one.
    pub(super) fn tool_kind(&self) -> Option<ToolKind> {
        Some(match self.kind.name()? {
            "read" => ToolKind::Read,
            "edit" => ToolKind::Edit,
            "delete" => ToolKind::Delete,
            "move" => ToolKind::Move,
            "search" => ToolKind::Search,
            "execute" => ToolKind::Execute,
            "fetch" => ToolKind::Fetch,
            "think" => ToolKind::Think,
            _ => ToolKind::Other,
        })
    }

    /// The input as JSON. Kimi writes it into the text while it is streamed.
    pub(super) fn known_input(&self) -> Option<String> {
        if self.input.is_object() {
            return Some(self.input.raw().to_owned());
        }
        let text = self.content.items().find_map(|item| item.at(&["content", "text"]).string())?;
        Some(text).filter(|text| self.status().is_some_and(|status| status == ToolStatus::Running) && is_object(text))
    }

    /// The files that the tool touches. The location of a command is only where it runs.
    pub(super) fn paths(&self) -> Vec<String> {
        let runs = self.kind.is("execute");
        let paths = self.locations.items().map(|location| location.get("path")).filter_map(Json::string);
        paths.filter(|_| !runs).collect()
    }

    /// How the tool changes files.
    pub(super) fn diffs(&self) -> Vec<Diff> {
        let diffs = self.content.items().filter(|item| item.get("type").is("diff")).filter_map(|item| {
            let [path, old, new] = item.select(["path", "oldText", "newText"]).ok()?;
            Some(Diff { path: path.string()?, old: old.text(), new: new.text()? })
        });
        diffs.collect()
    }

    /// The files of a tool that changes files and shows no differences.
    pub(super) fn changed_locations(&self) -> impl Iterator<Item = FileChange> + 'a {
        let kind = match self.kind.name() {
            Some("edit") => Some(ChangeKind::Edited),
            Some("delete") => Some(ChangeKind::Deleted),
            Some("move") => Some(ChangeKind::Moved),
            _ => None,
        };
        let named = self.input.first_of(&["path", "file_path", "filePath"]);
        let named = Some(named).filter(|_| self.locations.items().next().is_none());
        let paths = self.locations.items().map(|location| location.get("path")).chain(named);
        paths.filter_map(move |path| Some(FileChange { path: path.string()?, kind: kind?, added: None, removed: None }))
    }
}

/// Whether a text is a JSON object with fields.
fn is_object(text: &str) -> bool {
    let json = Json::parse(text);
    json.is_object() && json.fields().next().is_some()
}

/// Whether a title is the name of a tool, and not a sentence about what it does.
fn is_name(title: &str) -> bool {
    !title.is_empty() && title.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline(text: Option<Text>) -> Option<String> {
        match text {
            Some(Text::Inline(text)) => Some(text),
            _ => None,
        }
    }

    /// Captured from claude-agent-acp, codex-acp, goose, grok, qwen, vibe, opencode and kimi, pi.
    #[test]
    fn a_name_is_where_agents_put_it() {
        for (update, name) in [
            (r#"{"title":"Terminal","name":"Bash","_meta":{"claudeCode":{"toolName":"Bash"}}}"#, "Bash"),
            (r#"{"title":"echo hi","name":"exec_command","_meta":{"terminal_info":{"cwd":"/w"}}}"#, "exec_command"),
            (
                r#"{"title":"shell · echo","_meta":{"goose":{"toolCall":{"toolName":"shell","extensionName":"x"}}}}"#,
                "shell",
            ),
            (
                r#"{"title":"Execute `x`","_meta":{"x.ai/tool":{"version":1,"name":"run_terminal_command"}}}"#,
                "run_terminal_command",
            ),
            (r#"{"title":"echo (lab)","_meta":{"toolName":"run_shell_command"}}"#, "run_shell_command"),
            (r#"{"title":"x y","_meta":{"tool_name":"bash","effect_kind":"shell"}}"#, "bash"),
            (r#"{"title":"bash","kind":"execute"}"#, "bash"),
            (r#"{"title":"echo hello; pwd","kind":"execute"}"#, "execute"),
        ] {
            let fields = ToolFields::read(Json::parse(update)).expect("an object");
            assert_eq!(fields.usual_name().as_deref(), Some(name), "{update}");
        }
    }

    #[test]
    fn output_and_exit_code_are_where_agents_put_them() {
        let shown = r#""content":[{"type":"content","content":{"type":"text","text":"shown"}}]"#;
        for (rest, output, code) in [
            (r#","rawOutput":"plain""#.to_owned(), Some("plain"), None),
            (r#","rawOutput":{"stdout":"x","stderr":"","exit_code":3}"#.to_owned(), Some("shown"), Some(3)),
            (r#","rawOutput":{"output":"plain","metadata":{"exit":0}}"#.to_owned(), Some("plain"), Some(0)),
            (r#","rawOutput":{"error":"no"}"#.to_owned(), Some("no"), None),
            (r#","_meta":{"terminal_exit":{"exit_code":1}}"#.to_owned(), Some("shown"), Some(1)),
        ] {
            let update = format!("{{{shown}{rest}}}");
            let fields = ToolFields::read(Json::parse(&update)).expect("an object");
            assert_eq!(inline(fields.output_text()).as_deref(), output, "{update}");
            assert_eq!(fields.exit_code(), code, "{update}");
        }
        let list = ToolFields::read(Json::parse(r#"{"rawOutput":[{"result":"x"}]}"#)).expect("an object");
        assert_eq!(inline(list.output_text()).as_deref(), Some(r#"[{"result":"x"}]"#));
    }
}
