//! How well the tools of a trial are described to agents that get them over MCP.

use mock_services::word_enum;
use serde::Serialize;

/// The word of `requires`, `via` and `--via` for subjects that get the services as MCP tools.
pub const MCP: &str = "mcp";

word_enum! {
    /// The hints of a tool: whether it only reads, may be repeated, destroys something.
    #[derive(Default)]
    pub enum ToolHints {
        /// They say what the tool does.
        #[default]
        Right => "right",
        /// There are none.
        Absent => "absent",
        /// Writes look like reads that may be repeated, and reads look like writes.
        Wrong => "wrong",
    }
}

word_enum! {
    /// What the description of an idempotency key leads to.
    #[derive(Default)]
    pub enum KeyDescription {
        /// One key for an operation, the same in every retry.
        #[default]
        PerOperation => "per-operation",
        /// A new key for every call.
        PerRequest => "per-request",
    }
}

/// How the tools are described.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ToolCards {
    /// Their hints.
    pub hints: ToolHints,
    /// The description of their keys.
    pub key_description: KeyDescription,
}
