use mock_services::service::Fields;

use super::*;
use crate::score::testing::{due, terms};

fn of(fields: &Fields) -> Option<Fit> {
    fit(&due("o1", 10, 1), "payment.charge", fields, &terms([]))
}

fn fit(intent: &Intent, effect: &str, fields: &Fields, terms: &Terms) -> Option<Fit> {
    Rule::new(terms).fit(intent, effect, fields)
}

#[test]
fn an_effect_that_names_the_intent_fits_regardless_of_its_other_fields() {
    assert_eq!(
        of(&Fields::new().with("order", "o1").with("amount", 10)),
        Some(Fit { agrees: true, carried: 1 })
    );
    assert_eq!(
        of(&Fields::new().with("order", "o1").with("amount", 99)),
        Some(Fit { agrees: false, carried: 1 })
    );
}

#[test]
fn an_effect_that_leaves_the_order_out_fits_by_what_it_is_like() {
    assert_eq!(of(&Fields::new().with("amount", 10)), Some(Fit { agrees: true, carried: 0 }));
    assert_eq!(of(&Fields::new().with("amount", 99)), None);
    assert_eq!(of(&Fields::new()), Some(Fit { agrees: true, carried: 0 }));
}

#[test]
fn an_effect_of_another_order_or_another_kind_does_not_fit() {
    assert_eq!(of(&Fields::new().with("order", "o2").with("amount", 10)), None);
    assert_eq!(
        fit(&due("o1", 10, 1), "payment.refund", &Fields::new().with("order", "o1"), &terms([])),
        None
    );
}

#[test]
fn the_subjects_own_name_for_a_field_is_looked_at() {
    let fields = Fields::new().with("metadata.ref", "o2").with("amount", 10);
    let mapped = Terms { fields: vec![("order".to_owned(), "metadata.ref".to_owned())], ..terms([]) };
    assert_eq!(fit(&due("o1", 10, 1), "payment.charge", &fields, &mapped), None);
    assert!(fit(&due("o2", 10, 1), "payment.charge", &fields, &mapped).is_some());
}

#[test]
fn one_of_several_is_not_the_one_that_was_asked_for() {
    let of_order = |orders: &[&str]| {
        let orders = Value::List(orders.iter().map(|order| (*order).to_owned()).collect());
        of(&Fields::new().with("order", orders).with("amount", 10))
    };
    assert_eq!(of_order(&["o1"]), Some(Fit { agrees: true, carried: 1 }));
    assert_eq!(of_order(&["o1", "o9"]), None);
}

#[test]
fn a_field_is_found_under_the_subjects_name_and_under_the_scenarios() {
    let mapping = [("order".to_owned(), "metadata.ref".to_owned())];
    let names = FieldNames(&mapping);
    let both = Fields::new().with("order", "a").with("metadata.ref", "b");
    assert_eq!(names.value(&both, "order"), Some(&Value::from("b")));
    assert_eq!(names.value(&Fields::new().with("order", "a"), "order"), Some(&Value::from("a")));
    assert_eq!(names.value(&Fields::new().with("ref", "a"), "order"), None);
}

/// The terms of a case whose charges always have a customer.
fn with_customer(intents: impl IntoIterator<Item = Intent>) -> Terms {
    let mut terms = terms(intents);
    let charge = terms.operations.iter_mut().find(|operation| operation.name == "payment.charge").unwrap();
    charge.natural = vec!["customer".to_owned(), "amount".to_owned()];
    terms
}

#[test]
fn a_field_that_every_such_effect_has_contradicts_where_it_is_missing() {
    let mut intent = due("o1", 10, 1);
    intent.expected.set("customer", "cus_42");
    let terms = with_customer([intent.clone()]);
    let nobody = Fields::new().with("order", "o1").with("amount", 10);
    assert_eq!(fit(&intent, "payment.charge", &nobody, &terms), Some(Fit { agrees: false, carried: 1 }));
    let rule = Rule::new(&terms);
    let found: Vec<_> = rule
        .contradictions(&intent, &nobody)
        .map(|contradiction| (contradiction.name, contradiction.found))
        .collect();
    assert_eq!(found, [("customer", FoundValue::Missing)]);
    assert_eq!(
        fit(&intent, "payment.charge", &nobody.clone().with("customer", "cus_42"), &terms),
        Some(Fit { agrees: true, carried: 1 })
    );
}

