use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::service::{Ids, OperationKind, Value};

/// A service with its state, as the engine holds them.
struct CustomHarness {
    service: Custom,
    state: Items,
    requests: u64,
    changes: Vec<ItemChange>,
    effects: Vec<EffectFacts>,
}

impl CustomHarness {
    fn new(yaml: &str) -> Self {
        let service = Custom::from_source(&Source::new("service.yaml", yaml))
            .unwrap_or_else(|problems| panic!("{problems}"));
        CustomHarness {
            service,
            state: Items::default(),
            requests: 0,
            changes: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Sends a request, commits its effects, and returns the status and the body.
    fn send(&mut self, request: &Request) -> (u16, Json) {
        self.requests += 1;
        let context = context(self.requests);
        let answer = match self.service.recognize(request, &context) {
            Err(answer) => answer,
            Ok(recognized) => match self.service.decide(&self.state, &recognized.call, &context) {
                Decision::Refuse(refusal) => refusal.answer,
                Decision::Accept(accepted) => {
                    for effect in &accepted.effects {
                        self.service.apply(&mut self.state, effect);
                        self.effects.extend(self.service.describe(effect));
                        self.changes.push(effect.clone());
                    }
                    accepted.answer
                }
            },
        };
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Json::Null))
    }

    fn post(&mut self, target: &str, body: &Json) -> (u16, Json) {
        self.send(
            &Request::new("POST", target).header("Content-Type", "application/json").body(body.to_string()),
        )
    }

    fn get(&mut self, target: &str) -> (u16, Json) {
        self.send(&Request::new("GET", target))
    }
}

fn context(request: u64) -> Context {
    Context { now: "2026-11-15T10:00:00.5Z".parse().unwrap(), ids: Ids::new(7, "tickets", 1, request, 0) }
}

