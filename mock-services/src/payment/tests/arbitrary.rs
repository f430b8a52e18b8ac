//! Arbitrary input.

use super::*;
use proptest::prelude::*;

const PATHS: &[&str] = &[
    "/v1/charges",
    "/v1/charges/ch_1",
    "/v1/charges/ch_1/capture",
    "/v1/payment_intents",
    "/v1/payment_intents/pi_1/confirm",
    "/v1/charges/ch_1/refunds",
    "/v1/refunds",
    "/v1/refunds/re_1",
    "/v1/customers",
    "/v1/customers/cus_1",
    "/v1/subscriptions",
    "/v1/subscriptions/sub_1",
];

/// Forms that resemble valid ones, so that more than the first check is reached.
fn near_form() -> impl Strategy<Value = String> {
    let name = "(amount|currency|customer|source|source\\[number\\]|metadata|metadata\\[[a-z%]{0,2}\\]|\
                items\\[[0-2x]\\]\\[(price|quantity|id|deleted)\\]|\
                confirm|payment_method|charge|limit|created\\[(gt|x)\\]|capture|expand\\[\\]|\
                address\\[city\\]|trial_period_days|trial_end)";
    let value = "(usd|500|-?[0-9]{1,25}|true|false|cus_1|tok_visa|pm_card_visa|ch_1|\\PC{0,5}|)";
    proptest::collection::vec((name, value).prop_map(|(name, value)| format!("{name}={value}")), 0..12)
        .prop_map(|pairs| pairs.join("&"))
}

proptest! {
    #[test]
    fn no_body_makes_the_service_panic(body: Vec<u8>, path in 0..PATHS.len()) {
        PaymentHarness::new().send(&Request::new("POST", PATHS[path]).body(body), true);
    }

    #[test]
    fn no_form_makes_the_service_panic(body in near_form(), path in 0..PATHS.len()) {
        let mut harness = PaymentHarness::new();
        let reply = harness.post(PATHS[path], &body);
        prop_assert!(matches!(reply.status, 200 | 400 | 402 | 404));
        harness.get(&format!("{}?{body}", PATHS[path]));
        harness.delete(&format!("{}?{body}", PATHS[path]));
    }

    #[test]
    fn no_path_or_query_makes_the_service_panic(
        method in "(GET|POST|DELETE|\\PC{1,4})",
        path in "(/v1/(charges|refunds|customers)?/?)?\\PC*",
        query in "\\PC*",
    ) {
        let mut harness = PaymentHarness::new();
        harness.send(&Request::new(&method, &path), true);
        harness.get(&format!("/v1/charges/search?query={query}"));
    }
}
