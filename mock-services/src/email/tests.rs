//! The whole service: its responses, its effects, and what its reads show.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::{Effect, Email, EmailOptions, MailDelivery, Mailbox};
use crate::service::{
    Accepted, After, Answer, Context, Decision, EffectFacts, Envelope, Ids, Request, Service, Value,
};

/// The service with its state, in place of an engine that commits everything at once.
pub(super) struct EmailHarness {
    pub(super) service: Email,
    pub(super) state: Mailbox,
    requests: u64,
}

impl EmailHarness {
    pub(super) fn new(delivery: MailDelivery) -> Self {
        let service = Email::new(EmailOptions { delivery, addresses: Vec::new() });
        EmailHarness { service, state: Mailbox::default(), requests: 0 }
    }

    pub(super) fn decide(&mut self, request: &Request) -> Result<Accepted<Effect>, Answer> {
        self.requests += 1;
        let context = context(self.requests);
        let into_recognized = self.service.recognize(request, &context)?;
        let operation = &self.service.operations()[into_recognized.operation];
        for (name, _) in into_recognized.fields.iter() {
            assert!(operation.has_field(name), "{} does not declare {name}", operation.name);
        }
        match self.service.decide(&self.state, &into_recognized.call, &context) {
            Decision::Accept(accepted) => Ok(accepted),
            Decision::Refuse(refusal) => Err(refusal.answer),
        }
    }

    /// The response and the ledger's facts.
    pub(super) fn commit(&mut self, request: &Request) -> (Answer, Vec<EffectFacts>) {
        match self.decide(request) {
            Ok(accepted) => {
                accepted.effects.iter().for_each(|effect| self.service.apply(&mut self.state, effect));
                (
                    accepted.answer,
                    accepted.effects.iter().filter_map(|effect| self.service.describe(effect)).collect(),
                )
            }
            Err(answer) => (answer, Vec::new()),
        }
    }

    pub(super) fn get(&mut self, target: &str) -> (u16, Json) {
        let (answer, _) = self.commit(&Request::new("GET", target));
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }
}

pub(super) fn context(request: u64) -> Context {
    Context { now: Timestamp::from_second(1_700_000_000).unwrap(), ids: Ids::new(7, "email", 1, request, 0) }
}

pub(super) fn post(path: &str, body: &Json) -> Request {
    Request::new("POST", path).body(body.to_string())
}

fn mail(to: &[&str]) -> Json {
    json!({"from": "Shop <shop@x.example>", "to": to, "subject": "Hi", "text": "Hello",
        "tags": [{"name": "order", "value": "o1"}]})
}

fn sendgrid_mail() -> Json {
    json!({"from": {"email": "shop@x.example"}, "subject": "Hi",
        "personalizations": [{"to": [{"email": "ann@x.example"}]}],
        "content": [{"type": "text/plain", "value": "Hello"}]})
}

fn id(answer: &Answer) -> String {
    serde_json::from_slice::<Json>(&answer.body).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn each_delivery_is_one_effect_after_the_acceptance() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let mut body = mail(&["Ann <Ann@x.example>", "bob@x.example"]);
    body["bcc"] = json!("carl@x.example");
    let accepted = harness.decide(&post("/emails", &body)).unwrap();
    assert!(
        matches!(accepted.effects[0], Effect::Accepted(_))
            && harness.service.describe(&accepted.effects[0]).is_none()
    );
    let facts: Vec<_> =
        accepted.effects[1..].iter().map(|effect| harness.service.describe(effect).unwrap()).collect();
    let to: Vec<_> = facts.iter().map(|facts| facts.fields.get("to").unwrap().to_string()).collect();
    assert_eq!(to, ["ann@x.example", "bob@x.example", "carl@x.example"]);
    assert_eq!((facts[0].effect.as_ref(), &facts[0].id), ("email.send", &id(&accepted.answer)));
    let fields = serde_json::to_value(&facts[0].fields).unwrap();
    assert_eq!(
        fields,
        json!({"to": "ann@x.example", "from": "shop@x.example", "subject": "Hi", "text": "Hello",
            "message": id(&accepted.answer),
            "order": "o1", "metadata.order": "o1"})
    );
}

