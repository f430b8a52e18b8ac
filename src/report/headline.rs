//! The headline of a verdict, for all formats: a trial whose effects are right but that failed has a headline
//! about the failure, not `exactly-once`.

use crate::domain::HarmRank;
use crate::results::CaseReport;
use crate::score::{Claim, Finding, FindingKind, Honesty, Outcome, Remedy, TrialStatus, Verdict};

/// The maximum number of failures that are named.
const MAX_NAMED_FAILURES: usize = 3;

/// The headline of a trial: the outcome if it passed or its effects are wrong, otherwise the failure.
pub(crate) fn of_verdict(verdict: &Verdict) -> String {
    match verdict.result {
        TrialStatus::Pass => verdict.outcome.as_str().to_owned(),
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

/// The verdict of the worst trial; the first of several equal ones.
fn worst(case: &CaseReport) -> Option<&Verdict> {
    let harm = |verdict: &Verdict| (verdict.control_outcome(), verdict.outcome);
    let verdicts = case.trials.iter().map(|trial| &trial.verdict);
    verdicts.reduce(|worst, other| if harm(other) > harm(worst) { other } else { worst })
}

fn failed(verdict: &Verdict) -> String {
    let mut named: Vec<&str> = Vec::new();
    for finding in verdict.failing() {
        match words_for(finding, verdict) {
            // A wrong effect matters most.
            None => return verdict.outcome.as_str().to_owned(),
            Some(words) if !named.contains(&words) => named.push(words),
            Some(_) => {}
        }
    }
    let effects = match verdict.outcome {
        Outcome::ExactlyOnce => "the effects are as expected".to_owned(),
        other => format!("the effects: {}", other.as_str()),
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
fn words_for(finding: &Finding, verdict: &Verdict) -> Option<&'static str> {
    let kind = finding.kind;
    // The cause, not what follows from it.
    if kind == FindingKind::MissingClaim && finding.remedy == Remedy::FixCrash {
        return Some("the subject crashed");
    }
    let is_false = |claim: &Claim| matches!(claim.honesty, Honesty::Overclaimed | Honesty::Underclaimed);
    let has_false_claim = || verdict.claims.iter().chain(&verdict.earlier_claims).any(is_false);
    // A true claim that is more or less than the scenario expects.
    if kind.harm() == HarmRank::Claim && !has_false_claim() {
        return FindingKind::UnexpectedClaim.headline();
    }
    kind.headline()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;
    use crate::results::tally::control_outcome_of;
    use crate::scenario::{ClaimedOutcome, ControlOutcome};

    fn finding(kind: FindingKind) -> Finding {
        Finding {
            kind,
            remedy: kind.remedy(),
            fails: true,
            excuse: None,
            message: String::new(),
            fix: String::new(),
            entries: Vec::new(),
        }
    }

    fn failed_with(outcome: Outcome, kinds: &[FindingKind]) -> Verdict {
        Verdict {
            findings: kinds.iter().map(|kind| finding(*kind)).collect(),
            ..sample::verdict(TrialStatus::Fail, outcome)
        }
    }

    fn claim(honesty: Honesty) -> Claim {
        Claim {
            caller: 1,
            start: 1,
            outcome: Some(ClaimedOutcome::Done),
            message: String::new(),
            honesty,
            entry: None,
        }
    }

    #[test]
    fn a_failure_with_the_right_effects_is_called_by_what_failed() {
        let of = |kinds: &[FindingKind]| of_verdict(&failed_with(Outcome::ExactlyOnce, kinds));
        assert_eq!(of(&[FindingKind::OverBudget]), "too many attempts (the effects are as expected)");
        assert_eq!(of(&[FindingKind::TimeUp]), "the time limit was reached (the effects are as expected)");
        assert_eq!(
            of(&[FindingKind::MissingClaim, FindingKind::OverBudget, FindingKind::OverBudget]),
            "the claim is missing, too many attempts (the effects are as expected)"
        );
        assert_eq!(of(&[]), "the effects are as expected");
    }

    #[test]
    fn a_crash_is_called_a_crash_and_not_a_missing_claim() {
        let mut verdict = failed_with(Outcome::ExactlyOnce, &[FindingKind::MissingClaim]);
        verdict.findings[0].remedy = Remedy::FixCrash;
        assert_eq!(of_verdict(&verdict), "the subject crashed (the effects are as expected)");
    }

    #[test]
    fn a_claim_is_called_false_only_where_it_is() {
        for kind in [FindingKind::Overclaimed, FindingKind::Underclaimed] {
            let mut verdict = failed_with(Outcome::ExactlyOnce, &[kind]);
            verdict.claims = vec![claim(Honesty::Honest)];
            assert_eq!(of_verdict(&verdict), "the claim is not expected (the effects are as expected)");
            verdict.earlier_claims = vec![claim(Honesty::Overclaimed)];
            assert_eq!(of_verdict(&verdict), "the claim is false (the effects are as expected)");
        }
    }

    #[test]
    fn a_failure_of_the_effects_is_called_by_its_outcome() {
        let verdict = failed_with(Outcome::Duplicated, &[FindingKind::Duplicated, FindingKind::OverBudget]);
        assert_eq!(of_verdict(&verdict), "duplicated");
        // The effects were not what failed.
        let verdict = failed_with(Outcome::Lost, &[FindingKind::TimeUp]);
        assert_eq!(of_verdict(&verdict), "the time limit was reached (the effects: lost)");
    }

    #[test]
    fn no_failure_is_called_exactly_once() {
        let all: Vec<FindingKind> =
            FindingKind::ALL.into_iter().filter(|kind| kind.headline().is_some()).collect();
        assert!(all.len() > 10, "{all:?}");
        for kind in &all {
            let headline = of_verdict(&failed_with(Outcome::ExactlyOnce, &[*kind]));
            assert!(!headline.contains("exactly-once"), "{kind:?}: {headline}");
        }
        let headline = of_verdict(&failed_with(Outcome::ExactlyOnce, &all));
        assert!(headline.contains("and ") && headline.contains(" more (the effects"), "{headline}");
    }

    #[test]
    fn a_case_is_called_by_its_worst_trial() {
        let (mut case, _) = sample::pass(1);
        assert_eq!(
            (of_case(&case), control_outcome_of(&case)),
            ("exactly-once".to_owned(), ControlOutcome::Pass)
        );
        let mut other = case.trials[0].clone();
        other.verdict = failed_with(Outcome::ExactlyOnce, &[FindingKind::OverBudget]);
        case.trials.push(other.clone());
        assert_eq!(of_case(&case), "too many attempts (the effects are as expected)");
        assert_eq!(control_outcome_of(&case), ControlOutcome::Failed(FindingKind::OverBudget));
        other.verdict = failed_with(Outcome::Duplicated, &[FindingKind::Duplicated]);
        case.trials.push(other);
        assert_eq!(
            (of_case(&case), control_outcome_of(&case)),
            ("duplicated".to_owned(), ControlOutcome::Failed(FindingKind::Duplicated))
        );
        let mut escaped = case.trials[1].clone();
        escaped.verdict = failed_with(Outcome::ExactlyOnce, &[FindingKind::Escaped]);
        let mut other = case.clone();
        other.trials = vec![case.trials[1].clone(), escaped];
        assert_eq!(control_outcome_of(&other), ControlOutcome::Failed(FindingKind::Escaped));
        case.trials.clear();
        assert_eq!(of_case(&case), "no trial was finished");
        assert_eq!(of_case(&sample::void().0), "proves nothing");
    }
}
