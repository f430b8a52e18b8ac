//! The state at the end besides single records: rules over several records or counters, and what is live.

use std::collections::BTreeMap;

use mock_services::catalog;
use mock_services::service::Value;

use super::history::Effect;
use crate::scenario::{Invariant, LiveDue, Terms};

/// A rule over several records that was broken.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BrokenInvariant<'t> {
    pub(super) invariant: &'t Invariant,
    pub(super) breach: Breach<'t>,
    /// The entry of the write that broke it, or all entries that changed one of the records.
    pub(super) entries: Vec<u64>,
}

/// How a rule over several records was broken.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Breach<'t> {
    /// The sum is not what it was at the start.
    SumChanged { start: i128, end: i128 },
    /// The sum left its range.
    Sum(i128),
    /// A record left its range.
    One { key: &'t str, value: i128 },
    /// A record is not a whole number.
    NotANumber { key: &'t str },
}

/// A place at which something else is live than expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotLive<'t> {
    pub(super) due: &'t LiveDue,
    /// What is live; `None` for nothing.
    pub(super) actual: Option<String>,
    /// The entries that changed it.
    pub(super) entries: Vec<u64>,
}

/// The rules over several records that were broken.
pub(super) fn broken<'t>(terms: &'t Terms, effects: &[Effect<'_>]) -> Vec<BrokenInvariant<'t>> {
    terms.invariants.iter().filter_map(|invariant| broken_one(invariant, effects)).collect()
}

fn broken_one<'t>(invariant: &'t Invariant, effects: &[Effect<'_>]) -> Option<BrokenInvariant<'t>> {
    let mut values: BTreeMap<&str, Option<Value>> = invariant
        .keys
        .iter()
        .zip(&invariant.starts)
        .map(|(key, start)| (key.as_str(), start.as_i64().map(Value::Number)))
        .collect();
    let sum = |values: &BTreeMap<&str, Option<Value>>| -> i128 {
        values.values().filter_map(|value| number(value.as_ref())).sum()
    };
    let start = sum(&values);
    let mut entries = Vec::new();
    for effect in effects.iter().filter(|effect| !effect.was_found_gone()) {
        let Some(key) = invariant.key_of(effect.name, effect.fields) else { continue };
        let before = values.get(key).cloned().flatten();
        let after = catalog::store_change(effect.name).and_then(|change| change.after(before, effect.fields));
        let breach = match number(after.as_ref()) {
            None => Some(Breach::NotANumber { key }),
            Some(value) if invariant.each.is_some_and(|range| !range.contains(value)) => {
                Some(Breach::One { key, value })
            }
            Some(_) => None,
        };
        values.insert(key, after);
        let total = sum(&values);
        let is_outside = invariant.sum.is_some_and(|range| !range.contains(total));
        if let Some(breach) = breach.or_else(|| is_outside.then_some(Breach::Sum(total))) {
            return Some(BrokenInvariant { invariant, breach, entries: vec![effect.n] });
        }
        entries.push(effect.n);
    }
    let end = sum(&values);
    (invariant.sum_stays && start != end).then_some(BrokenInvariant {
        invariant,
        breach: Breach::SumChanged { start, end },
        entries,
    })
}

/// The whole number in a record; a record that does not exist counts as zero.
fn number(value: Option<&Value>) -> Option<i128> {
    match value {
        None => Some(0),
        Some(Value::Number(number)) => Some(i128::from(*number)),
        Some(_) => None,
    }
}

/// The places at which something else is live at the end than expected.
pub(super) fn not_live<'t>(terms: &'t Terms, effects: &[Effect<'_>]) -> Vec<NotLive<'t>> {
    terms.live.iter().filter_map(|due| not_live_at(due, effects)).collect()
}

fn not_live_at<'t>(due: &'t LiveDue, effects: &[Effect<'_>]) -> Option<NotLive<'t>> {
    // What is live, with the id of the effect that made it so.
    let mut live: Option<(String, Option<&str>)> = due.start.clone().map(|value| (value, None));
    let mut entries = Vec::new();
    for effect in effects.iter().filter(|effect| !effect.was_found_gone()) {
        let Some(change) = due.change_of(effect.name, effect.fields) else { continue };
        match change.value {
            Some(field) => {
                let value = effect.fields.get(field).map(ToString::to_string).unwrap_or_default();
                live = Some((value, Some(effect.id)));
            }
            // Only what is live can be taken away.
            None => {
                let removed = effect.fields.get(change.id).map(ToString::to_string);
                let is_live = live.as_ref().is_some_and(|(_, id)| id.is_some() && *id == removed.as_deref());
                if !is_live {
                    continue;
                }
                live = None;
            }
        }
        entries.push(effect.n);
    }
    let actual = live.map(|(value, _)| value);
    (actual != due.value).then_some(NotLive { due, actual, entries })
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;
    use serde_json::json;

    use super::*;
    use crate::scenario::NumberRange;
    use crate::score::testing::{LedgerScript, Sees, terms};
    use crate::score::{FindingKind, Outcome, TrialStatus, Verdict, score};

    const AT_LEAST_ZERO: NumberRange = NumberRange { least: Some(0), most: None };

    fn accounts() -> Invariant {
        Invariant {
            keys: vec!["checking".to_owned(), "savings".to_owned()],
            counter: false,
            starts: vec![json!(60), json!(60)],
            sum_stays: false,
            sum: None,
            each: None,
        }
    }

    fn judged(invariant: Invariant, writes: &[(&str, i64)]) -> Verdict {
        let mut script = LedgerScript::new();
        for (key, value) in writes {
            let fields = Fields::new().with("key", *key).with("value", *value);
            script.write("records.put", None, &fields, Sees::Ok);
        }
        score(&Terms { invariants: vec![invariant], ..terms([]) }, &script.end(), None)
    }

    #[test]
    fn a_sum_that_stays_may_differ_between_two_writes() {
        let stays = || Invariant { sum_stays: true, ..accounts() };
        let passed = judged(stays(), &[("checking", 10), ("savings", 110)]);
        assert_eq!((passed.result, passed.outcome), (TrialStatus::Pass, Outcome::ExactlyOnce));
        let failed = judged(stays(), &[("checking", 10), ("savings", 100)]);
        assert_eq!(failed.findings[0].kind, FindingKind::Record);
        assert!(failed.findings[0].message.contains("120 at the start and 110 at the end"), "{failed:?}");
        assert_eq!(judged(stays(), &[]).outcome, Outcome::ExactlyOnce);
    }

    #[test]
    fn two_withdrawals_that_each_saw_the_other_balance_are_a_write_skew() {
        let covered = || Invariant { sum: Some(AT_LEAST_ZERO), ..accounts() };
        assert_eq!(judged(covered(), &[("checking", -40)]).result, TrialStatus::Pass);
        let failed = judged(covered(), &[("checking", -40), ("savings", -40)]);
        assert_eq!((failed.result, failed.outcome), (TrialStatus::Fail, Outcome::Altered));
        assert!(failed.findings[0].message.contains("-80"), "{failed:?}");
        // It is broken although it is right again at the end.
        let repaired = judged(covered(), &[("checking", -40), ("savings", -40), ("savings", 60)]);
        assert_eq!(repaired.result, TrialStatus::Fail);
    }

    #[test]
    fn each_record_has_its_range_and_is_a_number() {
        let each = || Invariant { each: Some(AT_LEAST_ZERO), ..accounts() };
        assert_eq!(judged(each(), &[("checking", 0)]).result, TrialStatus::Pass);
        assert_eq!(judged(each(), &[("checking", -1)]).result, TrialStatus::Fail);
        let mut script = LedgerScript::new();
        script.write(
            "records.put",
            None,
            &Fields::new().with("key", "savings").with("value", "many"),
            Sees::Ok,
        );
        let verdict = score(&Terms { invariants: vec![each()], ..terms([]) }, &script.end(), None);
        assert!(verdict.findings[0].message.contains("not a whole number"), "{verdict:?}");
    }

    #[test]
    fn a_write_to_another_record_is_unintended() {
        let verdict = judged(accounts(), &[("bonus", 1)]);
        assert_eq!(verdict.outcome, Outcome::Unintended);
    }

    fn live(value: Option<&str>, tell: impl FnOnce(&mut LedgerScript)) -> Verdict {
        let due = LiveDue {
            place: "production".to_owned(),
            value: value.map(str::to_owned),
            start: Some("v1".to_owned()),
        };
        let mut script = LedgerScript::new();
        tell(&mut script);
        score(&Terms { live: vec![due], ..terms([]) }, &script.end(), None)
    }

    fn deploy(script: &mut LedgerScript, version: &str) {
        let fields = Fields::new().with("environment", "production").with("version", version);
        script.write("deploy.deploy", None, &fields, Sees::Ok);
    }

    #[test]
    fn the_last_deployment_is_live() {
        let both = |first: &str, second: &str| {
            live(Some("v3"), |script| {
                deploy(script, first);
                deploy(script, second);
            })
        };
        assert_eq!(both("v2", "v3").result, TrialStatus::Pass);
        let older = both("v3", "v2");
        assert_eq!((older.result, older.outcome), (TrialStatus::Fail, Outcome::Altered));
        assert!(older.findings[0].message.contains("v2 is live at production"), "{older:?}");
        assert_eq!(live(Some("v1"), |_| ()).outcome, Outcome::ExactlyOnce);
        assert_eq!(live(None, |_| ()).result, TrialStatus::Fail);
    }

    #[test]
    fn a_part_of_a_place_and_another_place_are_not_the_place() {
        let verdict = live(Some("v1"), |script| {
            let fields =
                Fields::new().with("environment", "production").with("version", "v9").with("service", "web");
            script.write("deploy.deploy", None, &fields, Sees::Ok);
        });
        assert_eq!(verdict.outcome, Outcome::Unintended);
    }
}
