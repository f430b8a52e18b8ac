//! The controls: subjects that hapax ships, with known verdicts. Each runs as a process of its own, started
//! like any agent, and knows only its environment: no fault, no ledger, no verdict and no expectation.

mod agent;
mod answer;
mod claim;
mod environment;
mod intent;
mod journal;
mod policies;
mod shared;
mod smtp;
mod starts;
mod tool_calls;
mod tools;
mod wire;

pub use environment::{Environment, EnvironmentError};
pub(super) use environment::{TIMEOUT_VARIABLE, client_timeout};

/// All controls, by name.
pub const NAMES: [&str; 11] = [
    "naive",
    "sdk-retry",
    "keyed",
    "verify-first",
    "careful",
    "timid",
    "constant-key",
    "overclaimer",
    "racer",
    "storm",
    "onlooker",
];

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

/// Runs the control with that name: executes the steps and writes the claim.
///
/// # Errors
/// When there is no such control, when the environment is not that of a subject, or when the claim cannot be
/// written.
pub fn run(name: &str, environment: &Environment) -> Result<(), ControlError> {
    let policy = policies::named(name).ok_or_else(|| unknown(name))?;
    let claim = policy(environment);
    claim::write(environment, &claim)
}

/// Checks that there is a control with that name.
///
/// # Errors
/// When there is none, with a suggestion.
pub fn check(name: &str) -> Result<(), ControlError> {
    if NAMES.contains(&name) { Ok(()) } else { Err(unknown(name)) }
}

fn unknown(name: &str) -> ControlError {
    use mock_services::yaml::{listed, nearest, shown};
    let help = match nearest(name, NAMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected one of {}", listed(NAMES)),
    };
    ControlError::Unknown { name: shown(name), help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_policy_and_an_unknown_name_gives_a_suggestion() {
        for name in NAMES {
            assert!(policies::named(name).is_some(), "{name}");
        }
        assert_eq!(
            check("carefull").unwrap_err().to_string(),
            "unknown control `carefull`; did you mean `careful`?"
        );
        assert!(check("zzzzzzzzzz").unwrap_err().to_string().contains("`naive`, `sdk-retry`"));
    }
}
