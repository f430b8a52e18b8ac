//! The record store at the end: its state at the start with the changes of the ledger applied.

use mock_services::catalog;
use mock_services::service::Value;
use serde_json::Value as Json;

use super::history::Effect;
use crate::fit::Rule;
use crate::scenario::{RecordDue, Terms};

/// A record that does not have the expected value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mismatch<'t> {
    /// The expectation.
    pub(super) due: &'t RecordDue,
    /// Its value at the end; `None` if it does not exist.
    pub(super) actual: Option<Value>,
    /// The entries that changed it.
    pub(super) entries: Vec<u64>,
}

/// Whether the effect changes something whose state at the end the scenario expects.
pub(super) fn is_due(terms: &Terms, effect: &Effect<'_>) -> bool {
    Rule::new(terms).changes_expected_state(effect.name, effect.fields)
}

/// The records that do not have the expected value.
pub(super) fn mismatches<'t>(terms: &'t Terms, effects: &[Effect<'_>]) -> Vec<Mismatch<'t>> {
    terms.records.iter().filter_map(|due| mismatch(due, effects)).collect()
}

fn mismatch<'t>(due: &'t RecordDue, effects: &[Effect<'_>]) -> Option<Mismatch<'t>> {
    let mut actual = plain(&due.start);
    let mut entries = Vec::new();
    let stand = effects.iter().filter(|effect| !effect.was_found_gone());
    for effect in stand.filter(|effect| due.concerns(effect.name, effect.fields)) {
        actual = catalog::store_change(effect.name).and_then(|change| change.after(actual, effect.fields));
        entries.push(effect.n);
    }
    let is_right = match (&actual, plain(&due.value)) {
        (None, None) => true,
        // A counter without changes has no value.
        (None, Some(Value::Number(0))) | (Some(Value::Number(0)), None) => due.counter,
        (Some(actual), Some(want)) => same(actual, &want),
        _ => false,
    };
    (!is_right).then(|| Mismatch { due, actual, entries })
}

/// A JSON value as the value of a field: other values than texts, whole numbers and booleans are JSON text.
/// `null` is no value.
fn plain(value: &Json) -> Option<Value> {
    match value {
        Json::Null => None,
        Json::Bool(flag) => Some(Value::Bool(*flag)),
        Json::String(text) => Some(Value::from(text.as_str())),
        other => Some(other.as_i64().map_or_else(|| Value::from(other.to_string()), Value::Number)),
    }
}

/// `4` is not `"4"` in a store of JSON, but the order of keys in an object and the notation of a fraction do
/// not matter.
fn same(actual: &Value, want: &Value) -> bool {
    let json = |value: &Value| match value {
        Value::Text(text) => serde_json::from_str::<Json>(text).ok().filter(|json| !json.is_string()),
        _ => None,
    };
    actual == want || json(actual).zip(json(want)).is_some_and(|(actual, want)| actual == want)
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;
    use serde_json::json;

    use super::*;
    use crate::score::testing::{LedgerScript, Sees, terms};
    use crate::score::{FindingKind, Outcome, TrialStatus, score};

    fn due(key: &str, counter: bool, value: Json, start: Json) -> RecordDue {
        RecordDue { key: key.to_owned(), counter, value, start }
    }

    fn with(records: Vec<RecordDue>) -> Terms {
        Terms { records, ..terms([]) }
    }

    fn put(script: &mut LedgerScript, key: &str, value: impl Into<Value>) {
        script.write("records.put", None, &Fields::new().with("key", key).with("value", value), Sees::Ok);
    }

    #[test]
    fn the_last_write_counts_and_writes_to_an_expected_record_are_intended() {
        let mut script = LedgerScript::new();
        put(&mut script, "a", 1);
        put(&mut script, "a", 2);
        let verdict = score(&with(vec![due("a", false, json!(2), json!(null))]), &script.clone().end(), None);
        assert_eq!((verdict.outcome, verdict.result), (Outcome::ExactlyOnce, TrialStatus::Pass));
        let verdict = score(&with(vec![due("a", false, json!(3), json!(null))]), &script.end(), None);
        assert_eq!((verdict.outcome, verdict.findings[0].kind), (Outcome::Altered, FindingKind::Record));
    }

    #[test]
    fn a_write_to_another_record_is_unintended() {
        let mut script = LedgerScript::new();
        put(&mut script, "b", 1);
        assert_eq!(
            score(&with(vec![due("a", false, json!(null), json!(null))]), &script.end(), None).outcome,
            Outcome::Unintended
        );
    }

    #[test]
    fn a_counter_is_the_sum_over_its_start() {
        let mut script = LedgerScript::new();
        for by in [2, 3] {
            script.write(
                "records.increment",
                None,
                &Fields::new().with("counter", "hits").with("by", by).with("value", 0),
                Sees::Ok,
            );
        }
        let entries = script.end();
        let history = crate::score::history::TrialHistory::new(&terms([]), &entries);
        assert_eq!(mismatches(&with(vec![due("hits", true, json!(15), json!(10))]), &history.effects), []);
        assert_eq!(mismatches(&with(vec![due("hits", true, json!(5), json!(null))]), &history.effects), []);
        let terms = with(vec![due("hits", true, json!(6), json!(null))]);
        assert_eq!(mismatches(&terms, &history.effects)[0].actual, Some(Value::Number(5)));
    }

    #[test]
    fn values_are_compared_as_json() {
        let text = |text: &str| Value::from(text);
        assert!(same(&text("{\"b\":1,\"a\":[1]}"), &text("{\"a\":[1],\"b\":1}")));
        assert!(!same(&text("4"), &Value::Number(4)));
        assert!(!same(&text("yes"), &text("no")));
    }

    #[test]
    fn a_record_that_is_deleted_or_was_never_there_is_not_there() {
        let terms = with(vec![due("a", false, json!(null), json!("x"))]);
        let mut script = LedgerScript::new();
        script.write("records.delete", None, &Fields::new().with("key", "a"), Sees::Ok);
        assert_eq!(score(&terms, &script.end(), None).outcome, Outcome::ExactlyOnce);
        assert_eq!(score(&terms, &LedgerScript::new().end(), None).outcome, Outcome::Altered);
    }
}
