//! Mock payment, email, deploy and record services for tests. They speak the real protocols on real sockets,
//! commit a change and then lose the reply, answer 429 or 503, hang, or report a success that did not happen;
//! and they keep a ledger of every effect, so that a test can check that each one happened exactly once.
//!
//! # A test
//!
//! The code under test charges a customer. The service commits the first charge and closes the connection
//! without a reply. A client that retries with a new idempotency key charges twice; the ledger shows it.
//!
//! ```
//! use mock_services::fault::{Commit, Fault, Reply};
//! use mock_services::payment::Payment;
//! use mock_services::{MockServices, ServiceOptions};
//!
//! /// The code under test: it retries once, with the same idempotency key.
//! fn charge(url: &str, key: &str) -> Result<(), ureq::Error> {
//!     let attempt = || {
//!         ureq::post(format!("{url}/v1/charges"))
//!             .header("Authorization", format!("Bearer {key}"))
//!             .header("Idempotency-Key", "order-1001")
//!             .send_form([("amount", "4999"), ("currency", "usd"), ("customer", "cus_42")])
//!     };
//!     attempt().or_else(|_| attempt()).map(|_| ())
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let services = MockServices::builder()
//!     .service(Payment::default(), ServiceOptions::default())
//!     .fault(Fault::on("payment.charge").attempt(1).commit(Commit::Now).reply(Reply::Drop))
//!     .start()
//!     .await?;
//! services.expect("payment.charge").times(1);
//!
//! let payment = services.handle("payment")?;
//! charge(&payment.url(), payment.key())?;
//!
//! assert_eq!(services.ledger().attempts("payment.charge").count(), 2);
//! assert_eq!(services.ledger().effects("payment.charge").count(), 1);
//! services.verify().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The parts
//!
//! - **Services**: [`payment`] (Stripe), [`email`] (SendGrid, Resend, SMTP), [`deploy`] (GitHub deployments
//!   and a plain API), [`records`] (a small store with versions), and [`custom`] services declared in YAML.
//!   Add them to a [`Builder`]; [`MockServices::handle`] gives the URL and the API key of a running one.
//! - **[Faults](fault)**: a fault is two independent choices, what is [committed](fault::Commit) and what the
//!   caller [sees](fault::Reply), and a [trigger](fault::Trigger) that selects the attempt. Build one with
//!   [`Fault::on`](fault::Fault::on), or parse the line that `hapax serve --fault` takes.
//! - **[Ledger](ledger)**: every request, fault, commit and reply, in one order. Ask it for
//!   [effects](ledger::Ledger::effects) and [attempts](ledger::Ledger::attempts), or read all
//!   [entries](ledger::Ledger::entries).
//! - **[Expectations](MockServices::expect)**: how often an effect must have been committed. They are checked
//!   by [`MockServices::verify`], or when the services are dropped.
//! - **[Idempotency](idempotency)**: how a service treats idempotency keys: like Stripe, like the IETF draft,
//!   or not at all. A choice for each service, in [`ServiceOptions`].
//! - **[Listeners](MockServices::listen)**: pause a service at a chosen moment, for example after the commit
//!   and before the reply, while a test kills the client.
//!
//! # More faults
//!
//! Faults can be armed while the services run, and written as one line:
//!
//! ```
//! use mock_services::email::Email;
//! use mock_services::fault::Fault;
//! use mock_services::{MockServices, ServiceOptions};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let builder = MockServices::builder().service(Email::default(), ServiceOptions::default());
//! let services = builder.start().await?;
//! let rate_limit: Fault = "email.send#1 commit=never reply={status: 429, retry_after: 1}".parse()?;
//! services.arm(vec![rate_limit])?;
//!
//! let email = services.handle("email")?;
//! let send = || {
//!     let mail = r#"{"from": "shop@shop.example", "to": ["ann@x.example"], "subject": "Hi", "text": "Hi"}"#;
//!     ureq::post(format!("{}/emails", email.url()))
//!         .header("Authorization", format!("Bearer {}", email.key()))
//!         .header("Content-Type", "application/json")
//!         .send(mail)
//! };
//! assert!(matches!(send(), Err(ureq::Error::StatusCode(429))));
//! assert!(send().is_ok());
//! assert_eq!(services.ledger().effects("email.send").count(), 1);
//! assert_eq!(services.fired()[0].attempts, [1]);
//! # Ok(())
//! # }
//! ```
//!
//! A fault that makes no sense for the services is an error before anything runs:
//!
//! ```
//! use mock_services::fault::{Fault, Reply};
//! use mock_services::records::Records;
//! use mock_services::{MockServices, ServiceOptions};
//!
//! # #[tokio::main]
//! # async fn main() {
//! let builder = MockServices::builder()
//!     .service(Records::default(), ServiceOptions::default())
//!     .fault(Fault::on("records.putt").reply(Reply::Reset));
//! let error = builder.start().await.err().map(|error| error.to_string()).unwrap_or_default();
//! assert!(error.contains("records.put"), "{error}");
//! # }
//! ```
//!
//! # A service of your own
//!
//! A service can be declared in YAML ([`custom::TICKETS`] is an example) or be a type that implements
//! [`Service`](service::Service): three pure functions over a state. The engine puts faults, idempotency and
//! the ledger around it.
//!
//! ```
//! use mock_services::custom::{Custom, TICKETS};
//! use mock_services::{MockServices, ServiceOptions, Source};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tickets = Custom::from_source(&Source::new("tickets.yaml", TICKETS))?;
//! let services = MockServices::builder().service(tickets, ServiceOptions::default()).start().await?;
//! let tickets = services.handle("tickets")?;
//! ureq::post(format!("{}/tickets", tickets.url()))
//!     .header("Authorization", format!("Bearer {}", tickets.key()))
//!     .header("Content-Type", "application/json")
//!     .send(r#"{"customer": "cus_42", "subject": "Late"}"#)?;
//! assert_eq!(services.ledger().effects("tickets.open").count(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Which enums may grow
//!
//! Errors and the types that only this crate makes are `#[non_exhaustive]`. [`fault::Commit`],
//! [`fault::Reply`] and [`ledger::Event`] are not: code that reads a ledger must handle every kind of entry,
//! and a new kind must be a compile error there, so it comes with a new major version.

mod after;
pub mod approval;
mod built_in;
pub mod catalog;
mod clock;
pub mod custom;
mod delivery;
pub mod deploy;
mod description;
mod distinct_json;
pub mod email;
mod endpoints;
mod engine;
pub mod examples;
pub mod fault;
mod history;
pub mod idempotency;
mod index;
pub mod ledger;
pub mod model;
mod money;
pub mod payment;
pub mod records;
pub mod result_text;
pub mod sender;
pub mod service;
mod services;
pub mod web;
mod wire;
mod word_enum;

#[doc(hidden)]
pub use serde;
pub use word_enum::UnknownWord;

pub use clock::Clock;
pub use delivery::{Held, Listener, Moment, MomentKind, QueuedEnd};
pub use distinct_json::DistinctJson;
pub use engine::{AwaitedCallers, BarrierOptions, HistoryReport, LateCall, LateSenders};
pub use history::HistoryConclusion;
pub use money::money;
pub use services::{
    Builder, ExpectationBuilder, MockServices, ServiceHandle, ServiceOptions, StartError, Times,
    UnknownService, UnmetExpectations,
};
pub use wire::{Limits, OpenConnections, certificate_authority, https_config};
/// A file with its name, and the problems in one. The rest of that crate is for those who read files on top of
/// it.
pub use yaml_reader::{Problems, Source};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
