//! Mail over SendGrid's API, from the request to the activity record.

use serde_json::{Value as Json, json};

use crate::email::MailDelivery;
use crate::email::tests::{EmailHarness, post};
use crate::service::{Request, Value};

fn mail(change: &Json) -> Request {
    let mut body = json!({
        "from": {"email": "shop@x.example", "name": "Shop"}, "subject": "Hi", "custom_args": {"order": "o1"},
        "personalizations": [{"to": [{"email": "Ann@x.example", "name": "Ann"}],
            "cc": [{"email": "carl@x.example"}]}],
        "content": [{"type": "text/plain", "value": "Hello"}, {"type": "text/html", "value": "<p>Hello</p>"}],
    });
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    post("/v3/mail/send", &body)
}

#[test]
fn a_mail_is_accepted_with_an_id_and_no_body() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let (answer, facts) = harness.commit(&mail(&json!({"headers": {"X-Entity-Ref-ID": "e1"}})));
    assert_eq!(
        (answer.status, answer.body.len(), answer.header("X-Message-Id").map(str::len)),
        (202, 0, Some(22))
    );
    assert_eq!(
        facts.iter().map(|facts| facts.fields.get("to").unwrap().to_string()).collect::<Vec<_>>(),
        ["ann@x.example", "carl@x.example"]
    );
    assert_eq!(answer.header("X-Message-Id"), Some(facts[0].id.as_str()));
    for (name, value) in [
        ("order", "o1"),
        ("metadata.order", "o1"),
        ("reference", "e1"),
        ("from", "shop@x.example"),
        ("text", "Hello"),
    ] {
        assert_eq!(facts[0].fields.get(name), Some(&Value::from(value)), "{name}");
    }
}

#[test]
fn each_personalization_has_its_own_subject_arguments_and_substitutions() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let (answer, facts) = harness.commit(&mail(&json!({
        "personalizations": [
            {"to": [{"email": "ann@x.example"}], "subject": "For -name-", "substitutions": {"-name-": "Ann"}},
            {"to": [{"email": "bob@x.example"}], "custom_args": {"order": "o2"}},
        ],
        "content": [{"type": "text/plain", "value": "Dear -name-"}],
    })));
    let field = |index: usize, name: &str| facts[index].fields.get(name).unwrap().to_string();
    assert_eq!(
        (field(0, "subject"), field(0, "text"), field(0, "order")),
        ("For Ann".into(), "Dear Ann".into(), "o1".into())
    );
    assert_eq!(
        (field(1, "subject"), field(1, "text"), field(1, "order")),
        ("Hi".into(), "Dear -name-".into(), "o2".into())
    );
    let token = answer.header("X-Message-Id").unwrap().to_owned();
    assert_eq!((&facts[0].id, &facts[1].id), (&token, &token));
    let (_, found) = harness.get(&format!("/v3/messages?limit=5&query=msg_id%20LIKE%20%22{token}%25%22"));
    let ids: Vec<_> = found["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["msg_id"].as_str().unwrap())
        .collect();
    assert!(ids.len() == 2 && ids[0].ends_with(".1") && ids[1].ends_with(".0"), "{ids:?}");
}

#[test]
fn a_record_shows_its_events() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    harness.commit(&mail(&json!({})));
    let (_, found) = harness.get(
        "/v3/messages?query=to_email%3D%22ann%40x.example%22%20AND%20unique_args%5B%27order%27%5D%3D%22o1%22",
    );
    let record = &found["messages"][0];
    assert_eq!(
        (&record["status"], &record["last_event_time"]),
        (&json!("delivered"), &json!("2023-11-14T22:13:20Z"))
    );
    let (status, details) = harness.get(&format!("/v3/messages/{}", record["msg_id"].as_str().unwrap()));
    assert_eq!((status, &details["events"][1]["event_name"]), (200, &json!("delivered")));
    assert_eq!(details["unique_args"], r#"{"order":"o1"}"#);
    assert_eq!(harness.get("/v3/messages/nothing").0, 404);
}

