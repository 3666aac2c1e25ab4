//! The decisions of a turn: when it times out, who may answer an ask, what it used, how it ended.
//!
//! Pure: no I/O, no clock. The time is always given as the [`Duration`](std::time::Duration) since the run started.

mod asks;
mod config;
mod contract;
mod driver;
mod files;
mod input;
mod ledger;
mod notices;
pub mod outcome;
mod room;
mod rules;
mod stop;
mod summary;
pub mod timeouts;
mod timers;
mod tools;
mod torn;

pub use config::{DriverConfig, TurnResult};
pub use driver::Driver;
pub use input::{Action, AdapterInput, Delivery, Effect, EventSink, Input};
pub use ledger::{Ledger, add};
pub use outcome::EndFacts;
pub use rules::{AskRule, AskRules, RuleAnswer};
pub use timeouts::{Timeout, TimeoutSetting, Timeouts};
pub use torn::torn;
