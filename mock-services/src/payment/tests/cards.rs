//! Stripe's test cards: which of them pay, decline, or require authentication.

use super::*;

const PAY: &str = "amount=500&currency=usd";

#[test]
fn declined_test_cards_move_no_money() {
    let mut harness = PaymentHarness::new();
    for (source, code, decline_code) in [
        ("source=tok_visa_chargeDeclinedVelocityLimitExceeded", "card_declined", "card_velocity_exceeded"),
        ("source[number]=4000000000006975", "card_declined", "card_velocity_exceeded"),
        ("source=tok_chargeDeclinedFraudulent", "card_declined", "fraudulent"),
        ("source=tok_radarBlock", "card_declined", "fraudulent"),
        ("source=tok_threeDSecure2Required", "authentication_required", "authentication_required"),
        ("card[number]=4000002500003155", "authentication_required", "authentication_required"),
    ] {
        let reply = harness.post("/v1/charges", &format!("{PAY}&{source}"));
        reply.refused(402, Some(code));
        assert_eq!(reply.body["error"]["decline_code"], decline_code, "{source}");
        assert!(reply.executed, "a key stores a decline");
    }
    let intent =
        format!("{PAY}&confirm=true&payment_method=pm_card_visa_chargeDeclinedVelocityLimitExceeded");
    harness.post("/v1/payment_intents", &intent).refused(402, Some("card_declined"));
}

#[test]
fn invalid_card_data_is_refused() {
    let mut harness = PaymentHarness::new();
    for (written, code, param) in [
        ("[exp_month]=8", "ok", ""),
        ("[exp_year]=2020", "invalid_expiry_year", "exp_year"),
        ("[exp_month]=13", "invalid_expiry_month", "exp_month"),
        ("[cvc]=99", "invalid_cvc", "cvc"),
    ] {
        for (path, card) in [
            ("/v1/charges", "source"),
            ("/v1/charges", "card"),
            ("/v1/payment_intents", "payment_method_data[card]"),
        ] {
            let confirm =
                if path == "/v1/charges" { "" } else { "&confirm=true&payment_method_data[type]=card" };
            let reply = harness
                .post(path, &format!("{PAY}{confirm}&{card}[number]=4242424242424242&{card}{written}"));
            match code {
                "ok" => assert_eq!(reply.ok().effects.len(), 1),
                code => {
                    reply.refused(402, Some(code));
                    assert_eq!(reply.body["error"]["param"], param, "{path} {card}{written}");
                    assert!(reply.executed, "a key stores it");
                }
            }
        }
    }
}

