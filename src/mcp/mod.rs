//! The Model Context Protocol.

pub mod bridge;
pub(crate) mod client;
pub(crate) mod server;