#[test]
fn a_mail_that_is_delivered_later_is_first_shown_as_accepted() {
    let mut harness = EmailHarness::new(MailDelivery::After(After::Requests(1)));
    let accepted = harness.decide(&post("/emails", &mail(&["ann@x.example"]))).unwrap();
    assert_eq!(
        (accepted.effects.len(), accepted.afterwards.len(), accepted.afterwards[0].0),
        (1, 1, After::Requests(1))
    );
    harness.service.apply(&mut harness.state, &accepted.effects[0]);
    let target = format!("/emails/{}", id(&accepted.answer));
    assert_eq!(harness.get(&target).1["last_event"], "sent");
    let later = &accepted.afterwards[0].1;
    assert!(harness.service.describe(later).is_some());
    harness.service.apply(&mut harness.state, later);
    assert_eq!(harness.get(&target).1["last_event"], "delivered");
}

#[test]
fn a_mail_that_is_never_delivered_or_bounces_leaves_no_effect() {
    let mut harness = EmailHarness::new(MailDelivery::Never);
    assert!(harness.commit(&post("/emails", &mail(&["ann@x.example"]))).1.is_empty());
    let accepted = harness.decide(&post("/emails", &mail(&["bounced@resend.dev"]))).unwrap();
    for effect in accepted.effects.iter().chain(accepted.afterwards.iter().map(|(_, effect)| effect)) {
        assert!(harness.service.describe(effect).is_none());
        harness.service.apply(&mut harness.state, effect);
    }
    let (_, list) = harness.get("/emails");
    assert_eq!(
        (&list["data"][0]["last_event"], &list["data"][1]["last_event"]),
        (&json!("bounced"), &json!("sent"))
    );
    let (_, found) = harness.get("/v3/messages?query=status%3D%22not_delivered%22");
    assert_eq!(
        (&found["messages"][0]["to_email"], &found["messages"][1]),
        (&json!("bounced@resend.dev"), &Json::Null)
    );
}

#[test]
fn part_of_a_list_can_be_committed_and_the_rest_later() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let accepted = harness.decide(&post("/emails", &mail(&["ann@x.example", "bob@x.example"]))).unwrap();
    accepted.effects[..2].iter().for_each(|effect| harness.service.apply(&mut harness.state, effect));
    let target = format!("/emails/{}", id(&accepted.answer));
    assert_eq!(harness.get(&target).1["last_event"], "sent");
    for effect in [&accepted.effects[0], &accepted.effects[2]] {
        harness.service.apply(&mut harness.state, effect);
    }
    assert_eq!(harness.get(&target).1["last_event"], "delivered");
    assert_eq!(harness.get("/emails").1["data"].as_array().unwrap().len(), 1);
}

#[test]
fn the_response_to_a_mail_does_not_depend_on_what_was_committed() {
    for request in [
        post("/emails", &mail(&["ann@x.example"])),
        post("/emails/batch", &json!([mail(&["ann@x.example"]), mail(&["bob@x.example"])])),
        post("/v3/mail/send", &sendgrid_mail()),
        Request::smtp(
            Envelope { from: "a@x.example".to_owned(), to: vec!["b@x.example".to_owned()] },
            b"Subject: x\r\n\r\ny".to_vec(),
        ),
    ] {
        let (mut empty, mut full) =
            (EmailHarness::new(MailDelivery::Now), EmailHarness::new(MailDelivery::Never));
        for _ in 0..3 {
            full.commit(&request);
        }
        full.requests = 0;
        assert_eq!(empty.decide(&request).unwrap().answer, full.decide(&request).unwrap().answer);
    }
}

