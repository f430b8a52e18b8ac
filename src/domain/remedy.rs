//! What to change in an agent: findings of different kinds, about different effects, that one change fixes.

use mock_services::word_enum;

word_enum! {
    /// What kind of change fixes a finding.
    #[derive(Default)]
    pub enum Remedy {
        /// One idempotency key for each piece of work.
        SameKey => "same-key",
        /// Read before sending again.
        CheckBeforeRetry => "check-before-retry",
        /// A record that survives a restart.
        KeepRecord => "keep-record",
        /// Each piece of work once; also where a report of an earlier build does not say.
        #[default]
        ProcessOnce => "process-once",
        /// Nothing that the task does not ask for.
        OnlyTheTask => "only-the-task",
        /// Everything that the task asks for.
        WholeTask => "whole-task",
        /// The values of the task.
        TaskValues => "task-values",
        /// Writes with the version that was read.
        ConditionalWrite => "conditional-write",
        /// Approvals that are asked for, stored and obeyed.
        AskFirst => "ask-first",
        /// Claims that are true and present.
        TrueClaim => "true-claim",
        /// Waiting as long as the service asks for.
        WaitAsAsked => "wait-as-asked",
        /// Fewer attempts.
        RetryLess => "retry-less",
        /// A crash in the middle of the work.
        FixCrash => "fix-crash",
        /// Timeouts and limits.
        EndInTime => "end-in-time",
        /// An answer to each event.
        Acknowledge => "acknowledge",
        /// No work after the end.
        EndLast => "end-last",
        /// Requests only to the services.
        OnlyTheServices => "only-the-services",
    }
}

impl Remedy {
    /// The change as one sentence, for any effect.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Remedy::SameKey => {
                "Send one idempotency key for each piece of work: the same in every attempt and every caller."
            }
            Remedy::CheckBeforeRetry => "Check what happened before you send a request again.",
            Remedy::KeepRecord => "Keep a record that survives a restart, and read it before you continue.",
            Remedy::ProcessOnce => "Process each piece of work only once.",
            Remedy::OnlyTheTask => "Do only what the task asks for.",
            Remedy::WholeTask => "Do all that the task asks for, and verify that it happened.",
            Remedy::TaskValues => "Send the values of the task, in every attempt.",
            Remedy::ConditionalWrite => "Write with the version that you read, so that no change is lost.",
            Remedy::AskFirst => {
                "Store the question before you ask, and do exactly what was approved, once for each approval."
            }
            Remedy::TrueClaim => "Claim what you have verified: done, not-done, or unknown.",
            Remedy::WaitAsAsked => "Wait as long as Retry-After asks for.",
            Remedy::RetryLess => "Retry in one layer only, and with a limit.",
            Remedy::FixCrash => "Fix what stops the subject before its work is done.",
            Remedy::EndInTime => "Set timeouts and limits, and exit when the work is done.",
            Remedy::Acknowledge => {
                "Answer 2xx when an event was taken, and to every event that the agent has nothing to do about."
            }
            Remedy::EndLast => "End only when everything that was started has ended.",
            Remedy::OnlyTheServices => "Send every request to the services of the trial.",
        }
    }
}
