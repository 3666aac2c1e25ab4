//! Files and images that go with a prompt.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::PathBuf;

/// How many bytes of an attachment an adapter gets. A larger file reaches the agent by its path only.
pub const ATTACHMENT_LIMIT: usize = 8 << 20;

/// A file or an image that goes with the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attachment {
    /// What the agent calls it.
    pub name: String,
    /// "image/png".
    pub media_type: String,
    /// The file; without one there are only bytes.
    pub path: Option<PathBuf>,
    /// The content; of a file, the host reads it before the turn.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub bytes: Option<Vec<u8>>,
}

impl Attachment {
    /// A file. Its media type is guessed by its name.
    pub fn file(path: impl Into<PathBuf>) -> Attachment {
        let path = path.into();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let media_type = media_type(&name).to_owned();
        Attachment { name, media_type, path: Some(path), bytes: None }
    }

    /// Bytes that are in no file.
    pub fn bytes(name: impl Into<String>, media_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Attachment {
        Attachment { name: name.into(), media_type: media_type.into(), path: None, bytes: Some(bytes.into()) }
    }
}

/// The media type that a file of this name has.
fn media_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "txt" | "log" | "rs" | "py" | "js" | "ts" | "go" | "c" | "h" | "cpp" | "java" | "sh" | "toml" | "yaml"
        | "yml" | "xml" | "css" | "sql" | "diff" | "patch" => "text/plain",
        _ => "application/octet-stream",
    }
}

#[expect(clippy::ref_option, reason = "the signature that serde needs")]
fn encode<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(serializer)
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| STANDARD.decode(text)).transpose().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_survives_its_json() {
        let image = Attachment::bytes("a.png", "image/png", [0_u8, 159, 255]);
        let text = serde_json::to_string(&image).expect("plain data");
        assert_eq!(serde_json::from_str::<Attachment>(&text).expect("an attachment"), image);
        let file = Attachment::file("/w/Photo.JPG");
        assert_eq!((file.name.as_str(), file.media_type.as_str()), ("Photo.JPG", "image/jpeg"));
    }
}
