use std::time::Duration;

use mock_services::yaml::Source;

use super::*;
use crate::scenario::read_scenario;

const CHARGE: &str = "about: A charge.\ntags: [payment]\ntask: Charge.\n\
    steps: [{do: payment.charge, with: {customer: cus_1, amount: 1, currency: usd, order: o1}}]\n\
    expect: {effects: [{effect: payment.charge, where: {order: o1}}]}\n\
    matrix: {reply: [drop, reset]}\nfaults: [{on: payment.charge, reply: \"${reply}\"}]\n";

fn options() -> RunOptions {
    RunOptions { trials: 2, seed: 7, ..RunOptions::default() }
}

fn identity(text: &str, subject: &Subject, options: &RunOptions) -> Identity {
    let cases = read_scenario(&Source::new("a.yaml", text), "a").unwrap();
    Identity::of(&Plan::new(cases, subject, options).unwrap(), subject, options)
}

#[test]
fn the_same_run_can_be_resumed_wherever_its_scenarios_are_in_their_files() {
    let first = identity(CHARGE, &Subject::control("naive"), &options());
    let again = identity(&format!("# a remark\n{CHARGE}"), &Subject::control("naive"), &options());
    assert_eq!(first.differs(&again), None);
    let read: Identity = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
    assert_eq!(read, first);
}

#[test]
fn what_is_not_as_it_was_is_named() {
    let naive = Subject::control("naive");
    let first = identity(CHARGE, &naive, &options());
    let mut renamed = naive.clone();
    renamed.settings.grace += Duration::from_secs(1);
    let now = [
        identity(CHARGE, &Subject::control("careful"), &options()),
        identity(CHARGE, &renamed, &options()),
        identity(CHARGE, &naive, &RunOptions { seed: 8, ..options() }),
        identity(CHARGE, &naive, &RunOptions { trials: 3, ..options() }),
        identity(CHARGE, &naive, &RunOptions { partition: Some("1/1".parse().unwrap()), ..options() }),
        identity(CHARGE, &naive, &RunOptions { claims_optional: true, ..options() }),
        identity(&CHARGE.replace("[drop, reset]", "[drop]"), &naive, &options()),
        identity(&CHARGE.replace("[drop, reset]", "[drop, reset, hang]"), &naive, &options()),
        identity(&CHARGE.replace("amount: 1", "amount: 2"), &naive, &options()),
        identity(&CHARGE.replace("where: {order: o1}", "where: {order: o1}, times: 2"), &naive, &options()),
    ];
    let messages: Vec<String> = now.iter().map(|now| first.differs(now).unwrap()).collect();
    insta::assert_snapshot!(messages.join("\n"));
}
