//! The verdict of a trial: plain data that reports show and baselines compare.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::slow_start::SLOW_START;
pub(super) use crate::domain::{
    ClaimedOutcome, ControlOutcome, Excuse, FindingKind, HarmRank, Honesty, HostRequests, HostTreatment,
    Outcome, Recovery, Remedy, RetriedBy, TrialStatus, VoidCause,
};

/// The verdict of a trial.
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
    /// The claim of each caller in its last start, and whether it is true.
    pub claims: Vec<Claim>,
    /// The claims of earlier starts, and whether they were true then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_claims: Vec<Claim>,
    /// How the subject recovered from the first ambiguous reply.
    pub recovery: Recovery,
    /// Attempts of each operation that was used or has a budget.
    pub attempts: Vec<AttemptsMade>,
    /// Who retried.
    pub retried_by: RetriedBy,
    /// The first retries, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retry>,
    /// All findings, worst first.
    pub findings: Vec<Finding>,
    /// Why the trial is void, if it would have passed.
    pub void_because: Vec<String>,
    /// The same reasons as words, each with its owner, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void_causes: Vec<VoidCause>,
    /// What happened at the start barrier, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<BarrierFacts>,
    /// Requests to hosts outside of the trial that are allowed or ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRequests>,
    /// What the subject caused that is only paid for, such as the generations of a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<EffectCost>,
    /// The values of idempotency keys at places that the user chose, each with the intents that were done under it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_uses: Vec<KeyUse>,
}

impl Verdict {
    /// Gives back the memory that is kept for more: the verdicts of a large run are all in memory.
    #[must_use]
    pub(crate) fn shrunk(mut self) -> Self {
        self.intents.iter_mut().for_each(|intent| intent.effects.shrink_to_fit());
        self.intents.shrink_to_fit();
        self.claims.shrink_to_fit();
        self.attempts.shrink_to_fit();
        self.retries.shrink_to_fit();
        self.findings.shrink_to_fit();
        self
    }

    /// The findings that fail the trial, worst first.
    pub(crate) fn failing(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.fails)
    }

    /// Whether the trial is void because most of its time went to starting.
    #[must_use]
    pub fn is_slow_start(&self) -> bool {
        self.result == TrialStatus::Void && self.void_causes.iter().any(|cause| cause.reason == SLOW_START)
    }

    /// The verdict in one word, as scenarios write it for their controls: pass, void, the outcome if it is not
    /// exactly-once, otherwise the worst finding that fails.
    #[must_use]
    pub fn control_outcome(&self) -> ControlOutcome {
        match self.result {
            TrialStatus::Pass => ControlOutcome::Pass,
            TrialStatus::Void => ControlOutcome::Void,
            TrialStatus::Fail => {
                let worst = || self.failing().map(|finding| finding.kind).min();
                // A trial that failed has a finding that fails.
                let kind = self.outcome.finding_kind().or_else(worst).unwrap_or(FindingKind::Altered);
                ControlOutcome::failed(kind)
            }
        }
    }
}

/// The value of a key at a place that the user chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyUse {
    /// The service.
    pub service: String,
    /// The place: `body.nonce`.
    pub place: String,
    /// The value.
    pub value: String,
    /// The indexes of the intents that were done under it.
    pub intents: Vec<usize>,
}

/// The effects of one name that are only paid for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectCost {
    /// The effect: `model.generate`.
    pub effect: String,
    /// How many were made, and billed.
    pub made: u32,
    /// How many of them were delivered completely.
    pub delivered: u32,
    /// How many were made for a request that had been answered before: they were paid for twice.
    pub repeated: u32,
    /// The tokens that were billed, for the generations of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// By what other means than a tool some of them acted: `shell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
}

/// The result of one intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntentOutcome {
    /// Its outcome.
    pub outcome: Outcome,
    /// How often it is due, at most.
    pub due: u32,
    /// How often it is due at least, if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// The entries of its effects, including surplus effects.
    pub effects: Vec<u64>,
    /// The entries of the surplus effects.
    pub surplus: Vec<u64>,
    /// The entries of the surplus effects that were undone.
    #[serde(default)]
    pub compensated: Vec<u64>,
    /// How the effects were matched to it, as text.
    pub why: String,
}

/// The claim of a start of a caller, and whether it is true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The caller.
    pub caller: u32,
    /// The start, from 1.
    #[serde(default)]
    pub start: u32,
    /// The claimed outcome; `None` if there is no readable claim.
    pub outcome: Option<ClaimedOutcome>,
    /// Its message.
    #[serde(default)]
    pub message: String,
    /// Whether it is true.
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
    /// The number of attempts, over all callers and starts.
    pub made: u32,
    /// Requests of this operation that the service refused; they count only for the minimum.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub refused: u32,
    /// The minimum number of attempts and refused requests.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub at_least: u32,
    /// The maximum number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// In which layers requests that only cost something were retried, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<String>,
}

