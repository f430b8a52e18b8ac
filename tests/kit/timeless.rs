//! What a run leaves, with all taken out that depends on time: two runs with one seed are the same in it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// What each entry of the ledger says, times aside, by trial and number.
pub(crate) type Evidence = BTreeMap<(String, u64), Value>;

/// The cases of a saved report, with what the ledger says in place of the numbers of its entries.
pub(crate) fn cases(folder: &Path) -> Vec<Value> {
    let evidence = evidence(folder);
    let mut report: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("report.json")).unwrap()).unwrap();
    let mut cases = report["cases"].take().as_array().unwrap().clone();
    for trial in cases.iter_mut().flat_map(|case| case["trials"].as_array_mut().unwrap()) {
        let ledger = trial["ledger"].as_str().unwrap().to_owned();
        without_times(trial, &ledger, &evidence);
    }
    cases
}

/// The ledger of a run, without its plan record: that has an id of its own, and its hash depends on it.
pub(crate) fn evidence(folder: &Path) -> Evidence {
    let lines = std::fs::read_to_string(folder.join("ledger.jsonl")).unwrap();
    let entries =
        lines.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()).map(|mut entry| {
            let name = (entry["trial"].as_str().unwrap().to_owned(), entry["n"].as_u64().unwrap());
            for time in ["n", "at", "wall", "hash", "plan"] {
                entry.as_object_mut().unwrap().remove(time);
            }
            (name, entry)
        });
    entries.collect()
}

/// Takes out times and texts that tell them, and puts what the entries say in place of their numbers: when a
/// connection is seen to close beside the next request is a matter of time, too.
fn without_times(value: &mut Value, ledger: &str, evidence: &Evidence) {
    match value {
        Value::Object(members) => {
            for name in ["duration_ms", "seal", "spread_us", "message", "why", "evidence"] {
                members.remove(name);
            }
            for name in ["entry", "entries", "effects", "surplus", "compensated", "unintended"] {
                let Some(numbers) = members.get_mut(name) else { continue };
                let said = |number: &Value| evidence[&(ledger.to_owned(), number.as_u64().unwrap())].clone();
                *numbers = match &*numbers {
                    Value::Array(numbers) => numbers.iter().map(said).collect(),
                    number => said(number),
                };
            }
            members.values_mut().for_each(|member| without_times(member, ledger, evidence));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_times(item, ledger, evidence)),
        _ => {}
    }
}
