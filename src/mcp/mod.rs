//! The Model Context Protocol.

pub(crate) mod client;
