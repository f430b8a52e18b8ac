use super::*;

fn quick(expects: &[&str]) -> Result<Quick, LoadError> {
    let expects: Vec<String> = expects.iter().map(|expect| (*expect).to_owned()).collect();
    Quick::new("Do it.", &expects)
}

fn text(expects: &[&str]) -> String {
    quick(expects).unwrap().text
}

fn wrong(expect: &str) -> String {
    match quick(&[expect]) {
        Ok(made) => panic!("{expect} was read:\n{}", made.text),
        Err(error) => error.advice(false),
    }
}

#[test]
fn a_refund_has_something_to_refund() {
    insta::assert_snapshot!(text(&["payment.refund:order=7"]));
}

#[test]
fn each_of_several_effects_meets_the_faults() {
    insta::assert_snapshot!(text(&[
        "payment.charge:order=7,amount=4999,customer=cus_42",
        "email.send:to=ann@example.com,subject=\"Thanks, Ann\"*2",
    ]));
}

#[test]
fn where_the_task_is_to_charge_first_nothing_was_charged_before() {
    assert!(!text(&["payment.charge:order=7,amount=900", "payment.refund:order=7"]).contains("charges:"));
    assert!(
        text(&["payment.refund:order=7,amount=500*2"])
            .contains("charges: [{amount: 3000, customer: cus_42, order: \"7\"}]")
    );
}

#[test]
fn what_can_be_expected_makes_cases_for_every_effect_of_every_service() {
    let known = KnownServices::default();
    for effect in known.services.iter().flat_map(|service| service.effects.iter().map(|effect| &effect.name))
    {
        let needed = catalog::describe_effect(effect).and_then(|known| known.needs.as_deref());
        let expects: Vec<&str> = needed.into_iter().chain([effect.as_str()]).collect();
        let cases = quick(&expects)
            .unwrap()
            .cases("task", "task.yaml")
            .unwrap_or_else(|error| panic!("{effect}: {}", error.advice(false)));
        assert!(cases.len() >= 21, "{effect} has {} cases", cases.len());
    }
}

#[test]
fn any_task_survives() {
    for task in ["say \"hi\": # no comment", "two\nlines", "'", "- { a: b }", "yes", "\u{1b}[0m"] {
        let made = Quick::new(task, &["payment.charge:order=1".to_owned()]).unwrap();
        match made.cases("task", "task.yaml") {
            Ok(cases) => assert_eq!(cases[0].work.task, task),
            Err(error) => panic!("{task:?}: {}", error.advice(false)),
        }
    }
}

#[test]
fn problems_are_shown_at_their_positions_with_help() {
    let all = [
        "payment.refnd:order=7",
        "paiment.refund",
        "payment.list",
        "payment.refund:ordre=7",
        "payment.refund:order",
        "payment.refund:",
        "payment.refund:order=",
        "payment.refund:order=7,order=8",
        "payment.refund:order=7*0",
        "payment.refund:order=\"7",
        "payment.upgrade:customer=cus_1",
        "",
    ];
    insta::assert_snapshot!(all.map(wrong).join("\n\n"));
}

#[test]
fn what_would_be_read_as_a_name_of_the_matrix_is_refused() {
    let Err(error) = Quick::new("Charge ${keys}.", &["payment.charge:order=${x}".to_owned()]) else {
        panic!("it was read")
    };
    let advice = error.advice(false);
    assert!(advice.contains("--task:1:8") && advice.contains("--expect:1:22"), "{advice}");
}

#[test]
fn every_problem_is_reported_at_once() {
    let Err(LoadError::Problems(problems)) = quick(&["payment.refnd", "email.send:tp=x"]) else {
        panic!("it was read")
    };
    assert_eq!(problems.len(), 2);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(expect in ".{0,40}", fields in "[a-z=,\"\\\\*:0-9é]{0,30}") {
        let _ = quick(&[&expect]);
        let _ = quick(&[&format!("payment.charge:{fields}")]);
    }

    #[test]
    fn any_value_in_quotes_survives(value in ".{1,30}") {
        proptest::prop_assume!(!value.contains("${"));
        let quoted = serde_json::to_string(&value).unwrap();
        let made = quick(&[&format!("payment.charge:order={quoted}")]).unwrap();
        let cases = made.cases("task", "task.yaml").unwrap();
        let order = cases[0].terms.intents[0].selector.get("order").map(ToString::to_string);
        proptest::prop_assert_eq!(order, Some(value));
    }
}

#[test]
fn an_effect_that_is_expected_several_times_needs_an_identifying_field() {
    let message = quick(&["email.send:subject=Hi*3"]).unwrap_err().advice(false);
    assert!(
        message.contains("email.send is expected 3 times, and no field identifies which: add `to`"),
        "{message}"
    );
    assert!(message.contains("--expect email.send:to=ann@example.com --expect"), "{message}");
}
