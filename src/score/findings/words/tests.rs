use super::*;

#[test]
fn money_is_shown_as_people_write_it() {
    assert_eq!(money(4999, "usd"), "$49.99");
    assert_eq!(money(5, "EUR"), "€0.05");
    assert_eq!(money(-1200, "gbp"), "-£12.00");
    assert_eq!(money(5000, "jpy"), "5000 JPY");
    assert_eq!(money(1234, "kwd"), "1.234 KWD");
    assert_eq!(money(i64::MIN, "chf"), "-92233720368547758.08 CHF");
}

#[test]
fn times_have_units() {
    assert_eq!(
        [duration_text(0), duration_text(2_400), duration_text(512_000), duration_text(61_000_000)],
        ["0 ms", "3 ms", "0.51 s", "61 s"]
    );
}

#[test]
fn keys_are_shortened_to_where_they_differ() {
    assert_eq!(keys("a1b2c3d4", "7c9d0000"), "a1b2… → 7c9d…");
    assert_eq!(keys("order-1001-try-1", "order-1001-try-2"), "…-try-1 → …-try-2");
    assert_eq!(short("k"), "k");
    assert_eq!(short("\u{1b}[31m"), "\\u{1b}[31…");
}

#[test]
fn an_intent_is_named_by_the_field_that_identifies_it() {
    let intent = |selector: Fields, expected: Fields| Intent {
        effect: "payment.charge".to_owned(),
        selector,
        expected,
        defaults: Fields::new(),
        times: 1,
        at_least: None,
    };
    let asked = Fields::new().with("amount", 4999).with("currency", "usd");
    assert_eq!(label(&intent(Fields::new().with("order", "o1"), asked.clone())), " for o1");
    assert_eq!(
        label(&intent(Fields::new().with("order", "o1").with("customer", "c"), Fields::new())),
        " for order o1, customer c"
    );
    assert_eq!(label(&intent(Fields::new(), asked)), " for amount $49.99, currency usd");
    assert_eq!(label(&intent(Fields::new(), Fields::new())), "");
}

#[test]
fn fixes_name_the_field_that_identifies_an_intent() {
    let intent = |name: &'static str| Intent {
        effect: "email.send".to_owned(),
        selector: mock_services::service::Fields::new().with(name, "x"),
        expected: mock_services::service::Fields::new(),
        defaults: mock_services::service::Fields::new(),
        times: 1,
        at_least: None,
    };
    assert_eq!(handle(&intent("order")), "order");
    assert_eq!(handle(&intent("to")), "recipient and the subject");
}

#[test]
fn an_effect_on_any_host_is_named_by_host_and_path() {
    let described = |fields: &Fields| {
        let effect = Effect { name: "web.post", n: 18, attempt: 4, id: "", fields, timing: None };
        short_description(&effect, FieldNames(&[]))
    };
    let fields = Fields::new().with("host", "api.example.com").with("path", "/v1/orders");
    assert_eq!(described(&fields), " to api.example.com/v1/orders");
    assert_eq!(described(&Fields::new().with("path", "/v1/orders")), " to /v1/orders");
}
