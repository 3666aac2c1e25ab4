//! Bytes and text on their way through: secrets removed, output cut into frames, events written as lines of JSON.
//! Pure: no I/O and no clock.

mod event;
pub mod frame;
mod jsonl;
mod redact;
mod tail;
mod text;

pub use event::{Part, PartKind, StreamedEvent, Whole};
pub use jsonl::Lines;
pub use redact::{Redactor, Secrecy, Secrets, has_login, is_secret};
pub use tail::Tail;
pub use text::{Quoted, Text};
