//! The problems of invalid scenarios, as users see them.

use proptest::prelude::*;
use yaml_reader::Source;

use super::{charge, read};
use crate::scenario::read_scenario;

macro_rules! problems {
    ($($name:ident: $text:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), read($text).unwrap_err().to_string());
        })*
    };
}

problems! {
    keys_are_checked: "abut: x\ntask: ''\ntags: [Upper, a, a]\ntimeout: 2h\nexpect: {efects: []}\nsteps: 5\n";
    an_empty_file_is_refused: "";
    a_matrix_is_checked: "\
about: a
task: t
matrix:
  Keys: [a]
  keys: stripe
  empty: []
  twice: [drop, reset, drop]
  nested: [\"${twice}\"]
expect: {effects: [], claim: not-done}
";
    uses_of_matrix_names_are_checked: "\
about: a
task: Charge ${amount} now.
matrix:
  keys: [stripe, none]
  reply: [drop, reset]
services:
  payment: { idempotency: \"${kyes}\" }
faults:
  - { on: payment.charge, reply: \"${reply}\" }
expect: {effects: [], claim: not-done}
";
    a_problem_points_at_the_value_in_the_matrix: "\
about: a
task: t
matrix:
  on: [payment.charge, payment.list]
  commit: [now, never]
  reply: [drop, dorp]
faults:
  - { on: \"${on}\", commit: \"${commit}\", reply: \"${reply}\" }
expect: {effects: [], claim: not-done}
";
    services_are_checked: "\
about: a
task: t
services:
  pyment: {}
  payment: { idempotency: strip, decline: [a] }
  email: { delivery: { later: 5 } }
  deploy: { environments: { production: { free_after: 2s } }, rollout: { steps: 0, each: 1s } }
  records: { counters: { hits: many } }
  mine: { file: nowhere.yaml }
expect: {effects: [], claim: not-done}
";
    places_of_keys_are_checked: "\
about: a
task: t
services:
  payment: { idempotency: resend-smtp }
  email: { idempotency: resend-smtp }
  records: { idempotency: { key: mime.X-Once } }
  deploy: { idempotency: { extends: stripe, replay: refuse, marker: { X-Old: \"1\" } } }
  web: { idempotency: xreo }
expect: {effects: [], claim: not-done}
";
    hosts_are_checked: "\
about: a
task: t
services:
  payment: { hosts: [pay.example, \"https://pay.example\", \"pay.example:443\", \"*\", pay.example] }
  email: { hosts: [Pay.example, api.stripe.com, mail.example] }
expect: {effects: [], claim: not-done}
";
    operations_in_the_options_of_a_service_are_checked: "\
about: a
task: t
services:
  model:
    tools: { payment.chrage: charge_card, payment.refund: refund }
    second_generation: { payment.chrge: { amount: 5 } }
expect: {effects: [], claim: not-done}
";
    steps_are_checked: "\
about: a
task: t
steps:
  - { do: payment.chrage }
  - { do: shop.buy }
  - { do: payment.charge, with: { amout: 5, order: { a: 1 } } }
  - { do: records.put, with: { key: a, add: 1, ad: 2 } }
  - { do: email.send, with: { to: a@b.example, via: smtp, vai: smtp } }
  - { with: {} }
turns:
  - { steps: [] }
expect: {effects: [], claim: not-done}
";
    faults_are_checked: "\
about: a
task: t
callers: 2
timeout: 5s
faults:
  - { on: payment.charge, commit: never, reply: { stale: { reads: 1 } } }
  - { on: payment.list, commit: twice }
  - { on: payment.charge, attempt: 1, reply: drop }
  - { on: payment.charge, attempt: 2, caller: 3, reply: { delay: 10s } }
  - { on: emial.send, reply: drop }
expect: {effects: [], claim: not-done}
";
    lists_are_checked: "\
about: a
task: t
expect:
  effects:
    - { effect: email.send, with: { subject: Closed on Friday }, times: 50 }
    - { effect: payment.charge, with: { amount: 5 }, times: 2 }
    - { effect: email.send, each: { to: [a@b.example, A@b.example, a@b.example] } }
    - { effect: email.send, each: { to: 'u{9..1}@example.com' } }
    - { effect: email.send, each: { to: 'u{1..x}@example.com' } }
    - { effect: email.send, each: { to: 'u{1..9}@{1..9}.example' } }
    - { effect: email.send, each: { to: 'u{1..501}@example.com' } }
    - { effect: email.send, each: { to: ann@example.com } }
    - { effect: email.send, each: { to: [] } }
    - { effect: email.send, each: { to: [a@b.example], order: [1] } }
    - { effect: email.send, each: { receiver: [a@b.example] } }
    - { effect: email.send, each: { to: [a@b.example] }, where: { to: a@b.example } }
    - { effect: email.send, each: { to: [true] } }
";
    limits_of_attempts_are_checked: "\
about: a
task: t
interrupts:
  - { when: { received: payment.charge, attempt: 2 }, do: kill, then: end }
expect:
  effects: []
  claim: not-done
  attempts:
    payment.charge: 3..
    payment.refund: 3..1
    email.send: ..3
    deploy.deploy: 1...3
    records.put: 1..99999999
";
    callers_are_checked: "\
about: a
task: t
callers: { count: 1001, met: payment.charge, within: 90s }
each: [{ task: a }, { task: b }]
deliver: { times: 2, how: together }
expect: {effects: [], claim: not-done}
";
    interrupts_are_checked: "\
about: a
task: t
interrupts:
  - { when: { committed: payment.list }, do: kill }
  - { when: { received: payment.charge, attempt: 0 }, do: hit }
  - { when: { received: payment.charge, replied: payment.charge }, do: kill }
  - { when: { replied: payment.charge, caller: 2 }, do: kill }
  - { when: { replied: payment.charge }, do: freeze, then: end }
  - { when: { replied: payment.charge, attempt: 2 }, do: cancel, task: Go on. }
  - { when: { replied: payment.charge, attempt: 3 }, do: kill, then: reboot }
  - { when: { received: payment.charge, attempt: 3 }, do: kill }
  - { when: { received: payment.charge, attempt: 3 }, do: stop }
expect: {effects: [], claim: not-done}
";
    an_interrupt_after_a_reply_needs_a_reply: "\
about: a
task: t
faults:
  - { on: payment.charge, attempt: 1..3, reply: drop }
  - { on: payment.refund, reply: { hang: until-timeout } }
  - { on: payment.list, reply: { status: 503 } }
interrupts:
  - { when: { replied: payment.charge, attempt: 2 }, do: kill }
  - { when: { replied: payment.charge, attempt: 4 }, do: kill }
  - { when: { committed: payment.charge, attempt: 2 }, do: kill }
  - { when: { replied: payment.refund }, do: kill }
  - { when: { replied: payment.list }, do: kill }
expect: {effects: [], claim: not-done, respect_retry_after: maybe}
";
    expectations_are_checked: "\
about: a
task: t
expect:
  effects:
    - { effect: payment.list }
    - { effect: payment.capture }
    - { effect: payment.chargd }
    - { effect: payment.charge, where: { ordr: o1 }, with: { metadata.order: o1, ammount: 1 } }
    - { effect: payment.refund, times: -1 }
  claim: [dne]
  attempts: { payment.charg: 1 }
  allow: [compensations]
  counters: { hits: many }
";
    only_forbidden_effects_need_a_claim:
        "about: a\ntask: t\nexpect: {effects: [{effect: payment.charge, times: 0}]}\n";
    no_expected_effect_needs_a_claim: "about: a\ntask: t\nexpect:\n  effects: []\n";
    overlapping_intents_are_refused: "\
about: a
task: t
expect:
  effects:
    - { effect: payment.charge, where: { order: o1 } }
    - { effect: payment.charge, where: { order: o2 } }
    - { effect: payment.charge, where: { customer: cus_42 } }
    - { effect: payment.refund }
";
    expectations_that_no_subject_can_meet_are_refused: "\
about: a
task: t
faults:
  - { on: payment.charge, attempt: every, commit: never }
  - { on: payment.refund, attempt: 3, reply: drop }
  - { on: email.send, attempt: [1, 2], commit: never, reply: drop }
interrupts:
  - { when: { received: payment.refund, attempt: 4 }, do: kill }
expect:
  effects:
    - { effect: payment.charge }
    - { effect: payment.refund, where: { order: o1 }, times: 3 }
    - { effect: email.send, where: { to: a@b.example } }
    - { effect: deploy.deploy }
  attempts: { payment.refund: 2, email.send: 2, deploy.deploy: 0 }
  claim: not-done
";
    controls_are_checked: "\
about: a
task: t
steps: []
matrix:
  keys: [stripe, none]
services:
  payment: { idempotency: \"${keys}\" }
expect: {effects: [], claim: not-done}
controls:
  naiv: duplicated
  naive: duplicate
  careful: lost
  keyed: [{ when: { keys: stripe }, is: pass }]
  timid: [{ is: lost }, { when: { keys: none }, is: pass }]
  storm: [{ when: { keys: ietf }, is: pass }, { when: { reply: drop }, is: pass }, { is: pass }]
";
}

#[test]
fn a_scenario_name_that_needs_quotes_is_refused() {
    let file = Source::new("scenarios/my file.yaml", charge(""));
    insta::assert_snapshot!(read_scenario(&file, "my file").unwrap_err().to_string());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_scenario_makes_the_reader_panic(
        key in "(steps|matrix|services|faults|callers|each|deliver|interrupts|turns|expect|controls|timeout)",
        inside in "[\\[\\]{}a-z0-9:.,$ \"-]{0,40}",
    ) {
        let _ = read(&charge(&format!("{key}: {inside}\n"))).map_err(|problems| problems.to_string());
    }
}
