use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::scenario::{
    ClaimedOutcome, ControlOutcome, IntentList, InterruptAction, Reached, ServiceKind, Then,
};

fn read(text: &str) -> Result<Vec<Case>, Problems> {
    read_scenario(&Source::new("scenarios/payment/test.yaml", text), "payment/test")
}

fn cases(text: &str) -> Vec<Case> {
    read(text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A charge that is due once, and whatever else is said.
fn charge(more: &str) -> String {
    format!(
        "about: A charge.\ntask: Charge cus_42.\nsteps:\n  - {{do: payment.charge, with: {{customer: cus_42, amount: 4999, order: o1}}}}\n\
         expect:\n  effects: [{{effect: payment.charge, where: {{order: o1}}}}]\n{more}"
    )
}

fn charge_case(more: &str) -> Case {
    cases(&charge(more)).remove(0)
}

#[test]
fn every_shipped_scenario_is_right_and_told_apart_by_its_controls() {
    let cases = crate::scenario::shipped().unwrap_or_else(|error| panic!("{}", error.advice(false)));
    let fails = |case: &Case| {
        case.controls.iter().any(|term| !matches!(term.is, ControlOutcome::Pass | ControlOutcome::Void))
    };
    for scenario in cases.chunk_by(|one, other| one.scenario == other.scenario) {
        let name = &scenario[0].scenario;
        let is_clean = scenario[0].tags.iter().any(|tag| tag == "clean");
        assert!(is_clean || scenario.iter().any(fails), "{name} is failed by no control");
        assert!(
            scenario.iter().all(|case| case.controls.iter().any(|term| term.control == "careful")),
            "{name}"
        );
    }
    assert!(cases.len() > 40, "{}", cases.len());
}

#[test]
fn the_scenarios_in_the_docs_are_right() {
    let docs = include_str!("../../../docs/scenarios.md");
    let blocks: Vec<&str> =
        docs.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.iter().map(|block| cases(block).len()).collect::<Vec<_>>(), [4, 1]);
}

#[test]
fn a_scenario_without_a_matrix_is_one_case_of_its_name() {
    let case = charge_case("");
    assert_eq!((case.id.as_str(), case.scenario.as_str(), case.callers), ("payment/test", "payment/test", 1));
    assert_eq!((case.line, case.timeout, case.door), (1, Duration::from_secs(30), None));
    assert_eq!(case.services.iter().map(|setup| setup.name.as_str()).collect::<Vec<_>>(), ["payment"]);
    assert_eq!(case.terms.intents[0].times, 1);
    assert!(
        case.terms.operations.iter().any(|operation| operation.name == "payment.charge" && operation.write)
    );
}

#[test]
fn a_matrix_is_expanded_in_the_order_of_the_file() {
    let more = "matrix: {keys: [stripe, none], reply: [drop, {status: 502}]}\nservices: {payment: {idempotency: \"${keys}\"}}\n\
                faults: [{on: payment.charge, reply: \"${reply}\"}]\n";
    let cases = cases(&charge(more));
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let expected =
        ["keys=stripe,reply=drop", "keys=stripe,reply=502", "keys=none,reply=drop", "keys=none,reply=502"];
    assert_eq!(ids, expected.map(|variant| format!("payment/test@{variant}")));
    assert_eq!(
        cases[3].variant,
        [("keys".to_owned(), "none".to_owned()), ("reply".to_owned(), "502".to_owned())]
    );
    assert_eq!(cases[3].faults[0].to_string(), "payment.charge#1 commit=now reply={status: 502}");
    assert_eq!(cases[3].terms.faults[0].text, cases[3].faults[0].to_string());
}

#[test]
fn a_control_comes_to_what_the_first_entry_that_holds_says() {
    let more = "matrix: {keys: [stripe, none], reply: [drop, reset, hang]}\nservices: {payment: {idempotency: \"${keys}\"}}\n\
                faults: [{on: payment.charge, reply: \"${reply}\"}]\ncontrols:\n  naive: duplicated\n  \
                keyed: [{when: {keys: none, reply: [drop, hang]}, is: duplicated}, {is: pass}]\n";
    let keyed = |case: &Case| case.controls[1].is;
    let is: Vec<ControlOutcome> = cases(&charge(more)).iter().map(keyed).collect();
    assert_eq!(
        is,
        [
            ControlOutcome::Pass,
            ControlOutcome::Pass,
            ControlOutcome::Pass,
            ControlOutcome::Duplicated,
            ControlOutcome::Pass,
            ControlOutcome::Duplicated
        ]
    );
}

#[test]
fn callers_meet_at_a_door() {
    let case = charge_case("callers: {count: 3, meet: payment.charge, within: 2s}\n");
    let door = case.door.unwrap();
    assert_eq!(
        (case.callers, door.meet.as_deref(), door.within),
        (3, Some("payment.charge"), Duration::from_secs(2))
    );
    assert!(case.terms.door && case.terms.callers == 3);
    assert_eq!(charge_case("callers: 1\n").door, None);
    let usual = charge_case("callers: 3\n");
    let within = usual.door.unwrap().within;
    assert_eq!((within, usual.timeout), (Duration::from_secs(25), Duration::from_secs(60)));
    assert_eq!(charge_case("callers: 3\ntimeout: 20s\n").door.unwrap().within, Duration::from_secs(10));
    let apart = charge_case("callers: { count: 3, meet: none }\n");
    assert_eq!(
        (apart.callers, apart.door, apart.terms.door, apart.timeout),
        (3, None, false, Duration::from_secs(30))
    );
    let each = "callers: 2\neach: [{task: a}, {task: b, steps: []}]\n";
    assert_eq!(charge_case(each).each.iter().map(|work| work.task.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_task_that_is_delivered_twice_is_two_callers_or_another_turn() {
    let together = charge_case("deliver: {times: 2, how: together}\n");
    assert_eq!((together.callers, together.turns.len(), together.door.is_some()), (2, 0, true));
    let after = charge_case("deliver: {times: 3, how: one-after-another}\nturns: [{task: Look again.}]\n");
    assert_eq!((after.callers, after.turns.len(), after.door), (1, 3, None));
    assert_eq!((&after.turns[1], after.turns[2].task.as_str()), (&after.work, "Look again."));
}

#[test]
fn interrupts_have_what_follows_from_their_blow() {
    let one = |text: &str| {
        charge_case(&format!("interrupts: [{{when: {{committed: payment.charge}}, {text}}}]\n"))
            .interrupts
            .remove(0)
    };
    let kill = one("do: kill");
    assert_eq!(
        (kill.blow, &kill.then, kill.when.attempt, kill.when.reached),
        (InterruptAction::Kill, &Then::Restart { work: None, after: Duration::ZERO }, 1, Reached::Committed)
    );
    assert_eq!(one("do: stop, then: end").then, Then::End);
    assert_eq!(one("do: cancel").then, Then::End);
    assert_eq!(one("do: freeze").blow, InterruptAction::Freeze(Duration::from_millis(500)));
    assert_eq!(one("do: {freeze: 2s}").blow, InterruptAction::Freeze(Duration::from_secs(2)));
    let Then::Restart { work: Some(work), .. } = one("do: kill, task: Go on.").then else {
        panic!("it restarts with another task")
    };
    assert_eq!((work.task.as_str(), work.steps.len()), ("Go on.", 1), "what is not said anew stays");
    let Then::Restart { work: None, after } = one("do: kill, then: {restart: {after: 3s}}").then else {
        panic!("it restarts")
    };
    assert_eq!(after, Duration::from_secs(3));
    for (then, wrong) in [
        ("{restart: {}}", "`restart` needs the key `after`"),
        ("{restart: {after: 3}}", "expected a duration"),
        ("{restart: {after: 11m}}", "at most 10m"),
        ("{end: {after: 3s}}", "unknown key"),
        ("later", "expected `restart` or `end`"),
    ] {
        let told =
            told(&format!("interrupts: [{{when: {{committed: payment.charge}}, do: kill, then: {then}}}]\n"));
        assert!(told.contains(wrong), "{then}: {told}");
    }
    let case = charge_case(
        "interrupts: [{when: {received: payment.charge}, do: kill, then: {restart: {after: 3s}}}]\n",
    );
    assert_eq!(case.terms.interrupts[0].text, "payment.charge#1 received: kill, then restart after 3s");
    let case = charge_case(
        "interrupts: [{when: {replied: payment.charge, attempt: 2}, do: kill, optional: true}]\n",
    );
    assert_eq!(case.terms.interrupts[0].text, "payment.charge#2 replied: kill, then restart");
    assert!(case.terms.interrupts[0].optional);
}

#[test]
fn services_are_set_up_as_they_are_described() {
    let text = "about: a\ntask: t\nexpect:\n  effects: []\n  records: {stock: 12, gone: null}\n  counters: {hits: 2}\n\
        services:\n  payment: {idempotency: {profile: stripe, lifetime: {requests: 2}}, declines: [cus_13], customers: [cus_13]}\n  \
        email: {delivery: {later: settle}, addresses: {a@b.example: never, c@d.example: {bounced: 2s}}}\n  \
        deploy: {environments: {production: {version: v1, locked_by: ann, free_after: {requests: 1}}}, rollout: {steps: 2, each: 1s}, asynchronous: settle}\n  \
        records: {records: {stock: 10}, counters: {hits: 1}, require_if_match: true}\n  tickets:\n";
    let case = cases(text).remove(0);
    insta::assert_debug_snapshot!(
        case.services
            .iter()
            .map(|setup| match &setup.kind {
                ServiceKind::Custom(source) => format!("{} from {}", setup.name, source.name()),
                kind => format!("{kind:?} {:?}", setup.idempotency),
            })
            .collect::<Vec<_>>()
    );
    insta::assert_debug_snapshot!("records_that_are_due", case.terms.records);
}

#[test]
fn a_service_that_is_only_named_is_started_as_it_is() {
    let text = "about: a\ntask: t\nfaults: [{on: email.send, reply: drop, optional: true}]\nexpect: {effects: [{effect: tickets.open, with: {state: open}}], attempts: {deploy.deploy: 1}}\n";
    let case = cases(text).remove(0);
    assert_eq!(
        case.services.iter().map(|setup| setup.name.as_str()).collect::<Vec<_>>(),
        ["email", "tickets", "deploy"]
    );
}

#[test]
fn a_claim_is_one_word_or_several() {
    let of = |claim: &str| {
        cases(&format!("about: a\ntask: t\nexpect: {{effects: [], claim: {claim}}}\n")).remove(0).terms.claim
    };
    assert_eq!(of("done"), [ClaimedOutcome::Done]);
    assert_eq!(of("[not-done, unknown]"), [ClaimedOutcome::NotDone, ClaimedOutcome::Unknown]);
}

fn expecting(expect: &str) -> Case {
    cases(&format!("about: a\ntask: t\nexpect: {expect}\n")).remove(0)
}

#[test]
fn a_number_of_attempts_is_an_upper_bound_and_a_range_has_both() {
    let bounds = |text: &str| {
        let budget = expecting(&format!("{{effects: [], attempts: {{payment.charge: {text}}}}}"))
            .terms
            .attempts
            .remove(0);
        (budget.at_least, budget.at_most)
    };
    assert_eq!(bounds("3"), (0, Some(3)));
    assert_eq!(bounds("1..3"), (1, Some(3)));
    assert_eq!(bounds("1.."), (1, None));
    assert_eq!(bounds("2..2"), (2, Some(2)));
}

#[test]
fn each_is_one_intent_for_every_value() {
    let of = |each: &str, field: &str| {
        let terms = expecting(&format!("{{effects: [{{effect: payment.charge, where: {{order: before}}}}, {{effect: email.send, each: {each}, with: {{subject: Hi}}}}]}}")).terms;
        assert_eq!(terms.lists, [IntentList { first: 1, count: terms.intents.len() - 1 }]);
        assert!(
            terms
                .intents
                .iter()
                .skip(1)
                .all(|intent| intent.times == 1 && intent.like.get("subject").is_some())
        );
        terms
            .intents
            .iter()
            .skip(1)
            .map(|intent| intent.which.get(field).unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("{to: [Ann@example.com, bob@example.com]}", "to"), ["ann@example.com", "bob@example.com"]);
    assert_eq!(
        of("{to: 'user{1..3}@example.com'}", "to"),
        ["user1@example.com", "user2@example.com", "user3@example.com"]
    );
    assert_eq!(
        of("{to: 'user{08..10}@example.com'}", "to"),
        ["user08@example.com", "user09@example.com", "user10@example.com"]
    );
    assert_eq!(of("{to: [boss@example.com, 'u{1..2}@example.com']}", "to").len(), 3);
    assert_eq!(of("{order: [7, 8]}", "order"), ["7", "8"]);
    assert_eq!(of("{to: 'u{1..400}@example.com'}", "to").len(), 400);
    let twice =
        expecting("{effects: [{effect: email.send, each: {to: [a@b.example, c@d.example]}, times: 2}]}")
            .terms;
    assert!(twice.intents.iter().all(|intent| intent.times == 2));
}

#[test]
fn what_is_due_often_needs_a_field_that_tells_which() {
    for good in [
        "effect: email.send, where: {to: a@b.example}, times: 2",
        "effect: payment.charge, where: {customer: cus_42}, times: 2",
        "effect: payment.refund, where: {order: o1}, with: {amount: 5}, times: 2",
        "effect: payment.upgrade, where: {customer: cus_42}, times: 2",
        "effect: records.increment, where: {counter: hits}, times: 32",
        "effect: tickets.answer, times: 2",
        "effect: email.send, where: {subject: Hi}, times: 1",
        "effect: email.send, times: 0",
    ] {
        expecting(&format!("{{effects: [{{{good}}}]}}"));
    }
    for wrong in [
        "effect: email.send, where: {subject: Hi}, times: 2",
        "effect: email.send, where: {order: o1}, times: 2",
        "effect: payment.charge, with: {amount: 5}, times: 2",
        "effect: records.put, times: 2",
        "effect: tickets.notify, with: {subject: Hi}, times: 2",
    ] {
        let problems = read(&format!("about: a\ntask: t\nexpect: {{effects: [{{{wrong}}}]}}\n"))
            .unwrap_err()
            .to_string();
        assert!(problems.contains("nothing says which"), "{wrong}: {problems}");
        assert!(problems.contains("each: {"), "{wrong}: {problems}");
    }
}

#[test]
fn a_file_that_declares_a_service_stands_for_no_case() {
    assert!(cases(mock_services::custom::TICKETS).is_empty());
}

/// What is said of a scenario with this in it.
fn told(more: &str) -> String {
    read(&charge(more))
        .map(|cases| format!("{} cases", cases.len()))
        .unwrap_or_else(|problems| problems.to_string())
}

macro_rules! told {
    ($($name:ident: $text:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), read($text).unwrap_err().to_string());
        })*
    };
}

told! {
    keys_are_checked: "abut: x\ntask: ''\ntags: [Upper, a, a]\ntimeout: 2h\nexpect: {efects: []}\nsteps: 5\n";
    nothing_at_all_is_told: "";
    a_matrix_is_checked: "\
about: a
task: t
matrix:
  Keys: [a]
  keys: stripe
  empty: []
  twice: [drop, reset, drop]
  nested: [\"${twice}\"]
expect: {effects: []}
";
    names_of_the_matrix_are_checked: "\
about: a
task: Charge ${amount} now.
matrix:
  keys: [stripe, none]
  reply: [drop, reset]
services:
  payment: { idempotency: \"${kyes}\" }
faults:
  - { on: payment.charge, reply: \"${reply}\" }
expect: {effects: []}
";
    a_value_of_the_matrix_is_blamed_where_it_stands: "\
about: a
task: t
matrix:
  on: [payment.charge, payment.list]
  commit: [now, never]
  reply: [drop, dorp]
faults:
  - { on: \"${on}\", commit: \"${commit}\", reply: \"${reply}\" }
expect: {effects: []}
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
expect: {effects: []}
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
expect: {effects: []}
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
expect: {effects: []}
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
    bounds_of_attempts_are_checked: "\
about: a
task: t
interrupts:
  - { when: { received: payment.charge, attempt: 2 }, do: kill, then: end }
expect:
  effects: []
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
callers: { count: 65, met: payment.charge, within: 90s }
each: [{ task: a }, { task: b }]
deliver: { times: 2, how: together }
expect: {effects: []}
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
expect: {effects: []}
";
    an_interrupt_behind_a_reply_needs_a_reply: "\
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
expect: {effects: [], respect_retry_after: maybe}
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
    intents_that_overlap_are_told: "\
about: a
task: t
expect:
  effects:
    - { effect: payment.charge, where: { order: o1 } }
    - { effect: payment.charge, where: { order: o2 } }
    - { effect: payment.charge, where: { customer: cus_42 } }
    - { effect: payment.refund }
";
    what_cannot_be_met_is_told: "\
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
expect: {effects: []}
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
fn a_scenario_that_no_control_fails_is_told_unless_it_is_clean() {
    insta::assert_snapshot!(told("controls: {naive: pass}\n"));
    assert_eq!(told("controls: {naive: pass}\ntags: [clean]\n"), "1 cases");
}

#[test]
fn controls_without_steps_are_told() {
    let text = "about: a\ntask: t\nexpect: {effects: []}\ncontrols: {naive: duplicated}\n";
    insta::assert_snapshot!(read(text).unwrap_err().to_string());
}

#[test]
fn a_name_that_cannot_be_typed_is_told() {
    let file = Source::new("scenarios/my file.yaml", charge(""));
    insta::assert_snapshot!(read_scenario(&file, "my file").unwrap_err().to_string());
}

#[test]
fn a_matrix_cannot_stand_for_more_cases_or_values_than_there_can_be() {
    let axis = |name: &str, count: usize| {
        format!("{name}: [{}]", (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", "))
    };
    let many = format!("matrix: {{{}, {}}}\ntags: [\"${{a}}\", \"${{b}}\"]\n", axis("a", 50), axis("b", 50));
    assert!(told(&many).contains("this matrix stands for more than 1000 cases"), "{}", told(&many));
    let large = format!("[{}]", "x, ".repeat(9_000));
    let names = "\"${a}\", ".repeat(1_000);
    let bomb = told(&format!("matrix: {{a: [{large}]}}\ntags: [{names}]\n"));
    assert!(bomb.contains("holds more than 300000 values"), "{bomb}");
    let faults: String =
        (1..=300).map(|n| format!("{{on: payment.charge, attempt: {n}, reply: drop}}, ")).collect();
    let wide = told(&format!("matrix: {{{}}}\ncallers: \"${{a}}\"\nfaults: [{faults}]\n", axis("a", 900)));
    assert!(wide.contains("holds more than 300000 values"), "{wide}");
}

#[test]
fn a_name_whose_values_cannot_be_read_is_told_once() {
    let more = "matrix: {keys: stripe}\nservices: {payment: {idempotency: \"${keys}\"}}\n";
    assert_eq!(told(more).matches("error: ").count(), 1, "{}", told(more));
}

#[test]
fn what_is_written_over_lines_is_about_one_thing() {
    let text = "about: |\n  The reply\n  is lost.\ntask: t\nexpect: {effects: []}\n";
    assert_eq!(cases(text)[0].about, "The reply is lost.");
}

#[test]
fn the_same_mistake_in_many_cases_is_told_once() {
    let more = "matrix: {keys: [stripe, none]}\nservices: {payment: {idempotency: \"${keys}\"}}\nfaults: [{on: payment.charge, reply: dorp}]\n";
    assert_eq!(told(more).matches("error: ").count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn ids_are_unique_and_typeable(first in proptest::collection::hash_set("[a-c ;$é]{0,3}", 1..6), second in proptest::collection::hash_set(-3i64..9, 1..6)) {
        let texts: Vec<String> = first.iter().map(|value| format!("{value:?}")).collect();
        let numbers: Vec<String> = second.iter().map(|value| format!("{{status: {value}}}, {value}")).collect();
        let more = format!(
            "matrix: {{a: [{}], b: [{}]}}\nservices: {{records: {{records: {{a: \"${{a}}\", b: \"${{b}}\"}}}}}}\n",
            texts.join(", "),
            numbers.join(", ")
        );
        // A text that holds a name would be refused, rightly.
        prop_assume!(!texts.iter().any(|text| text.contains("${")));
        let cases = cases(&charge(&more));
        let ids: HashSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        prop_assert_eq!(ids.len(), first.len() * second.len() * 2);
        let is_plain = |id: &&str| id.chars().all(|c| c.is_ascii_alphanumeric() || "/@=,._+-".contains(c));
        prop_assert!(ids.iter().all(is_plain));
    }

    #[test]
    fn no_scenario_makes_it_panic(key in "(steps|matrix|services|faults|callers|each|deliver|interrupts|turns|expect|controls|timeout)", inside in "[\\[\\]{}a-z0-9:.,$ \"-]{0,40}") {
        let _ = read(&charge(&format!("{key}: {inside}\n"))).map_err(|problems| problems.to_string());
    }
}
