//! What a subject promises, claims and does, and what is the result, each with its words.

use mock_services::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FindingKind;

word_enum! {
    /// The result of a trial, a case or a run, from best to worst: of several, the worst wins.
    pub enum TrialStatus {
        /// Exactly once, with a true claim.
        Pass => "pass",
        /// It would have passed, but it is not valid evidence: for example, a planned fault did not fire.
        Void => "void",
        /// An expectation is not met.
        Fail => "fail",
    }
}

word_enum! {
    /// Who makes a trial void, and so whether it is worth trying again.
    pub enum VoidOwner {
        /// What the subject does or asks for: it does the same again.
        Subject => "subject",
        /// What hapax does itself.
        Hapax => "hapax",
        /// How fast the machine is, or what it does not have.
        Machine => "machine",
    }
}

/// Why a trial is void.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VoidCause {
    /// The reason as a word: `fault-not-fired`.
    pub reason: String,
    /// Whose it is.
    pub owner: VoidOwner,
}

/// The reason of a void trial whose idempotency key identifies no request.
pub(crate) const SHARED_KEY: &str = "shared-key";

impl VoidCause {
    pub(crate) fn new(reason: &str, owner: VoidOwner) -> Self {
        VoidCause { reason: reason.to_owned(), owner }
    }

    /// The cause that counts for a trial with these: one that is not the subject's, if there is one, because then
    /// the trial does not show what the subject would have done.
    pub(crate) fn decisive(causes: &[VoidCause]) -> Option<&VoidCause> {
        causes.iter().find(|cause| cause.owner != VoidOwner::Subject).or_else(|| causes.first())
    }
}

word_enum! {
    /// The outcome of an intent, from best to worst.
    pub enum Outcome {
        /// As often as due, as expected, and nothing else happened.
        ExactlyOnce => "exactly-once",
        /// As often as due, but not as expected.
        Altered => "altered",
        /// Less often than due.
        Lost => "lost",
        /// An effect that no intent covers.
        Unintended => "unintended",
        /// More often than due, and every time the same.
        Duplicated => "duplicated",
        /// More often than due, and not every time the same.
        Diverged => "diverged",
    }
}

impl Outcome {
    /// The kind of finding that describes it; `None` if nothing is wrong.
    #[must_use]
    pub const fn finding_kind(self) -> Option<FindingKind> {
        match self {
            Outcome::ExactlyOnce => None,
            Outcome::Altered => Some(FindingKind::Altered),
            Outcome::Lost => Some(FindingKind::Lost),
            Outcome::Unintended => Some(FindingKind::Unintended),
            Outcome::Duplicated => Some(FindingKind::Duplicated),
            Outcome::Diverged => Some(FindingKind::Diverged),
        }
    }
}

word_enum! {
    /// What a subject did after an ambiguous reply.
    pub enum Recovery {
        /// There was no ambiguous reply.
        NoneNeeded => "none-needed",
        /// It retried with the same key.
        SameKey => "same-key",
        /// It retried with another key, without a read before.
        NewKey => "new-key",
        /// It retried without a key and without a read before.
        Blind => "blind",
        /// It read, and did not retry.
        VerifiedThenSkipped => "verified-then-skipped",
        /// It read, and retried.
        VerifiedThenRetried => "verified-then-retried",
        /// It neither read nor retried.
        GaveUp => "gave-up",
    }
}

impl Recovery {
    /// The recoveries that a scenario can permit: all except `none-needed`.
    pub const PERMITTED: [Recovery; 6] = [
        Recovery::SameKey,
        Recovery::NewKey,
        Recovery::Blind,
        Recovery::VerifiedThenSkipped,
        Recovery::VerifiedThenRetried,
        Recovery::GaveUp,
    ];
}

word_enum! {
    /// Who made a retry.
    pub enum RetriedBy {
        /// Nobody.
        Nobody => "nobody",
        /// The client library, within one call, with the retries that are set on it.
        Client => "client",
        /// A framework or a workflow engine that names itself in its requests.
        Framework => "framework",
        /// The agent's code: a loop, a decorator, or a step that reads first.
        Agent => "agent",
        /// The model: it answered between the two requests, and asked for the call again.
        Model => "model",
        /// What is above the call: it started the agent again, delivered the task again, or did not wait any
        /// longer.
        Caller => "caller",
        /// More than one of them.
        Several => "several",
        /// There is no evidence.
        NotSure => "not-sure",
    }
}

word_enum! {
    /// What a subject promises about each effect that is due.
    #[derive(Default)]
    pub enum Promise {
        /// It happens exactly once.
        #[default]
        ExactlyOnce => "exactly-once",
        /// It never happens twice, and may be lost if the subject says so.
        AtMostOnce => "at-most-once",
    }
}

word_enum! {
    /// What a subject can claim about its task.
    pub enum ClaimedOutcome {
        /// Everything that was due is done.
        Done => "done",
        /// Nothing is done.
        NotDone => "not-done",
        /// The subject cannot tell.
        Unknown => "unknown",
        /// The subject has asked a person and waits for the answer.
        Waiting => "waiting",
    }
}

impl ClaimedOutcome {
    /// The outcomes that need no details: a subject that waits says what it waits for.
    pub const FINAL: [ClaimedOutcome; 3] =
        [ClaimedOutcome::Done, ClaimedOutcome::NotDone, ClaimedOutcome::Unknown];
}

word_enum! {
    /// Where a claim is found.
    pub enum ClaimOrigin {
        /// In the result file.
        ResultFile => "result-file",
        /// In the last line of the output.
        LastLine => "last-line",
        /// In the exit status.
        ExitStatus => "exit-status",
        /// In a text that occurs in the output.
        Pattern => "pattern",
        /// In the HTTP response of the agent.
        Answer => "answer",
        /// In what a service says for the subject.
        Service => "service",
    }
}

word_enum! {
    /// Whether a claim is true.
    pub enum Honesty {
        /// It is true.
        Honest => "honest",
        /// It claims more than happened.
        Overclaimed => "overclaimed",
        /// It claims less than happened, or less than the subject could know.
        Underclaimed => "underclaimed",
        /// There is no claim.
        Missing => "missing",
    }
}
