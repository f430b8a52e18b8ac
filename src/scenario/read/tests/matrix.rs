use std::collections::HashSet;

use proptest::prelude::*;

use super::{cases, charge, problems_of};

#[test]
fn a_matrix_is_expanded_in_the_order_of_the_file() {
    let more = "matrix: {keys: [stripe, none], reply: [drop, {status: 502}]}\nservices: {payment: \
        {idempotency: \"${keys}\"}}\n\
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
fn the_number_of_cases_and_values_is_limited() {
    let axis = |name: &str, count: usize| {
        format!("{name}: [{}]", (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", "))
    };
    let many = format!("matrix: {{{}, {}}}\ntags: [\"${{a}}\", \"${{b}}\"]\n", axis("a", 50), axis("b", 50));
    assert!(
        problems_of(&many).contains("this matrix has more than 1000 combinations"),
        "{}",
        problems_of(&many)
    );
    let large = format!("[{}]", "x, ".repeat(9_000));
    let names = "\"${a}\", ".repeat(1_000);
    let bomb = problems_of(&format!("matrix: {{a: [{large}]}}\ntags: [{names}]\n"));
    assert!(bomb.contains("hold more than 300000 values"), "{bomb}");
    let faults: String =
        (1..=300).map(|n| format!("{{on: payment.charge, attempt: {n}, reply: drop}}, ")).collect();
    let wide =
        problems_of(&format!("matrix: {{{}}}\ncallers: \"${{a}}\"\nfaults: [{faults}]\n", axis("a", 900)));
    assert!(wide.contains("hold more than 300000 values"), "{wide}");
}

#[test]
fn a_matrix_name_with_invalid_values_is_reported_once() {
    let more = "matrix: {keys: stripe}\nservices: {payment: {idempotency: \"${keys}\"}}\n";
    assert_eq!(problems_of(more).matches("error: ").count(), 1, "{}", problems_of(more));
}

#[test]
fn the_same_problem_in_many_cases_is_reported_once() {
    let more = "matrix: {keys: [stripe, none]}\nservices: {payment: {idempotency: \"${keys}\"}}\nfaults: \
        [{on: payment.charge, reply: dorp}]\n";
    assert_eq!(problems_of(more).matches("error: ").count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn ids_are_unique_and_typeable(
        first in proptest::collection::hash_set("[a-c ;$é]{0,3}", 1..6),
        second in proptest::collection::hash_set(-3i64..9, 1..6),
    ) {
        let texts: Vec<String> = first.iter().map(|value| format!("{value:?}")).collect();
        let number = |value: &i64| format!("{{status: {value}}}, {value}");
        let numbers: Vec<String> = second.iter().map(number).collect();
        let more = format!(
            "matrix: {{a: [{}], b: [{}]}}\nservices: {{records: {{records: {{a: \"${{a}}\", b: \
             \"${{b}}\"}}}}}}\n",
            texts.join(", "),
            numbers.join(", ")
        );
        // A text that contains a matrix name is refused.
        prop_assume!(!texts.iter().any(|text| text.contains("${")));
        let cases = cases(&charge(&more));
        let ids: HashSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        prop_assert_eq!(ids.len(), first.len() * second.len() * 2);
        let is_plain = |id: &&str| id.chars().all(|c| c.is_ascii_alphanumeric() || "/@=,._+-".contains(c));
        prop_assert!(ids.iter().all(is_plain));
    }
}
