//! One case, one subject, one ledger: starts the services and the callers, interrupts the callers, reads
//! their claims and waits until everything is settled. It returns the ledger, and does not score it.

mod arrival;
mod callers;
mod directories;
mod event_log;
mod interleaving;
mod interrupts;
mod late_senders;
mod locked_out;
mod mcp;
mod overlap;
mod person;
mod secrets;
mod sender;
mod services;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mock_services::catalog::{self, ServedHost};
use mock_services::ledger::{Entry, Ledger, LedgerFile};
use mock_services::{Clock, HistoryReport, MockServices};
use tokio::task::JoinHandle;

use crate::domain::{CapturedOutput, SubjectEvent};
use crate::log;
use crate::scenario::{Case, ServiceSetup, Terms, default_setup};
use crate::subject::{
    AcceptedTask, BeforeCommand, CallerRate, ClaimSource, Escape, Hide, Limits, OwnPort, ProxyEvent,
    RateLimiter, Recorder, SealedWorld, ServiceRoute, Subject, SupervisorId,
};
use arrival::ArrivalWatcher;
pub use callers::StartingCallers;
use callers::{Caller, StartingCaller};
pub(crate) use directories::OpaqueNames;
use directories::TrialDirectories;
use event_log::EventLog;
use interleaving::Interleaver;
use interrupts::Interrupter;
pub use late_senders::RunKeys;
use late_senders::late_senders;
use mcp::McpEndpoint;
use overlap::OverlapWatcher;
use sender::{Sender, Senders};

/// The setup of one trial.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Its name in the ledger. The subject does not get it.
    pub name: String,
    /// The seed of ids, keys, chances and all names that the subject gets.
    pub seed: u64,
    /// An empty directory for the callers; it is not removed.
    pub dir: PathBuf,
    /// The limits of each start.
    pub limits: Limits,
    /// Whether a missing claim passes although the scenario names claims.
    pub claims_optional: bool,
    /// How long a `hang: until-timeout` waits for the client to leave.
    pub longest_silence: Duration,
    /// The timeout of the subject's clients for a reply.
    pub client_timeout: Duration,
    /// What the starts of a sealed subject share.
    pub sealed: Option<Arc<SealedWorld>>,
    /// How often its requests reach allowed hosts.
    pub rate: Option<Arc<RateLimiter>>,
    /// Where its callers are counted until they have a process.
    pub starting: StartingCallers,
    /// How long to look for an explanation of what several callers saw of one service; `None`: not at all.
    pub explain: Option<Duration>,
    /// Where the keys of its services are added to those of the other trials of the run.
    pub keys: RunKeys,
}

/// The result of a trial.
#[derive(Debug)]
pub struct FinishedTrial {
    /// The ledger, closed.
    pub entries: Vec<Entry>,
    /// The same, with the late requests that come as long as its ports are bound.
    pub ledger: Ledger,
    /// What scoring needs.
    pub terms: Terms,
    /// The output of each start of each caller.
    pub output: Vec<CapturedOutput>,
    /// How long it took.
    pub took: Duration,
    /// The CPU time of all starts of all callers, if it is known.
    pub cpu: Option<Duration>,
    /// Its ports, which stay bound and record late requests until this is dropped; empty if the services did
    /// not start.
    pub late: Option<LatePorts>,
    /// Whether what several callers saw of each service can be explained.
    pub histories: Vec<HistoryReport>,
}

/// The ports of a trial that has ended. A late request is written into the ledger of the trial and refused.
pub struct LatePorts {
    services: MockServices,
    /// They pass late calls on to the services.
    endpoints: Vec<McpEndpoint>,
}

impl LatePorts {
    /// The number of ports.
    #[must_use]
    pub fn count(&self) -> usize {
        self.services.ports() + self.endpoints.len()
    }
}

impl std::fmt::Debug for LatePorts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LatePorts").field("count", &self.count()).finish()
    }
}

