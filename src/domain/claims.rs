//! What a subject claims, where the claim is found, and whether it is true.

use mock_services::word_enum;

word_enum! {
    /// What a subject can claim about its task.
    pub enum ClaimedOutcome {
        /// Everything that was due is done.
        Done => "done",
        /// Nothing is done.
        NotDone => "not-done",
        /// The subject cannot tell.
        Unknown => "unknown",
    }
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
