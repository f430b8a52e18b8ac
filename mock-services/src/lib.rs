//! Payment, email, deploy and record services on real sockets that commit and then fail, with a ledger that is the truth.

pub mod custom;
pub mod fault;
pub mod service;
pub mod yaml;
