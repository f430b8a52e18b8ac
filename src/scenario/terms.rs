//! What a verdict is measured by: all of a case that scoring needs, as plain data that a report keeps, so
//! that a saved ledger can be scored again without the scenario.

use mock_services::service::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{ClaimedOutcome, Promise, Recovery, fields_schema};

/// What a verdict is measured by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// The effects that are due. Any other effect is unintended.
    pub intents: Vec<Intent>,
    /// Which of the intents stand for one entry of the scenario, one for each of its values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<IntentList>,
    /// The claims that are accepted; where there is none, any honest one is.
    pub claim: Vec<ClaimedOutcome>,
    /// Whether a missing claim passes although the scenario names claims.
    #[serde(default)]
    pub claims_optional: bool,
    /// What is judged: that each effect happens exactly once, or at most once.
    #[serde(default, skip_serializing_if = "Promise::is_default")]
    pub promise: Promise,
    /// The ways of recovering from an ambiguous answer that are permitted; any where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<Recovery>,
    /// How many attempts there must and may be.
    pub attempts: Vec<Budget>,
    /// Whether a retry before the time that `Retry-After` asks for fails.
    #[serde(default)]
    pub respect_retry_after: bool,
    /// Whether a duplicate that was undone may pass.
    #[serde(default)]
    pub compensation: bool,
    /// What must stand in the record store at the end.
    #[serde(default)]
    pub records: Vec<RecordDue>,
    /// The faults, in the order of the plan.
    pub faults: Vec<Planned>,
    /// The interrupts.
    #[serde(default)]
    pub interrupts: Vec<Planned>,
    /// How many callers there are.
    pub callers: u32,
    /// How many turns come after the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turns: u32,
    /// The tasks that are about some of the intents only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskTerm>,
    /// Whether the callers meet at a start barrier.
    #[serde(default)]
    pub barrier: bool,
    /// What the services of the case can do.
    pub operations: Vec<OperationTerm>,
    /// Where this subject keeps a field: the name in the scenario, and the name in its requests.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    /// The APIs through which operations must be done: through any other one the case proves nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<ViaDue>,
    /// What this subject says that it is for, as `can` in hapax.yaml has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can: Vec<String>,
}

/// The APIs through which an operation must be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ViaDue {
    /// The operation.
    pub operation: String,
    /// The names of the APIs; any of them will do.
    pub apis: Vec<String>,
}

/// An effect that is due, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// The effect's name: `payment.charge`.
    pub effect: String,
    /// Which effects are meant.
    #[serde(rename = "where", default)]
    #[schemars(schema_with = "fields_schema")]
    pub selector: Fields,
    /// What they must be like.
    #[serde(rename = "with", default)]
    #[schemars(schema_with = "fields_schema")]
    pub expected: Fields,
    /// What they must be like unless somebody asks for something else, and nobody does: one unit, no trial.
    /// An effect that does not carry such a field is as usual.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    #[schemars(schema_with = "fields_schema")]
    pub defaults: Fields,
    /// How often, at most; 0 where it must not happen.
    pub times: u32,
    /// How often at least, where that is less often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
}

impl Intent {
    /// How often it must happen.
    #[must_use]
    pub fn least(&self) -> u32 {
        self.at_least.unwrap_or(self.times)
    }

    /// How often it must have happened before it is true to say that it is done: an effect that may be left
    /// out is not done by leaving it out.
    #[must_use]
    pub fn done_at(&self) -> u32 {
        self.least().max(self.times.min(1))
    }
}

/// A task that is about some of the intents only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskTerm {
    /// Whose task it is; `None` for every caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
    /// In which turn, from 0.
    pub turn: u32,
    /// The places of the intents that it is about; empty where that is not known.
    pub intents: Vec<usize>,
}

/// Intents that stand for one entry of the scenario, which names the values with `each`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentList {
    /// The place of the first of them among the intents.
    pub first: usize,
    /// How many there are.
    pub count: usize,
}

/// How many attempts of an operation there must and may be, over all callers and starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The operation.
    pub operation: String,
    /// At least so many attempts and refused requests together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_least: u32,
    /// At most so many attempts; `None` for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What must stand in the record store at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordDue {
    /// The key of the record, or the name of the counter.
    pub key: String,
    /// Whether it is a counter.
    #[serde(default)]
    pub counter: bool,
    /// Its value at the end; `null` where there must be none.
    pub value: serde_json::Value,
    /// Its value at the start; `null` where there was none.
    #[serde(default)]
    pub start: serde_json::Value,
}

/// A fault or an interrupt that was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Planned {
    /// How it reads: one line.
    pub text: String,
    /// The operation that it strikes at.
    pub operation: String,
    /// Whether a trial may pass in which it did not fire.
    #[serde(default)]
    pub optional: bool,
}

/// An operation of a service of the case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationTerm {
    /// Its full name.
    pub name: String,
    /// Whether it can leave an effect.
    pub write: bool,
    /// The fields that identify its effect.
    #[serde(default)]
    pub identity: Vec<String>,
    /// The fields that every effect of it has: where an intent names one, an effect without it is not as
    /// asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub natural: Vec<String>,
}
