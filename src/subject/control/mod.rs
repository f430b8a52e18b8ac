//! The controls: subjects that hapax ships, whose verdicts are known in advance. Each is a process of its
//! own, started like any agent, and knows only what its environment tells it: no fault, no ledger, no verdict
//! and no expectation.

mod answer;
mod claim;
mod environment;
mod intent;
mod journal;
mod policies;
mod shared;
mod smtp;
mod starts;
mod tools;
mod wire;

pub use environment::{Environment, EnvironmentError};
pub(super) use wire::CLIENT_TIMEOUT;

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
    /// There is none of that name.
    #[error("there is no control `{name}`; {help}")]
    Unknown {
        /// The name.
        name: String,
        /// What would be right.
        help: String,
    },
    /// Its environment is not that of a subject.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// Its claim cannot be written.
    #[error("cannot write the claim to {path}: {error}; HAPAX_RESULT must name a file in a folder that can be written", path = path.display())]
    Claim {
        /// The file.
        path: std::path::PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

/// Runs the control of that name to its end: follows the steps and writes the claim.
///
/// # Errors
/// When there is no such control, when the environment is not that of a subject, or when the claim cannot be
/// written.
pub fn run(name: &str, environment: &Environment) -> Result<(), ControlError> {
    let policy = policies::named(name).ok_or_else(|| unknown(name))?;
    let told = policy(environment);
    claim::write(environment, &told)
}

/// Says whether there is a control of that name.
///
/// # Errors
/// With what was probably meant, when there is none.
pub fn check(name: &str) -> Result<(), ControlError> {
    if NAMES.contains(&name) { Ok(()) } else { Err(unknown(name)) }
}

fn unknown(name: &str) -> ControlError {
    use mock_services::yaml::{listed, nearest, shown};
    let help = match nearest(name, NAMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it is one of {}", listed(NAMES)),
    };
    ControlError::Unknown { name: shown(name), help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_policy_and_a_near_miss_is_told() {
        for name in NAMES {
            assert!(policies::named(name).is_some(), "{name}");
        }
        assert_eq!(
            check("carefull").unwrap_err().to_string(),
            "there is no control `carefull`; did you mean `careful`?"
        );
        assert!(check("zzzzzzzzzz").unwrap_err().to_string().contains("`naive`, `sdk-retry`"));
    }
}
