//! The services of one trial: started together over one ledger and one fault plan, and stopped together.

mod expect;
mod handle;

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::delivery::{Listener, MomentKind};
use crate::engine::{Access, BarrierOptions, Engine, EngineOptions, Paused, StartBarrier};
use crate::fault::{Fault, Fired, IntendedEffects, Objections, Plan, SharedPlan, check_behind};
use crate::idempotency::Idempotency;
use crate::ledger::Ledger;
use crate::service::{Operation, Service, Transport, mint};
use crate::wire::{Endpoint, Limits, OpenConnections, Protocol, Wire};

use expect::Expectations;
pub use expect::{ExpectationBuilder, Times, UnmetExpectations};
pub use handle::{ServiceHandle, UnknownService};

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Start = Box<dyn FnOnce(Arc<Shared>) -> Boxed<'static, Result<Running, StartError>> + Send>;

/// How the services of a trial are started.
pub struct Builder {
    seed: u64,
    clock: Clock,
    callers: u32,
    any_key: bool,
    ledger: Option<Ledger>,
    faults: Vec<Fault>,
    intended: Option<IntendedEffects>,
    barrier: Option<BarrierOptions>,
    longest_silence: Option<Duration>,
    address: IpAddr,
    limits: Limits,
    operations: Vec<Operation>,
    services: Vec<Start>,
}

/// Why services could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A fault makes no sense for these services.
    #[error("the fault plan is refused:\n{0}")]
    Faults(#[from] Objections),
    /// A port could not be opened.
    #[error("cannot open a port for the service {service}: {error}")]
    Port {
        /// Whose port.
        service: String,
        /// What the system says.
        error: io::Error,
    },
}

/// How one service is started.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServiceOptions {
    /// How it treats keys; the service's own way where there is none.
    pub idempotency: Option<Idempotency>,
    /// The port of the first caller; the system chooses it where there is none.
    pub port: Option<u16>,
    /// The same for SMTP.
    pub smtp_port: Option<u16>,
    /// The same for SMTP over TLS from the first byte.
    pub smtps_port: Option<u16>,
}

struct Shared {
    seed: u64,
    clock: Clock,
    callers: u32,
    any_key: bool,
    ledger: Ledger,
    plan: Arc<SharedPlan>,
    intended: Option<IntendedEffects>,
    barrier: Option<Arc<StartBarrier>>,
    longest_silence: Option<Duration>,
    wire: Arc<Wire>,
}

/// Running services. Dropping them stops them; [`MockServices::stop`] also waits until their ports are free.
pub struct MockServices {
    // Dropped first: it compares the ledger with what was expected.
    expectations: Expectations,
    shared: Arc<Shared>,
    running: Vec<Running>,
}

struct Running {
    name: String,
    key: String,
    operations: Vec<Operation>,
    endpoints: Vec<Endpoint>,
    control: Arc<dyn Control>,
}

/// What can be asked of an engine whatever its service.
trait Control: Send + Sync {
    fn settle(&self) -> Boxed<'_, ()>;
    fn record_left_behind(&self) -> Boxed<'_, ()>;
    fn pause(self: Arc<Self>) -> Boxed<'static, Box<dyn Resettable>>;
    fn listen(&self, kind: MomentKind) -> Listener;
}

/// A service that stands still until this is dropped, whatever service it is.
trait Resettable: Send + Sync {
    fn reset(&self);
}

impl<S: Service> Resettable for Paused<S> {
    fn reset(&self) {
        Paused::reset(self);
    }
}

impl<S: Service> Control for Engine<S> {
    fn settle(&self) -> Boxed<'_, ()> {
        Box::pin(Engine::settle(self))
    }

    fn record_left_behind(&self) -> Boxed<'_, ()> {
        Box::pin(Engine::record_left_behind(self))
    }

    fn pause(self: Arc<Self>) -> Boxed<'static, Box<dyn Resettable>> {
        Box::pin(async move { Box::new(Engine::pause(self).await) as Box<dyn Resettable> })
    }

    fn listen(&self, kind: MomentKind) -> Listener {
        Engine::listen(self, kind)
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            seed: 1,
            clock: Clock::default(),
            callers: 1,
            any_key: false,
            ledger: None,
            faults: Vec::new(),
            intended: None,
            barrier: None,
            longest_silence: None,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            limits: Limits::default(),
            operations: Vec::new(),
            services: Vec::new(),
        }
    }
}

impl Builder {
    /// From what ids, keys and chances come.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Where the time comes from.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// How many callers there are: each has its own port for each service.
    #[must_use]
    pub fn callers(mut self, callers: u32) -> Self {
        self.callers = callers.max(1);
        self
    }

    /// Takes any API key instead of the minted ones.
    #[must_use]
    pub fn any_key(mut self) -> Self {
        self.any_key = true;
        self
    }

    /// Where everything is written down; a ledger in memory where there is none.
    #[must_use]
    pub fn ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// The faults, in place of those that were added before.
    #[must_use]
    pub fn faults(mut self, faults: Vec<Fault>) -> Self {
        self.faults = faults;
        self
    }

