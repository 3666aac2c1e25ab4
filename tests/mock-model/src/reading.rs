//! What a request says, in any of the formats: the user's text, the tools, images and files. It never changes anything.

use crate::record::Attachment;
use serde_json::Value;

/// The text of all user messages in a request, without tool results. The formats differ only in the names of fields.
pub(crate) fn user_text(request: &Value) -> String {
    let turns = ["messages", "input", "contents"].iter().find_map(|field| request[*field].as_array());
    let messages = turns.into_iter().flatten().filter(|turn| turn["role"] == "user");
    let mut all: Vec<&str> =
        messages.flat_map(|turn| texts(&turn["content"]).into_iter().chain(texts(&turn["parts"]))).collect();
    all.extend(request["input"].as_str());
    all.join("\n")
}

fn texts(content: &Value) -> Vec<&str> {
    let blocks = content.as_array().into_iter().flatten();
    content.as_str().into_iter().chain(blocks.filter_map(|block| block["text"].as_str())).collect()
}

/// The names of the tools that the model is shown. A tool of the provider itself, such as a search, has only a type.
pub(crate) fn tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let of = |tool: &Value| -> Vec<String> {
        // Gemini groups functions, and Codex those of an MCP server.
        let group =
            ["functionDeclarations", "function_declarations", "tools"].iter().find_map(|key| tool[*key].as_array());
        match group {
            Some(group) => group.iter().filter_map(name).collect(),
            None => name(tool).into_iter().collect(),
        }
    };
    tools.flat_map(of).collect()
}

/// The group and the name of a tool whose name is `GROUP__NAME`, if the request has such a group.
pub(crate) fn namespaced<'a>(request: &'a Value, name: &str) -> Option<(&'a str, &'a str)> {
    let groups = request["tools"].as_array()?.iter().filter(|tool| tool["type"] == "namespace");
    let mut tools = groups.flat_map(|group| {
        let tools = group["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| Some((group["name"].as_str()?, tool["name"].as_str()?)))
    });
    tools.find(|(group, tool)| format!("{group}__{tool}") == name)
}

fn name(tool: &Value) -> Option<String> {
    let name = tool["name"].as_str().or(tool["function"]["name"].as_str()).or(tool["type"].as_str());
    name.map(str::to_owned)
}

/// All images and files, wherever they are in a request.
pub(crate) fn attachments(request: &Value) -> Vec<Attachment> {
    let mut all = vec![];
    collect(request, &mut all);
    all
}

fn collect(value: &Value, into: &mut Vec<Attachment>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(fields) => {
            let pairs = [("media_type", "data"), ("mimeType", "data"), ("mime_type", "data")];
            let pair = pairs
                .iter()
                .find_map(|(kind, data)| Some((fields.get(*kind)?.as_str()?, fields.get(*data)?.as_str()?)));
            if let Some((media_type, base64)) = pair {
                into.push(Attachment { media_type: media_type.to_owned(), base64: base64.to_owned() });
            }
            fields.values().for_each(|field| collect(field, into));
        }
        Value::String(text) => into.extend(data_url(text)),
        _ => {}
    }
}

/// The content of `data:image/png;base64,…`.
fn data_url(text: &str) -> Option<Attachment> {
    let (media_type, base64) = text.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Attachment { media_type: media_type.to_owned(), base64: base64.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn user_text_has_no_tool_results() {
        for (request, text) in [
            (json!({ "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }] }), "a"),
            (
                json!({ "messages": [{ "role": "user", "content": [
                    { "type": "text", "text": "a" }, { "type": "tool_result", "content": "r" }] }] }),
                "a",
            ),
            (json!({ "input": [{ "role": "user", "content": [{ "type": "input_text", "text": "a" }] }] }), "a"),
            (
                json!({ "contents": [
                { "role": "user", "parts": [{ "text": "a" }] }, { "role": "model", "parts": [{ "text": "b" }] },
                { "role": "user", "parts": [{ "functionResponse": { "response": { "output": "r" } } }] }] }),
                "a",
            ),
            (json!({ "input": "a" }), "a"),
            (json!({}), ""),
        ] {
            assert_eq!(user_text(&request), text, "{request}");
        }
    }

    #[test]
    fn tools_are_found_in_every_format() {
        for tools_of in [
            json!([{ "type": "function", "function": { "name": "shell" } }]),
            json!([{ "type": "function", "name": "shell" }]),
            json!([{ "name": "shell", "input_schema": {} }]),
            json!([{ "functionDeclarations": [{ "name": "shell" }] }]),
            json!([{ "type": "namespace", "name": "group", "tools": [{ "type": "function", "name": "shell" }] }]),
            json!([{ "type": "shell" }]),
        ] {
            assert_eq!(tools(&json!({ "tools": tools_of })), ["shell"], "{tools_of}");
        }
        assert!(tools(&json!({})).is_empty() && tools(&json!({ "tools": [] })).is_empty());
    }

    #[test]
    fn a_tool_in_a_group_is_found_by_both_names() {
        let group = json!({ "type": "namespace", "name": "mcp__harbour", "tools": [{ "name": "tide" }] });
        let request = json!({ "tools": [{ "type": "function", "name": "shell" }, group] });
        assert_eq!(namespaced(&request, "mcp__harbour__tide"), Some(("mcp__harbour", "tide")));
        assert_eq!(namespaced(&request, "shell"), None);
    }

    #[test]
    fn images_are_found_in_every_format() {
        for block in [
            json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBO" } }),
            json!({ "type": "input_image", "image_url": "data:image/png;base64,iVBO" }),
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "iVBO" } }),
            json!({ "inlineData": { "mimeType": "image/png", "data": "iVBO" } }),
        ] {
            let expected = Attachment { media_type: "image/png".to_owned(), base64: "iVBO".to_owned() };
            assert_eq!(attachments(&json!({ "x": [block] })), [expected], "{block}");
        }
        assert!(attachments(&json!({ "messages": [{ "role": "user", "content": "data: is not a URL" }] })).is_empty());
    }
}
