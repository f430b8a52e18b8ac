//! Why a finding that fails its trial does not fail it after all: one table of all excuses, with the reason and the scope
//! of each. `score` says when an excuse holds, and applies it.

use mock_services::word_enum;

use super::FindingKind;

word_enum! {
    /// Why findings of a trial do not fail it. The words are those of the reasons for which the trial is void.
    pub enum Excuse {
        /// The subject promises only at most once, tried, and no caller claimed that it was done.
        AtMostOnce => "at-most-once",
        /// A caller, or the whole subject, could not be started.
        Unstartable => "unstartable",
        /// The command that is run before each trial failed.
        Unprepared => "unprepared",
        /// The subject asked for something that the service in hapax does not have.
        MissingFeature => "missing-feature",
        /// A service cannot say what the real one would answer.
        Undecided => "undecided",
        /// A model was asked about the task, and never offered a tool.
        NoToolsOffered => "no-tools-offered",
        /// The time limit ended soon after the first request.
        SlowStart => "slow-start",
        /// A client gave up while its request was held until it was its turn.
        GaveUpWhileHeld => "gave-up-while-held",
        /// A fault answered a request to another API than the case needs.
        OtherApi => "other-api",
        /// A client gave up while its request was held at the start barrier.
        GaveUpAtBarrier => "gave-up-at-barrier",
        /// An agent was interrupted before it had accepted its task.
        NotAccepted => "not-accepted",
        /// A client asked the proxy for a service of the trial.
        ProxyNotBypassed => "proxy-not-bypassed",
        /// A client did not accept the certificate of a service of the trial.
        CertificateRefused => "certificate-refused",
        /// The ledger is not complete.
        TornLedger => "torn-ledger",
    }
}

/// Which findings an excuse covers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExcuseScope {
    /// These kinds, and records that nothing has changed.
    Undone(&'static [FindingKind]),
    /// Kinds whose evidence is the absence of entries.
    Absences,
    /// The same, unless a claim of the trial is more than happened.
    AbsencesOfHonest,
    /// Kinds whose evidence is the absence of entries, and the end of the time.
    AbsencesAndTimeUp,
    /// All kinds but these.
    AllBut(&'static [FindingKind]),
}

/// A row of the table.
struct ExcuseRow {
    reason: &'static str,
    scope: ExcuseScope,
}

const fn row(reason: &'static str, scope: ExcuseScope) -> ExcuseRow {
    ExcuseRow { reason, scope }
}

const NEVER_STARTED: ExcuseScope = ExcuseScope::Undone(&[
    FindingKind::Lost,
    FindingKind::NotAttempted,
    FindingKind::MissingClaim,
    FindingKind::Unacknowledged,
]);
const KEPT_FROM_A_SERVICE: &str =
    "the client did not reach a service, so what is missing is not the subject's fault";
const ANSWERED_OTHERWISE: &str = "hapax did not answer like the real service, so what the subject would have done next \
                                  is not known";

impl Excuse {
    const fn row(self) -> ExcuseRow {
        match self {
            Excuse::AtMostOnce => row(
                "at-most-once permits that an effect is lost if the subject tried and says so",
                ExcuseScope::Undone(&[FindingKind::Lost]),
            ),
            Excuse::Unstartable => row("what was not started can do nothing", NEVER_STARTED),
            Excuse::Unprepared => row("the trial did not begin", NEVER_STARTED),
            Excuse::MissingFeature | Excuse::Undecided => {
                row(ANSWERED_OTHERWISE, ExcuseScope::AbsencesAndTimeUp)
            }
            Excuse::NoToolsOffered => row(
                "the scripted model could not act, so what the subject would have done next is not known",
                ExcuseScope::AbsencesAndTimeUp,
            ),
            Excuse::SlowStart => row("the time went to starting", ExcuseScope::AbsencesAndTimeUp),
            Excuse::GaveUpWhileHeld => row(
                "hapax held its request, which has no effect and is not in the ledger, so what the callers did then \
                 shows nothing; a claim that something happened must be true all the same",
                ExcuseScope::AllBut(&[
                    FindingKind::Escaped,
                    FindingKind::OverLimit,
                    FindingKind::Overclaimed,
                ]),
            ),
            Excuse::OtherApi => row(
                "the status of the fault is that of the API that the case needs, and means something else to this \
                 client",
                ExcuseScope::AllBut(&[FindingKind::Escaped, FindingKind::OverLimit]),
            ),
            Excuse::GaveUpAtBarrier => row(
                "hapax held its request, so what it would have done is not known",
                ExcuseScope::AbsencesOfHonest,
            ),
            Excuse::NotAccepted => {
                row("a task that was not accepted is not due", ExcuseScope::AbsencesOfHonest)
            }
            Excuse::ProxyNotBypassed | Excuse::CertificateRefused => {
                row(KEPT_FROM_A_SERVICE, ExcuseScope::AbsencesOfHonest)
            }
            Excuse::TornLedger => {
                row("the entries that are missing may contain the effect", ExcuseScope::Absences)
            }
        }
    }

    /// Why what it covers does not fail the trial, as a clause.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        self.row().reason
    }

    /// Whether it covers findings of this kind; of records, only those that nothing has changed if it covers what
    /// was not done.
    #[must_use]
    pub fn covers_kind(self, kind: FindingKind) -> bool {
        match self.row().scope {
            ExcuseScope::Undone(kinds) => kind == FindingKind::Record || kinds.contains(&kind),
            ExcuseScope::Absences | ExcuseScope::AbsencesOfHonest => kind.is_absence(),
            ExcuseScope::AbsencesAndTimeUp => kind.is_absence() || kind == FindingKind::TimeUp,
            ExcuseScope::AllBut(kinds) => !kinds.contains(&kind),
        }
    }

    /// Which findings it covers.
    pub(crate) const fn scope(self) -> ExcuseScope {
        self.row().scope
    }
}
