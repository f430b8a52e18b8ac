use super::{cases, read};
use crate::scenario::{Case, ClaimedOutcome, IntentList};

fn expecting(expect: &str) -> Case {
    cases(&format!("about: a\ntask: t\nexpect: {expect}\n")).remove(0)
}

#[test]
fn a_claim_is_one_word_or_several() {
    let of = |claim: &str| {
        cases(&format!("about: a\ntask: t\nexpect: {{effects: [], claim: {claim}}}\n")).remove(0).terms.claim
    };
    assert_eq!(of("done"), [ClaimedOutcome::Done]);
    assert_eq!(of("[not-done, unknown]"), [ClaimedOutcome::NotDone, ClaimedOutcome::Unknown]);
}

#[test]
fn a_number_of_attempts_is_a_maximum_and_a_range_has_both_limits() {
    let bounds = |text: &str| {
        let budget =
            expecting(&format!("{{effects: [], claim: not-done, attempts: {{payment.charge: {text}}}}}"))
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
        let terms = expecting(&format!(
            "{{effects: [{{effect: payment.charge, where: {{order: before}}}}, \
            {{effect: email.send, each: {each}, with: {{subject: Hi}}}}]}}"
        ))
        .terms;
        assert_eq!(terms.lists, [IntentList { first: 1, count: terms.intents.len() - 1 }]);
        assert!(
            terms
                .intents
                .iter()
                .skip(1)
                .all(|intent| intent.times == 1 && intent.expected.get("subject").is_some())
        );
        terms
            .intents
            .iter()
            .skip(1)
            .map(|intent| intent.selector.get(field).unwrap().to_string())
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
fn an_effect_that_is_expected_several_times_needs_an_identifying_field() {
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
        expecting(&format!("{{effects: [{{{good}}}], claim: [done, not-done]}}"));
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
        assert!(problems.contains("no field identifies which"), "{wrong}: {problems}");
        assert!(problems.contains("each: {"), "{wrong}: {problems}");
    }
}
