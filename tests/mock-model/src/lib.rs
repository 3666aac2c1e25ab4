//! A model that says what a scenario tells it to, on loopback, for tests with real agents.
//!
//! It speaks `OpenAI`'s chat completions and responses, Anthropic's messages (each streamed or whole) and as much of
//! GitHub's API as Copilot needs to accept a token and list its models. It checks nothing and forgets nothing: what
//! the agent sent can be read afterwards.
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

mod catalogue;
mod record;
mod scenario;
mod server;
mod wire;

pub use record::Request;
pub use scenario::{End, Scenario, Step, Tool};
pub use server::Server;
