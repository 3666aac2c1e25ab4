//! A configuration file is read and parsed. An error names the file, the line, and what may be there.

use crate::disk::{Links, read_plain_file};
use crate::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::path::Path;

/// The content of a file; none if it is missing. `hint` may know better than the parser what to do about an error.
pub(super) fn read<T: for<'a> Deserialize<'a>>(
    path: &Path,
    links: Links,
    limit: u64,
    hint: impl Fn(&str) -> Option<String>,
) -> Result<Option<T>> {
    use std::io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, NotADirectory, NotFound};
    let shown = path.display();
    let text = read_plain_file(path, links, limit).and_then(|content| {
        String::from_utf8(content).map_err(|_| std::io::Error::new(InvalidData, "it is not UTF-8"))
    });
    let text = match text {
        Ok(text) => text,
        // That the workspace is not a folder is reported by the turn.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
        Err(error) if matches!(error.kind(), InvalidInput | InvalidData | FileTooLarge) => {
            return Err(Error::new(ErrorKind::Config, format!("the configuration {shown} cannot be read: {error}")));
        }
        Err(error) => return Err(Error::system(format!("reading the configuration {shown}"), error)),
    };
    toml::from_str(&text).map(Some).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = plain(&error.message().trim().replace('\n', "; "));
        let error = Error::new(ErrorKind::Config, format!("the configuration {shown}, line {line}: {message}"));
        match hint(&message) {
            Some(hint) => error.with_hint(hint),
            None => error.with_hint("docs/configuration.md lists the settings"),
        }
    })
}

/// A message of the parser, with names of types that a person knows.
fn plain(message: &str) -> String {
    [
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected path string", "expected a path"),
        ("expected a sequence", "expected a list"),
        ("invalid type: sequence", "invalid type: list"),
        ("wanted string or table", "expected a string"),
        ("unknown variant", "unknown value"),
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
    ]
    .into_iter()
    .fold(message.to_owned(), |text, (rust, words)| text.replace(rust, words))
}