/// The terms of the case for this subject.
#[must_use]
pub fn terms(case: &Case, subject: &Subject, claims_optional: bool) -> Terms {
    let case = with_services_of(case, subject);
    let mut terms = case.terms.clone();
    terms.own_keys = case.services.iter().filter_map(ServiceSetup::own_key).collect();
    terms.claims_optional |= claims_optional || subject.settings.claim == ClaimSource::Optional;
    terms.fields.clone_from(&subject.settings.fields);
    terms.can.clone_from(&subject.settings.can);
    terms.promise = subject.settings.promise;
    terms
}

/// How the services of the case treat idempotency keys for this subject.
pub(crate) fn profiles(case: &Case, subject: &Subject) -> Vec<(String, String)> {
    with_services_of(case, subject).profiles()
}

/// The services that take idempotency keys because the case or the subject says so, and not by default.
pub(crate) fn keyed_services(case: &Case, subject: &Subject) -> Vec<String> {
    let case = with_services_of(case, subject);
    let takes_keys =
        |setup: &&ServiceSetup| setup.idempotency.as_ref().is_some_and(|rules| rules.takes_keys());
    case.services.iter().filter(takes_keys).map(|setup| setup.name.clone()).collect()
}

/// The case with the services that the subject adds to every case, and the one that it can ask for approvals. Where the
/// case says nothing about keys, they are treated as the subject says.
fn with_services_of<'c>(case: &'c Case, subject: &Subject) -> Cow<'c, Case> {
    let mut case = Cow::Borrowed(case);
    for setup in &subject.settings.services.0 {
        if !case.services.iter().any(|have| have.name == setup.name) {
            case.to_mut().add_service(setup);
        }
    }
    if subject.settings.approvals {
        let is_asked = |service: &&Arc<catalog::ServiceDescription>| {
            service.effects.iter().any(|effect| effect.approval.is_some())
                && !case.services.iter().any(|have| have.name == service.name)
        };
        let asked = catalog::services().iter().find(is_asked);
        if let Some(setup) = asked.and_then(|service| default_setup(&service.name)) {
            case.to_mut().add_service(&setup);
        }
    }
    for at in 0..case.services.len() {
        if let Some(rules) = subject.settings.key_rules(&case.services[at]) {
            case.to_mut().services[at].idempotency = Some(rules.clone());
        }
    }
    case
}

/// Where the ledger of a trial is written when the trial has ended.
#[derive(Debug, Clone, Copy)]
pub struct TrialFile<'f> {
    /// The file.
    pub file: &'f LedgerFile,
    /// The part of the plan that the trial is, as JSON; empty if the file has it already.
    pub plan: &'f str,
}

/// Runs one trial. A failed start is written into the ledger, so that the trial is void and does not pass.
pub async fn run(
    case: &Case,
    subject: &Subject,
    setup: &Setup,
    file: Option<TrialFile<'_>>,
) -> FinishedTrial {
    let began = Instant::now();
    let starting = (0..case.callers).map(|_| setup.starting.add()).collect();
    let case = &*with_services_of(case, subject);
    let clock = Clock::default();
    let ledger = match file {
        Some(TrialFile { file, plan }) => {
            Ledger::held_until_closed(&setup.name, setup.seed, clock, file, plan)
        }
        None => Ledger::new(&setup.name, setup.seed, clock),
    };
    secrets::hide(&ledger, case, subject);
    let senders = Senders::new(case, setup.seed);
    senders.secrets().for_each(|secret| ledger.hide_value(secret));
    let log = EventLog::new(ledger.clone());
    let (output, cpu, late, histories) = match prepare(case, subject, setup, &ledger, clock).await {
        Ok(world) => run_callers(case, subject, setup, (log, &senders), world, starting).await,
        Err(why) => {
            tracing::warn!(case = case.id, "trial cannot start");
            match why {
                PrepareError::Before(why) => log.unprepared(&why),
                PrepareError::Other(why) => log.unstartable(1, 1, &why),
            }
            (Vec::new(), None, None, Vec::new())
        }
    };
    ledger.close();
    let terms = terms(case, subject, setup.claims_optional);
    let entries = ledger.entries();
    FinishedTrial { entries, ledger, terms, output, took: began.elapsed(), cpu, late, histories }
}

