//! `hapax serve`: mock services for manual use and for tests in any language, with an admin API to control
//! them.

mod admin;
mod banner;
mod command;
mod error;
mod expected;
mod options;
mod outbox;
mod ranges;
pub mod show;

use std::future::Future;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mock_services::catalog::ConfiguredService;
use mock_services::custom::DeclaredService;
use mock_services::fault::{Fault, Fired, read_faults, read_line};
use mock_services::ledger::{Entry, Ledger, LedgerFile};
use mock_services::sender::EventSender;
use mock_services::service::{Operation, generate_key};
use mock_services::{Clock, MockServices};
use yaml_reader::{MAX_BYTES, Problems, Source};

use crate::scenario::CountedEffect;
use crate::scratch::Scratch;
use crate::trust::Trust;
pub use command::EndedCommand;
pub use error::ServeError;
pub use options::ServeOptions;
pub use outbox::SendTo;
use outbox::{Outbox, Signer};

/// The name of the first ledger; after a reset, a number follows it.
const TRIAL: &str = "serve";
/// The seed for the ids of objects that exist before the first request: they are the same in every run.
const OBJECT_SEED: u64 = 0;

/// The variables with the address and the token of the admin API, and the one from which hapax itself takes the
/// token.
const ADMIN_VARIABLES: [&str; 3] = ["HAPAX_ADMIN_URL", "HAPAX_ADMIN_TOKEN", "HAPAX_TOKEN"];

/// Running services with their admin API.
pub struct Serving {
    services: Arc<MockServices>,
    operations: Vec<Operation>,
    file: Option<LedgerFile>,
    admin: SocketAddr,
    token: String,
    callers: u32,
    expected: Vec<CountedEffect>,
    /// Whether the command gets the address and the token of the admin API.
    gives_admin: bool,
    interference: Arc<Interference>,
    /// The variables with the secrets by which receivers verify the events that they are sent.
    secrets: Vec<(String, String)>,
    /// Sends the events until the services end.
    sending: tokio::task::JoinHandle<()>,
    /// The files with which clients verify the mail server, and the temporary folder for them.
    trust: Option<(Trust, Scratch)>,
}

/// The result of services that have been stopped.
#[derive(Debug)]
pub struct StoppedServices {
    /// The ledger.
    pub entries: Vec<Entry>,
    /// The attempts that each fault was injected into.
    pub fired: Vec<Fired>,
    /// The operations of the services.
    pub operations: Vec<Operation>,
    /// The effects that the user expects.
    pub expected: Vec<CountedEffect>,
    /// Whether the ledger was reset, or a fault was cleared before it fired.
    pub evidence_removed: bool,
    /// The faults that were armed over the admin API, as lines.
    pub armed: Vec<String>,
}

/// What was done over the admin API that changes what the ledger proves.
#[derive(Debug, Default)]
struct Interference {
    /// Whether the ledger was reset, or a fault was cleared before it fired.
    evidence_removed: AtomicBool,
    /// The faults that were armed, as lines.
    armed: Mutex<Vec<String>>,
}

