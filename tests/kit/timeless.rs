//! The files of a run without everything that depends on time: two runs with one seed have the same.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// The entries of the ledger without times, by trial and number.
pub(crate) type Evidence = BTreeMap<(String, u64), Value>;

/// The cases of a saved report, with entries of the ledger in place of their numbers.
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

/// The ledger of a run, without its plan records, which differ in every run.
pub(crate) fn evidence(folder: &Path) -> Evidence {
    let lines = std::fs::read_to_string(folder.join("ledger.jsonl")).unwrap();
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let entries = entries.filter(|entry| entry["trial"].is_string()).map(|mut entry| {
        let name = (entry["trial"].as_str().unwrap().to_owned(), entry["n"].as_u64().unwrap());
        // Messages have ports and times in them.
        for time in ["n", "at", "wall", "hash", "plan", "message", "answer"] {
            entry.as_object_mut().unwrap().remove(time);
        }
        (name, entry)
    });
    entries.collect()
}

/// Removes times and texts that contain them, and puts entries in place of their numbers: whether a
/// connection closes before or after the next request depends on time, too.
fn without_times(value: &mut Value, ledger: &str, evidence: &Evidence) {
    match value {
        Value::Object(members) => {
            for name in ["duration_ms", "seal", "spread_us", "message", "why", "evidence"] {
                members.remove(name);
            }
            for name in ["entry", "entries", "effects", "surplus", "compensated", "unintended"] {
                let Some(numbers) = members.get_mut(name) else { continue };
                let entry = |number: &Value| evidence[&(ledger.to_owned(), number.as_u64().unwrap())].clone();
                *numbers = match &*numbers {
                    Value::Array(numbers) => numbers.iter().map(entry).collect(),
                    number => entry(number),
                };
            }
            members.values_mut().for_each(|member| without_times(member, ledger, evidence));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_times(item, ledger, evidence)),
        _ => {}
    }
}