/// Why a trial cannot start.
#[derive(Debug)]
enum PrepareError {
    /// The command that is run before each trial failed.
    Before(String),
    /// Anything else.
    Other(String),
}

impl From<String> for PrepareError {
    fn from(why: String) -> Self {
        PrepareError::Other(why)
    }
}

/// What the callers of a trial use.
struct TrialWorld {
    services: MockServices,
    recorders: Vec<Recorder>,
    /// One for each caller; none if hapax was built without MCP.
    endpoints: Vec<McpEndpoint>,
    directories: TrialDirectories,
}

async fn prepare(
    case: &Case,
    subject: &Subject,
    setup: &Setup,
    ledger: &Ledger,
    clock: Clock,
) -> Result<TrialWorld, PrepareError> {
    let mut directories = TrialDirectories::create(&setup.dir, OpaqueNames::new(setup.seed), case.callers)
        .map_err(|error| format!("cannot make its directories: {error}"))?;
    let shared_dir = std::path::absolute(directories.shared()).unwrap_or_else(|_| directories.shared());
    let before =
        BeforeCommand { trial: OpaqueNames::new(setup.seed).trial(), shared_dir, hide: Hide::with(ledger) };
    before.run(&subject.settings).await.map_err(PrepareError::Before)?;
    let mut builder = {
        let terms = terms(case, subject, setup.claims_optional);
        services::builder(case, &terms, &subject.settings.tools, setup.seed)
    };
    if subject.settings.calls_real_hosts() {
        // The subject keeps its own keys; its network or its proxy leads to the services of this trial only.
        builder = builder.any_key();
    }
    if explain_limit(case, setup).is_some() {
        builder = builder.record_histories();
    }
    let services = builder
        .longest_silence(setup.longest_silence)
        .seed(setup.seed)
        .clock(clock)
        .ledger(ledger.clone())
        .late_senders(late_senders(subject, &setup.keys))
        .start()
        .await;
    let services = services.map_err(|error| format!("the services did not start: {error}"))?;
    setup.keys.add(&services);
    tracing::debug!(
        services = services.names().collect::<Vec<_>>().join(" "),
        callers = case.callers,
        ports = services.ports(),
        "services started"
    );
    let takes_mail = services.names().any(|name| services.smtp_address(name, 1).is_some());
    if takes_mail || subject.settings.intercept {
        directories.trust = directories
            .write_trust()
            .map_err(|error| format!("cannot write the certificates of the mail server: {error}"))?;
    }
    let mut endpoints = Vec::new();
    for caller in 1..=case.callers {
        let endpoint = mcp::start(case, &services, caller, ledger).await;
        endpoints.extend(endpoint.map_err(|error| format!("the MCP endpoint did not start: {error}"))?);
    }
    let mut recorders = Vec::new();
    let mut own = own_ports(&services, case.callers);
    let of_tools =
        |endpoint: &McpEndpoint| OwnPort { port: endpoint.address().port(), service: MCP_ROUTE.to_owned() };
    own.extend(endpoints.iter().map(of_tools));
    for caller in 1..=case.callers {
        let is_intercepted = subject.settings.intercept;
        let routes = if is_intercepted { routes(case, subject, &services, caller, None) } else { Vec::new() };
        let rate = setup.rate.clone().map(CallerRate::new);
        let recorder = Recorder::start(subject.settings.hosts.clone(), own.clone(), routes, rate).await;
        recorders.push(recorder.map_err(|error| format!("the recorder did not start: {error}"))?);
    }
    Ok(TrialWorld { services, recorders, endpoints, directories })
}

/// The name of the MCP endpoint among the ports of a trial.
const MCP_ROUTE: &str = "mcp";

