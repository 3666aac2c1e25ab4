//! A mock model on loopback that answers as a scenario defines, for tests with real agents.
//!
//! It implements `OpenAI`'s chat completions and responses, Anthropic's messages and Gemini's content (each streamed or in
//! one piece) and as much of GitHub's API as Copilot needs to accept a token and list its models. It never validates a request, and it
//! records every request for the test to read.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use wharf_mock_model::{Scenario, Server, Step};
//! let scenario = Scenario { steps: vec![Step::text("Hello.")], ..Scenario::default() };
//! let server = Server::start(scenario, None).await?;
//! println!("{}/v1/messages", server.url());
//! # Ok(())
//! # }
//! ```

mod catalog;
mod format;
mod reading;
mod record;
mod scenario;
mod server;

pub use record::{Attachment, Request};
pub use scenario::{End, Scenario, Step, Tool, Usage};
pub use server::Server;
