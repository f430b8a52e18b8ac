//! The shipped scenarios as a whole: there are enough of them, each has what it must have, and their page is
//! not stale.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use hapax::domain::FindingKind;
use hapax::scenario::{Case, ControlOutcome, shipped};

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn by_scenario(cases: &[Case]) -> BTreeMap<&str, Vec<&Case>> {
    let mut scenarios: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    cases.iter().for_each(|case| scenarios.entry(&case.scenario).or_default().push(case));
    scenarios
}

#[test]
fn the_page_of_the_scenarios_is_not_stale() {
    let elsewhere = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["list", "--markdown"])
        .current_dir(elsewhere.path())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let page = fs::read_to_string(home().join("scenarios/README.md")).unwrap();
    let advice = "scenarios/README.md is stale: write it anew with `hapax list scenarios --markdown > \
        scenarios/README.md`";
    assert!(String::from_utf8(output.stdout).unwrap() == page, "{advice}");
}

#[test]
fn there_are_at_least_forty_scenarios_and_two_hundred_cases() {
    let cases = shipped().unwrap();
    let scenarios = by_scenario(&cases).len();
    assert!(scenarios >= 40 && cases.len() >= 200, "{scenarios} scenarios, {} cases", cases.len());
}

#[test]
fn every_scenario_says_that_careful_passes() {
    for case in &shipped().unwrap() {
        let careful = case.controls.iter().find(|term| term.control == "careful").map(|term| term.is);
        assert_eq!(careful, Some(ControlOutcome::Pass), "{}", case.id);
    }
}

#[test]
fn every_scenario_has_a_control_that_fails_it_unless_it_is_clean() {
    for (name, cases) in by_scenario(&shipped().unwrap()) {
        let fails = cases.iter().flat_map(|case| &case.controls).any(|term| term.is.is_failure());
        let is_clean = cases.iter().any(|case| case.tags.iter().any(|tag| tag == "clean"));
        assert!(fails != is_clean, "{name}");
    }
}

#[test]
fn an_attempt_is_required_even_if_no_effect_is_due() {
    let cases = shipped().unwrap();
    // Reading and doing nothing is right if the version is deployed already.
    let idle = cases.iter().filter(|case| {
        case.terms.intents.iter().all(|intent| intent.times == 0) && case.terms.records.is_empty()
    });
    let idle: Vec<&Case> = idle.filter(|case| case.scenario != "deploy/already-at-that-version").collect();
    assert!(idle.len() >= 15, "{} cases", idle.len());
    for case in idle {
        assert!(
            case.terms.attempts.iter().any(|budget| budget.at_least > 0),
            "{} has no lower bound of attempts",
            case.id
        );
        let onlooker = case.controls.iter().find(|term| term.control == "onlooker").map(|term| term.is);
        assert_eq!(onlooker, Some(ControlOutcome::Failed(FindingKind::NotAttempted)), "{}", case.id);
    }
}

#[test]
fn every_scenario_has_tags_and_a_sentence_of_its_own() {
    let cases = shipped().unwrap();
    let mut sentences = BTreeSet::new();
    for (name, cases) in by_scenario(&cases) {
        let first = cases[0];
        assert!(first.tags.len() >= 2, "{name}: tags name the service and the kind of fault");
        assert!(first.about.ends_with('.') && first.about.len() <= 140, "{name}: {}", first.about);
        assert!(
            sentences.insert(&first.about),
            "{name} has the same `about` as another scenario: {}",
            first.about
        );
    }
}
