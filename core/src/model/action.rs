//! What an agent would do if it were allowed: the typed part of an ask. Decisions are about this, never about texts for
//! people.

use super::tool::Diff;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Action {
    /// Run a command.
    Run {
        /// The whole shell line, as the shell gets it.
        command: String,
    },
    /// Read a file or a folder.
    Read {
        /// Absolute, or relative to the workspace.
        path: String,
    },
    /// Write a file.
    Write {
        /// Absolute, or relative to the workspace.
        path: String,
        /// How it would change; null if the agent does not say.
        diff: Option<Diff>,
    },
    /// Fetch something from the network.
    Fetch {
        /// The whole URL.
        url: String,
    },
    /// Call a tool of an MCP server.
    CallTool {
        /// The name of the server.
        server: String,
        /// The name of the tool.
        tool: String,
    },
}
