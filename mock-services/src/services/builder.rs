//! How the services of one trial are configured and started.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use super::MockServices;
use super::expect::Expectations;
use super::running::{BoxFuture, RunningService, ServiceEnvironment};
use crate::clock::Clock;
use crate::engine::{Access, BarrierOptions, Engine, EngineOptions, LateSenders, SCENARIO, StartBarrier};
use crate::fault::{Fault, IntendedEffects, Objections, Plan, SharedPlan, check_behind};
use crate::idempotency::Idempotency;
use crate::ledger::Ledger;
use crate::service::{Operation, Service, Transport, generate_key};
use crate::wire::{Endpoint, Limits, Protocol, Wire};

type StartService =
    Box<dyn FnOnce(Arc<ServiceEnvironment>) -> BoxFuture<'static, Result<RunningService, StartError>> + Send>;

/// How the services of a trial are started.
pub struct Builder {
    seed: u64,
    clock: Clock,
    callers: u32,
    any_key: bool,
    scenario_port: bool,
    ledger: Option<Ledger>,
    faults: Vec<Fault>,
    intended: Option<IntendedEffects>,
    barrier: Option<BarrierOptions>,
    longest_silence: Option<Duration>,
    records_histories: bool,
    late_senders: Option<LateSenders>,
    address: IpAddr,
    limits: Limits,
    operations: Vec<Operation>,
    services: Vec<StartService>,
}

/// Why services could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A fault cannot apply to these services.
    #[error("the fault plan is refused:\n{0}")]
    Faults(#[from] Objections),
    /// A port could not be opened.
    #[error("cannot open {} for the service {service}: {error}", port_words(*port))]
    Port {
        /// The name of the service.
        service: String,
        /// The port, if a certain one was asked for.
        port: Option<u16>,
        /// The error of the operating system.
        error: io::Error,
    },
}

fn port_words(port: Option<u16>) -> String {
    port.map_or_else(|| "a port".to_owned(), |port| format!("port {port}"))
}

/// How one service is started.
#[derive(Debug, Clone, Default)]
pub struct ServiceOptions {
    /// How it treats idempotency keys; `None`: as the service itself says.
    pub idempotency: Option<Idempotency>,
    /// The HTTP port of the first caller; `None`: a free port.
    pub port: Option<u16>,
    /// The SMTP port of the first caller; `None`: a free port.
    pub smtp_port: Option<u16>,
    /// The port of the first caller for SMTP over TLS; `None`: a free port.
    pub smtps_port: Option<u16>,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            seed: 1,
            clock: Clock::default(),
            callers: 1,
            any_key: false,
            scenario_port: false,
            ledger: None,
            faults: Vec::new(),
            intended: None,
            barrier: None,
            longest_silence: None,
            records_histories: false,
            late_senders: None,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            limits: Limits::default(),
            operations: Vec::new(),
            services: Vec::new(),
        }
    }
}

impl Builder {
    /// The seed from which ids, API keys and random choices are derived.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The clock that the services read.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The number of callers. Each has its own port for each service.
    #[must_use]
    pub fn callers(mut self, callers: u32) -> Self {
        self.callers = callers.max(1);
        self
    }

    /// Accepts any API key instead of the generated ones.
    #[must_use]
    pub fn any_key(mut self) -> Self {
        self.any_key = true;
        self
    }

    /// Opens a port of each service at which the scenario itself makes something happen: see
    /// [`MockServices::scenario_url`].
    #[must_use]
    pub fn scenario_port(mut self) -> Self {
        self.scenario_port = true;
        self
    }

    /// The ledger that the services write to. Without it they write to a new one in memory.
    #[must_use]
    pub fn ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// Sets the faults; those that were added before are removed.
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

    /// Restricts faults on writes to attempts with an effect for which this holds. A fault whose trigger has
    /// `any_effect` applies to all.
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

    /// The maximum time that a `hang: until-timeout` waits for the caller to leave. Without it, it waits as
    /// long as the services run.
    #[must_use]
    pub fn longest_silence(mut self, longest: Duration) -> Self {
        self.longest_silence = Some(longest);
        self
    }

    /// Keeps in memory what callers ask and see, for [`MockServices::check_histories`].
    #[must_use]
    pub fn record_histories(mut self) -> Self {
        self.records_histories = true;
        self
    }

    /// Who sent what comes after the services were [retired](MockServices::retire). Without it, it is always the subject.
    #[must_use]
    pub fn late_senders(mut self, senders: LateSenders) -> Self {
        self.late_senders = Some(senders);
        self
    }