impl Interference {
    fn armed(&self) -> MutexGuard<'_, Vec<String>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A signal that stops hapax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C (SIGINT).
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Serving {
    /// Starts the services of the options.
    ///
    /// # Errors
    /// When a name, a file or a fault is wrong, or a port cannot be opened. Nothing runs then.
    pub async fn start(options: ServeOptions) -> Result<Self, ServeError> {
        let token = options.checked_token()?;
        let own = options.files.iter().map(|path| read_source(path)).collect::<Result<Vec<_>, _>>()?;
        let declared = read_declared(&own)?;
        let own = declared.iter().map(DeclaredService::description).collect();
        let expected = CountedEffect::read(&options.expected, own)?;
        let services =
            options.checked_services(&declared.iter().map(DeclaredService::name).collect::<Vec<_>>())?;
        let started = services.iter().map(|service| service.name.as_str());
        let started: Vec<&str> = started.chain(declared.iter().map(DeclaredService::name)).collect();
        for CountedEffect { effect, .. } in &expected {
            let service = effect.split('.').next().unwrap_or_default();
            if !started.contains(&service) {
                let (effect, service) = (effect.clone(), service.to_owned());
                return Err(ServeError::NotStarted { effect, service });
            }
        }
        let shipped = services.iter().map(|service| (service.name.as_str(), service.senders));
        let own = declared.iter().map(|service| (service.name(), service.description().senders));
        let signer = |(service, senders): (&str, &'static [EventSender])| {
            senders.iter().map(|sender| Signer::new(service, *sender, options.seed)).collect::<Vec<_>>()
        };
        let signers = shipped.chain(own).flat_map(signer).collect();
        let signers = outbox::wanted_signers(&options.send_to, signers, &started)?;
        let mut builder = MockServices::builder()
            .seed(options.seed)
            .callers(options.callers)
            .any_key()
            .address(options.address);
        for service in services {
            let settings = options.of_service(&service.name);
            builder = service.unconfigured().add_to(builder, OBJECT_SEED, settings);
        }
        for service in declared {
            let settings = options.of_service(service.name());
            builder = service.add_to(builder, OBJECT_SEED, settings);
        }
        let faults = options.read_faults(builder.operations())?;
        let file = options.ledger.as_ref().map(|path| {
            LedgerFile::create(path).map_err(|error| ServeError::Ledger { path: path.clone(), error })
        });
        let file = file.transpose()?;
        let clock = Clock::default();
        let ledger = match &file {
            Some(file) => Ledger::in_file(TRIAL, options.seed, clock, file),
            None => Ledger::new(TRIAL, options.seed, clock),
        };
        ledger.hide_value(&token);
        let services = Arc::new(builder.clock(clock).ledger(ledger).faults(faults).start().await?);
        let trust = match services.names().any(|name| services.smtp_address(name, 1).is_some()) {
            true => write_trust(options.ca_file.as_deref())?,
            false => None,
        };
        let secrets = outbox::secrets(&signers);
        let outbox = Arc::new(Outbox::new(Arc::clone(&services), &options.send_to, signers));
        let sending = tokio::spawn(Arc::clone(&outbox).run());
        let environment = banner::environment(&services)
            .into_iter()
            .chain(secrets.clone())
            .chain(trust.iter().flat_map(|(trust, _)| trust.variables()))
            .collect();
        let interference = Arc::new(Interference::default());
        let admin = admin::open(
            Arc::clone(&services),
            token.clone(),
            environment,
            Arc::clone(&interference),
            outbox,
            (options.address, options.admin_port),
        )
        .await?;
        Ok(Serving {
            operations: services.operations(),
            services,
            file,
            admin,
            token,
            callers: options.callers,
            gives_admin: options.gives_admin || expected.is_empty(),
            expected,
            interference,
            secrets,
            sending,
            trust,
        })
    }

    /// The services.
    #[must_use]
    pub fn services(&self) -> &MockServices {
        &self.services
    }

    /// The variables with which a command reaches the services.
    fn environment(&self) -> Vec<(String, String)> {
        let mut variables = banner::environment(&self.services);
        variables.extend(self.secrets.clone());
        if self.gives_admin {
            variables.push((ADMIN_VARIABLES[0].to_owned(), format!("http://{}", self.admin)));
            variables.push((ADMIN_VARIABLES[1].to_owned(), self.token.clone()));
        }
        variables.extend(self.trust.iter().flat_map(|(trust, _)| trust.variables()));
        variables
    }

    /// The first output: addresses, and variables to paste.
    #[must_use]
    pub fn banner(&self) -> String {
        banner::render(
            &self.services,
            self.callers,
            self.admin,
            &self.token,
            &self.secrets,
            self.trust.as_ref().map(|(trust, _)| trust),
        )
    }

    /// Closes the ports, settles the services and closes the ledger.
    ///
    /// # Errors
    /// When the ledger could not be written to its file.
    pub async fn end(self) -> Result<StoppedServices, ServeError> {
        self.sending.abort();
        // The ports are closed first, so that the replies to waiting callers are in the ledger, and nothing
        // follows the last commit.
        self.services.close_ports().await;
        self.services.settle().await;
        self.services.record_left_behind().await;
        let ledger = self.services.ledger();
        ledger.close();
        let entries = ledger.entries();
        if let Some(file) = &self.file {
            file.flush().map_err(ServeError::Output)?;
        }
        Ok(StoppedServices {
            entries,
            fired: self.services.fired(),
            operations: self.operations,
            expected: self.expected,
            evidence_removed: self.interference.evidence_removed.load(Ordering::SeqCst),
            armed: self.interference.armed().clone(),
        })
    }
}

/// Completes at Ctrl-C (SIGINT) or SIGTERM.
///
/// # Errors
/// When the system does not let the process listen for signals.
pub fn stop_signal() -> Result<impl Future<Output = StopSignal>, ServeError> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = |kind| signal(kind).map_err(ServeError::Runtime);
    // This needs the runtime, and must be done before the first address is printed.
    let (mut interrupt, mut terminate) = (stop(SignalKind::interrupt())?, stop(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => StopSignal::Interrupt,
            _ = terminate.recv() => StopSignal::Terminate,
        }
    })
}

