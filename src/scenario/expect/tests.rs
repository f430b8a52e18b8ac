use mock_services::yaml::Source;

use crate::scenario::{Case, Recovery, read_scenario};

fn read(expect: &str, more: &str) -> Result<Vec<Case>, String> {
    let text = format!(
        "about: A charge.\ntask: Charge cus_42.\nsteps:\n  - {{do: payment.charge, with: {{customer: cus_42, amount: 4999, order: o1}}}}\n\
         expect:\n{expect}\n{more}"
    );
    read_scenario(&Source::new("scenarios/payment/test.yaml", text), "payment/test")
        .map_err(|problems| problems.to_string())
}

fn with_times(times: &str) -> Result<Vec<Case>, String> {
    read(&format!("  effects: [{{effect: payment.charge, where: {{order: o1}}, times: {times}}}]"), "")
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
fn a_range_that_makes_no_sense_is_told_with_what_would_be_right() {
    for (times, wrong, right) in [
        ("3..1", "the lower bound 3 is greater than the upper bound 1", "write 1..3"),
        ("1..", "`1..` has no upper bound", "write 1..2 for 1 to 2"),
        ("often", "expected how often the effect is due", "0..1 for at most once"),
        ("-1..1", "expected how often the effect is due", "0..1 for at most once"),
        ("0..9999999999", "expected how often the effect is due", "0..1 for at most once"),
    ] {
        let told = with_times(times).unwrap_err();
        assert!(told.contains(wrong) && told.contains(right), "{times}: {told}");
    }
}

#[test]
fn what_may_be_left_out_can_be_met_where_nothing_is_ever_committed() {
    let never = "faults: [{on: payment.charge, attempt: every, commit: never, reply: drop}]";
    let expect = |times: &str| {
        format!(
            "  effects: [{{effect: payment.charge, where: {{order: o1}}, times: {times}}}]\n  claim: not-done"
        )
    };
    assert!(read(&expect("0..1"), never).is_ok());
    assert!(read(&expect("1"), never).unwrap_err().contains("this cannot be met"));
}

#[test]
fn the_permitted_ways_of_recovering_are_read_and_others_are_told() {
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
    assert!(recovery("[]").unwrap_err().contains("no way of recovering is permitted"));
    let told = recovery("[same-keys]").unwrap_err();
    assert!(told.contains("did you mean `same-key`?"), "{told}");
    assert!(
        recovery("none-needed").is_err(),
        "where nothing is to be recovered from, nothing need be permitted"
    );
}
