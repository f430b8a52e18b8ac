//! The terms of a case: everything of a case that scoring needs. The report keeps them, so that a saved
//! ledger can be scored again without the scenario. Plain data.

use mock_services::catalog::{EffectDescription, ServiceDescription};
use mock_services::fault::{CommitKind, Fault, ReplyKind};
use mock_services::service::{Fields, Operation, OperationKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::case::Approval;
use super::end_state::{Invariant, LiveDue};
use super::events::{Arrival, EventSource, PlannedEvent};
use crate::domain::{
    ClaimedOutcome, Promise, Recovery, commit_kind_schema, fields_schema, reply_kind_schema,
};

/// Everything of a case that scoring needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// The effects that are due. Any other effect is unintended.
    pub intents: Vec<Intent>,
    /// The intents that one entry of the scenario makes with `each`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<IntentList>,
    /// The accepted claims; if it is empty, any honest claim is accepted.
    pub claim: Vec<ClaimedOutcome>,
    /// Whether a missing claim passes although the scenario names claims.
    #[serde(default)]
    pub claims_optional: bool,
    /// What the subject promises: each effect happens exactly once, or at most once.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub promise: Promise,
    /// The accepted ways to recover from an ambiguous reply; if it is empty, any way is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<Recovery>,
    /// The effects whose order matters, the first first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<OrderStep>,
    /// The minimum and maximum numbers of attempts.
    pub attempts: Vec<Budget>,
    /// Whether a retry before the time of `Retry-After` fails.
    #[serde(default)]
    pub respect_retry_after: bool,
    /// Whether a duplicate that was undone may pass.
    #[serde(default)]
    pub compensation: bool,
    /// The expected records at the end.
    #[serde(default)]
    pub records: Vec<RecordDue>,
    /// The rules over several records or counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<Invariant>,
    /// What must be live at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub live: Vec<LiveDue>,
    /// The faults, in the order of the plan.
    pub faults: Vec<Planned>,
    /// The interrupts.
    #[serde(default)]
    pub interrupts: Vec<Planned>,
    /// The overlap of two deliveries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Planned>,
    /// The questions that a person was planned to answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalTerm>,
    /// The events that a sender brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventTerm>,
    /// The maximum number of questions about an operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Budget>,
    /// The minimum number of calls of an operation that the subject gives up and must cancel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancels: Vec<Budget>,
    /// How many callers there are.
    pub callers: u32,
    /// The number of turns after the first.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub turns: u32,
    /// The tasks that are about some of the intents only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskTerm>,
    /// Whether the callers meet at a start barrier.
    #[serde(default)]
    pub barrier: bool,
    /// The operations of the services of the case.
    pub operations: Vec<OperationTerm>,
    /// What the task names, by field: the values of its steps and effects, and the mail addresses and names in its
    /// text, whose field is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<(String, String)>,
    /// Names of fields: the name in the scenario, and the name in the requests of this subject.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    /// The APIs through which operations must be done; with another API the trial is void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<ViaDue>,
    /// The services that the subject itself must use; a trial in which it does not is void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// The services whose idempotency keys are where the user says, and not as in a shipped profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_keys: Vec<OwnKey>,
    /// The entries of `can` in hapax.yaml: what this subject uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can: Vec<String>,
}

impl Terms {
    /// Whether the case expects a state at the end: records, a rule over them, or what is live.
    #[must_use]
    pub fn expects_state(&self) -> bool {
        !self.records.is_empty() || !self.invariants.is_empty() || !self.live.is_empty()
    }
}

/// An effect of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderStep {
    /// The effect's name.
    pub effect: String,
    /// The fields that select the effects; empty for all of this name.
    #[serde(rename = "where", default, skip_serializing_if = "Fields::is_empty")]
    #[schemars(schema_with = "fields_schema")]
    pub selector: Fields,
}

impl OrderStep {
    /// The effects of this step as an intent, so that one rule says which fit.
    #[must_use]
    pub fn as_intent(&self) -> Intent {
        selecting(&self.effect, &self.selector)
    }
}

