use proptest::prelude::*;

use super::*;
use crate::scenario::shipped;

fn ids(text: &str) -> Vec<String> {
    let expression = FilterExpression::parse(text).unwrap_or_else(|problems| panic!("{problems}"));
    let cases = shipped().unwrap();
    cases.into_iter().filter(|case| expression.matches(case)).map(|case| case.id).collect()
}

fn problem(text: &str) -> String {
    FilterExpression::parse(text).unwrap_err().to_string()
}

#[test]
fn terms_are_combined_as_in_other_test_runners() {
    let all = ids("scenario(payment/lost-reply)");
    let both = ids("scenario(payment/lost-reply) & keys=stripe & !reply=429");
    assert!(both.iter().all(|id| id.contains("keys=stripe") && !id.contains("429")), "{both:?}");
    assert_eq!(both.len(), all.len() / 2 - 1);
    assert_eq!(ids("scenario(payment/lost-reply) and keys=stripe and not reply=429"), both);
    assert_eq!(ids("!(!scenario(payment/lost-reply) | !keys=stripe | reply=429)"), both);
    let either = ids("scenario(payment/lost-reply) & reply=drop | scenario(email/clean)");
    assert_eq!(either.len(), 2 + ids("scenario(email/clean)").len(), "& comes before |");
}

#[test]
fn patterns_and_plain_words_select_cases() {
    assert_eq!(ids("scenario(payment/lost-*)"), ids("scenario(payment/lost-reply) | payment/lost-request"));
    assert!(ids("service(email)").iter().any(|id| id.starts_with("workflow/")));
    assert_eq!(ids("tag(crash)"), ids("crash & tag(cr?sh)"));
    assert_eq!(
        ids("id(payment/lost-reply@keys=stripe,reply=drop)"),
        ids("payment/lost-reply@reply=drop,keys=stripe"),
        "the order of matrix names does not matter"
    );
}

#[test]
fn a_pattern_matches_the_whole_text() {
    for (pattern, text, expected) in [
        ("a*c", "abc", true),
        ("a*c", "abcd", false),
        ("*b*", "abc", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("", "", true),
        ("*", "", true),
        ("a**b*c", "axxbxxbc", true),
    ] {
        assert_eq!(is_match(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn a_mistake_is_shown_with_its_place() {
    insta::assert_snapshot!(
        ["", "tag(payment", "tag(payment) keys=stripe", "& crash", "(crash", "tga(payment)", "crash &"]
            .map(problem)
            .join("\n")
    );
    let deep = "!".repeat(1000) + "crash";
    assert!(problem(&deep).contains("fewer nested parts"));
}

#[test]
fn a_term_that_no_case_meets_is_found_even_if_it_is_negated() {
    let cases = shipped().unwrap();
    let unmet = |text: &str| FilterExpression::parse(text).unwrap().unmet(&cases);
    assert_eq!(unmet("tag(payment) & !reply=429"), []);
    assert_eq!(unmet("!tag(paymnt)"), [("tag(paymnt)".to_owned(), Some("tag(payment)".to_owned()))]);
    assert_eq!(unmet("crash & !kys=stripe"), [("kys=stripe".to_owned(), Some("keys=stripe".to_owned()))]);
}

proptest! {
    #[test]
    fn no_expression_makes_the_parser_panic(text in "[a-z()&|!=*? ,@äß]{0,40}") {
        let _ = FilterExpression::parse(&text);
    }
}