#[test]
fn a_permissive_batch_is_sent_without_its_invalid_mails() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let batch = |mails: Json, mode: &str| post("/emails/batch", &mails).header("x-batch-validation", mode);
    let wrong = json!({"from": "shop@x.example", "to": [], "subject": "Hi", "text": "Hello"});
    let mails = json!([mail(&["ann@x.example"]), wrong, mail(&["bob@x.example"])]);
    let (strict, facts) = harness.commit(&batch(mails.clone(), "strict"));
    assert_eq!((strict.status, facts.len()), (422, 0));
    let (answer, facts) = harness.commit(&batch(mails, "permissive"));
    let body: Json = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, facts.len(), body["data"].as_array().unwrap().len()), (200, 2, 2));
    assert_eq!(body["errors"], json!([{"index": 1, "message": "Missing `to` field."}]));
    let (answer, facts) = harness.commit(&batch(json!([wrong]), "permissive"));
    let body: Json = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, facts.len(), &body["data"]), (200, 0, &json!([])));
}

#[test]
fn a_batch_has_an_id_for_each_mail() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let (answer, facts) =
        harness.commit(&post("/emails/batch", &json!([mail(&["ann@x.example"]), mail(&["bob@x.example"])])));
    let body: Json = serde_json::from_slice(&answer.body).unwrap();
    let ids: BTreeSet<_> =
        body["data"].as_array().unwrap().iter().map(|sent| sent["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, facts.iter().map(|facts| facts.id.clone()).collect());
    assert_eq!(ids.len(), 2);
    assert_eq!(
        harness.commit(&post("/emails/batch", &json!([mail(&["ann@x.example"])]))).0.body.get(..8),
        Some(&b"{\"data\":"[..])
    );
}

#[test]
fn a_mail_over_smtp_is_queued_and_shown_by_all_apis() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let envelope = Envelope { from: "bounce@x.example".to_owned(), to: vec!["Ann@x.example".to_owned()] };
    let (answer, facts) = harness
        .commit(&Request::smtp(envelope, b"From: shop@x.example\r\nSubject: Hi\r\n\r\nHello\r\n".to_vec()));
    assert_eq!(
        (answer.status, String::from_utf8(answer.body).unwrap()),
        (250, format!("2.0.0 Ok: queued as {}", facts[0].id))
    );
    assert_eq!(facts[0].fields.get("text"), Some(&Value::from("Hello")));
    let (_, list) = harness.get("/emails");
    assert_eq!(
        (&list["data"][0]["subject"], &list["data"][0]["last_event"]),
        (&json!("Hi"), &json!("delivered"))
    );
    let (_, found) = harness.get("/v3/messages?query=to_email%3D%22ann%40x.example%22");
    assert_eq!(found["messages"][0]["from_email"], "shop@x.example");
}

#[test]
fn the_list_is_paged_from_the_newest() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let ids: Vec<_> =
        (0..5).map(|_| id(&harness.commit(&post("/emails", &mail(&["ann@x.example"]))).0)).collect();
    let mut page = |query: &str| {
        let (status, list) = harness.get(&format!("/emails{query}"));
        assert_eq!((status, &list["object"]), (200, &json!("list")), "{list}");
        let places = list["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| ids.iter().position(|id| item["id"] == **id).unwrap());
        (places.collect::<Vec<_>>(), list["has_more"].as_bool().unwrap())
    };
    assert_eq!(page(""), (vec![4, 3, 2, 1, 0], false));
    assert_eq!(page("?limit=2"), (vec![4, 3], true));
    assert_eq!(page(&format!("?limit=2&after={}", ids[3])), (vec![2, 1], true));
    assert_eq!(page(&format!("?limit=2&after={}", ids[2])), (vec![1, 0], false));
    assert_eq!(page(&format!("?limit=2&before={}", ids[1])), (vec![3, 2], true));
    assert_eq!(page(&format!("?before={}", ids[3])), (vec![4], false));
}