/// Where the services and the MCP endpoint listen for one caller, and the hosts that they stand for.
fn routes(
    case: &Case,
    subject: &Subject,
    services: &MockServices,
    caller: u32,
    endpoint: Option<&McpEndpoint>,
) -> Vec<ServiceRoute> {
    let routes = services.names().filter_map(|name| {
        let shipped = catalog::find(name);
        let real = shipped.map(|service| service.hosts).unwrap_or_default();
        let mut hosts: Vec<ServedHost> = real.iter().map(|real| ServedHost::exact(real.host)).collect();
        let setup = case.services.iter().find(|setup| setup.name == name);
        hosts.extend(setup.into_iter().flat_map(|setup| setup.hosts()).cloned());
        let of_subject = subject.settings.served_hosts.iter().filter(|(service, _)| service == name);
        hosts.extend(of_subject.map(|(_, host)| host.clone()));
        Some(ServiceRoute {
            service: name.to_owned(),
            hosts,
            any_host: shipped.is_some_and(|service| service.any_host),
            http: services.address(name, caller)?,
            smtp: services.smtp_address(name, caller),
            smtps: services.smtps_address(name, caller),
        })
    });
    let of_tools = endpoint.map(|endpoint| ServiceRoute {
        service: MCP_ROUTE.to_owned(),
        hosts: Vec::new(),
        any_host: false,
        http: endpoint.address(),
        smtp: None,
        smtps: None,
    });
    routes.chain(of_tools).collect()
}

/// The ports of the services, for all callers.
fn own_ports(services: &MockServices, callers: u32) -> Vec<OwnPort> {
    let mut own = Vec::new();
    for (name, caller) in services.names().flat_map(|name| (1..=callers).map(move |caller| (name, caller))) {
        let addresses = [
            services.address(name, caller),
            services.smtp_address(name, caller),
            services.smtps_address(name, caller),
        ];
        own.extend(
            addresses
                .into_iter()
                .flatten()
                .map(|address| OwnPort { port: address.port(), service: name.to_owned() }),
        );
    }
    own
}