#[test]
fn a_misspelled_card_is_refused() {
    let mut harness = PaymentHarness::new();
    let token = harness.post("/v1/charges", &format!("{PAY}&source=tok_nonsense"));
    token.refused(400, Some("resource_missing"));
    assert_eq!(token.body["error"]["message"], "No such token: 'tok_nonsense'");
    let method =
        harness.post("/v1/payment_intents", &format!("{PAY}&confirm=true&payment_method=pm_card_nonsense"));
    method.refused(400, Some("resource_missing"));
    let message = method.body["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("No such PaymentMethod: 'pm_card_nonsense'; "), "{message}");
    assert_eq!(method.body["error"]["param"], "payment_method");
}

#[test]
fn listed_cards_and_ids_of_stripe_pay() {
    let mut harness = PaymentHarness::new();
    for source in [
        "tok_visa",
        "tok_mastercard",
        "tok_amex",
        "tok_visa_debit",
        "tok_de",
        "tok_createDispute",
        "tok_1Nx",
        "card_1Nx",
    ] {
        assert_eq!(
            harness.post("/v1/charges", &format!("{PAY}&source={source}")).ok().effects.len(),
            1,
            "{source}"
        );
    }
    for method in
        ["pm_card_visa", "pm_card_discover", "pm_card_jcb", "pm_card_threeDSecureOptional", "pm_1Nx"]
    {
        let reply =
            harness.post("/v1/payment_intents", &format!("{PAY}&confirm=true&payment_method={method}")).ok();
        assert_eq!((&reply.body["status"], reply.effects.len()), (&"succeeded".into(), 1), "{method}");
    }
}

#[test]
fn an_id_keeps_its_card() {
    let mut harness = PaymentHarness::new();
    let customer = harness.post("/v1/customers", "source=tok_chargeCustomerFail").ok();
    let card = customer.body["default_source"].as_str().unwrap();
    harness
        .post("/v1/charges", &format!("{PAY}&customer={}&source={card}", customer.id()))
        .refused(402, Some("card_declined"));
    let intent =
        harness.post("/v1/payment_intents", &format!("{PAY}&payment_method=pm_card_chargeDeclined")).ok();
    let method = intent.body["payment_method"].as_str().unwrap();
    let again = harness.post("/v1/payment_intents", &format!("{PAY}&confirm=true&payment_method={method}"));
    again.refused(402, Some("card_declined"));
    let unpaid = "customer=cus_1&items[0][price]=p&default_payment_method=pm_card_chargeDeclined";
    let unpaid = harness.post("/v1/subscriptions", unpaid).ok();
    let method = unpaid.body["default_payment_method"].as_str().unwrap();
    let again = harness.post("/v1/payment_intents", &format!("{PAY}&confirm=true&payment_method={method}"));
    again.refused(402, Some("card_declined"));
}

#[test]
fn a_customer_with_two_cards_pays_with_the_default_one() {
    let mut harness = PaymentHarness::new();
    let id = harness.post("/v1/customers", "source=tok_mastercard").id();
    harness
        .post(&format!("/v1/customers/{id}"), "invoice_settings[default_payment_method]=pm_card_amex")
        .ok();
    let charge = harness.post("/v1/charges", &format!("{PAY}&customer={id}")).ok();
    assert_eq!(charge.body["payment_method_details"]["card"]["brand"], "mastercard");
}

#[test]
fn a_card_that_requires_authentication_moves_no_money() {
    let mut harness = PaymentHarness::new();
    for method in [
        "payment_method=pm_card_authenticationRequired",
        "payment_method=pm_card_threeDSecure2Required",
        "payment_method=pm_card_threeDSecureRequired",
        "payment_method_data[type]=card&payment_method_data[card][number]=4000002500003155",
    ] {
        let reply = harness.post("/v1/payment_intents", &format!("{PAY}&confirm=true&{method}")).ok();
        assert_eq!((&reply.body["status"], reply.effects.len()), (&"requires_action".into(), 0), "{method}");
        assert_eq!(reply.body["next_action"]["type"], "use_stripe_sdk");
        let path = format!("/v1/payment_intents/{}", reply.id());
        assert_eq!(harness.get(&path).ok().body, reply.body);
        let again = harness.post(&format!("{path}/confirm"), "return_url=https://shop.example/back").ok();
        assert_eq!((&again.body["status"], again.effects.len()), (&"requires_action".into(), 0));
        assert_eq!(again.body["next_action"]["redirect_to_url"]["return_url"], "https://shop.example/back");
        let other = harness.post(&format!("{path}/confirm"), "payment_method=pm_card_visa").ok();
        assert_eq!((&other.body["status"], other.effects.len()), (&"succeeded".into(), 1));
        assert_eq!(other.body["next_action"], Value::Null);
    }
}

#[test]
fn an_absent_payer_cannot_authenticate() {
    let mut harness = PaymentHarness::new();
    for away in ["off_session=true", "error_on_requires_action=true"] {
        let body = format!("{PAY}&confirm=true&payment_method=pm_card_authenticationRequired&{away}");
        let reply = harness.post("/v1/payment_intents", &body);
        reply.refused(402, Some("authentication_required"));
        assert_eq!(reply.body["error"]["payment_intent"]["status"], "requires_payment_method");
    }
    let waiting = harness.post(
        "/v1/payment_intents",
        &format!("{PAY}&confirm=true&payment_method=pm_card_authenticationRequired"),
    );
    let path = format!("/v1/payment_intents/{}/cancel", waiting.ok().id());
    let given_up = harness.post(&path, "").ok();
    assert_eq!((&given_up.body["status"], &given_up.body["next_action"]), (&"canceled".into(), &Value::Null));
}
