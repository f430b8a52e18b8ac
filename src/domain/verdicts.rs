//! The results of trials, with their words.

use mock_services::word_enum;

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
        /// The client library, within one call.
        Client => "client",
        /// Something that repeats whole calls: a retry decorator, a workflow engine, a loop in the agent's
        /// own code.
        Framework => "framework",
        /// The agent: it read first, sent something else, or was restarted.
        Agent => "agent",
        /// More than one of them.
        Several => "several",
        /// There is no evidence.
        NotSure => "not-sure",
    }
}