/// An intent on the effects with these fields.
fn selecting(effect: &str, selector: &Fields) -> Intent {
    Intent {
        effect: effect.to_owned(),
        selector: selector.clone(),
        expected: Fields::new(),
        defaults: Fields::new(),
        times: 1,
        at_least: None,
        approval: false,
        stands: false,
    }
}

/// A service whose idempotency keys are where the user says, and not as in a shipped profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnKey {
    /// The service.
    pub service: String,
    /// Where its requests have their keys: `body.nonce`.
    pub place: String,
    /// Whether a key of one endpoint is another one at the next.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_endpoint: bool,
    /// The fields that belong to the key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identity: Vec<String>,
}

/// The APIs through which an operation must be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ViaDue {
    /// The operation.
    pub operation: String,
    /// The names of the APIs, any of which is accepted.
    pub apis: Vec<String>,
}

/// An effect that is due, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// The effect's name: `payment.charge`.
    pub effect: String,
    /// The fields that select the effects.
    #[serde(rename = "where", default)]
    #[schemars(schema_with = "fields_schema")]
    pub selector: Fields,
    /// The expected values of their other fields.
    #[serde(rename = "with", default)]
    #[schemars(schema_with = "fields_schema")]
    pub expected: Fields,
    /// The usual values of fields that the scenario does not name: one unit, no trial. An effect without such
    /// a field has the usual value.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    #[schemars(schema_with = "fields_schema")]
    pub defaults: Fields,
    /// How often it happens at most; 0 if it must not happen.
    pub times: u32,
    /// How often it happens at least, if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// Whether it needs an approval that was granted before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// Whether it must stand at the end: what a fault reverts has to be made again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stands: bool,
}

impl Terms {
    /// The terms of the same task without faults, interrupts and further callers.
    #[must_use]
    pub fn without_faults(&self) -> Terms {
        Terms {
            faults: Vec::new(),
            interrupts: Vec::new(),
            overlap: None,
            approvals: Vec::new(),
            callers: 1,
            turns: 0,
            barrier: false,
            ..self.clone()
        }
    }
}

impl Intent {
    /// How often it must happen.
    #[must_use]
    pub fn least(&self) -> u32 {
        self.at_least.unwrap_or(self.times)
    }

    /// How often it must have happened for the claim `done` to be true: an effect that need not happen is not
    /// done if it did not happen.
    #[must_use]
    pub fn done_at(&self) -> u32 {
        self.least().max(self.times.min(1))
    }
}

/// A task that is about some of the intents only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskTerm {
    /// The caller; `None` for every caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
    /// The turn, from 0.
    pub turn: u32,
    /// The indexes of its intents; empty where they are not known.
    pub intents: Vec<usize>,
}

/// The intents that one entry of the scenario makes with `each`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentList {
    /// The index of the first one.
    pub first: usize,
    /// How many there are.
    pub count: usize,
}

/// The minimum and maximum numbers of attempts of an operation, over all callers and starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The operation.
    pub operation: String,
    /// The minimum number of attempts and refused requests together.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub at_least: u32,
    /// The maximum number of attempts; `None` for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
}

/// An event that a sender was planned to bring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventTerm {
    /// What it is about: an effect, `task`, or the sender of a body that the scenario gives.
    pub of: String,
    /// How many copies arrive at least.
    pub arrivals: u32,
}

impl From<&PlannedEvent> for EventTerm {
    fn from(event: &PlannedEvent) -> Self {
        let of = match &event.source {
            EventSource::Effect { effect, .. } => effect.clone(),
            EventSource::Given { sender, .. } => sender.as_str().to_owned(),
            EventSource::Task => "task".to_owned(),
        };
        let arrivals = event.copies.iter().map(|copy| match copy.arrival {
            Arrival::Never => 0,
            Arrival::Twice => 2,
            Arrival::Now | Arrival::Later => 1,
        });
        EventTerm { of, arrivals: arrivals.sum::<u32>() * event.workers }
    }
}

/// A question that a person was planned to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalTerm {
    /// The operation.
    pub operation: String,
    /// The fields that select the questions.
    #[serde(rename = "where", default)]
    #[schemars(schema_with = "fields_schema")]
    pub selector: Fields,
    /// How many answers come, to all callers together; 0 if nobody answers.
    pub answers: u32,
    /// How many callers get an answer at once, if several do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u32>,
}

