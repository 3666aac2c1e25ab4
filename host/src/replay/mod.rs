//! Replay: passes a recording, or captured output, through an adapter. The same adapter gives the same events, whatever
//! the chunks; another one shows how it would read the same bytes. No agent is started, and nothing is done for the
//! adapter.

mod capture;
mod fixture;
mod player;

pub use capture::Capture;
pub(crate) use capture::capture;
pub use fixture::anonymous;
pub use player::Replayed;
pub(crate) use player::recording;
