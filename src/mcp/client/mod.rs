//! The client side: connects to an MCP server, carries out a small plan, and prints what it saw. `hapax
//! call-tools` runs it as the subject of a trial, so that the server runs under the same supervisor, in the
//! same namespaces and with the same services as any other subject.

mod connection;
mod declining;
mod driver;
mod http;
mod plan;
mod server_process;
mod trial_name;

pub(crate) use driver::{HEADERS_VARIABLE, drive};
#[cfg(test)]
pub(crate) use http::HyperClient;
pub(crate) use plan::{
    CallOutcome, CloseMoment, DriverPlan, DriverRecord, DriverStep, Handshake, KEY_PLACEHOLDER, ListedTool,
    ListedTools, ServerAddress, TRIAL_PLACEHOLDER, ToolCall, leaves_outcome_open, read_records,
};
