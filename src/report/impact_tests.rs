use super::*;
use crate::results::SavedLedgers;
use crate::results::sample::{self, LedgerBuilder, SampleCase};
use crate::score::Outcome;
use mock_services::service::Fields;

fn of(sampled: Vec<SampleCase>) -> Impact {
    let (report, ledgers) = sample::run_of(sampled);
    impact(&report, &ledgers)
}

/// Cases with different ids.
fn several(count: usize, make: impl Fn() -> SampleCase) -> Vec<SampleCase> {
    let one = |number: usize| {
        let (mut case, saved) = make();
        case.id = format!("{}-{number}", case.id);
        case.trials[0].ledger.clone_from(&case.id);
        (case, saved)
    };
    (0..count).map(one).collect()
}

/// An effect that happened this often, with these fields.
fn happened_times(effect: &str, times: usize, fields: &Fields) -> SampleCase {
    let (mut case, _) = sample::double_charge("none");
    let mut book = LedgerBuilder::new();
    let mut entries = Vec::new();
    for number in 0..times {
        let (attempt, _) = book.received(1, 1, effect, None, fields.clone());
        entries.push(book.committed(attempt, effect, &format!("e_{number}"), fields.clone()));
    }
    case.id = format!("{effect}-{times}");
    case.trials[0].ledger.clone_from(&case.id);
    effect.clone_into(&mut case.terms.intents[0].effect);
    let intent = &mut case.trials[0].verdict.intents[0];
    intent.surplus = entries.get(1..).unwrap_or_default().to_vec();
    intent.effects = entries;
    (case, book.closed())
}

fn charge(amount: i64, currency: &str) -> Fields {
    Fields::new().with("amount", amount).with("currency", currency)
}

#[test]
fn a_double_charge_is_said_in_the_terms_of_the_customer() {
    let mut sampled = several(66, || sample::double_charge("none"));
    sampled.extend((0..119).map(sample::pass));
    let found = of(sampled);
    assert_eq!(found.lead, "In 66 of 185 cases the customer paid twice: $3,299.34 too much.");
    assert_eq!(found.others, [""; 0]);
}

#[test]
fn each_currency_has_its_own_sum() {
    let found = of(vec![
        happened_times("payment.charge", 2, &charge(1_234_567, "usd")),
        happened_times("payment.charge", 3, &charge(500, "jpy")),
    ]);
    assert_eq!(
        found.lead,
        "In all 2 cases the customer paid more than once: 1,000 JPY and $12,345.67 too much."
    );
}

#[test]
fn other_effects_have_their_own_words_and_money_comes_first() {
    let mut sampled = vec![happened_times("payment.charge", 2, &charge(100, "eur"))];
    for number in 0..3 {
        let (mut case, saved) = happened_times("email.send", 2, &Fields::new());
        case.id = format!("mail-{number}");
        case.trials[0].ledger.clone_from(&case.id);
        sampled.push((case, saved));
    }
    sampled.push(happened_times("deploy.deploy", 2, &Fields::new()));
    sampled.push(happened_times("records.increment", 2, &Fields::new()));
    sampled.push(happened_times("shop.order", 2, &Fields::new()));
    let found = of(sampled);
    assert_eq!(found.lead, "In 1 of 7 cases the customer paid twice: €1.00 too much.");
    assert_eq!(
        found.others,
        [
            "In 3 of 7 cases a mail was sent twice.",
            "In 1 of 7 cases a release was deployed twice.",
            "In 1 of 7 cases an increment of a counter happened twice.",
            "In 1 of 7 cases an effect shop.order happened twice.",
        ]
    );
}

#[test]
fn a_lost_effect_and_a_false_claim_are_said() {
    let found = of(vec![sample::lost(), sample::pass(1)]);
    assert_eq!(found.lead, "In 1 of 2 cases the customer was not charged although the task asks for it.");
    assert_eq!(found.others, ["In 1 of 2 cases the agent claimed more than had happened."]);
}

#[test]
fn a_duplicate_that_was_undone_costs_nothing() {
    let (mut case, saved) = sample::double_charge("none");
    let verdict = &mut case.trials[0].verdict;
    verdict.intents[0].compensated = std::mem::take(&mut verdict.intents[0].surplus);
    verdict.findings[0].kind = FindingKind::Compensated;
    let found = of(vec![(case, saved)]);
    assert_eq!(found.lead, "In the only case the customer paid twice, and the surplus was undone.");
}