/// Writes the files with which clients verify the mail server: the certificate authority to the file that the
/// user names, the others to a temporary folder.
fn write_trust(ca_file: Option<&std::path::Path>) -> Result<Option<(Trust, Scratch)>, ServeError> {
    let scratch = Scratch::new().map_err(ServeError::Runtime)?;
    let (ca, bundle) = (scratch.path().join("ca.pem"), scratch.path().join("ca-bundle.pem"));
    let ca = ca_file.map_or(ca, std::path::Path::to_owned);
    let written = Trust::write(&ca, &bundle).map_err(|error| ServeError::CaFile { path: ca, error })?;
    Ok(written.map(|trust| (trust, scratch)))
}

fn read_declared(sources: &[Source]) -> Result<Vec<DeclaredService>, ServeError> {
    let mut problems = Problems::default();
    let mut services = Vec::new();
    for source in sources {
        match DeclaredService::from_source(source) {
            Ok(service) => services.push(service),
            Err(found) => found.iter().for_each(|problem| problems.push(problem.clone())),
        }
    }
    if problems.is_empty() { Ok(services) } else { Err(problems.into()) }
}

/// Reads a file of the user, but no more than the parser accepts.
fn read_source(path: &std::path::Path) -> Result<Source, ServeError> {
    let failed = |error| ServeError::File { path: path.to_owned(), error };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(failed)?;
    Ok(Source::new(path.display().to_string(), text))
}

impl ServeOptions {
    fn read_faults(&self, operations: &[Operation]) -> Result<Vec<Fault>, ServeError> {
        let mut problems = Problems::default();
        let mut faults = Vec::new();
        for line in &self.faults {
            match read_line(&Source::new("--fault", line), operations, Some(self.callers)) {
                Ok(fault) => faults.push(fault),
                Err(found) => found.iter().for_each(|problem| problems.push(problem.clone())),
            }
        }
        if let Some(path) = &self.fault_file {
            match read_faults(&read_source(path)?, operations, Some(self.callers)) {
                Ok(read) => faults.extend(read),
                Err(found) => found.iter().for_each(|problem| problems.push(problem.clone())),
            }
        }
        if problems.is_empty() { Ok(faults) } else { Err(problems.into()) }
    }
}

/// A random token.
fn random_token() -> io::Result<String> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(generate_key(u64::from_le_bytes(bytes), "admin", std::process::id(), "hapax_"))
}
