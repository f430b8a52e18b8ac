//! The controls: subjects that hapax ships, with known verdicts. Each runs as a process of its own, started
//! like any agent, and knows only its environment: no fault, no ledger, no verdict and no expectation.

mod agent;
mod answer;
mod approvals;
mod claim;
mod cli_tool;
mod environment;
mod happening;
mod intent;
mod journal;
#[cfg(feature = "mcp")]
mod mcp_server;
mod policies;
mod receiver;
mod shared;
mod smtp;
mod starts;
mod tool_calls;
mod tools;
mod wire;

use yaml_reader::{listed, nearest, shown};

use crate::domain::ControlName;

pub(crate) use cli_tool::{ControlToolArguments, control_tool};
use environment::McpClient;
pub use environment::{Environment, EnvironmentError};
pub(super) use environment::{TIMEOUT_VARIABLE, client_timeout};
pub(crate) use happening::perform;
#[cfg(feature = "mcp")]
pub(crate) use mcp_server::ControlServer;
pub(super) use wire::escaped;

/// Why a control did not run.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// There is no control with that name.
    #[error("unknown control `{name}`; {help}")]
    Unknown {
        /// The name.
        name: String,
        /// What to do about it.
        help: String,
    },
    /// Its environment is not that of a subject.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The event that it got is not handled; the sender sends it again.
    #[error("the event is not handled: {0}")]
    NotHandled(String),
    /// Its claim cannot be written.
    #[error(
        "cannot write the claim to {path}: {error}; HAPAX_RESULT must be a file in a writable folder",
        path = path.display()
    )]
    Claim {
        /// The file.
        path: std::path::PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
}

/// Runs a control: executes the steps and writes the claim, or handles an event.
///
/// # Errors
/// If the claim cannot be written, or the event is not handled.
pub fn run(control: ControlName, environment: &Environment) -> Result<(), ControlError> {
    if let Some(event) = environment.event() {
        return receiver::handle(control, environment, &event).map_err(ControlError::NotHandled);
    }
    let mcp_client = match control {
        ControlName::Careful => McpClient::Telling,
        ControlName::SdkRetry => McpClient::Silent,
        _ => McpClient::Closing,
    };
    let environment = &environment.with_mcp_client(mcp_client);
    let approvals = approvals::Approvals::new(environment, control);
    let claim = policies::policy(control)(environment, &approvals);
    claim::write(environment, &claim)
}

/// The control with that name.
///
/// # Errors
/// If there is none, with a suggestion.
pub fn named(name: &str) -> Result<ControlName, ControlError> {
    name.parse().map_err(|_| {
        let help = match nearest(name, ControlName::names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("expected one of {}", listed(ControlName::names())),
        };
        ControlError::Unknown { name: shown(name), help }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_gives_a_suggestion() {
        for control in ControlName::ALL {
            assert_eq!(named(control.as_str()).unwrap(), control);
        }
        assert_eq!(
            named("carefull").unwrap_err().to_string(),
            "unknown control `carefull`; did you mean `careful`?"
        );
        assert!(named("zzzzzzzzzz").unwrap_err().to_string().contains("`naive`, `sdk-retry`"));
    }
}
