//! The tasks of a scenario, for services that act on them.

use serde::Serialize;

use crate::service::Fields;

/// A task of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PlannedTask {
    /// Its text, as the subject gets it.
    pub text: String,
    /// Its steps, in order.
    pub steps: Vec<PlannedStep>,
}

/// One step of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PlannedStep {
    /// The full name of the operation: `payment.charge`.
    pub operation: String,
    /// Its fields.
    pub fields: Fields,
    /// Nouns for its effect: `mail`.
    pub nouns: Vec<String>,
}
