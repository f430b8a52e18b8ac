//! Sockets: reads requests and sends answers, completely, in part, late or not at all. It handles bytes and
//! connections; what a request means is decided by the engine.

mod activity;
mod close;
mod deliver;
mod http;
mod limits;
mod listen;
mod open;
mod smtp;
mod tls;

pub use activity::OpenConnections;
pub use limits::Limits;
pub(crate) use listen::{Endpoint, Protocol, Wire};
pub use tls::{certificate_authority, https_config};
