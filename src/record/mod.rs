//! Records the traffic between an agent and the real provider of its model, for a replay by the model service. The agent
//! runs as it is, with the address of a proxy in place of the provider's.

mod proxy;
mod redaction;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use tokio::net::TcpListener;
use tokio::process::Command;

use proxy::{RecordingProxy, Upstream};

use crate::process_env;

/// The providers: the variable with the base URL, the usual one, and the first part of the path at the proxy. What
/// follows the base URL of a provider follows `recorded` in the cassette.
const PROVIDERS: [ProviderAddress; 3] = [
    ProviderAddress {
        variable: "OPENAI_BASE_URL",
        usual: "https://api.openai.com/v1",
        prefix: "/openai/v1",
        recorded: "/v1",
    },
    ProviderAddress {
        variable: "ANTHROPIC_BASE_URL",
        usual: "https://api.anthropic.com",
        prefix: "/anthropic",
        recorded: "",
    },
    ProviderAddress {
        variable: "GOOGLE_GEMINI_BASE_URL",
        usual: "https://generativelanguage.googleapis.com",
        prefix: "/gemini",
        recorded: "",
    },
];

struct ProviderAddress {
    variable: &'static str,
    usual: &'static str,
    prefix: &'static str,
    recorded: &'static str,
}

/// What is recorded, and where to.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// The file, which must not exist.
    pub to: PathBuf,
    /// The port of the proxy; 0 for any.
    pub port: u16,
    /// The command of the agent.
    pub command: Vec<String>,
}

/// What came of a recording.
#[derive(Debug)]
pub struct Recording {
    /// How the agent ended.
    pub status: ExitStatus,
    /// The number of answers in the file.
    pub answers: usize,
    /// Answers that are not in the file, because the agent or the provider closed the connection before their end.
    pub incomplete: usize,
    /// Requests that the provider could not be reached for, and why.
    pub failures: Vec<String>,
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file exists already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("cannot write {path}: {error}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The proxy cannot be started.
    #[error("cannot start the recording proxy: {0}")]
    Proxy(io::Error),
    /// The agent cannot be started.
    #[error("cannot start `{0}`: {1}")]
    Start(String, io::Error),
}

/// Runs the agent, and records until it ends.
///
/// # Errors
/// When the file cannot be written, or the agent cannot be started.
pub async fn record(options: &RecordOptions) -> Result<Recording, RecordError> {
    let listener = TcpListener::bind(("127.0.0.1", options.port)).await.map_err(RecordError::Proxy)?;
    let address = listener.local_addr().map_err(RecordError::Proxy)?;
    let file = create(&options.to)?;
    let upstreams = PROVIDERS.map(|provider| Upstream {
        prefix: provider.prefix,
        recorded: provider.recorded,
        base: base_url(&provider),
    });
    let proxy = RecordingProxy::new(upstreams.to_vec(), file);
    let serving = tokio::spawn(proxy.clone().serve(listener));
    let ended = run(options, address).await;
    serving.abort();
    let status = match ended {
        Ok(status) => status,
        Err(error) => {
            // Nothing was recorded.
            let _ = std::fs::remove_file(&options.to);
            return Err(error);
        }
    };
    let (answers, incomplete, failures) =
        proxy.finish().map_err(|error| RecordError::Write { path: options.to.clone(), error })?;
    Ok(Recording { status, answers, incomplete, failures })
}

fn create(path: &Path) -> Result<File, RecordError> {
    File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => RecordError::Exists(path.to_owned()),
        _ => RecordError::Write { path: path.to_owned(), error },
    })
}

fn base_url(provider: &ProviderAddress) -> String {
    let set = process_env::text(provider.variable).filter(|url| !url.is_empty());
    set.unwrap_or_else(|| provider.usual.to_owned()).trim_end_matches('/').to_owned()
}

async fn run(options: &RecordOptions, proxy: SocketAddr) -> Result<ExitStatus, RecordError> {
    let shown = options.command.join(" ");
    let failed = |error| RecordError::Start(shown.clone(), error);
    let (program, arguments) =
        options.command.split_first().ok_or_else(|| failed(io::Error::other("the command is empty")))?;
    let mut command = Command::new(program);
    command.args(arguments);
    for provider in &PROVIDERS {
        command.env(provider.variable, format!("http://{proxy}{}", provider.prefix));
    }
    command.status().await.map_err(failed)
}