#[test]
fn an_effect_that_must_not_happen_is_not_called_a_duplicate() {
    let (mut case, saved) = happened_times("payment.charge", 1, &charge(4999, "usd"));
    case.terms.intents[0].times = 0;
    let verdict = &mut case.trials[0].verdict;
    verdict.intents[0].due = 0;
    verdict.intents[0].surplus = verdict.intents[0].effects.clone();
    verdict.findings[0].kind = FindingKind::Unintended;
    let found = of(vec![(case, saved)]);
    assert_eq!(
        found.lead,
        "In the only case the customer paid although the task does not allow it: $49.99 too much."
    );
}

#[test]
fn several_trials_of_a_case_are_counted_as_trials() {
    let (mut case, saved) = sample::double_charge("none");
    let again = case.trials[0].clone();
    case.trials.push(again);
    let found = of(vec![(case, saved), sample::pass(1)]);
    assert_eq!(found.lead, "In 2 of 3 trials the customer paid twice: $99.98 too much.");
}

#[test]
fn void_trials_prove_nothing_and_are_said() {
    let found = of(vec![sample::pass(1), sample::pass(2), sample::void()]);
    assert_eq!(found.lead, "In all 2 cases each effect happened exactly once.");
    assert_eq!(found.others, ["1 case is void: it proves nothing."]);
    assert_eq!(of(vec![sample::void()]).lead, "The only case is void, so nothing is proven.");
    assert_eq!(of(several(3, sample::void)).lead, "All 3 cases are void, so nothing is proven.");
    assert_eq!(of(vec![]).lead, "No trial was finished, so nothing is proven.");
}

#[test]
fn a_run_that_was_interrupted_says_only_what_ran() {
    let (mut report, ledgers) = sample::run_of(vec![sample::pass(1), sample::pass(2)]);
    report.interrupted = true;
    assert_eq!(impact(&report, &ledgers).lead, "In all 2 cases that ran each effect happened exactly once.");
}

#[test]
fn a_pass_without_exactly_once_is_not_called_so() {
    let (mut case, saved) = sample::pass(1);
    case.trials[0].verdict.outcome = Outcome::Lost;
    case.terms.promise = Promise::AtMostOnce;
    assert_eq!(
        of(vec![(case, saved)]).lead,
        "In the only case no effect happened more often than it should, and the agent said what was missing."
    );
}

#[test]
fn a_ledger_that_is_missing_only_costs_the_amount() {
    let (report, _) = sample::run_of(vec![sample::double_charge("none")]);
    assert_eq!(impact(&report, &SavedLedgers::new()).lead, "In the only case the customer paid twice.");
}

/// A case that fails with one finding of this kind, and whose effects are right.
fn failed_with(kind: FindingKind) -> SampleCase {
    let (mut case, saved) = sample::pass(1);
    let (other, _) = sample::lost();
    case.trials[0].verdict.result = TrialStatus::Fail;
    case.trials[0].verdict.findings = vec![other.trials[0].verdict.findings[0].clone()];
    case.trials[0].verdict.findings[0].kind = kind;
    (case, saved)
}

#[test]
fn a_late_write_is_said_before_a_false_claim_and_this_before_a_broken_rule() {
    let mut sampled = several(2, || failed_with(FindingKind::OverBudget));
    sampled.extend(several(2, || failed_with(FindingKind::Overclaimed)));
    sampled.push(failed_with(FindingKind::LateWrite));
    let found = of(sampled);
    assert_eq!(found.lead, "In 1 of 5 cases the agent sent a request after it had ended.");
    assert_eq!(
        found.others,
        [
            "In 2 of 5 cases the agent claimed more than had happened.",
            "In 2 of 5 cases the agent sent more requests than allowed."
        ]
    );
}

#[test]
fn every_kind_of_finding_has_words() {
    for kind in FindingKind::ALL {
        let found = of(vec![failed_with(kind)]);
        assert!(found.lead.starts_with("In the only case ") && found.lead.ends_with('.'), "{}", found.lead);
    }
}
