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