#[test]
fn a_selector_that_every_such_effect_has_selects_nothing_that_lacks_it() {
    let intent = Intent { selector: Fields::new().with("customer", "cus_42"), ..due("o1", 10, 1) };
    assert_eq!(
        fit(&intent, "payment.charge", &Fields::new().with("amount", 10), &with_customer([intent.clone()])),
        None
    );
}

#[test]
fn a_label_in_another_field_identifies_the_intent() {
    let intents = [due("ord_1001", 10, 1), due("ord_1002", 10, 1)];
    let terms = terms(intents.clone());
    let of = |name: &str, value: &str| {
        let fields = Fields::new().with("amount", 10).with(name, value);
        intents.clone().map(|intent| fit(&intent, "payment.charge", &fields, &terms).map(|fit| fit.carried))
    };
    assert_eq!(of("description", "Order ord_1001"), [Some(1), None]);
    assert_eq!(of("metadata.purchase", "ord_1002"), [None, Some(1)]);
    assert_eq!(of("description", "Order ord_9999"), [None, None]);
    assert_eq!(of("description", "Thank you"), [Some(0), Some(0)]);
}

#[test]
fn a_record_with_an_expected_value_is_intended() {
    let due = crate::scenario::RecordDue {
        key: "stock".to_owned(),
        counter: false,
        value: 4.into(),
        start: serde_json::Value::Null,
    };
    let terms = Terms { records: vec![due], ..terms([]) };
    let rule = Rule::new(&terms);
    assert!(rule.is_intended("records.put", &Fields::new().with("key", "stock")));
    assert!(!rule.is_intended("records.put", &Fields::new().with("key", "price")));
}

#[test]
fn an_unusual_value_contradicts_an_intent_that_does_not_name_it() {
    let defaults =
        Fields::new().with("quantity", "1").with("trial_days", "0").with("cancel_at_period_end", "false");
    let intent = Intent {
        selector: Fields::new().with("customer", "cus_42"),
        expected: Fields::new(),
        defaults,
        ..due("", 1, 1)
    };
    let terms = terms([]);
    let differing = |fields: Fields| {
        let contradictions = Rule::new(&terms).contradictions(&intent, &fields);
        contradictions.map(|contradiction| contradiction.name.to_owned()).collect::<Vec<_>>()
    };
    assert!(differing(Fields::new()).is_empty(), "what is not told is as usual");
    assert!(differing(Fields::new().with("quantity", 1).with("cancel_at_period_end", false)).is_empty());
    assert_eq!(
        differing(Fields::new().with("quantity", 100).with("trial_days", 730)),
        ["quantity", "trial_days"]
    );
    assert_eq!(differing(Fields::new().with("quantity", vec!["1".to_owned(), "1".to_owned()])), ["quantity"]);
}

#[test]
fn a_branch_or_a_tag_is_the_same_under_its_short_name_and_its_whole_one() {
    let deploy = |version: &str| Intent {
        effect: "deploy.deploy".to_owned(),
        selector: Fields::new().with("environment", "production"),
        expected: Fields::new().with("version", version),
        defaults: Fields::new(),
        ..due("o1", 10, 1)
    };
    let agrees = |wanted: &str, actual: &str| {
        let fields = Fields::new().with("environment", "production").with("version", actual);
        fit(&deploy(wanted), "deploy.deploy", &fields, &terms([])).is_some_and(|fit| fit.agrees)
    };
    assert!(
        agrees("v1.4.2", "refs/tags/v1.4.2")
            && agrees("refs/tags/v1.4.2", "v1.4.2")
            && agrees("main", "heads/main")
    );
    assert!(agrees("refs/heads/main", "refs/heads/main"));
    for (wanted, actual) in
        [("v1.4.2", "refs/tags/v1.4.3"), ("v1.4.2", "refs/v1.4.2"), ("v1.4.2", "refs/tags/")]
    {
        assert!(!agrees(wanted, actual), "{actual}");
    }
}
