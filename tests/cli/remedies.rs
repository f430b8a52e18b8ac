//! The advice of the golden set: for every fix that a finding of a control names, a control that follows it
//! passes the same case.

use std::collections::{BTreeMap, BTreeSet};

use hapax::scenario::{Case, shipped};
use hapax::score::{TrialStatus, Verdict};

use crate::kit::control::run_over;
use crate::kit::golden;

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
    ("and store it before the request. After a restart, check that record", &["verify-first", "careful"]),
    ("Store what is done", &["verify-first", "careful"]),
    ("so that every caller sends the same key", &["keyed", "careful"]),
    ("let every caller check whether", &["careful"]),
    ("Decide all values before the first attempt", &["careful"]),
    ("A service can store an error under a key", &["verify-first"]),
    ("A success status does not prove", &["careful"]),
    ("After an ambiguous reply", &["verify-first", "careful"]),
    ("Finish the earlier step", &["verify-first", "careful"]),
    ("A list can be done in part", &["verify-first", "careful"]),
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
    ("a lease or a lock that expires does not stop a worker", &["keyed", "careful"]),
    ("Act only after an answer `approved`", &["careful"]),
    ("Ask once for each effect", &["keyed", "careful"]),
    ("Send notifications/cancelled", &["careful"]),
    ("Before you deploy, read what is live", &["careful"]),
    ("Read everything that the rule is about", &["careful"]),
];

/// The verdicts of a control in all cases of the golden set: those of the selftest, and those of a run over the
/// cases that do not list the control.
async fn verdicts(control: &str, cases: &[Case]) -> BTreeMap<String, Verdict> {
    let mut verdicts = golden::verdicts(control, cases);
    let missing: Vec<Case> = cases.iter().filter(|case| !verdicts.contains_key(&case.id)).cloned().collect();
    if !missing.is_empty() {
        let report = run_over(missing, control).await;
        verdicts.extend(report.cases.into_iter().map(|mut case| (case.id, case.trials.remove(0).verdict)));
    }
    assert_eq!(verdicts.len(), cases.len(), "{control}");
    verdicts
}

#[tokio::test]
async fn following_the_advice_of_the_golden_set_passes() {
    let followers = FOLLOWED_BY.iter().flat_map(|(_, followers)| followers.iter().copied());
    let controls: BTreeSet<&str> = ADVISED.into_iter().chain(followers).collect();
    let cases = shipped().unwrap();
    let mut all: BTreeMap<&str, BTreeMap<String, Verdict>> = BTreeMap::new();
    for control in controls {
        all.insert(control, verdicts(control, &cases).await);
    }
    let passes = |control: &str, case: &str| all[control][case].result == TrialStatus::Pass;
    let mut wrong = BTreeSet::new();
    let mut given = BTreeSet::new();
    for control in ADVISED {
        for (case, verdict) in &all[control] {
            for finding in verdict.findings.iter().filter(|finding| finding.fails) {
                let fix = &finding.fix;
                let known: Vec<_> = FOLLOWED_BY.iter().filter(|(advice, _)| fix.contains(advice)).collect();
                given.extend(known.iter().map(|(advice, _)| *advice));
                // All parts of an advice have to be followed, so the last one that is known decides.
                let followers = known.last().map_or(&[][..], |(_, by)| *by);
                if !followers.iter().any(|follower| passes(follower, case)) {
                    let void = followers.iter().map(|by| format!("{by}: {:?}", all[by][case].void_because));
                    wrong.insert(format!(
                        "{case}: {control} gets the advice \"{fix}\", and no control that follows it passes: {}",
                        void.collect::<Vec<_>>().join(", ")
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
