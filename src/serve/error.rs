//! What can go wrong before anything runs, and what to do about it.

use std::io;
use std::path::PathBuf;

use mock_services::StartError;
use mock_services::yaml::Problems;

/// Why `serve` did not start, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A name is no service.
    #[error("there is no service `{name}`")]
    UnknownService {
        /// The name.
        name: String,
        /// What would be right.
        help: String,
    },
    /// A fault or a service file is wrong.
    #[error("{} to fix first", counted(.0.len(), "problem"))]
    Problems(Problems),
    /// A file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The ledger cannot be created.
    #[error("cannot write the ledger to {path}: {error}", path = path.display())]
    Ledger {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The certificate authority of the mail server cannot be written.
    #[error("cannot write the certificate authority to {path}: {error}", path = path.display())]
    CaFile {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A token is needed and there is none.
    #[error("listening on {0} lets others reach the admin API")]
    TokenNeeded(std::net::IpAddr),
    /// The token is too short to keep anybody out.
    #[error("the token is shorter than 16 characters")]
    TokenShort,
    /// The services did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The admin API did not start.
    #[error("cannot open a port for the admin API: {0}")]
    Admin(io::Error),
    /// The system refuses what every program needs.
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    /// What happened could not be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

impl From<Problems> for ServeError {
    fn from(problems: Problems) -> Self {
        ServeError::Problems(problems)
    }
}

impl ServeError {
    /// The error as the user sees it, with the way out.
    #[must_use]
    pub fn advice(&self) -> String {
        let help = match self {
            ServeError::Problems(problems) => {
                return format!("{}\nerror: {self}", problems.render(false).trim_end());
            }
            ServeError::UnknownService { help, .. } => help.clone(),
            ServeError::File { .. } => "check the path, and that you may read the file".to_owned(),
            ServeError::Ledger { error, .. } if error.kind() == io::ErrorKind::AlreadyExists => {
                "a ledger is never overwritten: name another file, or move this one".to_owned()
            }
            ServeError::CaFile { .. } | ServeError::Ledger { .. } => {
                "name a file in a folder that exists and that can be written".to_owned()
            }
            ServeError::TokenNeeded(_) => {
                "give a token of at least 16 characters with --token or in HAPAX_TOKEN, or remove --listen"
                    .to_owned()
            }
            ServeError::TokenShort => "use at least 16 characters".to_owned(),
            ServeError::Start(StartError::Port { .. }) => {
                "another program may use that port: give another one with --port, or leave --port out"
                    .to_owned()
            }
            ServeError::Start(StartError::Faults(_)) => "change or remove these faults".to_owned(),
            ServeError::Admin(_) => "give another port with --admin-port, or leave it out".to_owned(),
            ServeError::Start(_) | ServeError::Runtime(_) | ServeError::Output(_) => {
                return format!("error: {self}");
            }
        };
        format!("error: {self}\nhelp: {help}")
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
