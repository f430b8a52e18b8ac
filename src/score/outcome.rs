//! The outcome of each intent, with how its effects were matched, and the worst of them for the trial.

use mock_services::catalog;
use yaml_reader::shown;

use super::assignment::{Assignment, IntentEffects};
use super::history::{Effect, TrialHistory};
use super::records::is_due;
use super::verdict::{IntentOutcome, Outcome};
use crate::fit::{FieldNames, Fit, FoundValue, Rule};
use crate::scenario::{Intent, Terms};

/// The outcome of each intent, in the order of the scenario.
pub(super) fn intents(terms: &Terms, effects: &[Effect<'_>], assignment: &Assignment) -> Vec<IntentOutcome> {
    terms
        .intents
        .iter()
        .zip(&assignment.intents)
        .map(|(intent, taken)| {
            let numbers =
                |indexes: &[usize]| indexes.iter().map(|index| effects[*index].n).collect::<Vec<_>>();
            let joined = |lists: [&[usize]; 2]| {
                let mut numbers = numbers(&lists.concat());
                numbers.sort_unstable();
                numbers
            };
            let surplus = joined([&taken.surplus, &taken.compensated]);
            let mut all = numbers(&taken.counted);
            all.extend(&surplus);
            all.sort_unstable();
            IntentOutcome {
                outcome: outcome(terms, intent, taken, effects),
                due: intent.times,
                at_least: intent.at_least,
                effects: all,
                surplus,
                compensated: numbers(&taken.compensated),
                why: why(terms, intent, taken, effects),
            }
        })
        .collect()
}

/// The worst outcome of the intents, the unintended effects, the withheld effects and the records.
pub(super) fn worst(
    intents: &[IntentOutcome],
    assignment: &Assignment,
    attempted: &Attempted,
    records_differ: bool,
) -> Outcome {
    // Only a duplicate can be compensated: an effect that no intent covers stays unintended, refunded or not.
    let lists = [&assignment.unintended, &assignment.unintended_undone, &attempted.unintended];
    let unintended = lists.iter().any(|list| !list.is_empty());
    let others = [
        (unintended, Outcome::Unintended),
        (records_differ || !attempted.altered.is_empty(), Outcome::Altered),
    ];
    let others = others.into_iter().filter_map(|(is_so, outcome)| is_so.then_some(outcome));
    intents.iter().map(|intent| intent.outcome).chain(others).max().unwrap_or(Outcome::ExactlyOnce)
}

fn outcome(terms: &Terms, intent: &Intent, taken: &IntentEffects, effects: &[Effect<'_>]) -> Outcome {
    let rule = Rule::new(terms);
    let is_altered = |index: &usize| rule.contradictions(intent, effects[*index].fields).next().is_some();
    // An effect that must not happen, or that differs from the intent, is not a duplicate, and a refund does
    // not compensate it.
    let is_allowed = |index: &usize| terms.compensation && intent.times > 0 && !is_altered(index);
    let more = !taken.surplus.is_empty() || !taken.compensated.iter().all(is_allowed);
    let mut worst = Outcome::ExactlyOnce;
    if taken.counted.iter().any(is_altered) {
        worst = worst.max(Outcome::Altered);
    }
    if taken.counted.len() < usize::try_from(intent.least()).unwrap_or(usize::MAX) {
        worst = worst.max(Outcome::Lost);
    }
    if more {
        // Where compensation is allowed, undone effects are ignored.
        let taken_back = taken.taken_back.iter().filter(|_| !terms.compensation);
        let undone = taken.compensated.iter().filter(|index| !is_allowed(index)).chain(taken_back);
        let all = taken.counted.iter().chain(&taken.surplus).chain(undone);
        let all: Vec<&Effect<'_>> = all.map(|index| &effects[*index]).collect();
        worst = worst.max(match intent.times {
            0 => Outcome::Unintended,
            due if are_same(terms, intent, &all, due) => Outcome::Duplicated,
            _ => Outcome::Diverged,
        });
    }
    worst
}

/// Whether effects are repetitions: for an intent that is due once, all of them are the same; for one that is
/// due more often (a mail to each of three people), there are no more different effects than are due, and all
/// or none of them agree with the intent.
pub(super) fn are_same(terms: &Terms, intent: &Intent, effects: &[&Effect<'_>], due: u32) -> bool {
    let rule = Rule::new(terms);
    let altered =
        effects.iter().filter(|effect| rule.contradictions(intent, effect.fields).next().is_some()).count();
    let due = usize::try_from(due).unwrap_or(usize::MAX);
    (due == 1 || altered == 0 || altered == effects.len()) && kinds(terms, intent, effects) <= due
}

/// The number of different effects, by the fields that identify them and the expected fields. A field that an
/// effect does not have makes no difference.
fn kinds(terms: &Terms, intent: &Intent, effects: &[&Effect<'_>]) -> usize {
    let names = FieldNames(&terms.fields);
    let telling: Vec<&str> = differing_fields(terms, intent, effects);
    let mut rows: Vec<Vec<Option<String>>> = effects
        .iter()
        .map(|effect| {
            telling.iter().map(|name| names.value(effect.fields, name).map(ToString::to_string)).collect()
        })
        .collect();
    rows.sort();
    rows.dedup();
    let covers = |row: &[Option<String>], other: &[Option<String>]| {
        row != other && other.iter().zip(row).all(|(other, row)| other.is_none() || other == row)
    };
    // Few different effects are due: above this limit the result is the same.
    let rows = &rows[..rows.len().min(MAX_KINDS)];
    rows.iter().filter(|row| !rows.iter().any(|other| covers(other, row))).count()
}

/// The maximum number of different effects that are counted.
const MAX_KINDS: usize = 512;

/// The fields in which effects differ, by the names of the scenario.
pub(super) fn differing_fields<'t>(
    terms: &'t Terms,
    intent: &'t Intent,
    effects: &[&Effect<'_>],
) -> Vec<&'t str> {
    let names = FieldNames(&terms.fields);
    let identity = terms.operations.iter().filter(|term| term.name == intent.effect);
    let identity = identity.flat_map(|term| term.identity.iter().map(String::as_str));
    let asked = intent.selector.iter().chain(intent.expected.iter()).map(|(name, _)| name);
    let mut telling: Vec<&str> = identity.chain(asked).collect();
    telling.sort_unstable();
    telling.dedup();
    telling.retain(|name| {
        let mut values = effects.iter().filter_map(|effect| names.value(effect.fields, name));
        values.next().is_some_and(|first| values.any(|other| !other.meets(first)))
    });
    telling
}

/// The maximum number of entries that are named one by one.
const MAX_NAMED_ENTRIES: usize = 6;

/// The matching of one intent, as text.
pub(super) fn why(terms: &Terms, intent: &Intent, taken: &IntentEffects, effects: &[Effect<'_>]) -> String {
    let rule = Rule::new(terms);
    let mut parts = vec![match intent.at_least {
        Some(least) => format!("{least} to {} due", intent.times),
        None => format!("{} due", intent.times),
    }];
    let mut list = |indexes: &[usize], word: &str| {
        for index in indexes.iter().take(MAX_NAMED_ENTRIES) {
            let effect = &effects[*index];
            parts.push(format!("entry {} {word}: {}", effect.n, reason(intent, effect, rule)));
        }
        if indexes.len() > MAX_NAMED_ENTRIES {
            parts.push(format!("and {} more that {word}", indexes.len() - MAX_NAMED_ENTRIES));
        }
    };
    list(&taken.counted, "counts");
    list(&taken.surplus, "is surplus");
    list(&taken.compensated, "is surplus and was refunded in full");
    list(&taken.taken_back, "does not count because it was refunded in full");
    list(&taken.reverted, "does not count because it was reverted");
    if taken.all().is_empty() {
        parts.push("no effect fits".to_owned());
    }
    parts.join("; ")
}

/// Why an effect fits.
fn reason(intent: &Intent, effect: &Effect<'_>, rule: Rule<'_>) -> String {
    let carried = |name: &str| rule.names().value(effect.fields, name);
    let agreeing: Vec<String> = intent
        .selector
        .iter()
        .filter_map(|(name, _)| {
            carried(name).map(|value| format!("its {} is {}", shown(name), shown(&value.to_string())))
        })
        .collect();
    let mut words = match (agreeing.is_empty(), intent.selector.is_empty()) {
        (false, _) => agreeing.join(" and "),
        (true, true) => "nothing that it carries contradicts".to_owned(),
        (true, false) => {
            let missing: Vec<String> = intent.selector.iter().map(|(name, _)| shown(name)).collect();
            format!("it carries no {}, and nothing that it carries contradicts", missing.join(" and no "))
        }
    };
    for contradiction in rule.contradictions(intent, effect.fields) {
        let (name, wanted) = (shown(contradiction.name), shown(&contradiction.wanted.to_string()));
        words.push_str(&match contradiction.found {
            FoundValue::Value(actual) => {
                format!(", but its {name} is {} and not {wanted}", shown(&actual.to_string()))
            }
            FoundValue::Missing => format!(", but it has no {name}, which should be {wanted}"),
            FoundValue::Mentioned(other) => format!(", but it names {} and not {wanted}", shown(&other)),
        });
    }
    words
}

/// Withheld effects that do not match the task: indexes into the withheld effects of the trial.
#[derive(Debug, Default)]
pub(super) struct Attempted {
    /// Effects that fit no intent.
    pub(super) unintended: Vec<usize>,
    /// Effects that fit an intent but differ from it, with the index of the intent that they fit best.
    pub(super) altered: Vec<(usize, usize)>,
}

/// Compares effects that a fault kept from being committed with the intents: a wrong charge that the service
/// would have made is wrong, even though no money moved. Only their fields are compared, not their number.
pub(super) fn attempted(terms: &Terms, history: &TrialHistory<'_>) -> Attempted {
    let rule = Rule::new(terms);
    let mut found = Attempted::default();
    for (index, effect) in history.withheld.iter().enumerate() {
        let fits = terms.intents.iter().map(|intent| rule.fit(intent, effect.name, effect.fields));
        let best: Option<(Fit, usize)> = fits.zip(0..).filter_map(|(fit, intent)| Some((fit?, intent))).max();
        match best {
            Some((fit, intent))
                if fit.agrees
                    && changed_fields(terms, history, &terms.intents[intent], effect).is_empty() => {}
            Some((_, intent)) => found.altered.push((index, intent)),
            None if is_due(terms, effect) => {}
            None => found.unintended.push(index),
        }
    }
    found
}

/// The fields of an effect that a task need not name, and that another attempt at the same intent has otherwise: the
/// sender of a mail.
pub(super) fn changed_fields(
    terms: &Terms,
    history: &TrialHistory<'_>,
    intent: &Intent,
    effect: &Effect<'_>,
) -> Vec<&'static str> {
    let steady = catalog::describe_effect(effect.name).map(|effect| effect.steady).unwrap_or_default();
    if steady.is_empty() {
        return Vec::new();
    }
    let rule = Rule::new(terms);
    let others: Vec<&Effect<'_>> = history
        .effects
        .iter()
        .chain(&history.withheld)
        .filter(|other| other.attempt != effect.attempt)
        .filter(|other| rule.fit(intent, other.name, other.fields).is_some())
        .collect();
    let is_asked = |name: &str| intent.selector.get(name).is_some() || intent.expected.get(name).is_some();
    let has_changed =
        |name: &str| others.iter().any(|other| other.fields.get(name) != effect.fields.get(name));
    steady.iter().copied().filter(|name| !is_asked(name) && has_changed(name)).collect()
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;
    use crate::score::score;
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::verdict::{FindingKind, Outcome, TrialStatus};

    fn outcome_of(terms: &Terms, charges: &[Fields]) -> Outcome {
        let mut script = LedgerScript::new();
        for fields in charges {
            script.write("payment.charge", None, fields, Sees::Ok);
        }
        score(terms, &script.end(), None).outcome
    }

    #[test]
    fn each_outcome_of_the_table_is_distinguished() {
        let terms = terms([due("o1", 10, 1)]);
        let cases: [(&[Fields], Outcome); 6] = [
            (&[charge("o1", 10)], Outcome::ExactlyOnce),
            (&[charge("o1", 99)], Outcome::Altered),
            (&[], Outcome::Lost),
            (&[charge("o1", 10), charge("o2", 10)], Outcome::Unintended),
            (&[charge("o1", 10), charge("o1", 10)], Outcome::Duplicated),
            (&[charge("o1", 10), charge("o1", 99)], Outcome::Diverged),
        ];
        for (charges, expected) in cases {
            assert_eq!(outcome_of(&terms, charges), expected);
        }
    }

    #[test]
    fn a_field_that_one_of_them_leaves_out_makes_no_difference() {
        let bare = Fields::new().with("amount", 10);
        assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), std::slice::from_ref(&bare)), Outcome::ExactlyOnce);
        assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), &[charge("o1", 10), bare]), Outcome::Duplicated);
    }

    #[test]
    fn a_field_that_the_scenario_does_not_ask_for_but_that_identifies_makes_two_charges_differ() {
        let to = |customer: &str| charge("o1", 10).with("customer", customer);
        assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), &[to("a"), to("b")]), Outcome::Diverged);
        let noted = |text: &str| charge("o1", 10).with("description", text);
        assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), &[noted("a"), noted("b")]), Outcome::Duplicated);
    }

    #[test]
    fn of_an_intent_that_is_due_three_times_a_repeated_one_is_a_duplicate() {
        let terms = terms([due("o1", 10, 3)]);
        let to = |customer: &str| charge("o1", 10).with("customer", customer);
        assert_eq!(outcome_of(&terms, &[to("a"), to("b"), to("c")]), Outcome::ExactlyOnce);
        assert_eq!(outcome_of(&terms, &[to("a"), to("b"), to("c"), to("b")]), Outcome::Duplicated);
        assert_eq!(outcome_of(&terms, &[to("a"), to("b"), to("c"), to("d")]), Outcome::Diverged);
        assert_eq!(outcome_of(&terms, &[to("a"), to("a"), to("a"), charge("o1", 99)]), Outcome::Diverged);
        assert_eq!(outcome_of(&terms, &[to("a"), to("b")]), Outcome::Lost);
    }

    #[test]
    fn what_must_not_happen_is_unintended() {
        let verdict = {
            let mut script = LedgerScript::new();
            script.charge(None, "o2", 10, Sees::Ok);
            score(&terms([due("o2", 10, 0)]), &script.end(), None)
        };
        assert_eq!(verdict.intents[0].outcome, Outcome::Unintended);
        assert_eq!(
            verdict.findings[0].message,
            "1 charge for o2, but none is allowed. Attempt payment.charge#1 committed, and the reply was 200."
        );
    }

    #[test]
    fn the_matching_is_explained() {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        script.write("payment.charge", None, &Fields::new().with("amount", 10), Sees::Ok);
        let verdict = score(&terms([due("o1", 10, 1), due("o2", 20, 1)]), &script.end(), None);
        insta::assert_snapshot!(format!("{}\n{}", verdict.intents[0].why, verdict.intents[1].why), @r"
    1 due; entry 3 counts: its order is o1; entry 6 is surplus: it carries no order, and nothing that it carries contradicts
    1 due; no effect fits
    ");
    }

    /// What comes of a charge that a fault keeps back and the right one behind it.
    fn judged(withheld: &Fields) -> (TrialStatus, Outcome, Vec<FindingKind>) {
        let mut script = LedgerScript::new();
        let first = script.write_without_commit("payment.charge", None, withheld, Sees::Ok);
        script.withheld(first, "payment.charge", withheld);
        script.charge(None, "o1", 10, Sees::Ok);
        let verdict = crate::score::score(&terms([due("o1", 10, 1)]), &script.end(), None);
        let failing =
            verdict.findings.iter().filter(|finding| finding.fails).map(|finding| finding.kind).collect();
        (verdict.result, verdict.outcome, failing)
    }

    #[test]
    fn what_is_as_asked_is_judged_by_what_was_committed_alone() {
        assert_eq!(judged(&charge("o1", 10)), (TrialStatus::Pass, Outcome::ExactlyOnce, vec![]));
    }

    #[test]
    fn a_charge_that_nothing_asked_for_fails_although_no_money_moved() {
        assert_eq!(
            judged(&charge("o9", 99900)),
            (TrialStatus::Fail, Outcome::Unintended, vec![FindingKind::UnintendedAttempted])
        );
    }

    #[test]
    fn a_charge_of_another_amount_fails_although_no_money_moved() {
        assert_eq!(
            judged(&charge("o1", 99900)),
            (TrialStatus::Fail, Outcome::Altered, vec![FindingKind::AlteredAttempted])
        );
    }

    #[test]
    fn what_must_not_happen_may_be_attempted() {
        let mut script = LedgerScript::new();
        let attempt =
            script.write_without_commit("payment.charge", None, &charge("o1", 10), Sees::Status(503));
        script.withheld(attempt, "payment.charge", &charge("o1", 10));
        let (terms, entries) = (terms([due("o1", 10, 0)]), script.end());
        let found = attempted(&terms, &TrialHistory::new(&terms, &entries));
        assert!(found.unintended.is_empty() && found.altered.is_empty(), "{found:?}");
    }
}
