use super::*;
use crate::report::sample;
use crate::scenario::ClaimedOutcome;
use crate::score::Finding;

fn finding(kind: FindingKind) -> Finding {
    Finding {
        kind,
        remedy: crate::score::Remedy::of(kind),
        fails: true,
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
    let all = [
        FindingKind::Overclaimed,
        FindingKind::Underclaimed,
        FindingKind::UnexpectedClaim,
        FindingKind::MissingClaim,
        FindingKind::OverBudget,
        FindingKind::NotAttempted,
        FindingKind::EarlyRetry,
        FindingKind::UnexpectedRecovery,
        FindingKind::Escaped,
        FindingKind::TimeUp,
        FindingKind::OverLimit,
        FindingKind::LateWrite,
        FindingKind::LateRead,
    ];
    for kind in all {
        let headline = of_verdict(&failed_with(Outcome::ExactlyOnce, &[kind]));
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
    assert_eq!(control_outcome_of(&case), ControlOutcome::OverBudget);
    other.verdict = failed_with(Outcome::Duplicated, &[FindingKind::Duplicated]);
    case.trials.push(other);
    assert_eq!(
        (of_case(&case), control_outcome_of(&case)),
        ("duplicated".to_owned(), ControlOutcome::Duplicated)
    );
    case.trials.clear();
    assert_eq!(of_case(&case), "no trial was finished");
    assert_eq!(of_case(&sample::void().0), "proves nothing");
}