    /// Adds a fault. It is checked by [`Builder::start`].
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Lets faults on writes apply only to attempts with an effect for which this holds; a fault whose
    /// trigger has `any_effect` applies to all.
    #[must_use]
    pub fn intended(mut self, intended: IntendedEffects) -> Self {
        self.intended = Some(intended);
        self
    }

    /// Makes the callers wait for each other before their first write.
    #[must_use]
    pub fn start_barrier(mut self, barrier: BarrierOptions) -> Self {
        self.barrier = Some(barrier);
        self
    }

    /// How long a `hang: until-timeout` waits for the caller to leave; as long as the services run where
    /// nothing is said.
    #[must_use]
    pub fn longest_silence(mut self, longest: Duration) -> Self {
        self.longest_silence = Some(longest);
        self
    }

    /// Listens here instead of on loopback.
    #[must_use]
    pub fn address(mut self, address: IpAddr) -> Self {
        self.address = address;
        self
    }

    /// How much of a caller's hunger is borne.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a service.
    #[must_use]
    pub fn service<S: Service>(mut self, service: S, options: ServiceOptions) -> Self {
        self.operations.extend_from_slice(service.operations());
        self.services.push(Box::new(move |shared| Box::pin(start(service, options, shared))));
        self
    }

    /// What the services that were added can do.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Starts them all.
    ///
    /// # Errors
    /// When a fault makes no sense for these services, or a port cannot be opened.
    pub async fn start(self) -> Result<MockServices, StartError> {
        checked(&[], &self.faults, &self.operations, self.callers)?;
        let ledger = self.ledger.unwrap_or_else(|| Ledger::new("trial", self.seed, self.clock));
        let shared = Arc::new(Shared {
            seed: self.seed,
            clock: self.clock,
            callers: self.callers,
            any_key: self.any_key,
            plan: Arc::new(SharedPlan::new(Plan::new(self.seed, self.faults))),
            intended: self.intended,
            barrier: self
                .barrier
                .map(|options| Arc::new(StartBarrier::new(options, self.callers, ledger.clone()))),
            longest_silence: self.longest_silence,
            wire: Arc::new(Wire::new(self.address, self.limits)),
            ledger,
        });
        let mut running = Vec::new();
        for start in self.services {
            running.push(start(Arc::clone(&shared)).await?);
        }
        Ok(MockServices { expectations: Expectations::new(shared.ledger.clone()), shared, running })
    }
}

async fn start<S: Service>(
    service: S,
    options: ServiceOptions,
    shared: Arc<Shared>,
) -> Result<Running, StartError> {
    let name = service.name().to_owned();
    let key = mint(shared.seed, &name, 0, service.key_prefix());
    let operations = service.operations().to_vec();
    shared.ledger.hide_value(&key);
    let access = if shared.any_key { Access::AnyKey } else { Access::Key(key.clone()) };
    let engine = Engine::new(
        service,
        EngineOptions {
            seed: shared.seed,
            clock: shared.clock,
            callers: shared.callers,
            access,
            idempotency: options.idempotency,
            ledger: shared.ledger.clone(),
            plan: Arc::clone(&shared.plan),
            intended: shared.intended.clone(),
            barrier: shared.barrier.clone(),
            longest_silence: shared.longest_silence,
        },
    );
    let failed = |error| StartError::Port { service: name.clone(), error };
    let mut endpoints = Vec::new();
    for caller in 1..=shared.callers {
        let port = options.port.filter(|_| caller == 1);
        let wire = Arc::clone(&shared.wire);
        endpoints.push(
            Endpoint::open(Arc::clone(&engine), wire, caller, Protocol::Http, port).await.map_err(failed)?,
        );
        if engine.service().transports().contains(&Transport::Smtp) {
            let mut protocols = vec![(Protocol::Smtp, options.smtp_port)];
            if shared.wire.tls().is_some() {
                protocols.push((Protocol::Smtps, options.smtps_port));
            }
            for (protocol, port) in protocols {
                let (wire, port) = (Arc::clone(&shared.wire), port.filter(|_| caller == 1));
                endpoints.push(
                    Endpoint::open(Arc::clone(&engine), wire, caller, protocol, port)
                        .await
                        .map_err(failed)?,
                );
            }
        }
    }
    Ok(Running { name, key, operations, endpoints, control: engine })
}

fn checked(
    left: &[Fault],
    faults: &[Fault],
    operations: &[Operation],
    callers: u32,
) -> Result<(), Objections> {
    let objections = check_behind(left, faults, operations, Some(callers));
    if objections.is_empty() { Ok(()) } else { Err(Objections(objections)) }
}