#[test]
fn all_problems_are_reported_at_once_with_their_fields() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    for (change, fields) in [
        (
            json!({"from": null, "personalizations": [], "content": []}),
            vec!["from.email", "personalizations", "content"],
        ),
        (json!({"from": {"email": "shop"}}), vec!["from.email"]),
        (json!({"subject": null}), vec!["subject"]),
        (json!({"content": [{"type": "text/plain", "value": ""}]}), vec!["content.0.value"]),
        (json!({"personalizations": [{"to": []}]}), vec!["personalizations.0.to"]),
        (json!({"personalizations": [{"to": [{"email": "x"}]}]}), vec!["personalizations.0.to.0.email"]),
        (
            json!({"personalizations": [{"to": [{"email": "a@x.example"}],
                "bcc": [{"email": "A@x.example"}]}]}),
            vec!["personalizations.0"],
        ),
        (
            json!({"personalizations": vec![json!({"to": [{"email": "a@x.example"}]}); 1001]}),
            vec!["personalizations"],
        ),
        (json!({"custom_args": {"a": "x".repeat(10_000)}}), vec!["custom_args"]),
        (json!({"subject": "x".repeat(33_000)}), vec!["headers"]),
    ] {
        let answer = harness.commit(&mail(&change)).0;
        let body: Json = serde_json::from_slice(&answer.body).unwrap();
        let other: Vec<_> =
            body["errors"].as_array().unwrap().iter().map(|error| error["field"].as_str().unwrap()).collect();
        assert_eq!((answer.status, other), (400, fields), "{body}");
    }
    for body in ["", "[]", "{\"from\":7}"] {
        assert_eq!(harness.commit(&Request::new("POST", "/v3/mail/send").body(body)).0.status, 400);
    }
}

#[test]
fn a_scheduled_mail_is_called_unsupported() {
    let answer = EmailHarness::new(MailDelivery::Now).commit(&mail(&json!({"send_at": 1_800_000_000}))).0;
    assert_eq!((answer.status, answer.missing_feature()), (400, Some("`send_at` of POST /v3/mail/send")));
}

#[test]
fn a_template_replaces_subject_and_content() {
    let (answer, facts) = EmailHarness::new(MailDelivery::Now)
        .commit(&mail(&json!({"subject": null, "content": [], "template_id": "d-1"})));
    assert_eq!((answer.status, facts.len()), (202, 2));
}

#[test]
fn a_sandbox_mail_is_checked_and_not_sent() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let (answer, facts) =
        harness.commit(&mail(&json!({"mail_settings": {"sandbox_mode": {"enable": true}}})));
    assert_eq!((answer.status, facts.len()), (200, 0));
    assert_eq!(harness.get("/v3/messages").1["messages"], json!([]));
}

#[test]
fn unknown_sendgrid_endpoints_get_sendgrid_errors() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    for (method, target, status) in [
        ("GET", "/v3/messages?limit=0", 400),
        ("GET", "/v3/messages?query=nonsense", 400),
        ("GET", "/v3/mail/send", 405),
        ("DELETE", "/v3/messages", 405),
        ("GET", "/v3/nothing", 404),
        ("GET", "/v3", 404),
    ] {
        let (answer, _) = harness.commit(&Request::new(method, target));
        let body: Json = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, body["errors"].is_array()), (status, true), "{method} {target}");
    }
}

#[test]
fn content_must_be_in_order_and_unknown_properties_are_refused() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let mut send_mail = |change: &Json| {
        let (answer, facts) = harness.commit(&mail(change));
        let body: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        assert!(answer.status == 202 || facts.is_empty());
        (answer.status, body["errors"].clone())
    };
    let content = |kinds: &[&str]| {
        let content: Vec<_> = kinds.iter().map(|kind| json!({"type": kind, "value": "x"})).collect();
        json!({"content": content})
    };
    let wrong = "If present, text/plain must be first, followed by text/html, followed by any other content.";
    for kinds in [&["text/html", "text/plain"][..], &["text/calendar", "text/html"]] {
        let (status, errors) = send_mail(&content(kinds));
        assert_eq!(
            (status, &errors[0]["message"], &errors[0]["field"]),
            (400, &json!(wrong), &json!("content")),
            "{kinds:?}"
        );
    }
    assert_eq!(send_mail(&content(&["text/html", "text/calendar"])).0, 202);
    let unknown = json!([{"message": "Additional property foo is not allowed", "field": null, "help": null}]);
    assert_eq!(send_mail(&json!({"foo": 1})), (400, unknown));
    assert_eq!(
        send_mail(
            &json!({"reply_to_list": [{"email": "a@x.example"}], "tracking_settings": {}, "attachments": []})
        )
        .0,
        202
    );
}
