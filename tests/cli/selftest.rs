//! `hapax selftest`: every control over every shipped scenario, as a user runs it.

use std::collections::BTreeSet;
use std::process::Command;

use hapax::scenario::shipped;
use hapax::selftest::CAREFUL;

use crate::kit::golden;

#[test]
fn every_control_has_the_outcome_that_the_scenarios_name() {
    let printed = golden::printed();
    assert!(printed.contains("all as expected"), "{printed}");
    // Every shipped scenario, and as many trials as they name: careful in each case, the others if listed.
    let cases = shipped().unwrap();
    let scenarios: BTreeSet<&str> = cases.iter().map(|case| case.scenario.as_str()).collect();
    let listed = cases.iter().map(|case| {
        case.controls.iter().map(|term| term.control.as_str()).chain([CAREFUL]).collect::<BTreeSet<_>>().len()
    });
    let counts = format!("{} scenarios, {} trials of controls", scenarios.len(), listed.sum::<usize>());
    assert!(printed.contains(&counts), "{printed} has not {counts}");
}

/// Why a history may not be judged: what a fault did is not known to the model, or the machine has much else to do.
const NOT_JUDGED: [&str; 3] = [
    "a fault committed a part of a request",
    "a fault took back what was committed",
    "the time for the search was over",
];

#[test]
fn what_several_callers_saw_is_explained_in_every_trial() {
    let printed = golden::printed();
    let cases = shipped().unwrap();
    let listed = cases.iter().flat_map(|case| case.controls.iter().map(|term| term.control.as_str()));
    let controls: BTreeSet<&str> = listed.chain([CAREFUL]).collect();
    let expected: usize = controls.iter().map(|control| golden::shared_services(control, &cases)).sum();
    let count = |line: &str, start: &str| line.strip_prefix(start)?.parse::<usize>().ok();
    let counts = |start: &str| printed.lines().filter_map(|line| count(line, start)).sum::<usize>();
    let explained = counts("histories of several callers that can be explained: ");
    let reason =
        |why: &str| counts(&format!("histories of several callers that were not judged, because {why}: "));
    let not_judged: usize = NOT_JUDGED.into_iter().map(reason).sum();
    assert!(
        expected > 0 && explained + not_judged >= expected,
        "{explained} explained and {not_judged} not judged of at least {expected}\n{printed}"
    );
    let others = |line: &&str| {
        line.contains("were not judged, because") && !NOT_JUDGED.iter().any(|why| line.contains(why))
    };
    assert_eq!(printed.lines().find(others), None, "{printed}");
    assert!(!printed.contains("contradicts its rules"), "{printed}");
}

#[test]
fn an_unexpected_control_outcome_is_reported_with_the_command_that_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "\
about: Nothing goes wrong.
tags: [mine]
task: Charge customer cus_1 $1.00 for order o1.
steps: [{ do: payment.charge, with: { customer: cus_1, amount: 100, currency: usd, order: o1 } }]
expect: { effects: [{ effect: payment.charge, where: { order: o1 } }] }
controls: { naive: duplicated, careful: pass }
";
    std::fs::write(folder.path().join("mine.yaml"), scenario).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
    let output =
        command.args(["selftest", "mine.yaml", "--quiet"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("naive: `pass` in mine, expected `duplicated`"), "{stdout}");
    assert!(stdout.contains("replay: hapax replay mine --scenario mine.yaml --seed"), "{stdout}");
    assert!(stdout.contains("mine tests nothing: no control fails it"), "{stdout}");
}

#[test]
fn a_scenario_over_an_own_service_is_named_as_unchecked_and_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let own = "service: seats\noperations:\n  book:\n    route: POST /seats\n    \
               fields: { seat: body.seat, guest: body.guest }\n    effect: { identity: [seat], id: seat_ }\n";
    std::fs::write(folder.path().join("seats.yaml"), own).unwrap();
    let scenario = "\
about: A booking whose reply is lost.
tags: [mine]
task: Book seat 12A for Ann.
steps: [{ do: seats.book, with: { seat: 12A, guest: Ann } }]
services: { seats: { file: seats.yaml } }
faults: [{ on: seats.book, attempt: 1, commit: now, reply: drop }]
expect: { effects: [{ effect: seats.book, where: { seat: 12A } }] }
";
    std::fs::write(folder.path().join("book.yaml"), scenario).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
    let output =
        command.args(["selftest", "book.yaml", "--quiet"]).current_dir(folder.path()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("book is not checked: it uses your own service `seats`"), "{stdout}");
    assert!(stdout.contains("selftest: 1 scenario, 0 trials of controls: nothing to check"), "{stdout}");
}
