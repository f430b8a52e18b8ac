//! What a control says happened, and how it is written down.

use std::fs;
use std::io::Write;

use serde_json::json;

use super::{ControlError, Environment};
use crate::scenario::ClaimedOutcome;

/// What is said of a step or of the whole task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) said: ClaimedOutcome,
    pub(super) message: String,
}

impl Told {
    pub(super) fn done(message: impl Into<String>) -> Self {
        Told { said: ClaimedOutcome::Done, message: message.into() }
    }

    pub(super) fn not_done(message: impl Into<String>) -> Self {
        Told { said: ClaimedOutcome::NotDone, message: message.into() }
    }

    pub(super) fn unknown(message: impl Into<String>) -> Self {
        Told { said: ClaimedOutcome::Unknown, message: message.into() }
    }
}

/// Writes the claim into the file that is meant for it, or as the last line of the output. The file appears
/// whole or not at all.
pub(super) fn write(environment: &Environment, told: &Told) -> Result<(), ControlError> {
    let line = json!({"outcome": told.said.word(), "message": told.message}).to_string();
    let Some(path) = environment.result() else {
        return writeln!(std::io::stdout(), "{line}")
            .map_err(|error| ControlError::Claim { path: "the output".into(), error });
    };
    let draft = path.with_extension("draft");
    let written = fs::write(&draft, line).and_then(|()| fs::rename(&draft, &path));
    written.map_err(|error| ControlError::Claim { path, error })
}
