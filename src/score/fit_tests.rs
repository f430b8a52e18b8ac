use mock_services::ledger::How;
use mock_services::service::Fields;

use super::*;
use crate::score::testing::due;

fn of(fields: &Fields) -> Option<Fit> {
    let effect = Effect { n: 1, attempt: 1, name: "payment.charge", id: "ch_1", fields, how: How::Now };
    fit(&due("o1", 10, 1), &effect, Names(&[]))
}

#[test]
fn an_effect_that_names_the_intent_fits_whatever_it_is_like() {
    assert_eq!(of(&Fields::new().with("order", "o1").with("amount", 10)), Some(Fit { agrees: true, carried: 1 }));
    assert_eq!(of(&Fields::new().with("order", "o1").with("amount", 99)), Some(Fit { agrees: false, carried: 1 }));
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
    let fields = Fields::new().with("order", "o1");
    let refund = Effect { n: 1, attempt: 1, name: "payment.refund", id: "re_1", fields: &fields, how: How::Now };
    assert_eq!(fit(&due("o1", 10, 1), &refund, Names(&[])), None);
}

#[test]
fn the_subjects_own_name_for_a_field_is_looked_at() {
    let fields = Fields::new().with("metadata.ref", "o2").with("amount", 10);
    let effect = Effect { n: 1, attempt: 1, name: "payment.charge", id: "ch_1", fields: &fields, how: How::Now };
    let mapping = [("order".to_owned(), "metadata.ref".to_owned())];
    assert_eq!(fit(&due("o1", 10, 1), &effect, Names(&mapping)), None);
    assert!(fit(&due("o2", 10, 1), &effect, Names(&mapping)).is_some());
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