/// One retry, who made it, and the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    /// The entry of the retry.
    pub entry: u64,
    /// The number of the attempt; `None` if the service refused the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// The operation and the number among its attempts: `payment.charge#2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who made it.
    pub by: RetriedBy,
    /// The evidence as text.
    pub evidence: String,
}

/// Something that the ledger shows to be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// Whether the trial fails because of it; otherwise it is only a note.
    pub fails: bool,
    /// Why the trial does not fail because of it, if it otherwise would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excuse: Option<Excuse>,
    /// What happened.
    pub message: String,
    /// What kind of change fixes it: findings with the same remedy are fixed together.
    #[serde(default)]
    pub remedy: Remedy,
    /// How to fix it.
    pub fix: String,
    /// The entries that prove it.
    pub entries: Vec<u64>,
}

impl Finding {
    /// A finding that the usual change for its kind fixes, and that fails its trial unless it is a note; the
    /// rest is empty.
    pub(super) fn new(kind: FindingKind) -> Self {
        Finding::where_required(kind, true)
    }

    /// As `new`, but it breaks no rule: it never fails its trial.
    pub(super) fn noted(kind: FindingKind) -> Self {
        Finding::where_required(kind, false)
    }

    /// As `new` if the case requires what is missing, otherwise as `noted`.
    pub(super) fn where_required(kind: FindingKind, is_required: bool) -> Self {
        Finding {
            kind,
            fails: is_required && kind.harm() != HarmRank::Note,
            excuse: None,
            message: String::new(),
            remedy: kind.remedy(),
            fix: String::new(),
            entries: Vec::new(),
        }
    }
}

impl IntentOutcome {
    /// How often it must happen.
    #[must_use]
    pub fn least(&self) -> u32 {
        self.at_least.unwrap_or(self.due)
    }
}

/// What happened at the start barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BarrierFacts {
    /// The callers that were admitted together.
    pub met: Vec<u32>,
    /// The callers that ended before they reached the barrier.
    pub absent: Vec<u32>,
    /// The callers whose client gave up at the barrier.
    pub gave_up: Vec<u32>,
    /// The callers that wrote after the barrier had opened without them, because they waited for another
    /// caller or were slow.
    pub late: Vec<u32>,
    /// The callers that the barrier did not wait for, because they waited for a lock of a caller there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locked: Vec<u32>,
    /// The time from the first to the last admission, in microseconds.
    pub spread_us: u64,
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;
    use crate::domain::SubjectEvent;
    use crate::scenario::{Budget, Terms};
    use crate::score::score;
    use crate::score::testing::{LedgerScript, Sees, due, terms};

    fn comes(terms: &Terms, go_on: impl FnOnce(&mut LedgerScript)) -> ControlOutcome {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        go_on(&mut script);
        score(terms, &script.end(), None).control_outcome()
    }

    #[test]
    fn the_outcome_comes_before_all_else_and_then_the_worst_finding() {
        let mut terms = terms([due("o1", 10, 1)]);
        terms.attempts =
            vec![Budget { operation: "payment.charge".to_owned(), at_least: 0, at_most: Some(1) }];
        assert_eq!(comes(&terms, |_| {}), ControlOutcome::Pass);
        let write_without_commit = |script: &mut LedgerScript| {
            _ = script.write_without_commit("payment.charge", None, &Fields::new(), Sees::Status(400))
        };
        assert_eq!(comes(&terms, write_without_commit), ControlOutcome::Failed(FindingKind::OverBudget));
        assert_eq!(
            comes(&terms, |script| (
                write_without_commit(script),
                _ = script.claims(1, ClaimedOutcome::NotDone)
            )
                .1),
            ControlOutcome::Failed(FindingKind::Underclaimed)
        );
        assert_eq!(
            comes(&terms, |script| _ = script.charge(None, "o1", 10, Sees::Ok)),
            ControlOutcome::Failed(FindingKind::Duplicated)
        );
        let escape = |script: &mut LedgerScript| _ = script.escaped("api.stripe.com");
        assert_eq!(comes(&terms, escape), ControlOutcome::Failed(FindingKind::Escaped));
        let over = |script: &mut LedgerScript| {
            _ = script.event(&SubjectEvent::OverLimit { limit: "output".to_owned() })
        };
        assert_eq!(comes(&terms, over), ControlOutcome::Failed(FindingKind::OverLimit));
    }
}
