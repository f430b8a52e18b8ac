//! Payment, email, deploy and record services on real sockets that commit and then fail, with a ledger that is the truth.

mod clock;
pub mod fault;
pub mod idempotency;
pub mod ledger;
pub mod service;

pub use clock::Clock;
