//! `hapax serve --send-to`: the events of live services, at a receiver of the user.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::kit::serve::{Hapax, Serve};

const CHARGE: &str = "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001";

/// A receiver of the test.
struct Receiver(TcpListener);

impl Receiver {
    fn new() -> Self {
        Receiver(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn url(&self) -> String {
        format!("http://{}/hooks/stripe", self.0.local_addr().unwrap())
    }

    /// Waits for a copy and answers it with this status: its signature and its body.
    fn next(&self, status: u16) -> (String, Value) {
        let (mut line, _) = self.0.accept().unwrap();
        let mut reader = BufReader::new(line.try_clone().unwrap());
        let (mut signature, mut length, mut text) = (String::new(), 0, String::new());
        reader.read_line(&mut text).unwrap();
        assert_eq!(text, "POST /hooks/stripe HTTP/1.1\r\n");
        loop {
            text.clear();
            reader.read_line(&mut text).unwrap();
            let Some((name, value)) = text.trim_end().split_once(": ") else { break };
            match name.to_lowercase().as_str() {
                "stripe-signature" => value.clone_into(&mut signature),
                "content-length" => length = value.parse().unwrap(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        write!(line, "HTTP/1.1 {status} It\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        (signature, serde_json::from_slice(&body).unwrap())
    }
}

#[test]
fn a_charge_sends_its_event_once_and_again_by_hand_with_a_right_or_a_wrong_signature() {
    let receiver = Receiver::new();
    let mut serve = Serve::start(&["payment", "--send-to", &receiver.url()]);
    let secret = serve.variable("STRIPE_WEBHOOK_SECRET").to_owned();
    assert!(secret.starts_with("whsec_"), "{secret}");
    assert_eq!(serve.post("payment", "/v1/charges", CHARGE, &[]).unwrap().0, 200);
    let (signature, first) = receiver.next(500);
    assert!(signature.starts_with("t="), "{signature}");
    assert_eq!(first["data"]["object"]["metadata"]["order"], "ord_1001");
    serve.wait_for("status=500");
    // It is not sent again by itself: a person does.
    let again = |signature: &str| {
        let wanted = json!([{ "id": first["id"], "signature": signature }]);
        assert_eq!(serve.admin("POST", "/v1/events", &wanted.to_string()).0, 202);
        receiver.next(200)
    };
    let (_, copy) = again("right");
    assert_eq!(copy, first, "a copy has the same body");
    let (forged, copy) = again("wrong");
    assert_eq!(copy, first);
    assert_ne!(forged, signature);
    let listed = serve.admin("GET", "/v1/events", "").1;
    assert_eq!(listed["events"][0]["copies"][0]["status"], 500, "{listed:#}");
    assert_eq!(listed["events"][0]["copies"][2]["forged"], true, "{listed:#}");
    let (status, refused) = serve.admin("POST", "/v1/events", r#"[{"id": "evt_none"}]"#);
    assert_eq!(status, 404, "{refused}");
    assert_eq!(serve.admin("POST", "/v1/events", r#"{"id": 1}"#).0, 422);
}

#[test]
fn events_that_are_held_are_sent_in_the_order_of_the_user_and_a_reset_forgets_them() {
    let receiver = Receiver::new();
    let serve = Serve::start(&["payment", "--quiet", "--send-to", &format!("payment={}", receiver.url())]);
    assert_eq!(serve.admin("POST", "/v1/events/hold", "").0, 204);
    for order in ["ord_1", "ord_2"] {
        let form = CHARGE.replace("ord_1001", order);
        assert_eq!(serve.post("payment", "/v1/charges", &form, &[]).unwrap().0, 200);
    }
    let events = loop {
        let listed = serve.admin("GET", "/v1/events", "").1;
        assert_eq!((&listed["held"], &listed["has_receiver"]), (&json!(true), &json!(true)));
        let events = listed["events"].as_array().unwrap().clone();
        if events.len() == 2 {
            break events;
        }
    };
    assert!(events.iter().all(|event| event["copies"] == json!([])), "{events:?}");
    let wanted = json!([{ "id": events[1]["id"] }, { "id": events[0]["id"] }]);
    assert_eq!(serve.admin("POST", "/v1/events", &wanted.to_string()).0, 202);
    let orders: Vec<Value> =
        (0..2).map(|_| receiver.next(200).1["data"]["object"]["metadata"]["order"].clone()).collect();
    assert_eq!(orders, ["ord_2", "ord_1"]);

    assert_eq!(serve.admin("DELETE", "/v1/ledger", "").0, 204);
    assert_eq!(serve.admin("GET", "/v1/events", "").1["events"], json!([]));
    assert_eq!(serve.admin("DELETE", "/v1/events/hold", "").0, 204);
    assert_eq!(serve.post("payment", "/v1/charges", CHARGE, &[]).unwrap().0, 200);
    assert_eq!(receiver.next(200).1["data"]["object"]["metadata"]["order"], "ord_1001");
}

#[test]
fn receivers_that_can_get_nothing_are_errors_with_the_way_out() {
    for (arguments, problem, help) in [
        (
            ["records", "--send-to", "http://127.0.0.1:9/"],
            "no service that is started sends events",
            "payment",
        ),
        (
            ["payment", "--send-to", "email=http://127.0.0.1:9/"],
            "`email`, which is not started",
            "add `email`",
        ),
        (
            ["payment", "--send-to", "127.0.0.1:9/hooks"],
            "not an http or https URL",
            "http://127.0.0.1:3000/hooks",
        ),
    ] {
        let (status, _, error) = Hapax::run(&[&["serve"], &arguments[..]].concat());
        assert_eq!(status, 2, "{arguments:?}: {error}");
        assert!(error.contains(problem) && error.contains(help), "{arguments:?}: {error}");
    }
    let wanted = ["serve", "payment", "records", "--send-to", "records=http://127.0.0.1:9/"];
    let (status, _, error) = Hapax::run(&wanted);
    assert_eq!(status, 2);
    assert!(error.contains("`records`, which sends no events") && error.contains("payment"), "{error}");
}
