//! Recorded conversations with real agents, replayed.

mod replay;
