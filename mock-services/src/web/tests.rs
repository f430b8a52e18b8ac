use jiff::Timestamp;
use serde_json::{Value, json};
use yaml_reader::{Reader, Source, parse};

use super::*;
use crate::service::{Fields, Ids};

/// The service with a state, called as the engine calls it without faults.
struct Called {
    web: Web,
    state: State,
    requests: u64,
    /// The fields of all effects so far.
    effects: Vec<(String, Fields)>,
}

impl Called {
    fn new(options: WebOptions) -> Self {
        Called { web: Web::new(options), state: State::default(), requests: 0, effects: Vec::new() }
    }

    /// The answer to a request, which is committed: its status and its body.
    fn send(&mut self, request: &Request) -> (u16, Value) {
        self.requests += 1;
        let ids = Ids::new(1, "web", 1, self.requests, 0);
        let context = Context { now: Timestamp::UNIX_EPOCH, ids };
        let recognized = match self.web.recognize(request, &context) {
            Ok(recognized) => recognized,
            Err(answer) => return shown(answer),
        };
        match self.web.decide(&self.state, &recognized.call, &context) {
            Decision::Refuse(refusal) => shown(refusal.answer),
            Decision::Accept(accepted) => {
                for effect in &accepted.effects {
                    let facts = self.web.describe(effect).unwrap();
                    self.effects.push((facts.effect.to_string(), facts.fields));
                    self.web.apply(&mut self.state, effect);
                }
                shown(accepted.answer)
            }
        }
    }

    fn json(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send(&request(method, path).header("Content-Type", "application/json").body(body.to_string()))
    }

    fn get(&mut self, path: &str) -> (u16, Value) {
        self.send(&request("GET", path))
    }
}

