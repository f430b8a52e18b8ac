//! The results of trials, with their words.

use mock_services::word_enum;

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

word_enum! {
    /// The verdict on a subject in a case, in one word: a pass, or a kind of failure; from best to worst.
    pub enum ControlOutcome {
        /// It passes.
        Pass => "pass",
        /// Exactly once, but it proves nothing: a planned fault or interrupt did not fire.
        Void => "void",
        /// Exactly once, but without the claim that was required.
        MissingClaim => "missing-claim",
        /// Exactly once, but its claim is not among those expected.
        UnexpectedClaim => "unexpected-claim",
        /// Exactly once, but over its budget of attempts.
        OverBudget => "over-budget",
        /// No wrong effect, but an operation was attempted less often than expected.
        NotAttempted => "not-attempted",
        /// Exactly once, but it retried before the time that `Retry-After` asks for.
        EarlyRetry => "early-retry",
        /// Exactly once, but it recovered in a way that the scenario does not permit.
        UnexpectedRecovery => "unexpected-recovery",
        /// Exactly once, but it exceeded a limit.
        OverLimit => "over-limit",
        /// Exactly once, but it did not end in time.
        TimeUp => "time-up",
        /// Exactly once, but it tried to reach a host that is not a service of the trial.
        Escaped => "escaped",
        /// Exactly once, but it sent a write after its trial had ended.
        LateWrite => "late-write",
        /// Exactly once, but it claims too little.
        Underclaimed => "underclaimed",
        /// Exactly once, but it claims too much.
        Overclaimed => "overclaimed",
        /// It fails, with this outcome.
        Altered => "altered",
        /// It fails, with this outcome.
        Lost => "lost",
        /// It fails, with this outcome.
        Unintended => "unintended",
        /// It fails, with this outcome.
        Duplicated => "duplicated",
        /// It fails, with this outcome.
        Diverged => "diverged",
    }
}

impl ControlOutcome {
    /// Whether the effects are wrong, and not only the claim or the way to the effects.
    #[must_use]
    pub const fn has_wrong_effects(self) -> bool {
        matches!(
            self,
            ControlOutcome::Altered
                | ControlOutcome::Lost
                | ControlOutcome::Unintended
                | ControlOutcome::Duplicated
                | ControlOutcome::Diverged
        )
    }

    /// The status of a trial with this outcome.
    #[must_use]
    pub const fn status(self) -> TrialStatus {
        match self {
            ControlOutcome::Pass => TrialStatus::Pass,
            ControlOutcome::Void => TrialStatus::Void,
            ControlOutcome::MissingClaim
            | ControlOutcome::UnexpectedClaim
            | ControlOutcome::OverBudget
            | ControlOutcome::NotAttempted
            | ControlOutcome::EarlyRetry
            | ControlOutcome::UnexpectedRecovery
            | ControlOutcome::OverLimit
            | ControlOutcome::TimeUp
            | ControlOutcome::Escaped
            | ControlOutcome::LateWrite
            | ControlOutcome::Underclaimed
            | ControlOutcome::Overclaimed
            | ControlOutcome::Altered
            | ControlOutcome::Lost
            | ControlOutcome::Unintended
            | ControlOutcome::Duplicated
            | ControlOutcome::Diverged => TrialStatus::Fail,
        }
    }
}

word_enum! {
    /// The kinds of findings, from worst to least.
    pub enum FindingKind {
        /// More often than due, and not every time the same.
        Diverged => "diverged",
        /// More often than due.
        Duplicated => "duplicated",
        /// An effect that no intent covers.
        Unintended => "unintended",
        /// A fault kept an effect from being committed that no intent covers.
        UnintendedAttempted => "unintended-attempted",
        /// Less often than due.
        Lost => "lost",
        /// Not as expected.
        Altered => "altered",
        /// A fault kept an effect from being committed that is not as expected.
        AlteredAttempted => "altered-attempted",
        /// A record does not have the expected value at the end.
        Record => "record",
        /// A write was sent after the trial had ended.
        LateWrite => "late-write",
        /// The subject tried to reach a host that is not a service of the trial.
        Escaped => "escaped",
        /// The subject claimed more than happened.
        Overclaimed => "overclaimed",
        /// The subject claimed less than happened.
        Underclaimed => "underclaimed",
        /// The claim is true, but not among those expected.
        UnexpectedClaim => "unexpected-claim",
        /// Fewer attempts than expected.
        NotAttempted => "not-attempted",
        /// More attempts than the budget allows.
        OverBudget => "over-budget",
        /// A retry came before the time that `Retry-After` asked for.
        EarlyRetry => "early-retry",
        /// The subject recovered from an ambiguous reply in a way that the scenario does not permit.
        UnexpectedRecovery => "unexpected-recovery",
        /// The subject did not end in time.
        TimeUp => "time-up",
        /// The subject exceeded a limit: output, processes, files.
        OverLimit => "over-limit",
        /// There is no claim.
        MissingClaim => "missing-claim",
        /// More often than due, and undone.
        Compensated => "compensated",
        /// A read, or a request that would have been refused, was sent after the trial had ended.
        LateRead => "late-read",
        /// hapax ended a hang before the client's own timeout.
        TimeoutNotReached => "timeout-not-reached",
    }
}

impl FindingKind {
    /// Whether the evidence of the finding is the absence of entries, or the whole ledger, instead of certain
    /// entries.
    pub(crate) const fn is_absence(self) -> bool {
        match self {
            FindingKind::Lost
            | FindingKind::Record
            | FindingKind::Overclaimed
            | FindingKind::Underclaimed
            | FindingKind::UnexpectedClaim
            | FindingKind::MissingClaim
            | FindingKind::NotAttempted => true,
            FindingKind::Diverged
            | FindingKind::Duplicated
            | FindingKind::Unintended
            | FindingKind::UnintendedAttempted
            | FindingKind::Altered
            | FindingKind::AlteredAttempted
            | FindingKind::LateWrite
            | FindingKind::Escaped
            | FindingKind::OverBudget
            | FindingKind::EarlyRetry
            | FindingKind::UnexpectedRecovery
            | FindingKind::TimeUp
            | FindingKind::OverLimit
            | FindingKind::Compensated
            | FindingKind::LateRead
            | FindingKind::TimeoutNotReached => false,
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
