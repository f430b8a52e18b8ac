//! What a trial comes to: plain data that reports show and baselines compare.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use crate::domain::{
    ClaimedOutcome, FindingKind, Honesty, HostRequests, HostTreatment, Outcome, Recovery, RetriedBy,
    TrialStatus,
};

/// What a trial comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Pass, fail or void.
    pub result: TrialStatus,
    /// The worst outcome among the intents.
    pub outcome: Outcome,
    /// The outcome of each intent, in the order of the scenario.
    pub intents: Vec<IntentOutcome>,
    /// Effects that no intent covers: the numbers of their entries.
    pub unintended: Vec<u64>,
    /// What the subject claimed, and whether it is true: one for each caller, that of its last start.
    pub claims: Vec<Claim>,
    /// What earlier starts claimed, and whether it was true then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_claims: Vec<Claim>,
    /// What the subject did after the first ambiguous reply.
    pub recovery: Recovery,
    /// Attempts of each operation that was used or has a budget.
    pub attempts: Vec<AttemptsMade>,
    /// Who retried.
    pub retried_by: RetriedBy,
    /// The retries one by one, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retry>,
    /// Everything that is wrong, worst first.
    pub findings: Vec<Finding>,
    /// Why the trial proves nothing, where it would have passed.
    pub void_because: Vec<String>,
    /// What happened at the start barrier, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<BarrierFacts>,
    /// Requests to hosts outside of the trial that are allowed or ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRequests>,
}

/// What became of one intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntentOutcome {
    /// Its outcome.
    pub outcome: Outcome,
    /// How often it was due, at most.
    pub due: u32,
    /// How often at least, where that is less often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// The entries of the effects that count for it, surplus included.
    pub effects: Vec<u64>,
    /// The entries among them that are surplus.
    pub surplus: Vec<u64>,
    /// The entries among the surplus that were undone.
    #[serde(default)]
    pub compensated: Vec<u64>,
    /// How the effects were matched to it, in words.
    pub why: String,
}

/// What a start of a caller claimed, and whether it was true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Who.
    pub caller: u32,
    /// In which of its starts, from 1.
    #[serde(default)]
    pub start: u32,
    /// The claimed outcome; `None` if there was no claim that can be read.
    pub outcome: Option<ClaimedOutcome>,
    /// Its own words.
    #[serde(default)]
    pub message: String,
    /// Whether it was true.
    pub honesty: Honesty,
    /// The entry of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
}

/// Attempts of one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptsMade {
    /// The operation.
    pub operation: String,
    /// How many there were, over all callers and starts.
    pub made: u32,
    /// Requests of this operation that the service refused; they count for the lower bound alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u32,
    /// How many attempts and refused requests there must be.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_least: u32,
    /// How many there may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One retry, who made it, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    /// The entry of the retry.
    pub entry: u64,
    /// The number of the attempt; none where the service refused the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// Who made it.
    pub by: RetriedBy,
    /// What shows it, in words.
    pub evidence: String,
}

/// One thing that the ledger shows to be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// Whether it contradicts the expectation; the others are only noted.
    pub fails: bool,
    /// What happened.
    pub message: String,
    /// How to fix it.
    pub fix: String,
    /// The entries that prove it.
    pub entries: Vec<u64>,
}

impl IntentOutcome {
    /// How often it had to happen.
    #[must_use]
    pub fn least(&self) -> u32 {
        self.at_least.unwrap_or(self.due)
    }
}

/// What happened at the start barrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BarrierFacts {
    /// Who came and was let in together.
    pub met: Vec<u32>,
    /// Who ended without having come.
    pub absent: Vec<u32>,
    /// Whose client gave up while it was held.
    pub gave_up: Vec<u32>,
    /// Who wrote after the barrier had opened without it, because it waited for another caller or was slow.
    pub late: Vec<u32>,
    /// From the first to the last that was let in, in microseconds.
    pub spread_us: u64,
}
