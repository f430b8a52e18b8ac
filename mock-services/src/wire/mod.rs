//! Sockets: how requests come in and how answers go out, whole, in part, late or not at all. It knows bytes
//! and connections, and nothing of what a request means.

mod activity;
mod close;
mod deliver;
mod garble;
mod http;
mod limits;
mod listen;
mod open;
mod smtp;
mod tls;

pub use activity::OpenConnections;
pub use limits::Limits;
pub(crate) use listen::{Endpoint, Protocol, Wire};
pub use tls::certificate_authority;
