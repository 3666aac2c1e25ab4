//! Files that go with the prompt. Codex takes images, as files or in the protocol; nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wharf_adapter::json::Object;
use wharf_adapter::{Arg, Attachment, Launch, Settings};

fn is_image(attachment: &Attachment) -> bool {
    attachment.media_type.starts_with("image/") && (attachment.path.is_some() || attachment.bytes.is_some())
}

/// Reports what Codex does not take.
pub(crate) fn check(settings: &mut Settings<'_>) {
    let attachments = settings.attachments();
    for other in attachments.iter().filter(|attachment| !is_image(attachment)) {
        settings.report("attachments", &format!("Codex takes images only: {} was left out", other.name));
    }
}

/// The arguments of `exec`. An image without a file gets one.
pub(crate) fn args(attachments: &[Attachment], launch: &mut Launch) {
    for (number, image) in attachments.iter().filter(|attachment| is_image(attachment)).enumerate() {
        // With `=`, because the flag takes several values and would consume the next arguments.
        let flag = "--image=";
        match (&image.path, &image.bytes) {
            (Some(path), _) => launch.joined(flag, path),
            (None, Some(bytes)) => {
                let kind = image.media_type.trim_start_matches("image/");
                let file = launch.file(&format!("image-{number}.{kind}"), bytes.clone());
                launch.arg(Arg { text: flag.to_owned(), ..file });
            }
            (None, None) => {}
        }
    }
}

/// The inputs of a turn over `app-server`.
pub(crate) fn inputs(attachments: &[Attachment]) -> impl Iterator<Item = String> {
    attachments.iter().filter(|attachment| is_image(attachment)).map(|image| match (&image.path, &image.bytes) {
        (None, Some(bytes)) => {
            let url = ["data:", &image.media_type, ";base64,", &STANDARD.encode(bytes)].concat();
            Object::new().str("type", "image").str("url", &url).finish()
        }
        (path, _) => Object::new().str("type", "localImage").maybe_str("path", path.as_deref()).finish(),
    })
}