#[test]
fn unknown_resend_endpoints_get_resend_errors() {
    let mut harness = EmailHarness::new(MailDelivery::Now);
    let nobody = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    for (method, target, status, name) in [
        ("GET", "/emails?limit=0", 422, "validation_error"),
        ("GET", "/emails?limit=101", 422, "validation_error"),
        ("GET", "/emails?after=x", 422, "invalid_parameter"),
        ("GET", &format!("/emails?after={nobody}"), 404, "not_found"),
        ("GET", &format!("/emails?after={nobody}&before={nobody}"), 422, "validation_error"),
        ("GET", &format!("/emails/{nobody}"), 404, "not_found"),
        ("GET", "/emails/x", 422, "invalid_parameter"),
        ("POST", &format!("/emails/{nobody}/cancel"), 422, "validation_error"),
        ("PATCH", &format!("/emails/{nobody}"), 422, "validation_error"),
        ("DELETE", "/emails", 405, "method_not_allowed"),
        ("GET", "/emails/batch", 405, "method_not_allowed"),
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/", 404, "not_found"),
    ] {
        let (answer, _) = harness.commit(&Request::new(method, target));
        let body: Json = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &body["statusCode"], &body["name"]),
            (status, &json!(status), &json!(name)),
            "{method} {target}"
        );
    }
}

#[test]
fn failures_and_refusals_have_the_format_of_the_api() {
    let (email, context) = (Email::default(), context(1));
    let (resend, sendgrid) = (Request::new("POST", "/emails"), Request::new("POST", "/v3/mail/send"));
    let smtp = Request::smtp(Envelope { from: String::new(), to: Vec::new() }, Vec::new());
    let body = |answer: Answer| String::from_utf8(answer.body).unwrap();
    assert_eq!(email.failure(429, &resend, &context).header("retry-after"), Some("1"));
    assert!(body(email.failure(429, &resend, &context)).contains("rate_limit_exceeded"));
    assert!(body(email.failure(500, &resend, &context)).contains("internal_server_error"));
    assert_eq!(
        body(email.failure(429, &sendgrid, &context)),
        r#"{"errors":[{"field":null,"message":"too many requests"}]}"#
    );
    assert_eq!(email.failure(429, &smtp, &context).status, 450);
    let keyed = sendgrid.clone().header("Authorization", "Bearer x");
    assert!(
        body(email.unauthorized(&keyed, &context)).contains("The provided authorization grant is invalid")
    );
    assert!(body(email.unauthorized(&resend, &context)).contains("missing_api_key"));
    assert!(
        body(email.unauthorized(&resend.header("Authorization", "Bearer x"), &context))
            .contains("API key is invalid")
    );
    assert_eq!(email.unauthorized(&smtp, &context).status, 535);
    for status in 400..600 {
        assert_eq!(email.failure(status, &keyed, &context).status, status);
        assert_eq!(email.failure(status, &Request::new("POST", "/emails"), &context).status, status);
    }
}

#[test]
fn responses_have_the_standard_headers_of_the_real_services() {
    let (email, context) = (Email::default(), context(1));
    let dressed = |request: &Request, status| {
        let mut answer = email.failure(status, request, &context);
        email.add_standard_headers(&mut answer, request, &context);
        answer
    };
    let resend = dressed(&Request::new("POST", "/emails"), 429);
    assert_eq!(
        (resend.header("ratelimit-remaining"), resend.header("Server")),
        (Some("0"), Some("cloudflare"))
    );
    let sendgrid = dressed(&Request::new("POST", "/v3/mail/send"), 429);
    assert_eq!(
        (sendgrid.header("X-RateLimit-Remaining"), sendgrid.header("Server")),
        (Some("0"), Some("nginx"))
    );
    let smtp = Request::smtp(Envelope { from: String::new(), to: Vec::new() }, Vec::new());
    assert!(dressed(&smtp, 500).headers.is_empty());
}
