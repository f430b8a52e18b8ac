//! The battery for MCP servers: which tools write, and whether a write can be repeated, cancelled,
//! interrupted and called by many at once without a second effect. Effects are counted in the ledgers of the
//! services that stand in for the server's backend. docs/mcp-servers.md has the rules.

mod arguments;
mod ask;
mod asked_cases;
mod battery;
mod card;
mod cases;
mod compare_card;
mod control;
mod judge;
mod known_tools;
mod observed;
mod prepare;
mod questions;
mod run_cases;
mod show;
mod text;
mod tools_file;

pub(super) use asked_cases::judge_again;
pub use battery::{McpError, McpOptions, McpReport, certify_mcp};
pub use card::CardRemark;
pub use cases::any_host_service;
pub use control::ControlServer;
pub use prepare::{PrepareServerError, PreparedServer, prepare_server, run_preparation};
pub use questions::McpQuestion;
pub use show::render_mcp;
pub use tools_file::{ToolSettings, ToolsFile};
