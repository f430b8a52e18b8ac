//! The headline of a verdict, for all formats: a trial whose effects are right but that failed has a headline
//! about the failure, not `exactly-once`.

use super::model::CaseReport;
use super::tally::result_of;
use crate::scenario::ControlOutcome;
use crate::score::{Claim, FindingKind, Honesty, Outcome, TrialStatus, Verdict};

/// The maximum number of failures that are named.
const MAX_NAMED_FAILURES: usize = 3;

/// The headline of a trial: the outcome if it passed or its effects are wrong, otherwise the failure.
pub(crate) fn of_verdict(verdict: &Verdict) -> String {
    match verdict.result {
        TrialStatus::Pass => verdict.outcome.word().to_owned(),
        TrialStatus::Void => "proves nothing".to_owned(),
        TrialStatus::Fail => failed(verdict),
    }
}

/// The headline of a case: the headline of its worst trial.
pub(crate) fn of_case(case: &CaseReport) -> String {
    match worst(case) {
        Some(verdict) => of_verdict(verdict),
        None => "no trial was finished".to_owned(),
    }
}

/// The outcome of a case in one word: the outcome of its worst trial.
pub(crate) fn control_outcome_of(case: &CaseReport) -> ControlOutcome {
    worst(case).map_or(ControlOutcome::Void, Verdict::control_outcome)
}

fn worst(case: &CaseReport) -> Option<&Verdict> {
    let result = result_of(case);
    let mut alike = case.trials.iter().map(|trial| &trial.verdict).filter(|verdict| verdict.result == result);
    let first = alike.next()?;
    // The first of several equal ones.
    Some(alike.fold(first, |worst, other| if other.outcome > worst.outcome { other } else { worst }))
}

fn failed(verdict: &Verdict) -> String {
    let kinds = || verdict.findings.iter().filter(|finding| finding.fails).map(|finding| finding.kind);
    let mut named: Vec<&str> = Vec::new();
    for kind in kinds() {
        match words_for(kind, verdict) {
            // A wrong effect matters most.
            None => return verdict.outcome.word().to_owned(),
            Some(words) if !named.contains(&words) => named.push(words),
            Some(_) => {}
        }
    }
    let effects = match verdict.outcome {
        Outcome::ExactlyOnce => "the effects are as expected".to_owned(),
        other => format!("the effects: {}", other.word()),
    };
    let more = named.len().saturating_sub(MAX_NAMED_FAILURES);
    named.truncate(MAX_NAMED_FAILURES);
    match (named.as_slice(), more) {
        ([], _) => effects,
        (named, 0) => format!("{} ({effects})", named.join(", ")),
        (named, more) => format!("{} and {more} more ({effects})", named.join(", ")),
    }
}

/// The failure if it is not a wrong effect; otherwise `None`.
fn words_for(kind: FindingKind, verdict: &Verdict) -> Option<&'static str> {
    let is_false = |claim: &Claim| matches!(claim.honesty, Honesty::Overclaimed | Honesty::Underclaimed);
    Some(match kind {
        FindingKind::Diverged
        | FindingKind::Duplicated
        | FindingKind::Compensated
        | FindingKind::Unintended
        | FindingKind::UnintendedAttempted
        | FindingKind::Lost
        | FindingKind::Altered
        | FindingKind::AlteredAttempted
        | FindingKind::Record => return None,
        FindingKind::Overclaimed | FindingKind::Underclaimed
            if verdict.claims.iter().chain(&verdict.earlier_claims).any(is_false) =>
        {
            "the claim is false"
        }
        FindingKind::Overclaimed | FindingKind::Underclaimed | FindingKind::UnexpectedClaim => {
            "the claim is not expected"
        }
        FindingKind::MissingClaim => "the claim is missing",
        FindingKind::OverBudget => "too many attempts",
        FindingKind::NotAttempted => "too few attempts",
        FindingKind::EarlyRetry => "a retry came too early",
        FindingKind::UnexpectedRecovery => "the recovery is not expected",
        FindingKind::Escaped => "a request bypassed the services",
        FindingKind::TimeUp | FindingKind::TimeoutNotReached => "the time limit was reached",
        FindingKind::OverLimit => "a limit was exceeded",
        FindingKind::LateWrite => "a write came after the end of the trial",
        FindingKind::LateRead => "a request came after the end of the trial",
    })
}

#[cfg(test)]
mod tests;