fn open_ticket(harness: &mut CustomHarness, subject: &str) -> String {
    let (status, ticket) =
        harness.post("/tickets", &json!({"customer": "cus_1", "subject": subject, "order": "ord_1"}));
    assert_eq!(status, 201);
    ticket["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_opened_ticket_is_an_effect_and_reads_show_it() {
    let mut harness = CustomHarness::new(TICKETS);
    let (status, ticket) = harness.post(
        "/tickets",
        &json!({"customer": "cus_1", "subject": "Late", "order": "ord_1", "text": {"a": 1}}),
    );
    assert_eq!(status, 201);
    let id = ticket["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("tkt_") && id.len() == 20, "{id}");
    let expected = json!({
        "id": id, "object": "ticket", "customer": "cus_1", "order": "ord_1", "subject": "Late",
        "text": {"a": 1},
        "state": "open", "last_answer": null, "created_at": "2026-11-15T10:00:00Z",
    });
    assert_eq!(ticket, expected);
    assert_eq!(harness.get(&format!("/tickets/{id}")), (200, expected.clone()));
    assert_eq!(
        harness.get("/tickets?customer=cus_1&state=open"),
        (200, json!({"data": [expected], "count": 1}))
    );
    let [effect] = harness.effects.as_slice() else { panic!("{:?}", harness.effects) };
    assert_eq!((effect.effect.as_ref(), effect.id.as_str()), ("tickets.open", id.as_str()));
    assert_eq!(effect.fields.get("order"), Some(&Value::from("ord_1")));
    assert_eq!(effect.fields.get("text"), Some(&Value::from("{\"a\":1}")));
}

#[test]
fn a_response_has_the_key_order_of_the_file() {
    let harness = CustomHarness::new(TICKETS);
    let request = Request::new("POST", "/tickets").body(r#"{"customer": "c", "subject": "s"}"#);
    let call = harness.service.recognize(&request, &context(1)).unwrap().call;
    let Decision::Accept(accepted) = harness.service.decide(&harness.state, &call, &context(1)) else {
        panic!("refused")
    };
    let body = String::from_utf8(accepted.answer.body).unwrap();
    assert!(
        body.starts_with(r#"{"id":"tkt_"#)
            && body.contains(r#""object":"ticket","customer":"c","order":null,"subject":"s""#),
        "{body}"
    );
}

#[test]
fn a_ticket_is_closed_once() {
    let mut harness = CustomHarness::new(TICKETS);
    let id = open_ticket(&mut harness, "Late");
    let (status, ticket) = harness.post(&format!("/tickets/{id}/close"), &json!({}));
    assert_eq!((status, &ticket["state"]), (200, &json!("closed")));
    assert_eq!(harness.get(&format!("/tickets/{id}")).1["state"], "closed");
    let (status, error) = harness.post(&format!("/tickets/{id}/close"), &json!({}));
    assert_eq!(status, 409);
    let message = format!("{id} cannot be changed: its state is closed");
    assert_eq!(error, json!({"error": {"status": 409, "code": "conflict", "message": message}}));
    assert_eq!(harness.effects.len(), 2);
    assert_eq!(harness.effects[1].effect, "tickets.close");
    assert_eq!(harness.effects[1].fields.get("id"), Some(&Value::from(id.as_str())));
    assert_eq!(
        harness.effects[1].fields.get("order"),
        Some(&Value::from("ord_1")),
        "the effect of a change has the fields of the changed item"
    );
}

#[test]
fn an_answer_changes_only_its_ticket() {
    let mut harness = CustomHarness::new(TICKETS);
    let (first, second) = (open_ticket(&mut harness, "Late"), open_ticket(&mut harness, "Broken"));
    assert_ne!(first, second);
    let (status, answer) = harness.post(&format!("/tickets/{first}/answers"), &json!({"text": "Sorry"}));
    assert_eq!(
        (status, answer),
        (201, json!({"ticket": first, "text": "Sorry", "created_at": "2026-11-15T10:00:00Z"}))
    );
    assert_eq!(harness.get(&format!("/tickets/{first}")).1["last_answer"], "Sorry");
    assert_eq!(harness.get(&format!("/tickets/{second}")).1["last_answer"], Json::Null);
    assert_eq!(harness.effects[2].fields.get("text"), Some(&Value::from("Sorry")));
}

#[test]
fn a_notice_goes_to_each_recipient() {
    let mut harness = CustomHarness::new(TICKETS);
    let (status, body) = harness.post("/notices", &json!({"subject": "Down", "recipients": ["a@x", "b@x"]}));
    assert_eq!((status, &body["accepted"]), (202, &json!(2)));
    let ids: Vec<&str> = harness.effects.iter().map(|effect| effect.id.as_str()).collect();
    assert_ne!(ids[0], ids[1]);
    let recipients: Vec<_> =
        harness.effects.iter().map(|effect| effect.fields.get("recipient").cloned()).collect();
    assert_eq!(recipients, [Some(Value::from("a@x")), Some(Value::from("b@x"))]);
    assert_eq!(harness.get("/notices?recipient=b%40x").1["data"].as_array().unwrap().len(), 1);
    assert_eq!(harness.post("/notices", &json!({"subject": "Down", "recipients": []})).0, 422);
    assert_eq!(harness.post("/notices", &json!({"subject": "Down"})).0, 422);
}

#[test]
fn each_refusal_has_its_own_status_and_code() {
    let mut harness = CustomHarness::new(TICKETS);
    for (request, status, code) in [
        (Request::new("GET", "/nothing"), 404, "not_found"),
        (Request::new("GET", "/tickets/tkt_0"), 404, "not_found"),
        (Request::new("POST", "/tickets/tkt_0/close"), 404, "not_found"),
        (Request::new("DELETE", "/tickets"), 405, "method_not_allowed"),
        (Request::new("POST", "/tickets").body("{"), 400, "bad_request"),
        (Request::new("POST", "/tickets").body([0xff, 0xfe]), 400, "bad_request"),
        (Request::new("POST", "/tickets").body("[]"), 400, "bad_request"),
        (Request::new("POST", "/tickets").body(r#"{"customer": "c"}"#), 422, "unprocessable_content"),
        (
            Request::new("POST", "/tickets").body(r#"{"customer": "c", "subject": null}"#),
            422,
            "unprocessable_content",
        ),
        (Request::new("POST", "/tickets"), 422, "unprocessable_content"),
    ] {
        let (found, body) = harness.send(&request);
        assert_eq!((found, body["error"]["code"].as_str()), (status, Some(code)), "{request:?}");
    }
    assert!(harness.effects.is_empty());
    let answer = harness.service.recognize(&Request::new("PUT", "/tickets"), &context(1)).unwrap_err();
    assert_eq!(answer.header("Allow"), Some("GET, POST"));
}

#[test]
fn a_form_has_the_same_effect_as_json() {
    let mut harness = CustomHarness::new(TICKETS);
    let form = Request::new("POST", "/tickets").header("Content-Type", "application/x-www-form-urlencoded");
    let (status, ticket) =
        harness.send(&form.body("customer=cus_1&subject=Too+late").header("X-Channel", "web"));
    assert_eq!((status, &ticket["subject"]), (201, &json!("Too late")));
    assert_eq!(harness.effects[0].fields.get("channel"), Some(&Value::from("web")));
}

#[test]
fn an_error_has_the_shape_that_the_file_declares() {
    let harness = CustomHarness::new(TICKETS);
    let request = Request::new("POST", "/tickets");
    let body = |answer: Answer| serde_json::from_slice::<Json>(&answer.body).unwrap();
    let failure = harness.service.failure(503, &request, &context(1));
    assert_eq!(body(failure)["error"]["code"], "service_unavailable");
    let unauthorized = harness.service.unauthorized(&request, &context(1));
    assert_eq!((unauthorized.status, unauthorized.header("WWW-Authenticate")), (401, Some("Bearer")));
    let plain = CustomHarness::new(
        "service: x\noperations: {a: {route: POST /a, fields: {b: body.b}, effect: {identity: [b]}}}",
    );
    let failure = plain.service.failure(599, &request, &context(1));
    assert_eq!(body(failure), json!({"error": {"code": "server_error", "message": "server_error"}}));
    let mut answer = Answer::empty(200);
    harness.service.add_standard_headers(&mut answer, &request, &context(1));
    assert_eq!(answer.header("X-Request-Id").map(str::len), Some(36));
}

#[test]
fn omitted_settings_have_defaults() {
    let mut harness = CustomHarness::new(
        "service: shop\noperations:\n  buy: {route: 'POST /{shop}/orders', fields: {what: body.what}, \
         effect: {identity: [what]}}\n  \
         all: {route: GET /orders, reads: buy}\n  drop: {route: 'DELETE /orders/{id}', changes: buy, set: \
         {gone: true}, answer: {status: 204}}\n",
    );
    assert_eq!(
        (harness.service.key_header(), harness.service.idempotency(), harness.service.about()),
        ("Idempotency-Key", crate::idempotency::Idempotency::new(crate::idempotency::Profile::None), None)
    );
    let (status, order) = harness.post("/corner/orders", &json!({"what": ["tea", 2]}));
    assert_eq!((status, &order["shop"], &order["what"]), (201, &json!("corner"), &json!(["tea", 2])));
    assert_eq!(order["id"].as_str().map(str::len), Some(36), "without a prefix an id is a UUID");
    assert_eq!(harness.get("/orders"), (200, json!([order])));
    let gone = Request::new("DELETE", &format!("/orders/{}", order["id"].as_str().unwrap()));
    assert_eq!(harness.send(&gone), (204, Json::Null));
    assert_eq!(harness.get("/orders").1[0]["gone"], json!(true));
}

#[test]
fn operations_are_declared_for_faults_and_scenarios() {
    let harness = CustomHarness::new(TICKETS);
    let operation = |name: &str| {
        harness.service.operations().iter().find(|operation| operation.name == name).unwrap().clone()
    };
    assert_eq!((harness.service.name(), harness.service.idempotency().name()), ("tickets", "none"));
    let open = operation("tickets.open");
    assert_eq!(
        (open.kind, open.list, open.identity),
        (OperationKind::Write, false, vec!["customer".into(), "subject".into(), "order".into()])
    );
    assert!(operation("tickets.notify").list);
    assert_eq!(operation("tickets.close").identity, ["id"]);
    let list = operation("tickets.list");
    assert!(list.kind == OperationKind::Read && list.has_field("customer") && !list.has_field("subject"));
}

#[test]
fn ids_do_not_depend_on_committed_effects() {
    let (mut busy, mut fresh) = (CustomHarness::new(TICKETS), CustomHarness::new(TICKETS));
    open_ticket(&mut busy, "a");
    open_ticket(&mut busy, "b");
    fresh.requests = 2;
    assert_eq!(open_ticket(&mut busy, "c"), open_ticket(&mut fresh, "c"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_request_makes_the_service_panic(
        method in "(GET|POST|PUT|DELETE|[A-Z]{0,4})",
        target in "/?(tickets|notices)?(/[\\PC]{0,8})?(/close)?(\\?\\PC{0,10})?",
        form: bool,
        body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..60),
            "\\{\"(customer|subject|recipients|text)\": [\\[{\"0-9e+-]{0,6}\\}?".prop_map(String::into_bytes),
        ],
    ) {
        let mut harness = CustomHarness::new(TICKETS);
        let kind = if form { "application/x-www-form-urlencoded" } else { "application/json" };
        harness.send(&Request::new(&method, &target).header("Content-Type", kind).body(body));
    }

    #[test]
    fn folding_the_first_changes_gives_the_state_after_them(
        subjects in proptest::collection::vec("[a-c]", 1..6),
        closed in 0usize..6,
    ) {
        let mut harness = CustomHarness::new(TICKETS);
        let mut seen = vec![harness.get("/tickets")];
        let mut ids = Vec::new();
        for subject in &subjects {
            ids.push(open_ticket(&mut harness, subject));
            seen.push(harness.get("/tickets"));
        }
        harness.post(&format!("/tickets/{}/close", ids[closed % ids.len()]), &json!({}));
        seen.push(harness.get("/tickets"));
        let changes = std::mem::take(&mut harness.changes);
        prop_assert_eq!(changes.len() + 1, seen.len());
        harness.state = Items::default();
        prop_assert_eq!(&harness.get("/tickets"), &seen[0]);
        for (change, seen) in changes.iter().zip(&seen[1..]) {
            harness.service.apply(&mut harness.state, change);
            prop_assert_eq!(&harness.get("/tickets"), seen);
        }
    }
}