impl MockServices {
    /// Starts to describe the services of a trial.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The names of the services, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.running.iter().map(|running| running.name.as_str())
    }

    /// Everything that the services can do.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.running.iter().flat_map(|running| running.operations.iter().cloned()).collect()
    }

    /// Where a caller, counted from 1, reaches a service.
    #[must_use]
    pub fn address(&self, service: &str, caller: u32) -> Option<SocketAddr> {
        self.endpoint(service, caller, Protocol::Http)
    }

    /// The same as a URL.
    #[must_use]
    pub fn url(&self, service: &str, caller: u32) -> Option<String> {
        self.address(service, caller).map(|address| format!("http://{address}"))
    }

    /// Where a caller hands over messages by SMTP, where the service takes them.
    #[must_use]
    pub fn smtp_address(&self, service: &str, caller: u32) -> Option<SocketAddr> {
        self.endpoint(service, caller, Protocol::Smtp)
    }

    /// The same over TLS from the first byte.
    #[must_use]
    pub fn smtps_address(&self, service: &str, caller: u32) -> Option<SocketAddr> {
        self.endpoint(service, caller, Protocol::Smtps)
    }

    fn endpoint(&self, service: &str, caller: u32, protocol: Protocol) -> Option<SocketAddr> {
        let running = self.running.iter().find(|running| running.name == service)?;
        let endpoint = running
            .endpoints
            .iter()
            .find(|endpoint| endpoint.caller == caller && endpoint.protocol == protocol)?;
        Some(endpoint.address)
    }

    /// The API key that a service takes.
    #[must_use]
    pub fn key(&self, service: &str) -> Option<&str> {
        self.running.iter().find(|running| running.name == service).map(|running| running.key.as_str())
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    /// Adds faults behind those that are armed.
    ///
    /// # Errors
    /// When one makes no sense for these services, or can never fire behind those that are armed; then none
    /// is armed.
    pub fn arm(&self, faults: Vec<Fault>) -> Result<(), Objections> {
        self.shared.plan.change(|plan| {
            checked(&plan.left(), &faults, &self.operations(), self.shared.callers)?;
            plan.arm(faults);
            Ok(())
        })
    }

    /// Takes all faults away.
    pub fn clear_faults(&self) {
        self.shared.plan.change(Plan::clear);
    }

    /// What each fault has done.
    #[must_use]
    pub fn fired(&self) -> Vec<Fired> {
        self.shared.plan.lock().fired()
    }

    /// Makes a service stand still at moments of this kind until the listener lets go; `None` where there is
    /// no such service.
    #[must_use]
    pub fn listen(&self, service: &str, kind: MomentKind) -> Option<Listener> {
        self.running
            .iter()
            .find(|running| running.name == service)
            .map(|running| running.control.listen(kind))
    }

    /// The start barrier no longer waits for this caller.
    pub fn caller_ended(&self, caller: u32) {
        if let Some(barrier) = &self.shared.barrier {
            barrier.ended(caller);
        }
    }

    /// Waits until a caller that has ended has no connection to any service any more, so that what becomes of
    /// them stands in the ledger before whatever is written next.
    pub async fn caller_left(&self, caller: u32) {
        for endpoint in self
            .running
            .iter()
            .flat_map(|running| &running.endpoints)
            .filter(|endpoint| endpoint.caller == caller)
        {
            endpoint.left().await;
        }
    }

    /// Commits all that is outstanding in all services: nothing is in flight afterwards.
    pub async fn settle(&self) {
        for running in &self.running {
            running.control.settle().await;
        }
    }

    /// Writes down what was begun and never ended, in all services: money that is still held, locks that
    /// nobody freed. To be called once, behind [`MockServices::settle`], when nobody asks any more.
    pub async fn record_left_behind(&self) {
        for running in &self.running {
            running.control.record_left_behind().await;
        }
    }

    /// Forgets everything that was committed, in all services; faults count from the beginning, and the
    /// ledger begins anew under the given name.
    pub async fn reset(&self, trial: &str) {
        // All of them stand still before the first one forgets: what comes meanwhile is in the new state and
        // the new ledger, or in neither.
        let mut still = Vec::new();
        for running in &self.running {
            still.push(Arc::clone(&running.control).pause().await);
        }
        still.iter().for_each(|service| service.reset());
        self.shared.plan.change(Plan::restart);
        self.shared.ledger.restart(trial, self.shared.seed);
    }

    /// What the connections of a caller are doing now.
    #[must_use]
    pub fn connections(&self, caller: u32) -> OpenConnections {
        let of_caller = self.endpoints().filter(|endpoint| endpoint.caller == caller);
        of_caller.fold(OpenConnections::default(), |all, endpoint| all.and(endpoint.now()))
    }

    /// How many ports are open.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.endpoints().count()
    }

    /// Ends the service and closes all connections, but keeps the ports bound: a request that comes from now
    /// on is recorded as [late](crate::ledger::LATE_REQUEST) and refused, until this is dropped. Gives back,
    /// for each caller, the connections that were cut off.
    pub async fn retire(&self) -> Vec<OpenConnections> {
        let mut cut =
            vec![OpenConnections::default(); usize::try_from(self.shared.callers).unwrap_or_default()];
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

    /// Closes all ports and connections at once, whatever hangs: nobody can ask any more, and what was not
    /// sent is written down as such.
    pub async fn close_ports(&self) {
        for endpoint in self.running.iter().flat_map(|running| &running.endpoints) {
            endpoint.close().await;
        }
    }

    /// Stops the services and waits until their ports are free.
    pub async fn stop(self) {
        self.close_ports().await;
    }
}

#[cfg(test)]
mod tests;
