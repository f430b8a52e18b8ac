//! The services of one trial: started together over one ledger and one fault plan, and stopped together.

mod builder;
mod expect;
mod handle;
mod running;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::delivery::{Listener, MomentKind};
use crate::engine::{AwaitedCallers, HistoryReport, SCENARIO};
use crate::fault::{Fault, Fired, Objections, Plan};
use crate::ledger::Ledger;
use crate::service::{Operation, ServiceEvent};
use crate::wire::{Endpoint, OpenConnections, Protocol};

use builder::check_plan;
pub use builder::{Builder, ServiceOptions, StartError};
use expect::Expectations;
pub use expect::{ExpectationBuilder, Times, UnmetExpectations};
pub use handle::{ServiceHandle, UnknownService};
use running::{RunningService, ServiceEnvironment};

/// Running services. Dropping them stops them; [`MockServices::stop`] also waits until their ports are free.
pub struct MockServices {
    // Dropped first: it compares the ledger with the expectations.
    expectations: Expectations,
    environment: Arc<ServiceEnvironment>,
    running: Vec<RunningService>,
}

impl MockServices {
    /// A builder for the services of a trial.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The names of the services, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.running.iter().map(|running| running.name.as_str())
    }

    /// The operations of all services.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.running.iter().flat_map(|running| running.operations.iter().cloned()).collect()
    }

    /// The HTTP address of a service for a caller, counted from 1.
    #[must_use]
    pub fn address(&self, service: &str, caller: u32) -> Option<SocketAddr> {
        self.endpoint(service, caller, Protocol::Http)
    }

    /// The URL of a service for a caller.
    #[must_use]
    pub fn url(&self, service: &str, caller: u32) -> Option<String> {
        self.address(service, caller).map(|address| format!("http://{address}"))
    }

    /// The SMTP address of a service for a caller, if the service accepts mail.
    #[must_use]
    pub fn smtp_address(&self, service: &str, caller: u32) -> Option<SocketAddr> {
        self.endpoint(service, caller, Protocol::Smtp)
    }

    /// The address of a service for SMTP over TLS, if the service accepts mail.
    #[must_use]
    pub fn smtps_address(&self, service: &str, caller: u32) -> Option<SocketAddr> {
        self.endpoint(service, caller, Protocol::Smtps)
    }

    /// The URL at which the scenario itself makes something happen in a service: it is decided and committed like any
    /// request, recorded as a note, and is neither an attempt nor an effect of a caller. `None` without
    /// [`Builder::scenario_port`].
    #[must_use]
    pub fn scenario_url(&self, service: &str) -> Option<String> {
        self.url(service, SCENARIO)
    }

    /// What a service has sent to the receivers of its events, oldest first.
    pub async fn events(&self, service: &str) -> Vec<ServiceEvent> {
        match self.running.iter().find(|running| running.name == service) {
            Some(running) => running.control.events().await,
            None => Vec::new(),
        }
    }

    fn endpoint(&self, service: &str, caller: u32, protocol: Protocol) -> Option<SocketAddr> {
        let running = self.running.iter().find(|running| running.name == service)?;
        let endpoint = running
            .endpoints
            .iter()
            .find(|endpoint| endpoint.caller == caller && endpoint.protocol == protocol)?;
        Some(endpoint.address)
    }

    /// The API key that a service accepts.
    #[must_use]
    pub fn key(&self, service: &str) -> Option<&str> {
        self.running.iter().find(|running| running.name == service).map(|running| running.key.as_str())
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.environment.ledger
    }

    /// Adds faults after those that are armed.
    ///
    /// # Errors
    /// If one cannot apply to these services, or can never fire after those that are armed; then none is
    /// armed.
    pub fn arm(&self, faults: Vec<Fault>) -> Result<(), Objections> {
        self.environment.plan.change(|plan| {
            check_plan(&plan.left(), &faults, &self.operations(), self.environment.callers)?;
            plan.arm(faults);
            Ok(())
        })
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.environment.plan.change(Plan::clear);
    }

    /// Removes the faults with this one-line form; the counts of the others stay. Returns whether there was
    /// one.
    pub fn clear_fault(&self, line: &str) -> bool {
        self.environment.plan.change(|plan| plan.remove(line))
    }

    /// What each fault has done.
    #[must_use]
    pub fn fired(&self) -> Vec<Fired> {
        self.environment.plan.lock().fired()
    }

    /// Pauses a service at each moment of this kind until the listener releases it; `None` if there is no
    /// such service.
    #[must_use]
    pub fn listen(&self, service: &str, kind: MomentKind) -> Option<Listener> {
        self.running
            .iter()
            .find(|running| running.name == service)
            .map(|running| running.control.listen(kind))
    }

    /// The start barrier holds requests from now on, if it did not from the beginning.
    pub fn close_barrier(&self) {
        if let Some(barrier) = &self.environment.barrier {
            barrier.close();
        }
    }

    /// The start barrier no longer waits for this caller.
    pub fn caller_ended(&self, caller: u32) {
        if let Some(barrier) = &self.environment.barrier {
            barrier.ended(caller);
        }
    }

    /// Who waits at the start barrier, and for whom; `None` if there is none, it is open, or nobody waits.
    #[must_use]
    pub fn awaited_callers(&self) -> Option<AwaitedCallers> {
        self.environment.barrier.as_ref()?.awaited()
    }

    /// These callers cannot reach the start barrier: each waits for a lock that a caller holds that waits
    /// there. The barrier opens if it waits for no other caller.
    pub fn callers_locked_out(&self, callers: &BTreeSet<u32>) {
        if let Some(barrier) = &self.environment.barrier {
            barrier.locked_out(callers);
        }
    }

    /// Waits until a caller that has ended has no open connection, so that the ends of its connections are in
    /// the ledger before the next entry.
    pub async fn caller_left(&self, caller: u32) {
        for endpoint in self.endpoints().filter(|endpoint| endpoint.caller == caller) {
            endpoint.all_left().await;
        }
    }

    /// Whether there is an order of the calls of all callers in which each service, without any concurrency, gives the
    /// answers that they saw: the services are checked one after the other, each for at most this time. Answers that
    /// a fault made are left out. Empty without [`Builder::record_histories`]. Call it when no more requests come.
    pub async fn check_histories(&self, limit: Duration) -> Vec<HistoryReport> {
        let mut reports = Vec::new();
        for running in &self.running {
            reports.extend(Arc::clone(&running.control).check_history(limit).await);
        }
        reports
    }

    /// Commits everything that is outstanding in all services; nothing is in flight afterwards.
    pub async fn settle(&self) {
        for running in &self.running {
            running.control.settle().await;
        }
    }

    /// Records what was begun and not ended in all services: money that is still held, locks that were not
    /// released. Call it once, after [`MockServices::settle`], when no more requests come.
    pub async fn record_left_behind(&self) {
        for running in &self.running {
            running.control.record_left_behind().await;
        }
    }

    /// Resets all services to their initial state. Faults count from the beginning, and the ledger starts
    /// again under the given name.
    pub async fn reset(&self, trial: &str) {
        // All services are paused before the first one is reset: a request that comes meanwhile is in the new
        // state and in the new ledger, or in neither.
        let mut paused = Vec::new();
        for running in &self.running {
            paused.push(Arc::clone(&running.control).pause().await);
        }
        paused.iter().for_each(|service| service.reset());
        self.environment.plan.change(Plan::restart);
        self.environment.ledger.restart(trial, self.environment.seed);
    }

    /// The open connections of a caller, by what they are doing now.
    #[must_use]
    pub fn connections(&self, caller: u32) -> OpenConnections {
        let of_caller = self.endpoints().filter(|endpoint| endpoint.caller == caller);
        of_caller.fold(OpenConnections::default(), |all, endpoint| all.and(endpoint.now()))
    }

    /// The number of open ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.endpoints().count()
    }

    /// Ends the services and closes all connections, but keeps the ports bound: a request that comes from now
    /// on is recorded as [late](crate::ledger::LATE_REQUEST) and refused, until this is dropped. Returns, for
    /// each caller, the connections that were closed.
    pub async fn retire(&self) -> Vec<OpenConnections> {
        let mut cut =
            vec![OpenConnections::default(); usize::try_from(self.environment.callers).unwrap_or_default()];
        for endpoint in self.endpoints() {
            let of_endpoint = endpoint.retire().await;
            // Callers are counted from 1.
            let place = usize::try_from(endpoint.caller).unwrap_or_default().wrapping_sub(1);
            if let Some(of_caller) = cut.get_mut(place) {
                *of_caller = of_caller.and(of_endpoint);
            }
        }
        cut
    }

    fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.running.iter().flat_map(|running| &running.endpoints)
    }

    /// Closes all ports and connections at once, also those that hang. Replies that were not sent are
    /// recorded as such.
    pub async fn close_ports(&self) {
        for endpoint in self.endpoints() {
            endpoint.close().await;
        }
    }

    /// Stops the services and waits until their ports are free.
    pub async fn stop(self) {
        self.close_ports().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Commit, Reply};
    use crate::payment::Payment;
    use crate::service::After;

    async fn payment(faults: Vec<Fault>) -> MockServices {
        let builder = MockServices::builder().service(Payment::default(), ServiceOptions::default());
        builder.callers(2).faults(faults).start().await.unwrap()
    }

    /// Makes a charge for an order, without an idempotency key, as a client with no retries.
    async fn charge(services: &MockServices, order: &'static str) -> Result<(), String> {
        let payment = services.handle("payment").unwrap();
        let request = move || {
            let form =
                [("amount", "4999"), ("currency", "usd"), ("customer", "cus_42"), ("metadata[order]", order)];
            ureq::post(format!("{}/v1/charges", payment.url()))
                .header("Authorization", format!("Bearer {}", payment.key()))
                .send_form(form)
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        tokio::task::spawn_blocking(request).await.unwrap()
    }

    #[tokio::test]
    async fn an_expectation_that_is_met_passes() {
        let services = payment(vec![Fault::on("payment.charge").reply(Reply::Drop)]).await;
        services.expect("payment.charge").times(1);
        services.expect("payment.charge").field("order", "ord_2").times(0);
        services.expect("payment.refund").times_in(..=0);
        charge(&services, "ord_1").await.unwrap_err();
        services.verify().await.unwrap();
    }

    #[tokio::test]
    async fn verify_reports_each_unmet_expectation_with_the_timeline_of_its_operation() {
        let services = payment(vec![Fault::on("payment.charge").reply(Reply::Drop)]).await;
        services.expect("payment.charge").times(1);
        services.expect("payment.charge").field("order", "ord_2").times_in(1..);
        services.expect("payment.refund").times_in(1..=2);
        charge(&services, "ord_1").await.unwrap_err();
        charge(&services, "ord_1").await.unwrap();
        let unmet = services.verify().await.unwrap_err().to_string();
        let lines: Vec<&str> = unmet.lines().collect();
        assert_eq!(lines[0], "expected exactly 1 payment.charge, found 2");
        for (line, part) in lines[1..8].iter().zip([
            "attempt 1 received POST /v1/charges: ",
            "attempt 1 fault commit=now reply=drop",
            "attempt 1 committed payment.charge ch_",
            "attempt 1 replied drop, 0 bytes, not the whole answer",
            "attempt 2 received POST /v1/charges: ",
            "attempt 2 committed payment.charge ch_",
            "attempt 2 replied ok status 200, ",
        ]) {
            assert!(line.contains(part), "{part}: {unmet}");
        }
        assert_eq!(lines[8], "expected at least 1 payment.charge with order=ord_2, found 0");
        assert_eq!(lines[16], "expected 1 to 2 payment.refund, found 0");
        assert_eq!(lines[17], "  the ledger has no attempt of payment.refund");
        // The drop does not check again what was verified.
        drop(services);
    }

    #[tokio::test]
    async fn verify_waits_for_commits_that_a_fault_put_off() {
        let later = Fault::on("payment.charge").commit(Commit::Later(After::Settled));
        let services = payment(vec![later]).await;
        charge(&services, "ord_1").await.unwrap();
        services.expect("payment.charge").times(0);
        assert!(services.verify().await.unwrap_err().to_string().contains("found 1"));
    }

    #[tokio::test]
    async fn dropping_services_with_an_unmet_expectation_panics() {
        let services = payment(Vec::new()).await;
        services.expect("payment.charge").times(1);
        let panic = tokio::task::spawn(async move { drop(services) }).await.unwrap_err().into_panic();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.starts_with("expected exactly 1 payment.charge, found 0"), "{message}");
    }

    #[tokio::test]
    async fn dropping_services_during_a_panic_does_not_panic_again() {
        let services = payment(Vec::new()).await;
        services.expect("payment.charge").times(1);
        let task = tokio::task::spawn(async move {
            let _services = services;
            panic!("the first");
        });
        let panic = task.await.unwrap_err().into_panic();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the first"));
    }

    #[tokio::test]
    async fn a_handle_has_the_url_and_the_key_of_its_caller() {
        let services = payment(Vec::new()).await;
        let (first, second) =
            (services.handle("payment").unwrap(), services.handle_of("payment", 2).unwrap());
        assert_eq!(first.url(), services.url("payment", 1).unwrap());
        assert_eq!(Some(second.address()), services.address("payment", 2));
        assert_eq!(Some(first.key()), services.key("payment"));
        assert_eq!((first.name(), first.caller(), second.caller()), ("payment", 1, 2));
        assert_eq!((first.smtp_address(), first.smtps_address()), (None, None));
    }

    #[tokio::test]
    async fn a_handle_of_a_service_that_does_not_run_is_an_error_that_names_those_that_do() {
        let services = payment(Vec::new()).await;
        let error = services.handle("email").unwrap_err().to_string();
        assert_eq!(error, "no service `email` for caller 1 was started; started: payment, callers: 1 to 2");
        assert!(services.handle_of("payment", 3).is_err());
    }

    #[tokio::test]
    async fn the_ledger_gives_effects_and_attempts_by_name() {
        let services = payment(vec![Fault::on("payment.charge").commit(Commit::Never)]).await;
        charge(&services, "ord_1").await.unwrap();
        charge(&services, "ord_2").await.unwrap();
        let ledger = services.ledger();
        assert_eq!(ledger.attempts("payment.charge").count(), 2);
        assert_eq!(ledger.attempts("payment.refund").count(), 0);
        let effects: Vec<_> = ledger.effects("payment.charge").collect();
        assert_eq!(effects.len(), 1);
        assert_eq!(effects[0].attempt, 2);
        assert_eq!(effects[0].fields.get("order").map(ToString::to_string).as_deref(), Some("ord_2"));
        assert_eq!(ledger.all_effects().collect::<Vec<_>>(), effects);
    }
}