fn shown(answer: Answer) -> (u16, Value) {
    let answer = answer.written();
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    (answer.status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn request(method: &str, path: &str) -> Request {
    Request::new(method, path).header("Host", "api.example.com")
}

/// The fields of the effect of one request.
fn effect(options: WebOptions, request: &Request) -> Fields {
    let mut called = Called::new(options);
    called.send(request);
    called.effects.remove(0).1
}

#[test]
fn what_is_posted_can_be_read_changed_and_deleted() {
    let mut web = Called::new(WebOptions::default());
    let (status, made) = web.json("POST", "/v1/orders", &json!({ "sku": "a", "meta": { "x": 1 } }));
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!((status, &made["sku"], &made["meta"]["x"]), (201, &json!("a"), &json!(1)));
    let path = format!("/v1/orders/{id}");
    assert_eq!(web.get(&path), (200, made.clone()));
    assert_eq!(web.get("/v1/orders"), (200, json!({ "data": [made], "total": 1 })));

    let (status, patched) =
        web.json("PATCH", &path, &json!({ "sku": null, "meta": { "y": 2 }, "state": "paid" }));
    assert_eq!(status, 200);
    assert_eq!(patched, json!({ "id": id, "meta": { "x": 1, "y": 2 }, "state": "paid" }));
    assert_eq!(web.json("PUT", &path, &json!({ "sku": "b" })), (200, json!({ "id": id, "sku": "b" })));
    assert_eq!(web.get(&path).1["sku"], "b");
    assert_eq!(web.send(&request("DELETE", &path)), (200, json!({ "id": id, "deleted": true })));
    assert_eq!(web.get(&path).0, 404);
    assert_eq!(web.get("/v1/orders"), (200, json!({ "data": [], "total": 0 })));
    let names: Vec<&str> = web.effects.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["web.post", "web.patch", "web.put", "web.delete"]);
}

#[test]
fn a_list_can_be_filtered_by_the_fields_of_its_items() {
    let mut web = Called::new(WebOptions::default());
    for order in ["ord_1", "ord_2"] {
        web.json("POST", "/refunds", &json!({ "order": order }));
    }
    let count = |web: &mut Called, path: &str| web.get(path).1["total"].clone();
    assert_eq!(count(&mut web, "/refunds?order=ord_2"), 1);
    assert_eq!(count(&mut web, "/refunds?order=ord_3"), 0);
    assert_eq!(count(&mut web, "/refunds?limit=10"), 2, "a name that no item has does not filter");
}

#[test]
fn what_was_never_made_is_an_empty_list_or_is_not_found() {
    let mut web = Called::new(WebOptions::default());
    assert_eq!(web.get("/v1/orders"), (200, json!({ "data": [], "total": 0 })));
    assert_eq!(web.get("/v2").0, 200);
    assert_eq!(web.get("/v1/orders/17").0, 404);
    assert_eq!(web.get("/users/ann").0, 200);
    web.json("PUT", "/users/bob", &json!({}));
    assert_eq!(web.get("/users/ann").0, 404, "its sibling shows that it would be one thing");
}

#[test]
fn no_write_is_refused() {
    let mut web = Called::new(WebOptions::default());
    assert_eq!(web.json("PUT", "/users/7", &json!({ "name": "Ann" })).1, json!({ "id": "7", "name": "Ann" }));
    assert_eq!(web.json("PATCH", "/users/8", &json!({ "name": "Bob" })).0, 200);
    assert_eq!(web.send(&request("DELETE", "/users/9")).0, 200);
    assert_eq!(web.send(&request("POST", "/")).0, 201);
    assert_eq!(web.json("POST", "/lists", &json!([1, 2])).1["data"], json!([1, 2]));
    assert_eq!(web.json("POST", "/users", &json!({ "id": 10 })).1, json!({ "id": 10 }));
    assert_eq!(web.get("/users/10").0, 200);
    assert_eq!(web.effects.len(), 6);
}

#[test]
fn each_host_has_its_own_state_and_this_machine_is_no_host() {
    let mut web = Called::new(WebOptions::default());
    web.send(&Request::new("POST", "/x").header("Host", "A.example:443").body("{}"));
    let of = |web: &mut Called, host: &str| {
        web.send(&Request::new("GET", "/x").header("Host", host)).1["total"].clone()
    };
    assert_eq!([of(&mut web, "a.example"), of(&mut web, "b.example")], [1, 0]);
    assert_eq!(web.effects[0].1.get("host"), Some(&"a.example".into()));
    for host in ["127.0.0.1:4711", "localhost:80", "[::1]:80", "api.localhost"] {
        let local = effect(WebOptions::default(), &Request::new("POST", "/x").header("Host", host));
        assert_eq!(local, Fields::new().with("path", "/x"), "{host}");
    }
}

#[test]
fn the_identity_does_not_depend_on_order_spaces_or_ignored_names() {
    let options =
        WebOptions { ignore: vec!["request_id".to_owned(), "meta.at".to_owned()], ..WebOptions::default() };
    let of = |path: &str, body: &str| effect(options.clone(), &request("POST", path).body(body));
    let first = of("/x?b=2&a=1&request_id=7", r#"{"a": 1, "b": [{"request_id": "r1"}], "meta": {"at": 5}}"#);
    let again = of("/x/?a=1&b=2&request_id=8", r#"{"meta":{"at":6},"b":[{"request_id":"r2"}],"a":1}"#);
    assert_eq!(first, again);
    assert_eq!(first.get("body"), Some(&r#"{"a":1,"b":[{}],"meta":{}}"#.into()));
    assert_eq!(first.get("query"), Some(&"a=1&b=2".into()));
    assert_ne!(first, of("/x?a=1&b=2", r#"{"a": 2, "b": [{}], "meta": {}}"#));
    assert_ne!(first, of("/x?a=2&b=2", r#"{"a": 1, "b": [{}], "meta": {}}"#));
}

#[test]
fn values_of_a_body_are_fields() {
    let body = json!({ "order": { "id": "ord_1", "paid": true }, "to": ["a", "b"], "n": 4999, "f": 1.5,
        "rows": [{ "sku": "x" }], "none": null });
    let fields = effect(WebOptions::default(), &request("POST", "/x").body(body.to_string()));
    let expected = Fields::new()
        .with("host", "api.example.com")
        .with("path", "/x")
        .with("body", body.to_string())
        .with("body.f", "1.5")
        .with("body.n", 4999)
        .with("body.order.id", "ord_1")
        .with("body.order.paid", true)
        .with("body.rows.0.sku", "x")
        .with("body.to", vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(fields, expected);
}

#[test]
fn forms_have_the_same_fields_as_json() {
    let form = request("POST", "/x")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("metadata[order]=ord_1&to[]=a&to[]=b&tag=x&tag=y&note=a%20b&note[x]=1&odd[=2");
    let fields = effect(WebOptions::default(), &form);
    assert_eq!(fields.get("body.metadata.order"), Some(&"ord_1".into()));
    assert_eq!(fields.get("body.to"), Some(&vec!["a".to_owned(), "b".to_owned()].into()));
    assert_eq!(fields.get("body.tag"), Some(&vec!["x".to_owned(), "y".to_owned()].into()));
    assert_eq!(fields.get("body.note"), Some(&"a b".into()));
    assert_eq!(fields.get("body.note.x"), Some(&"1".into()));
    assert_eq!(fields.get("body.odd["), Some(&"2".into()));
}

#[test]
fn the_boundary_of_a_multipart_body_is_not_part_of_its_identity() {
    let with = |boundary: &str, file: &str| {
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"order\"\r\n\r\nord_1\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\
             \r\n\r\n{file}\r\n--{boundary}--\r\n"
        );
        let kind = format!("multipart/form-data; boundary={boundary}");
        effect(WebOptions::default(), &request("POST", "/x").header("Content-Type", &kind).body(body))
    };
    assert_eq!(with("aaa", "text"), with("bbb", "text"));
    assert_ne!(with("aaa", "text"), with("aaa", "other"));
    assert_eq!(with("aaa", "text").get("body.order"), Some(&"ord_1".into()));
}

#[test]
fn any_other_body_is_a_text_and_a_long_one_is_cut_without_becoming_equal_to_another() {
    let of = |body: &[u8]| effect(WebOptions::default(), &request("POST", "/x").body(body));
    assert_eq!(of(b"<a/>").get("body"), Some(&"<a/>".into()));
    assert!(of(&[0xff, 0xfe]).get("body").unwrap().to_string().starts_with("2 bytes, sha256 "));
    assert_eq!(of(b"{broken").get("body"), Some(&"{broken".into()));
    let long = |end: &str| of(format!("{}{end}", "x".repeat(5_000)).as_bytes());
    assert!(long("1").get("body").unwrap().to_string().len() < 2_200);
    assert_ne!(long("1"), long("2"));
    assert_eq!(of(&[b'['; 100_000]).len(), 3);
}

#[test]
fn an_idempotency_key_is_found_in_headers_and_in_the_body() {
    let web = Web::default();
    let key = |request: Request| web.key_of(&request).map(Cow::into_owned);
    assert_eq!(key(request("POST", "/x").header("Idempotency-Key", "k1")).as_deref(), Some("k1"));
    assert_eq!(key(request("POST", "/x").header("X-Idempotency-Key", "k2")).as_deref(), Some("k2"));
    let in_body = request("POST", "/x").body(r#"{"idempotency_key": "k3", "a": 1}"#);
    assert_eq!(key(in_body.clone()).as_deref(), Some("k3"));
    assert_eq!(key(request("POST", "/x").body("a")), None);
    let fields = effect(WebOptions::default(), &in_body);
    assert_eq!(fields.get("body"), Some(&r#"{"a":1}"#.into()), "the key is not part of the identity");
}

#[test]
fn methods_that_neither_read_nor_write_have_no_effect() {
    let mut web = Called::new(WebOptions::default());
    assert_eq!(web.send(&request("OPTIONS", "/x")).0, 204);
    assert_eq!(web.send(&request("TRACE", "/x")).0, 405);
    assert_eq!(web.send(&request("HEAD", "/x")).0, 200);
    assert!(web.effects.is_empty());
}

/// The options of a scenario, or the problems.
fn options(text: &str) -> Result<WebOptions, String> {
    let source = Source::new("scenario", text);
    let tree = parse(&source).unwrap();
    let reader = Reader::new(&source);
    let mut map = reader.map(&tree, "the service").unwrap();
    let options = super::description::read_options(&reader, &mut map);
    map.finish();
    reader.finish(Some(options)).map_err(|problems| {
        problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn a_declared_answer_replaces_the_answer_and_keeps_the_effect() {
    let text = r#"
ignore: [at]
answers:
  - { method: POST, host: "*.slack.com", path: /api/*, body: { ok: true, ts: "{id}", echo: "{body.text}!" } }
  - { path: /v2/email/outbound-emails, status: 200, headers: { X-Amzn: "{path}" }, body: { MessageId: "{id}" } }
  - { method: POST, path: /search, read: true, body: { hits: "{body.wanted}" } }
  - { path: /refused, status: 403, body: no }
  - { path: /plain, body: ok }
  - { path: /gone, status: 204 }
  - { method: GET, path: /config, body: { region: "{query}" } }
"#;
    let mut web = Called::new(options(text).unwrap());
    let slack = Request::new("POST", "/api/chat.postMessage").header("Host", "slack.com");
    assert_eq!(web.send(&slack.clone().body("{}")).1.get("ok"), None);
    let slack = Request::new("POST", "/api/chat.postMessage").header("Host", "hooks.slack.com");
    let (status, answer) = web.send(&slack.body(r#"{"text": "hi"}"#));
    assert_eq!((status, &answer["ok"], &answer["echo"]), (201, &json!(true), &json!("hi!")));
    assert!(answer["ts"].is_string());
    let (status, answer) = web.json("POST", "/v2/email/outbound-emails", &json!({}));
    assert_eq!((status, answer["MessageId"].is_string()), (200, true));
    assert_eq!(web.effects.len(), 3);
    assert_eq!(web.json("POST", "/search", &json!({ "wanted": [1] })), (200, json!({ "hits": [1] })));
    assert_eq!(web.json("POST", "/refused", &json!({})), (403, json!("no")));
    assert_eq!(web.effects.len(), 3, "a search and a refusal have no effect");
    assert_eq!(web.json("POST", "/plain", &json!({})), (201, json!("ok")));
    assert_eq!(web.json("POST", "/gone", &json!({})), (204, json!("")));
    assert_eq!(web.get("/config?a=b"), (200, json!({ "region": "a=b" })));
    assert_eq!(web.effects.len(), 5);
}

#[test]
fn an_answer_can_depend_on_values_of_the_body() {
    let mut called = Called::new(options(
        "\
answers:
  - { path: /graphql, where: { query: \"*issueCreate*\" }, body: { data: { issueCreate: { success: true } } } }
  - { path: /graphql, where: { query: \"*\", variables.count: 2 }, read: true, body: { data: { issues: [] } } }
  - { path: /graphql, read: true, body: { data: null } }
",
    ).unwrap());
    let mutation = json!({"query": "mutation { issueCreate(input: {}) { success } }"});
    let answer = called.json("POST", "/graphql", &mutation);
    assert_eq!(answer.1, json!({"data": {"issueCreate": {"success": true}}}));
    let query = json!({"query": "query { issues }", "variables": {"count": 2}});
    assert_eq!(called.json("POST", "/graphql", &query).1, json!({"data": {"issues": []}}));
    assert_eq!(called.json("POST", "/graphql", &json!({"query": "{ me }"})).1, json!({"data": null}));
    assert_eq!(called.effects.len(), 1, "only the mutation writes");
}

#[test]
fn problems_of_declared_answers_are_reported() {
    let text = r#"
answers:
  - { method: PSOT, path: orders, host: "https://a.example", status: 99, body: { id: "{idd}", json: "{ x }" } }
  - { path: /x?y=1, headers: { Content-Length: "5", X-A: "{nope}" }, answer: 1 }
"#;
    let problems = options(text).unwrap_err();
    for message in [
        "`orders` is not a path",
        "`https://a.example` is not a host",
        "expected a whole number from 200 to 599, found 99",
        "`{idd}` is not defined in an answer",
        "`/x?y=1` has a query",
        "`Content-Length` cannot be declared",
        "`{nope}` is not defined in an answer",
        "an answer has no key `answer`",
    ] {
        assert!(problems.contains(message), "{message}\n{problems}");
    }
    assert!(!problems.contains("{ x }"));
}

#[test]
fn a_message_of_any_form_makes_no_panic() {
    let mut web = Called::new(WebOptions::default());
    for body in ["", "[[", "a[b", "[]=1", "a[][][]=", "{\"id\": \"a/b\"}", "\u{0}", "--x--"] {
        for kind in
            ["", "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
        {
            let request = request("POST", "//").header("Content-Type", kind).body(body);
            assert_eq!(web.send(&request).0, 201, "{kind} {body}");
        }
    }
}

#[test]
fn a_graphql_mutation_is_its_arguments_and_a_query_is_a_read_that_needs_an_answer() {
    let mut api = Called::new(WebOptions::default());
    let inline = json!({ "query": "mutation { createOrder(order: \"ord_1001\", units: 3) { id } }" });
    let named = json!({
        "query": "mutation M($o: ID!, $u: Int!) {\n  createOrder(order: $o, units: $u) { id }\n}",
        "variables": { "o": "ord_1001", "u": 3 },
        "operationName": "M",
    });
    for body in [&inline, &named] {
        let (status, answer) = api.json("POST", "/graphql", body);
        assert_eq!((status, &answer["data"]["createOrder"]["order"]), (200, &json!("ord_1001")));
    }
    assert_eq!(api.effects[0], api.effects[1]);
    let (effect, fields) = &api.effects[0];
    assert_eq!(effect, "web.post");
    assert_eq!(fields.get("body.createOrder.order"), Some(&"ord_1001".into()));
    assert_eq!(fields.get("body.createOrder.units"), Some(&3.into()));

    let query = json!({ "query": "{ orders { id } }" });
    assert_eq!(api.json("POST", "/graphql", &query).0, 501);
    let read = "{answers: [{path: /graphql, where: {query: \"*orders*\"}, body: {data: {orders: []}}}]}";
    let mut declared = Called::new(options(read).unwrap());
    assert_eq!(declared.json("POST", "/graphql", &query), (200, json!({ "data": { "orders": [] } })));
    assert_eq!((declared.effects.len(), api.effects.len()), (0, 2));
}

#[test]
fn a_second_thing_with_the_value_of_a_unique_field_is_refused() {
    let unique = "{unique: [{host: api.example.com, path: /v1/users, field: body.account.email}]}";
    let mut web = Called::new(options(unique).unwrap());
    let user = |email: &str| json!({ "account": { "email": email } });
    let (status, made) = web.json("POST", "/v1/users", &user("ann@example.com"));
    assert_eq!(status, 201);
    let (status, refused) = web.json("POST", "/v1/users", &user("ann@example.com"));
    assert_eq!(
        (status, &refused["error"]["code"], &refused["error"]["id"]),
        (409, &json!("already_exists"), &made["id"]),
        "{refused}"
    );
    assert_eq!(web.json("POST", "/v1/users", &user("bob@example.com")).0, 201);
    assert_eq!(web.json("POST", "/v1/users", &json!({ "name": "nobody" })).0, 201);
    assert_eq!(web.json("POST", "/v1/leads", &user("ann@example.com")).0, 201, "another place");
    assert_eq!(web.effects.len(), 4);

    // The natural key can be the path; another thing cannot get the value either.
    let path = format!("/v1/users/{}", made["id"].as_str().unwrap());
    assert_eq!(web.json("PATCH", &path, &json!({ "name": "Ann" })).0, 200);
    assert_eq!(web.json("PUT", &path, &user("ann@example.com")).0, 200);
    assert_eq!(web.json("PATCH", &path, &user("bob@example.com")).0, 409);
    assert_eq!(web.json("PUT", "/v1/users/7", &user("ann@example.com")).0, 409);
    assert_eq!(web.send(&request("DELETE", &path)).0, 200);
    assert_eq!(web.json("PUT", "/v1/users/7", &user("ann@example.com")).0, 200, "it is free again");
}

#[test]
fn a_unique_field_has_a_path_and_a_name() {
    let problems =
        options("{unique: [{path: v1/users, field: email}, {path: /v1/users, field: body.}, {path: /a}]}");
    let problems = problems.unwrap_err();
    for part in ["`v1/users` is not a path", "`body.` is not a field", "`field`"] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
}
