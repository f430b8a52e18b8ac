//! The services of one trial, with callers that connect over sockets.

use mock_services::catalog;
use mock_services::custom::{Custom, TICKETS};
use mock_services::fault::{Fault, read_fault};
use mock_services::idempotency::Idempotency;
use mock_services::ledger::{CommittedEffect, Event, Ledger};
use mock_services::{Builder, Clock, MockServices, ServiceOptions, StartError};
use yaml_reader::{Reader, Source, parse};

use super::client::{self, Transcript};
use super::ledger;
use super::request::TestRequest;
use super::{fault, faults};

/// Running services.
pub(crate) struct TestServices {
    pub(crate) mock: MockServices,
}

/// All services of the package, with three callers.
pub(crate) fn all_services(seed: u64) -> Builder {
    with_all_services(MockServices::builder().seed(seed), ServiceOptions::default())
}

fn with_all_services(builder: Builder, options: ServiceOptions) -> Builder {
    let services = catalog::services().iter();
    services.fold(builder.callers(3), |builder, service| {
        service.unconfigured().add_to(builder, 1, options.clone())
    })
}

/// All services with a clock that stands still.
pub(crate) fn all_services_at_fixed_time(seed: u64) -> Builder {
    all_services(seed).clock(Clock::Pinned("2026-11-15T10:00:00.25Z".parse().unwrap()))
}

/// All services with this idempotency profile.
pub(crate) fn all_services_with_keys(idempotency: Idempotency) -> Builder {
    let options = ServiceOptions { idempotency: Some(idempotency), ..ServiceOptions::default() };
    with_all_services(MockServices::builder(), options)
}

/// The declared example service.
pub(crate) fn tickets() -> Custom {
    Custom::from_source(&Source::new("tickets.yaml", TICKETS)).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A fault from YAML, unchecked.
pub(crate) fn unchecked(yaml: &str) -> Fault {
    let file = Source::new("fault", yaml);
    let reader = Reader::new(&file);
    read_fault(&reader, &parse(&file).unwrap()).unwrap_or_else(|| panic!("{yaml}")).fault
}

impl TestServices {
    /// All services, with these faults.
    pub(crate) async fn with(faults: &[&str]) -> TestServices {
        TestServices::start(all_services(1), faults).await.unwrap()
    }

    pub(crate) async fn start(builder: Builder, faults: &[&str]) -> Result<TestServices, StartError> {
        Ok(TestServices { mock: builder.faults(self::faults(faults)).start().await? })
    }

    /// Arms one more fault.
    pub(crate) fn arm(&self, line: &str) {
        self.mock.arm(vec![fault(line)]).unwrap_or_else(|objections| panic!("{objections}"));
    }

    /// Sends a request as the first caller.
    pub(crate) async fn send(&self, service: &str, request: &TestRequest) -> Transcript {
        self.send_as(1, service, request).await
    }

    pub(crate) async fn send_as(&self, caller: u32, service: &str, request: &TestRequest) -> Transcript {
        let secret = request.secret.as_deref().unwrap_or_else(|| self.mock.key(service).unwrap_or_default());
        match &request.mail {
            Some(mail) => client::smtp(self.mock.smtp_address(service, caller).unwrap(), secret, mail).await,
            None => client::http(self.mock.address(service, caller).unwrap(), secret, request).await,
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.mock.ledger()
    }

    pub(crate) fn effects(&self) -> Vec<CommittedEffect> {
        self.ledger().all_effects().collect()
    }

    /// The number of effects.
    pub(crate) fn count(&self) -> usize {
        self.effects().len()
    }

    /// How often each fault has fired.
    pub(crate) fn fired(&self) -> Vec<usize> {
        self.mock.fired().iter().map(|fired| fired.attempts.len()).collect()
    }

    /// Waits for this number of effects.
    pub(crate) async fn wait_for_effects(&self, count: usize) {
        ledger::wait_for_count(self.ledger(), count, |event| matches!(event, Event::Committed { .. })).await;
    }

    pub(crate) async fn settle(&self) {
        self.mock.settle().await;
    }
}
