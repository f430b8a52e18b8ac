//! The claim of a control, and how it is written.

use std::fs;
use std::io::Write;

use serde_json::json;

use super::{ControlError, Environment};
use crate::domain::Question;
use crate::scenario::ClaimedOutcome;

/// The claim about a step or about the whole task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepClaim {
    pub(super) outcome: ClaimedOutcome,
    pub(super) message: String,
    /// What it waits for, if it waits.
    pub(super) questions: Vec<Question>,
}

impl StepClaim {
    pub(super) fn done(message: impl Into<String>) -> Self {
        StepClaim::new(ClaimedOutcome::Done, message)
    }

    pub(super) fn not_done(message: impl Into<String>) -> Self {
        StepClaim::new(ClaimedOutcome::NotDone, message)
    }

    pub(super) fn unknown(message: impl Into<String>) -> Self {
        StepClaim::new(ClaimedOutcome::Unknown, message)
    }

    /// It waits for the answers to these questions.
    pub(super) fn waiting(questions: Vec<Question>) -> Self {
        StepClaim { questions, ..StepClaim::new(ClaimedOutcome::Waiting, "waits for an approval") }
    }

    fn new(outcome: ClaimedOutcome, message: impl Into<String>) -> Self {
        StepClaim { outcome, message: message.into(), questions: Vec::new() }
    }
}

/// Writes the claim to the result file, or as the last line of the output. The file is written atomically.
pub(super) fn write(environment: &Environment, claim: &StepClaim) -> Result<(), ControlError> {
    let mut line = json!({"outcome": claim.outcome.as_str(), "message": claim.message});
    if claim.outcome == ClaimedOutcome::Waiting {
        line["for"] = json!(claim.questions);
    }
    let line = line.to_string();
    let Some(path) = environment.result() else {
        return writeln!(std::io::stdout(), "{line}")
            .map_err(|error| ControlError::Claim { path: "standard output".into(), error });
    };
    let draft = path.with_extension("draft");
    let written = fs::write(&draft, line).and_then(|()| fs::rename(&draft, &path));
    written.map_err(|error| ControlError::Claim { path, error })
}
