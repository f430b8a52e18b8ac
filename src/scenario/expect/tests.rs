use mock_services::yaml::Source;

use crate::scenario::{Case, Recovery, read_scenario};

fn read(expect: &str, more: &str) -> Result<Vec<Case>, String> {
    let text = format!(
        "about: A charge.\ntask: Charge cus_42.\nsteps:\n  - {{do: payment.charge, with: {{customer: \
         cus_42, amount: 4999, order: o1}}}}\n\
         expect:\n{expect}\n{more}"
    );
    read_scenario(&Source::new("scenarios/payment/test.yaml", text), "payment/test")
        .map_err(|problems| problems.to_string())
}

fn with_times(times: &str) -> Result<Vec<Case>, String> {
    read(
        &format!(
            "  effects: [{{effect: payment.charge, where: {{order: o1}}, times: {times}}}]\n  claim: [done, not-done]"
        ),
        "",
    )
}

#[test]
fn an_effect_is_due_a_number_of_times_or_a_range_of_times() {
    for (times, least, most, at_least) in [
        ("1", 1, 1, None),
        ("0..1", 0, 1, Some(0)),
        ("1..3", 1, 3, Some(1)),
        ("2..2", 2, 2, None),
        ("0..0", 0, 0, None),
    ] {
        let cases = with_times(times).unwrap();
        let intent = &cases[0].terms.intents[0];
        assert_eq!((intent.least(), intent.times, intent.at_least), (least, most, at_least), "{times}");
    }
    let done_at = |times| with_times(times).unwrap()[0].terms.intents[0].done_at();
    assert_eq!(
        [done_at("0"), done_at("1"), done_at("0..1"), done_at("0..3"), done_at("2..3")],
        [0, 1, 1, 1, 2]
    );
}

#[test]
fn an_invalid_range_gives_a_suggestion() {
    for (times, wrong, right) in [
        ("3..1", "the lower bound 3 is greater than the upper bound 1", "write 1..3"),
        ("1..", "`1..` has no upper bound", "write 1..2 for 1 to 2"),
        ("often", "expected a number of times", "0..1 for at most once"),
        ("-1..1", "expected a number of times", "0..1 for at most once"),
        ("0..9999999999", "expected a number of times", "0..1 for at most once"),
    ] {
        let message = with_times(times).unwrap_err();
        assert!(message.contains(wrong) && message.contains(right), "{times}: {message}");
    }
}

#[test]
fn an_optional_effect_can_be_met_where_nothing_commits() {
    let never = "faults: [{on: payment.charge, attempt: every, commit: never, reply: drop}]";
    let expect = |times: &str| {
        format!(
            "  effects: [{{effect: payment.charge, where: {{order: o1}}, times: {times}}}]\n  claim: not-done"
        )
    };
    assert!(read(&expect("0..1"), never).is_ok());
    assert!(read(&expect("1"), never).unwrap_err().contains("impossible to meet"));
}

#[test]
fn the_permitted_recoveries_are_read_and_others_are_refused() {
    let recovery = |text: &str| {
        let expect =
            format!("  effects: [{{effect: payment.charge, where: {{order: o1}}}}]\n  recovery: {text}");
        read(&expect, "").map(|cases| cases[0].terms.recovery.clone())
    };
    assert_eq!(
        recovery("[same-key, verified-then-retried]").unwrap(),
        [Recovery::SameKey, Recovery::VerifiedThenRetried]
    );
    assert_eq!(recovery("gave-up").unwrap(), [Recovery::GaveUp]);
    assert!(recovery("[]").unwrap_err().contains("the list of permitted recoveries is empty"));
    let message = recovery("[same-keys]").unwrap_err();
    assert!(message.contains("did you mean `same-key`?"), "{message}");
    assert!(recovery("none-needed").is_err(), "a scenario cannot permit it");
}

#[test]
fn an_amount_is_a_whole_number_and_a_currency_may_be_in_capitals() {
    let with = |fields: &str| {
        let effect = format!("{{effect: payment.charge, where: {{order: o1}}, with: {{{fields}}}}}");
        read(&format!("  effects: [{effect}]"), "")
    };
    for amount in ["\"49.99\"", "$49.99"] {
        let problems = with(&format!("amount: {amount}")).unwrap_err();
        assert!(problems.contains("4999 for $49.99"), "{problems}");
    }
    let cases = with("amount: 4999, currency: USD").unwrap();
    let currency = cases[0].terms.intents[0].expected.get("currency").map(ToString::to_string);
    assert_eq!(currency.as_deref(), Some("usd"));
}
