//! Recorded conversations with real agents, replayed, and conversations that no agent has.

mod captures;
mod replay;
mod turns;
