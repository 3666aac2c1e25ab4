//! The attachments of a prompt, as the agent accepts them.
//!
//! Every agent accepts links to files. Images and texts go into the prompt itself only if the agent says that it accepts
//! them there.

use crate::json::Object;
use crate::{Attachment, Json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What the agent accepts in a prompt beside text and links.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepts {
    image: bool,
    audio: bool,
    embedded: bool,
}

impl Accepts {
    /// By the agent's answer to `initialize`.
    pub(super) fn of(agent: Json<'_>) -> Accepts {
        let has = |what: &str| agent.at(&["agentCapabilities", "promptCapabilities", what]).is_true();
        Accepts { image: has("image"), audio: has("audio"), embedded: has("embeddedContext") }
    }

    /// The part of a prompt for an attachment; none if the agent does not accept it in any form.
    pub(super) fn block(self, attachment: &Attachment) -> Option<String> {
        let Attachment { name, media_type, path, bytes } = attachment;
        let of = |kind: &str| Object::new().str("type", kind);
        let link = path.as_ref().map(|path| format!("file://{}", percent_encoded(path)));
        let media = match media_type.split('/').next() {
            Some("image") if self.image => Some("image"),
            Some("audio") if self.audio => Some("audio"),
            _ => None,
        };
        if let (Some(kind), Some(bytes)) = (media, bytes) {
            return Some(of(kind).str("mimeType", media_type).str("data", &STANDARD.encode(bytes)).finish());
        }
        let text = bytes.as_deref().filter(|_| self.embedded).and_then(|bytes| std::str::from_utf8(bytes).ok());
        if let Some(text) = text {
            let uri = link.unwrap_or_else(|| format!("attachment:{}", percent_encoded(name)));
            let resource = Object::new().str("uri", &uri).str("mimeType", media_type).str("text", text);
            return Some(of("resource").object("resource", resource).finish());
        }
        link.map(|uri| of("resource_link").str("name", name).str("uri", &uri).str("mimeType", media_type).finish())
    }
}

/// A path in a URI.
fn percent_encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            for digit in [byte >> 4, byte & 15] {
                uri.extend(char::from_digit(u32::from(digit), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(media_type: &str, path: Option<&str>, bytes: Option<&[u8]>) -> Attachment {
        let (path, bytes) = (path.map(str::to_owned), bytes.map(<[u8]>::to_vec));
        Attachment { name: "a b".to_owned(), media_type: media_type.to_owned(), path, bytes }
    }

    #[test]
    fn an_attachment_has_the_form_that_the_agent_accepts() {
        let all = Accepts { image: true, audio: false, embedded: true };
        let none = Accepts { image: false, audio: false, embedded: false };
        let image = attachment("image/png", Some("/w/a b.png"), Some(&[1, 2, 250]));
        let text = attachment("text/plain", None, Some(b"hi"));
        let large = attachment("text/plain", Some("/w/x"), None);
        for (accepts, attachment, block) in [
            (all, &image, Some(r#"{"type":"image","mimeType":"image/png","data":"AQL6"}"#)),
            (
                none,
                &image,
                Some(r#"{"type":"resource_link","name":"a b","uri":"file:///w/a%20b.png","mimeType":"image/png"}"#),
            ),
            (
                all,
                &text,
                Some(
                    r#"{"type":"resource","resource":{"uri":"attachment:a%20b","mimeType":"text/plain","text":"hi"}}"#,
                ),
            ),
            (none, &text, None),
            (all, &large, Some(r#"{"type":"resource_link","name":"a b","uri":"file:///w/x","mimeType":"text/plain"}"#)),
        ] {
            assert_eq!(accepts.block(attachment).as_deref(), block);
        }
    }
}
