//! The advice of the golden set: for every fix that a finding of a control names, a control that follows it
//! passes the same case.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::thread;

use serde_json::Value;

/// Controls that are given advice.
const ADVISED: [&str; 5] = ["naive", "sdk-retry", "keyed", "verify-first", "timid"];

/// A text that identifies an advice, and the controls that follow it: `keyed` derives its keys from the
/// order, `verify-first` reads before it retries, `careful` does both, reads more than once, obeys
/// `Retry-After`, keeps a record, shares it, and refunds duplicates. One of them has to pass.
const FOLLOWED_BY: &[(&str, &[&str])] = &[
    ("Derive the key from the", &["keyed", "verify-first", "careful"]),
    ("Send an Idempotency-Key that is derived from the", &["keyed", "verify-first", "careful"]),
    ("This service ignores the key: check whether", &["verify-first", "careful"]),
    ("This service ignores the key, so the request cannot prevent this", &["careful"]),
    ("A single read can be stale", &["careful"]),
    ("A write that a read does not show may still be in flight", &["keyed", "careful"]),
    ("Use the result of the read", &["careful"]),
    ("and its key before the request. After a restart, check that record", &["verify-first", "careful"]),
    ("Store what is done", &["verify-first", "careful"]),
    ("so that every caller sends the same key", &["keyed", "careful"]),
    ("let every caller check whether", &["careful"]),
    ("Decide all values before the first attempt", &["careful"]),
    ("A service can store an error under a key", &["verify-first"]),
    ("A success status does not prove", &["careful"]),
    ("After an ambiguous reply", &["verify-first", "careful"]),
    ("Finish the earlier step", &["verify-first", "careful"]),
    ("Read why the service refused the request", &["verify-first", "careful"]),
    ("Do what the task asks for", &["verify-first", "careful"]),
    ("Do only what the task asks for", &["careful"]),
    ("Wait as long as Retry-After says", &["careful"]),
    ("Retry in one place only", &["keyed", "verify-first"]),
    ("Claim only what you have verified", &["verify-first", "careful"]),
    ("Change the counter once for each piece of work", &["keyed", "careful"]),
    ("Write with If-Match", &["verify-first", "careful"]),
    ("A failed reply does not prove that nothing happened", &["verify-first", "careful"]),
    ("Finish the task before you give up", &["verify-first", "careful"]),
];

/// The report of a control over all cases of the golden set.
fn run(control: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
    command.args(["run", "--seed", "7", "--subject", control, "--json"]).current_dir(folder.path());
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{control}: {error}\n{message}"))
}

fn trials(report: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let cases = report["cases"].as_array().unwrap().iter();
    cases.map(|case| (case["id"].as_str().unwrap(), &case["trials"][0]["verdict"]))
}

#[test]
fn following_the_advice_of_the_golden_set_passes() {
    let followers = FOLLOWED_BY.iter().flat_map(|(_, followers)| followers.iter().copied());
    let controls: BTreeSet<&str> = ADVISED.into_iter().chain(followers).collect();
    let controls: Vec<&str> = controls.into_iter().collect();
    let mut reports: BTreeMap<&str, Value> = BTreeMap::new();
    // Some at the same time, because mostly they wait; all of them could exceed the time limits of the cases.
    for group in controls.chunks(3) {
        thread::scope(|scope| {
            let running: Vec<_> =
                group.iter().map(|control| (*control, scope.spawn(move || run(control)))).collect();
            reports.extend(running.into_iter().map(|(control, report)| (control, report.join().unwrap())));
        });
    }
    let passes: BTreeSet<(&str, &str)> = reports
        .iter()
        .flat_map(|(control, report)| trials(report).map(move |trial| (*control, trial)))
        .filter(|(_, (_, verdict))| verdict["result"] == "pass")
        .map(|(control, (case, _))| (control, case))
        .collect();
    let mut wrong = BTreeSet::new();
    let mut given = BTreeSet::new();
    for control in ADVISED {
        for (case, verdict) in trials(&reports[control]) {
            for finding in
                verdict["findings"].as_array().unwrap().iter().filter(|finding| finding["fails"] == true)
            {
                let fix = finding["fix"].as_str().unwrap();
                let known: Vec<_> = FOLLOWED_BY.iter().filter(|(advice, _)| fix.contains(advice)).collect();
                given.extend(known.iter().map(|(advice, _)| *advice));
                // All parts of an advice have to be followed, so the last one that is known decides.
                let followed = known
                    .last()
                    .is_some_and(|(_, by)| by.iter().any(|follower| passes.contains(&(follower, case))));
                if !followed {
                    wrong.insert(format!(
                        "{case}: {control} gets the advice \"{fix}\", and {}",
                        match known.last() {
                            None => "no control is known that follows it".to_owned(),
                            Some((_, by)) => {
                                let verdicts = by.iter().filter_map(|follower| {
                                    let (_, verdict) =
                                        trials(&reports[follower]).find(|(id, _)| *id == case)?;
                                    Some(format!("{follower}: {}", verdict["void_because"]))
                                });
                                format!("none of {by:?} passes ({})", verdicts.collect::<Vec<_>>().join(", "))
                            }
                        }
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    let unused: Vec<&str> =
        FOLLOWED_BY.iter().map(|(advice, _)| *advice).filter(|advice| !given.contains(advice)).collect();
    assert!(unused.is_empty(), "no control gets this advice any more: {unused:?}");
}
