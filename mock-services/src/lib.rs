//! Payment, email, deploy and record services on real sockets that commit and then fail, with a ledger that
//! is the truth.

mod apis;
mod clock;
pub mod custom;
pub mod deploy;
pub mod email;
mod endpoints;
mod engine;
pub mod fault;
pub mod idempotency;
mod index;
mod json;
pub mod ledger;
mod lock;
pub mod payment;
pub mod records;
pub mod service;
mod services;
mod wire;
mod word_enum;
pub mod yaml;

#[doc(hidden)]
pub use serde;

pub use apis::{Api, api_of, apis};
pub use clock::Clock;
pub use engine::{Access, BarrierOptions, Held, Listener, Moment, MomentKind};
pub use services::{Builder, MockServices, ServiceOptions, StartError};
pub use wire::{Limits, OpenConnections, certificate_authority};
