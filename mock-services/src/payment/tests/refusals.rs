//! Stripe's refusals, with its messages.

use super::*;

const GOOD: &str = "amount=500&currency=usd&customer=cus_1";

#[test]
fn invalid_parameters_are_refused_before_execution() {
    let mut harness = PaymentHarness::new();
    for (body, code, param) in [
        (format!("{GOOD}&shoe=1"), Some("parameter_unknown"), Some("shoe")),
        (format!("{GOOD}&metadata[order=1"), Some("parameter_unknown"), Some("metadata[order")),
        ("currency=usd&customer=cus_1".to_owned(), Some("parameter_missing"), Some("amount")),
        ("amount=500&customer=cus_1".to_owned(), Some("parameter_missing"), Some("currency")),
        ("amount=500&currency=usd".to_owned(), Some("parameter_missing"), None),
        (
            "amount=5.00&currency=usd&customer=cus_1".to_owned(),
            Some("parameter_invalid_integer"),
            Some("amount"),
        ),
        (
            "amount=-5&currency=usd&customer=cus_1".to_owned(),
            Some("parameter_invalid_integer"),
            Some("amount"),
        ),
        (
            format!("amount=1{}&currency=usd&customer=cus_1", "0".repeat(40)),
            Some("parameter_invalid_integer"),
            Some("amount"),
        ),
        ("amount=49&currency=usd&customer=cus_1".to_owned(), Some("amount_too_small"), Some("amount")),
        ("amount=100000000&currency=usd&customer=cus_1".to_owned(), Some("amount_too_large"), Some("amount")),
        ("amount=500&currency=xyz&customer=cus_1".to_owned(), None, Some("currency")),
        ("amount=&currency=usd&customer=cus_1".to_owned(), Some("parameter_invalid_empty"), Some("amount")),
        ("amount[a]=1&currency=usd&customer=cus_1".to_owned(), None, Some("amount")),
        ("amount=500&currency=usd&customer=nobody".to_owned(), Some("resource_missing"), Some("customer")),
        (format!("{GOOD}&capture=maybe"), Some("parameter_invalid_boolean"), Some("capture")),
    ] {
        let reply = harness.post("/v1/charges", &body);
        reply.refused(400, code);
        assert_eq!(reply.body["error"]["param"].as_str(), param, "{body}");
        assert_eq!(reply.body["error"]["type"], "invalid_request_error");
        assert!(!reply.executed, "{body}");
    }
}

#[test]
fn an_error_has_a_documentation_page() {
    let error = PaymentHarness::new().post("/v1/charges", &format!("{GOOD}&shoe=1")).body["error"].clone();
    assert_eq!(error["message"], "Received unknown parameter: shoe");
    assert_eq!(error["doc_url"], "https://stripe.com/docs/error-codes/parameter-unknown");
    let log = error["request_log_url"].as_str().unwrap();
    assert!(
        log.starts_with("https://dashboard.stripe.com/test/logs/req_") && log.ends_with("?t=1800000001"),
        "{log}"
    );
}

#[test]
fn a_body_that_is_not_a_form_is_refused() {
    let mut harness = PaymentHarness::new();
    for body in [&b"amount=%zz"[..], b"amount=\xff\xfe", b"amount=%f", b"%=1"] {
        harness.send(&Request::new("POST", "/v1/charges").body(body), true).refused(400, None);
    }
    let json = Request::new("POST", "/v1/charges")
        .header("Content-Type", "application/json")
        .body("{\"amount\":500}");
    harness.send(&json, true).refused(400, None);
}

#[test]
fn unknown_paths_and_methods_get_the_message_of_stripe() {
    let mut harness = PaymentHarness::new();
    for (method, path) in [
        ("GET", "/v1/x"),
        ("GET", "/"),
        ("PUT", "/v1/charges"),
        ("DELETE", "/v1/charges/ch_1"),
        ("POST", "/v1/charges/ch_1/refund/now"),
        ("POST", "/v1/payment_intents/pi_1/explode"),
        ("GET", "/v2/charges"),
    ] {
        let reply = harness.send(&Request::new(method, path), true);
        reply.refused(404, None);
        let message = reply.body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("Unrecognized request URL ({method}: {path}).")), "{message}");
    }
    let reply = harness.get("/v1/charges/");
    assert!(reply.body["error"]["message"].as_str().unwrap().contains("remove the trailing slash"));
}

#[test]
fn unsupported_parameters_are_refused_as_unsupported() {
    let mut harness = PaymentHarness::new();
    let intent = "amount=500&currency=usd&customer=cus_1";
    for (path, body, param) in [
        (
            "/v1/payment_intents",
            format!("{intent}&transfer_data[amount]=5&transfer_data[destination]=acct_1"),
            "transfer_data[amount]",
        ),
        ("/v1/customers", "tax_id_data[0][type]=eu_vat".to_owned(), "tax_id_data"),
        (
            "/v1/subscriptions",
            "customer=cus_1&items[0][price]=p&default_tax_rates[0]=txr_1".to_owned(),
            "default_tax_rates",
        ),
        (
            "/v1/subscriptions",
            "customer=cus_1&items[0][price_data][unit_amount]=5".to_owned(),
            "items[0][price_data][unit_amount]",
        ),
        ("/v1/payment_intents/pi_1/capture", "final_capture=false".to_owned(), "final_capture"),
    ] {
        let reply = harness.post(path, &body);
        reply.refused(400, None);
        assert_eq!(reply.body["error"]["param"], param);
        assert!(
            reply.body["error"]["message"].as_str().unwrap().starts_with("hapax does not have "),
            "{}",
            reply.body
        );
    }
    let unknown = harness.post("/v1/customers", "tax_id_data[0][type]=eu_vat&shoe=1");
    unknown.refused(400, Some("parameter_unknown"));
    harness.post("/v1/customers", "cash_balance=").ok();
}