    /// Listens on this address instead of on loopback.
    #[must_use]
    pub fn address(mut self, address: IpAddr) -> Self {
        self.address = address;
        self
    }

    /// The limits on what a client may send, and how slowly.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a service.
    #[must_use]
    pub fn service<S: Service>(mut self, service: S, options: ServiceOptions) -> Self {
        self.operations.extend_from_slice(service.operations());
        self.services.push(Box::new(move |environment| Box::pin(start(service, options, environment))));
        self
    }

    /// The operations of the services that were added.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Starts all services.
    ///
    /// # Errors
    /// If a fault cannot apply to these services, or a port cannot be opened.
    pub async fn start(self) -> Result<MockServices, StartError> {
        check_plan(&[], &self.faults, &self.operations, self.callers)?;
        let ledger = self.ledger.unwrap_or_else(|| Ledger::new("trial", self.seed, self.clock));
        let environment = Arc::new(ServiceEnvironment {
            seed: self.seed,
            clock: self.clock,
            callers: self.callers,
            any_key: self.any_key,
            scenario_port: self.scenario_port,
            plan: Arc::new(SharedPlan::new(Plan::new(self.seed, self.faults))),
            intended: self.intended,
            barrier: self
                .barrier
                .map(|options| Arc::new(StartBarrier::new(options, self.callers, ledger.clone()))),
            longest_silence: self.longest_silence,
            records_histories: self.records_histories,
            late_senders: self.late_senders,
            wire: Arc::new(Wire::new(self.address, self.limits)),
            ledger,
        });
        let mut running = Vec::new();
        for start in self.services {
            running.push(start(Arc::clone(&environment)).await?);
        }
        let expectations = Expectations::new(environment.ledger.clone());
        Ok(MockServices { expectations, environment, running })
    }
}

async fn start<S: Service>(
    service: S,
    options: ServiceOptions,
    environment: Arc<ServiceEnvironment>,
) -> Result<RunningService, StartError> {
    let name = service.name().to_owned();
    let key = generate_key(environment.seed, &name, 0, service.key_prefix());
    let operations = service.operations().to_vec();
    environment.ledger.hide_value(&key);
    let access = match (service.requires_key(), environment.any_key) {
        (false, _) => Access::Open,
        (true, true) => Access::AnyKey,
        (true, false) => Access::Key(key.clone()),
    };
    let engine = Engine::new(
        service,
        EngineOptions {
            seed: environment.seed,
            clock: environment.clock,
            callers: environment.callers,
            access,
            idempotency: options.idempotency,
            ledger: environment.ledger.clone(),
            plan: Arc::clone(&environment.plan),
            intended: environment.intended.clone(),
            barrier: environment.barrier.clone(),
            longest_silence: environment.longest_silence,
            records_history: environment.records_histories,
            late_senders: environment.late_senders.clone(),
        },
    );
    let mut endpoints = Vec::new();
    let mut protocols = vec![(Protocol::Http, options.port)];
    if engine.service().transports().contains(&Transport::Smtp) {
        protocols.push((Protocol::Smtp, options.smtp_port));
        if environment.wire.tls().is_some() {
            protocols.push((Protocol::Smtps, options.smtps_port));
        }
    }
    if environment.scenario_port {
        let (engine, wire) = (Arc::clone(&engine), Arc::clone(&environment.wire));
        let endpoint = Endpoint::open(engine, wire, SCENARIO, Protocol::Http, None).await;
        let failed = |error| StartError::Port { service: name.clone(), port: None, error };
        endpoints.push(endpoint.map_err(failed)?);
    }
    for caller in 1..=environment.callers {
        for (protocol, port) in &protocols {
            let (engine, wire) = (Arc::clone(&engine), Arc::clone(&environment.wire));
            let port = port.filter(|_| caller == 1);
            let endpoint = Endpoint::open(engine, wire, caller, *protocol, port).await;
            let failed = |error| StartError::Port { service: name.clone(), port, error };
            endpoints.push(endpoint.map_err(failed)?);
        }
    }
    Ok(RunningService { name, key, operations, endpoints, control: engine })
}

/// Refuses a plan with a fault that cannot apply or can never fire.
pub(super) fn check_plan(
    left: &[Fault],
    faults: &[Fault],
    operations: &[Operation],
    callers: u32,
) -> Result<(), Objections> {
    let objections = check_behind(left, faults, operations, Some(callers));
    if objections.is_empty() { Ok(()) } else { Err(Objections(objections)) }
}
