//! The services of one trial, with callers that speak to them over sockets.

use mock_services::custom::{Custom, TICKETS};
use mock_services::deploy::Deploy;
use mock_services::email::Email;
use mock_services::fault::{Fault, read_fault};
use mock_services::idempotency::Idempotency;
use mock_services::ledger::{CommittedEffect, Event, Ledger};
use mock_services::payment::Payment;
use mock_services::records::Records;
use mock_services::yaml::{Reader, Source, parse};
use mock_services::{Builder, Clock, MockServices, ServiceOptions, StartError};

use super::client::{self, Transcript};
use super::ledger;
use super::request::TestRequest;
use super::{fault, faults};

/// Running services.
pub(crate) struct TestServices {
    pub(crate) services: MockServices,
}

/// All services of the package, each in its own way, with three callers.
pub(crate) fn everything(seed: u64) -> Builder {
    let options = ServiceOptions::default();
    MockServices::builder()
        .seed(seed)
        .callers(3)
        .service(Payment::default(), options)
        .service(Email::default(), options)
        .service(Deploy::default(), options)
        .service(Records::default(), options)
        .service(tickets(), options)
}

/// The same at a moment that does not pass.
pub(crate) fn pinned(seed: u64) -> Builder {
    everything(seed).clock(Clock::Pinned("2026-11-15T10:00:00.25Z".parse().unwrap()))
}

/// All services with the keys of one profile.
pub(crate) fn keyed(idempotency: Idempotency) -> Builder {
    let options = ServiceOptions { idempotency: Some(idempotency), ..ServiceOptions::default() };
    MockServices::builder()
        .callers(3)
        .service(Payment::default(), options)
        .service(Email::default(), options)
        .service(Deploy::default(), options)
        .service(Records::default(), options)
        .service(tickets(), options)
}

/// The service of a file.
pub(crate) fn tickets() -> Custom {
    Custom::from_source(&Source::new("tickets.yaml", TICKETS)).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A fault that was read from YAML and not checked.
pub(crate) fn unchecked(yaml: &str) -> Fault {
    let file = Source::new("fault", yaml);
    let reader = Reader::new(&file);
    read_fault(&reader, &parse(&file).unwrap()).unwrap_or_else(|| panic!("{yaml}")).fault
}

impl TestServices {
    /// All services, with these faults.
    pub(crate) async fn with(faults: &[&str]) -> TestServices {
        TestServices::start(everything(1), faults).await.unwrap()
    }

    pub(crate) async fn start(builder: Builder, faults: &[&str]) -> Result<TestServices, StartError> {
        Ok(TestServices { services: builder.faults(self::faults(faults)).start().await? })
    }

    /// Arms one more fault.
    pub(crate) fn arm(&self, line: &str) {
        self.services.arm(vec![fault(line)]).unwrap_or_else(|objections| panic!("{objections}"));
    }

    /// The first caller asks.
    pub(crate) async fn send(&self, service: &str, request: &TestRequest) -> Transcript {
        self.send_as(1, service, request).await
    }

    pub(crate) async fn send_as(&self, caller: u32, service: &str, request: &TestRequest) -> Transcript {
        let secret =
            request.secret.as_deref().unwrap_or_else(|| self.services.key(service).unwrap_or_default());
        match &request.mail {
            Some(mail) => {
                client::smtp(self.services.smtp_address(service, caller).unwrap(), secret, mail).await
            }
            None => client::http(self.services.address(service, caller).unwrap(), secret, request).await,
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.services.ledger()
    }

    pub(crate) fn effects(&self) -> Vec<CommittedEffect> {
        self.ledger().all_effects().collect()
    }

    /// How many effects there are.
    pub(crate) fn count(&self) -> usize {
        self.effects().len()
    }

    /// How often each fault has fired.
    pub(crate) fn fired(&self) -> Vec<usize> {
        self.services.fired().iter().map(|fired| fired.attempts.len()).collect()
    }

    /// Waits until so many effects are there.
    pub(crate) async fn until_effects(&self, count: usize) {
        ledger::wait_for_count(self.ledger(), count, |event| matches!(event, Event::Committed { .. })).await;
    }

    pub(crate) async fn settle(&self) {
        self.services.settle().await;
    }
}
