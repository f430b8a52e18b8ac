//! Certificates of version 1, which hapax 0.1.0 wrote: they spoke of questions of a tool that held or failed,
//! instead of scenarios and verdicts. `verify` reads them as if they were of the current version.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::statement::SubjectKindTested;
use super::trials::TrialRecord;

/// The log of the trials.
pub(super) const TRIALS_FILE: &str = "probes.jsonl";
/// The start of its hash chain.
pub(super) const CHAIN_START: &str = "hapax probes 1";

/// The questions that have another name as scenarios. Command lines and tool files can still use these names.
const OLD_NAMES: [(&str, &str); 9] = [
    ("one-key-twice", "same-key-twice"),
    ("same-key-one-effect", "same-key-twice"),
    ("two-keys", "another-key"),
    ("one-key-other-arguments", "same-key-other-arguments"),
    ("eight-at-once", "callers-at-once"),
    ("connection-lost", "lost-connection"),
    ("reply-lost", "lost-reply"),
    ("request-lost", "lost-request"),
    ("backend-lies", "lying-success"),
];

/// The present name of a scenario of a tool.
pub(crate) fn current_name(name: &str) -> &str {
    OLD_NAMES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// Gives a statement the fields of the current version. What is not as version 1 writes it stays as it is, and
/// is then refused.
pub(super) fn upgrade_statement(statement: &mut Value) {
    let kind = statement.pointer("/predicate/tested/kind").and_then(Value::as_str).map(str::parse);
    let (Some(Ok(kind)), Some(certificate)) =
        (kind, statement.get_mut("predicate").and_then(Value::as_object_mut))
    else {
        return;
    };
    if let Some(reached) = certificate.get_mut("reached").and_then(Value::as_object_mut) {
        rename(reached, "results", "scenarios");
        for result in items(reached.get_mut("scenarios")) {
            rename_scenario(result, kind);
            upgrade_verdict(result, "result");
        }
        upgrade_verdict(reached, "result");
    }
    if let Some(callers) = certificate.get_mut("callers").and_then(Value::as_object_mut) {
        rename(callers, "question", "scenario");
        rename(callers, "held", "passed");
        rename(callers, "brokeAt", "failedAt");
    }
    for control in items(certificate.get_mut("controls")) {
        rename(control, "question", "case");
    }
    for finding in certificate.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
        *finding = json!({ "kind": "", "fails": false, "message": finding.take() });
    }
    let mut tested = Map::new();
    tested.extend(certificate.remove("tested").map(|subject| ("subject".to_owned(), subject)));
    for name in ["callers", "score", "controls", "findings", "notTested"] {
        tested.extend(certificate.remove_entry(name));
    }
    if let Some(Value::Object(mut with)) = certificate.remove("testedWith") {
        tested.extend(with.remove_entry("files"));
        certificate.extend(with);
    }
    certificate.insert("tested".to_owned(), Value::Object(tested));
}

/// The same for a trial of the log.
pub(super) fn read_trial(text: &str, kind: SubjectKindTested) -> serde_json::Result<TrialRecord> {
    let mut trial: Value = serde_json::from_str(text)?;
    if let Some(trial) = trial.as_object_mut() {
        rename_scenario(trial, kind);
        let scenario = trial.get("scenario").cloned().unwrap_or_default();
        trial.insert("case".to_owned(), scenario);
        rename(trial, "second_try", "secondTry");
        upgrade_verdict(trial, "outcome");
    }
    serde_json::from_value(trial)
}

/// Puts the second tries, which are at the end, where their numbers belong.
pub(super) fn in_order(mut trials: Vec<TrialRecord>) -> Vec<TrialRecord> {
    let mut scenarios: Vec<String> = trials.iter().map(|trial| trial.scenario.clone()).collect();
    let mut seen = BTreeSet::new();
    scenarios.retain(|scenario| seen.insert(scenario.clone()));
    let index = |scenario: &String| scenarios.iter().position(|known| known == scenario);
    trials.sort_by_key(|trial| (index(&trial.scenario), trial.trial, trial.second_try));
    trials
}

/// The cases of an MCP server, from the file with what was asked.
#[cfg(feature = "mcp")]
pub(super) fn server_cases(mut asked: Value) -> Value {
    let mut cases = Map::new();
    for (id, case) in asked.get_mut("questions").and_then(Value::as_object_mut).into_iter().flatten() {
        let name = case.pointer("/setup/question").and_then(Value::as_str).map(current_name);
        let scenario = format!("{}/{}", text(case, "/facts/name"), name.unwrap_or_default());
        let operation = case.pointer("/setup/fault/0").cloned();
        let fault = operation.map(|operation| json!({ "operation": operation, "failure": "" }));
        let kind = json!(name);
        cases.insert(
            id.clone(),
            json!({ "scenario": scenario, "kind": kind, "tool": case["facts"].take(), "fault": fault }),
        );
    }
    Value::Object(cases)
}

fn rename(map: &mut Map<String, Value>, old: &str, new: &str) {
    if let Some(value) = map.remove(old) {
        map.insert(new.to_owned(), value);
    }
}

/// A question of a tool is a scenario; that of an agent already was one.
fn rename_scenario(map: &mut Map<String, Value>, kind: SubjectKindTested) {
    let (Some(tool), Some(question)) = (map.remove("tool"), map.remove("question")) else { return };
    let question = question.as_str().unwrap_or_default();
    let scenario = match kind {
        SubjectKindTested::Agent => question.to_owned(),
        _ => format!("{}/{}", tool.as_str().unwrap_or_default(), current_name(question)),
    };
    map.insert("scenario".to_owned(), Value::String(scenario));
    rename(map, "sentence", "message");
}

fn upgrade_verdict(map: &mut Map<String, Value>, old: &str) {
    let has_voids = map.get("voids").and_then(Value::as_u64).is_some_and(|voids| voids > 0);
    let verdict = match map.remove(old).as_ref().and_then(Value::as_str) {
        Some("held") => "pass",
        Some("failed") => "fail",
        Some("void") => "void",
        Some("unsure") if has_voids => "void",
        Some("unsure") => "inconclusive",
        Some("not-asked") => "skipped",
        _ => return,
    };
    map.insert("verdict".to_owned(), Value::from(verdict));
}

fn items(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(feature = "mcp")]
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(all(test, feature = "mcp"))]
mod tests {
    use super::*;
    use crate::certify::mcp::ServerScenario;

    #[test]
    fn every_old_name_has_a_present_one() {
        for (old, new) in OLD_NAMES {
            assert!(old.parse::<ServerScenario>().is_err(), "{old}");
            assert_eq!(current_name(old).parse::<ServerScenario>().unwrap().as_str(), new);
        }
        assert_eq!(current_name("same-call-twice"), "same-call-twice");
    }
}