async fn run_callers(
    case: &Case,
    subject: &Subject,
    setup: &Setup,
    (log, senders): (EventLog, &Senders),
    world: TrialWorld,
    starting: Vec<StartingCaller>,
) -> (Vec<CapturedOutput>, Option<Duration>, Option<LatePorts>, Vec<HistoryReport>) {
    let TrialWorld { services, recorders, endpoints, directories } = world;
    let services = Arc::new(services);
    let (recorders, listening) = listen(recorders, &log);
    let calls = (0..case.callers as usize).map(|caller| endpoints.get(caller).map(McpEndpoint::calls));
    let interrupter = Interrupter::watch(&case.interrupts, &services, calls.collect(), &log);
    let arrival = ArrivalWatcher::watch(case.announced.as_ref(), &services, directories.state(1));
    let supervisors: Vec<SupervisorId> = (0..case.callers).map(|_| SupervisorId::default()).collect();
    let overlap = case.overlap.as_ref().map(|planned| {
        let of = |caller: usize| supervisors.get(caller).cloned().unwrap_or_default();
        let can_freeze = !subject.outlives_its_trial();
        OverlapWatcher::watch(planned, &services, [of(0), of(1)], (setup.limits.time, can_freeze), &log)
    });
    // Half of the timeout: the client must still be there when its request is let in.
    let interleaver = case
        .order
        .as_ref()
        .map(|order| Interleaver::watch(order, &services, &supervisors, setup.client_timeout / 2, &log));
    let terms = terms(case, subject, setup.claims_optional);
    let webhook_secrets = senders.variables();
    let person = person::Person::new(case, &terms, &log);
    // Process ids follow the order of the starts, which must not be the order of the numbers of the callers:
    // faults name these numbers.
    let mut in_order: Vec<(u32, &Recorder)> = (1..=case.callers).zip(&recorders).collect();
    in_order.sort_by_key(|(number, _)| OpaqueNames::new(setup.seed).rank(*number));
    let callers = in_order.into_iter().map(|(number, recorder)| Caller {
        number,
        case,
        subject,
        setup,
        services: &services,
        interrupter: &interrupter,
        overlap: overlap.as_ref(),
        interleaver: interleaver.as_ref(),
        person: &person,
        log: &log,
        recorder,
        endpoint: usize::try_from(number).ok().and_then(|number| endpoints.get(number - 1)),
        directories: &directories,
        supervisor: supervisors.get(number as usize - 1).cloned().unwrap_or_default(),
        accepted: AcceptedTask::default(),
        webhook_secrets: &webhook_secrets,
    });
    let running = async {
        if case.events.is_empty() {
            join_all(callers.zip(starting).map(|(caller, starting)| caller.run(starting))).await
        } else {
            Sender::run(case, senders, &services, &log, callers.collect(), starting).await
        }
    };
    let ended = tokio::select! {
        ended = running => ended,
        never = locked_out::watch(&services, &supervisors), if case.barrier.is_some() => match never {},
    };
    let (outputs, spent): (Vec<Vec<CapturedOutput>>, Vec<Option<Duration>>) = ended.into_iter().unzip();
    let mut output: Vec<CapturedOutput> = outputs.into_iter().flatten().collect();
    output.sort_by_key(|output| (output.caller, output.start));
    interrupter.end();
    drop(arrival);
    drop(overlap);
    if let Some(interleaver) = interleaver {
        interleaver.finish().await;
    }
    for (caller, recorder) in (1..).zip(&recorders) {
        recorder.passed().into_iter().for_each(|passed| log.host_requests(caller, passed));
    }
    // Dropping the recorders ends their events.
    drop(recorders);
    join_all(listening).await;
    let settling = Instant::now();
    services.settle().await;
    let cut = services.retire().await;
    log::slow_step("settle", settling);
    services.record_left_behind().await;
    if subject.outlives_its_trial() {
        (1..).zip(cut).for_each(|(caller, open)| log.cut_off(caller, open));
    }
    let histories = match explain_limit(case, setup) {
        Some(limit) => services.check_histories(limit).await,
        None => Vec::new(),
    };
    let late = Arc::try_unwrap(services).ok().map(|services| LatePorts { services, endpoints });
    (output, spent.into_iter().sum(), late, histories)
}

/// How long to look for an explanation of what the callers saw. What one caller saw has only one order.
fn explain_limit(case: &Case, setup: &Setup) -> Option<Duration> {
    setup.explain.filter(|_| case.callers > 1)
}

/// Writes requests to other hosts than the services into the ledger, as they happen.
fn listen(mut recorders: Vec<Recorder>, log: &EventLog) -> (Vec<Recorder>, Vec<JoinHandle<()>>) {
    let listening = (1..).zip(&mut recorders).filter_map(|(caller, recorder)| {
        let (mut noticed, log) = (recorder.events()?, log.clone());
        Some(tokio::spawn(async move {
            while let Some(noticed) = noticed.recv().await {
                let event = match noticed {
                    ProxyEvent::Escaped(Escape { host, port, transport, .. }) => {
                        SubjectEvent::Escaped { host, port, transport }
                    }
                    ProxyEvent::Contacted(Escape { host, port, transport, .. }) => {
                        SubjectEvent::Contacted { host, port, transport }
                    }
                    ProxyEvent::LookedUp { host, carries_data } => {
                        SubjectEvent::LookedUp { host, carries_data }
                    }
                    ProxyEvent::CertificateRefused(Escape { host, port, .. }) => {
                        SubjectEvent::CertificateRefused { host, port }
                    }
                    ProxyEvent::Proxied(Escape { host, port, .. }, service) => {
                        SubjectEvent::Proxied { host, port, service }
                    }
                };
                log.write(caller, &event);
            }
        }))
    });
    let listening = listening.collect();
    (recorders, listening)
}

#[cfg(test)]
mod given_tests;
#[cfg(test)]
pub(crate) mod in_process;