impl ApprovalTerm {
    /// The questions of this term as an intent, so that one rule says which fit.
    #[must_use]
    pub fn as_intent(&self) -> Intent {
        selecting(&self.operation, &self.selector)
    }
}

impl From<&Approval> for ApprovalTerm {
    fn from(approval: &Approval) -> Self {
        ApprovalTerm {
            operation: approval.operation.clone(),
            selector: approval.selector.clone(),
            answers: approval.answers.iter().map(|answer| answer.times).sum(),
            together: approval.answers.iter().find(|answer| answer.together).map(|answer| answer.times),
        }
    }
}

/// A record or counter that is expected at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordDue {
    /// The key of the record, or the name of the counter.
    pub key: String,
    /// Whether it is a counter.
    #[serde(default)]
    pub counter: bool,
    /// Its expected value at the end; `null` if it must not exist.
    pub value: serde_json::Value,
    /// Its value at the start; `null` if it did not exist.
    #[serde(default)]
    pub start: serde_json::Value,
}

/// A fault or an interrupt that was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Planned {
    /// It as one line of text.
    pub text: String,
    /// Its operation.
    pub operation: String,
    /// Whether a trial can pass in which it did not fire.
    #[serde(default)]
    pub optional: bool,
    /// What the fault does; not for interrupts, and not in the reports of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<PlannedFault>,
}

impl Planned {
    /// What the fault does, if it is one. A report of an earlier build has only its line.
    #[must_use]
    pub fn fault(&self) -> Option<PlannedFault> {
        self.fault.or_else(|| self.text.parse::<Fault>().ok().map(|fault| PlannedFault::from(&fault)))
    }

    /// The fields that a request must have for the fault to fire.
    #[must_use]
    pub fn fields(&self) -> Fields {
        self.text.parse::<Fault>().map(|fault| fault.trigger.fields).unwrap_or_default()
    }
}

impl From<&Fault> for Planned {
    fn from(fault: &Fault) -> Self {
        Planned {
            text: fault.to_string(),
            operation: fault.trigger.on.clone(),
            optional: fault.optional,
            fault: Some(fault.into()),
        }
    }
}

/// What a fault does, without details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedFault {
    /// What is committed.
    #[schemars(schema_with = "commit_kind_schema")]
    pub commit: CommitKind,
    /// What the caller sees.
    #[schemars(schema_with = "reply_kind_schema")]
    pub reply: ReplyKind,
    /// The status that the caller sees, if the fault gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

impl From<&Fault> for PlannedFault {
    fn from(fault: &Fault) -> Self {
        let (commit, reply) = (fault.commit.kind(), fault.reply.kind());
        PlannedFault { commit, reply, status: fault.reply.forced_status() }
    }
}

/// An operation of a service of the case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationTerm {
    /// Its full name.
    pub name: String,
    /// Whether it can have an effect.
    pub write: bool,
    /// The fields that identify its effect.
    #[serde(default)]
    pub identity: Vec<String>,
    /// The fields that each of its effects has: an effect without one contradicts an intent that names it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub natural: Vec<String>,
    /// Whether its effects are only a cost: they need no intent, and the report counts them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost: bool,
}

impl OperationTerm {
    /// The term of an operation; `effect` describes its effects, if it has any.
    pub(crate) fn new(operation: &Operation, effect: Option<&EffectDescription>) -> Self {
        OperationTerm {
            name: operation.name.to_string(),
            write: operation.kind == OperationKind::Write,
            identity: operation.identity.iter().map(ToString::to_string).collect(),
            natural: effect.map(|effect| effect.natural.clone()).unwrap_or_default(),
            cost: effect.is_some_and(|effect| effect.is_cost),
        }
    }

    /// The terms of all operations of a service.
    pub(crate) fn from_service(service: &ServiceDescription) -> impl Iterator<Item = Self> {
        service
            .operations
            .iter()
            .map(|operation| OperationTerm::new(operation, service.effect(&operation.name)))
    }
}
