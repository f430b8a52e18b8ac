//! The errors of `serve`, with help.

use std::io;
use std::path::PathBuf;

use mock_services::StartError;
use yaml_reader::{Problems, listed};

/// Why `serve` did not start, or could not continue.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A name is not a service.
    #[error("there is no service `{name}`")]
    UnknownService {
        /// The name.
        name: String,
        /// A suggestion.
        help: String,
    },
    /// An effect is expected of a service that is not started.
    #[error("--expect names {effect}, and the service `{service}` is not started")]
    NotStarted {
        /// The effect.
        effect: String,
        /// Its service.
        service: String,
    },
    /// Events of a service are to be sent, and it is not started or sends none.
    #[error("--send-to names `{service}`, which {}", if *is_started { "sends no events" } else { "is not started" })]
    SendsNothing {
        /// The service.
        service: String,
        /// Whether it is started.
        is_started: bool,
        /// The services that send events.
        senders: Vec<String>,
    },
    /// Events are to be sent, and no service that is started sends any.
    #[error("--send-to has nothing to send: no service that is started sends events")]
    NothingSends,
    /// A fault or a service file is wrong.
    #[error("{} to fix first", counted(.0.len(), "problem"))]
    Problems(Problems),
    /// A file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The ledger cannot be created.
    #[error("cannot write the ledger to {path}: {error}", path = path.display())]
    Ledger {
        /// Which file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The certificate authority of the mail server cannot be written.
    #[error("cannot write the certificate authority to {path}: {error}", path = path.display())]
    CaFile {
        /// Which file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A token is required and missing.
    #[error("listening on {0} lets others reach the admin API")]
    TokenNeeded(std::net::IpAddr),
    /// The token is too short to be safe.
    #[error("the token is shorter than 16 characters")]
    TokenShort,
    /// The services did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The admin API did not start.
    #[error("cannot open {} for the admin API: {error}", port_words(*port))]
    Admin {
        /// The port, if a certain one was asked for.
        port: Option<u16>,
        /// The error of the system.
        error: io::Error,
    },
    /// A call of the system failed.
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    /// The command cannot be started.
    #[error("cannot start `{command}`: {error}")]
    Command {
        /// The command.
        command: String,
        /// The error of the system.
        error: io::Error,
    },
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

impl From<Problems> for ServeError {
    fn from(problems: Problems) -> Self {
        ServeError::Problems(problems)
    }
}

impl ServeError {
    /// The error as the user sees it, with help.
    #[must_use]
    pub fn advice(&self) -> String {
        let help = match self {
            ServeError::Problems(problems) => {
                return format!("{}\nerror: {self}", problems.render(false).trim_end());
            }
            ServeError::UnknownService { help, .. } => help.clone(),
            ServeError::NotStarted { service, .. } => {
                format!("add `{service}` to the services, or remove the --expect")
            }
            ServeError::SendsNothing { service, is_started: false, .. } => {
                format!("add `{service}` to the services, or remove it here")
            }
            ServeError::SendsNothing { senders, .. } if !senders.is_empty() => {
                format!(
                    "events are sent by {}; your own service needs `events`",
                    listed(senders.iter().map(String::as_str))
                )
            }
            ServeError::NothingSends | ServeError::SendsNothing { .. } => {
                "start payment, email or deploy; your own service needs `events`".to_owned()
            }
            ServeError::File { .. } => "check the path and the permissions of the file".to_owned(),
            ServeError::Ledger { error, .. } if error.kind() == io::ErrorKind::AlreadyExists => {
                "hapax does not overwrite a ledger: name another file, or move this one".to_owned()
            }
            ServeError::CaFile { .. } | ServeError::Ledger { .. } => {
                "name a file in an existing folder with write permission".to_owned()
            }
            ServeError::TokenNeeded(_) => {
                "set a token of at least 16 characters with --token or HAPAX_TOKEN, or remove --listen"
                    .to_owned()
            }
            ServeError::Command { .. } => "check the command after `--`".to_owned(),
            ServeError::TokenShort => "use at least 16 characters".to_owned(),
            ServeError::Start(StartError::Port { service, port, error }) => {
                let option = format!("--port {service}=NUMBER");
                port_help(*port, error, &option)
            }
            ServeError::Start(StartError::Faults(_)) => "change or remove these faults".to_owned(),
            ServeError::Admin { port, error } => port_help(*port, error, "--admin-port NUMBER"),
            ServeError::Start(_) | ServeError::Runtime(_) | ServeError::Output(_) => {
                return format!("error: {self}");
            }
        };
        format!("error: {self}\nhelp: {help}")
    }
}

fn port_words(port: Option<u16>) -> String {
    port.map_or_else(|| "a port".to_owned(), |port| format!("port {port}"))
}

/// What to do about a port that cannot be opened; `option` chooses another one.
fn port_help(port: Option<u16>, error: &io::Error, option: &str) -> String {
    match port {
        Some(port) if error.kind() == io::ErrorKind::AddrInUse => format!(
            "another program uses port {port}: `lsof -i :{port}` shows which one; end it, or choose another port \
             with {option}; without the option, hapax takes a free one"
        ),
        _ => format!("choose another port with {option}; without the option, hapax takes a free one"),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
