//! The store, driven by folding its own effects, as the engine does.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::service::{Fields, Ids};

/// A store, its state, and its committed effects.
struct RecordsHarness {
    service: Records,
    state: state::State,
    requests: u64,
    effects: Vec<EffectFacts>,
}

impl RecordsHarness {
    fn new(options: RecordsOptions) -> Self {
        let service = Records::new(options);
        let mut state = state::State::default();
        for effect in service.at_start().0 {
            assert!(service.describe(&effect).is_none());
            service.apply(&mut state, &effect);
        }
        RecordsHarness { service, state, requests: 0, effects: Vec::new() }
    }

    fn send(&mut self, request: &Request) -> Answer {
        self.requests += 1;
        let now = jiff::Timestamp::from_second(1_760_000_000).unwrap();
        let context = Context { now, ids: Ids::new(1, "records", 1, self.requests, 0) };
        let mut answer = match self.service.recognize(request, &context) {
            Err(answer) => answer,
            Ok(known) => match self.service.decide(&self.state, &known.call, &context) {
                Decision::Refuse(refusal) => refusal.answer,
                Decision::Accept(accepted) => {
                    for effect in &accepted.effects {
                        self.service.apply(&mut self.state, effect);
                        self.effects.extend(self.service.describe(effect));
                    }
                    accepted.answer
                }
            },
        };
        self.service.add_standard_headers(&mut answer, request, &context);
        answer
    }

    fn get(&mut self, target: &str) -> (u16, Value) {
        let answer = self.send(&Request::new("GET", target));
        (answer.status, body(&answer))
    }

    fn put(&mut self, key: &str, value: &Value, condition: Option<(&str, &str)>) -> Answer {
        let request =
            Request::new("PUT", &format!("/records/{key}")).body(json!({ "value": value }).to_string());
        self.send(&match condition {
            Some((name, value)) => request.header(name, value),
            None => request,
        })
    }
}

fn body(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

fn harness() -> RecordsHarness {
    RecordsHarness::new(RecordsOptions::default())
}

#[test]
fn a_record_is_written_read_and_versioned() {
    let mut harness = harness();
    let created = harness.put("stock%20a", &json!({"n": 1}), None);
    assert_eq!((created.status, created.header("etag")), (201, Some("\"1\"")));
    let same_again = harness.put("stock%20a", &json!({"n": 1}), None);
    assert_eq!((same_again.status, same_again.header("etag")), (200, Some("\"2\"")));
    let expected =
        json!({"key": "stock a", "value": {"n": 1}, "version": 2, "updated_at": "2025-10-09T08:53:20Z"});
    assert_eq!(harness.get("/records/stock%20a"), (200, expected));
    assert_eq!(harness.effects.len(), 2);
    let fields = Fields::new()
        .with("key", "stock a")
        .with("value", "{\"n\":1}")
        .with("version", 2)
        .with("previous_version", 1);
    assert_eq!((harness.effects[1].effect.as_ref(), &harness.effects[1].fields), ("records.put", &fields));
}

#[test]
fn a_write_on_an_old_version_is_refused_with_the_current_one() {
    let mut harness = harness();
    harness.put("a", &json!(1), None);
    assert_eq!(harness.put("a", &json!(2), Some(("If-Match", "\"1\""))).status, 200);
    let late = harness.put("a", &json!(3), Some(("If-Match", "\"1\"")));
    assert_eq!((late.status, late.header("content-type")), (412, Some("application/problem+json")));
    assert_eq!(body(&late)["current_version"], 2);
    assert_eq!(harness.get("/records/a").1["value"], 2);
    assert_eq!(harness.effects.len(), 2);
}

#[test]
fn if_match_star_needs_a_record_and_if_none_match_star_needs_none() {
    let mut harness = harness();
    let missing = harness.put("a", &json!(1), Some(("If-Match", "*")));
    assert_eq!((missing.status, &body(&missing)["current_version"]), (412, &Value::Null));
    assert_eq!(harness.put("a", &json!(1), Some(("If-None-Match", "*"))).status, 201);
    assert_eq!(harness.put("a", &json!(2), Some(("If-None-Match", "*"))).status, 412);
    assert_eq!(harness.put("a", &json!(2), Some(("If-Match", "*"))).status, 200);
}

#[test]
fn a_version_is_never_reused_even_after_a_delete() {
    let mut harness = harness();
    harness.put("a", &json!(1), None);
    assert_eq!(harness.send(&Request::new("DELETE", "/records/a").header("If-Match", "\"7\"")).status, 412);
    assert_eq!(harness.send(&Request::new("DELETE", "/records/a").header("If-Match", "\"1\"")).status, 204);
    assert_eq!(harness.get("/records/a").0, 404);
    assert_eq!(harness.send(&Request::new("DELETE", "/records/a")).status, 404);
    assert_eq!(harness.put("a", &json!(1), None).header("etag"), Some("\"2\""));
    assert_eq!(
        harness.effects.iter().map(|effect| effect.effect.as_ref()).collect::<Vec<_>>(),
        ["records.put", "records.delete", "records.put"]
    );
}

#[test]
fn a_store_can_require_that_every_change_names_its_version() {
    let mut harness = RecordsHarness::new(RecordsOptions {
        initial: vec![("a".to_owned(), json!("x"))],
        require_if_match: true,
        ..RecordsOptions::default()
    });
    assert_eq!(harness.put("a", &json!("y"), None).status, 428);
    assert_eq!(harness.send(&Request::new("DELETE", "/records/a")).status, 428);
    assert_eq!(harness.put("a", &json!("y"), Some(("If-Match", "\"1\""))).status, 200);
    assert_eq!(harness.put("b", &json!("z"), Some(("If-None-Match", "*"))).status, 201);
}

#[test]
fn a_list_continues_after_its_last_key_and_skips_deleted_records() {
    let mut harness = harness();
    for key in ["a1", "b1", "b2", "b3", "b4", "c1"] {
        harness.put(key, &json!(key), None);
    }
    harness.send(&Request::new("DELETE", "/records/b2"));
    let keys = |list: &Value| -> Vec<String> {
        list["records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["key"].as_str().unwrap().to_owned())
            .collect()
    };
    let (_, first) = harness.get("/records?prefix=b&limit=2");
    assert_eq!((keys(&first), &first["next"]), (vec!["b1".to_owned(), "b3".to_owned()], &json!("b3")));
    let (_, second) = harness.get("/records?prefix=b&limit=2&after=b3");
    assert_eq!((keys(&second), &second["next"]), (vec!["b4".to_owned()], &Value::Null));
    assert_eq!(keys(&harness.get("/records?prefix=b&after=a").1).len(), 3);
    assert!(keys(&harness.get("/records?prefix=b&after=c").1).is_empty());
    assert_eq!(keys(&harness.get("/records").1).len(), 5);
    assert_eq!(harness.get("/records?limit=0").0, 400);
}

#[test]
fn a_version_that_the_client_has_is_not_sent_again() {
    let mut harness = harness();
    harness.put("a", &json!(1), None);
    let answer = harness.send(&Request::new("GET", "/records/a").header("If-None-Match", "\"1\""));
    assert_eq!((answer.status, answer.body.len(), answer.header("etag")), (304, 0, Some("\"1\"")));
}

#[test]
fn a_counter_starts_at_zero_and_each_increment_is_an_effect() {
    let mut harness = RecordsHarness::new(RecordsOptions {
        counters: vec![("seen".to_owned(), 40)],
        ..RecordsOptions::default()
    });
    assert_eq!(harness.get("/counters/new").1, json!({"counter": "new", "value": 0}));
    let increment =
        |name: &str, body: &str| Request::new("POST", &format!("/counters/{name}/increment")).body(body);
    assert_eq!(
        body(&harness.send(&increment("seen", "{\"by\": 2}"))),
        json!({"counter": "seen", "value": 42})
    );
    assert_eq!(body(&harness.send(&increment("new", ""))), json!({"counter": "new", "value": 1}));
    assert_eq!(harness.send(&increment("seen", "{\"by\": 9223372036854775807}")).status, 422);
    for wrong in ["{\"by\": 0}", "{\"by\": 1.5}", "{\"by\": \"1\"}", "{\"by\": null}"] {
        assert_eq!(harness.send(&increment("seen", wrong)).status, 422, "{wrong}");
    }
    let (_, list) = harness.get("/counters");
    assert_eq!(list["counters"], json!([{"counter": "new", "value": 1}, {"counter": "seen", "value": 42}]));
    let fields = Fields::new().with("counter", "seen").with("by", 2).with("value", 42);
    assert_eq!(
        (harness.effects[0].effect.as_ref(), &harness.effects[0].fields),
        ("records.increment", &fields)
    );
    assert_eq!(harness.effects.len(), 2);
}

#[test]
fn invalid_keys_values_and_paths_are_refused() {
    let mut harness = harness();
    assert_eq!(harness.put(&"k".repeat(256), &json!(1), None).status, 201);
    assert_eq!(harness.put(&"k".repeat(257), &json!(1), None).status, 400);
    assert_eq!(harness.put("a%2Fb", &json!(1), None).status, 400);
    assert_eq!(harness.put("%FF", &json!(1), None).status, 400);
    assert_eq!(harness.put("big", &json!("x".repeat(256 * 1024)), None).status, 413);
    let put = |body: String| Request::new("PUT", "/records/a").body(body);
    assert_eq!(harness.send(&put("[".repeat(200_000))).status, 400);
    assert_eq!(harness.send(&put("{\"value\"".to_owned())).status, 400);
    assert_eq!(harness.send(&put("{\"valeu\": 1}".to_owned())).status, 422);
    assert_eq!(harness.send(&put("{\"value\": null}".to_owned())).status, 201);
    let wrong_method = harness.send(&Request::new("PATCH", "/records/a"));
    assert_eq!((wrong_method.status, wrong_method.header("allow")), (405, Some("DELETE, GET, PUT")));
    assert_eq!(harness.get("/records/a/b").0, 404);
}

proptest! {
    #[test]
    fn no_request_makes_the_store_panic(
        method in prop::sample::select(vec!["GET", "PUT", "POST", "DELETE"]),
        target in prop::sample::select(vec!["/records/a", "/records", "/counters/a/increment", "/counters",
            "/counters/a"]),
        rest in ".{0,12}",
        condition in ".{0,8}",
        body in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let initial = vec![("a".to_owned(), json!(1))];
        let mut harness = RecordsHarness::new(RecordsOptions { initial, ..RecordsOptions::default() });
        let request = Request::new(method, &format!("{target}{rest}"));
        let request = request.header("If-Match", &condition).body(body);
        let answer = harness.send(&request);
        prop_assert!((200..500).contains(&answer.status));
    }

    #[test]
    fn the_state_is_the_fold_of_the_effects(writes in prop::collection::vec((0u8..4, 0i64..100), 0..30)) {
        let mut harness = harness();
        let mut expected = std::collections::BTreeMap::new();
        for (key, value) in writes {
            harness.put(&key.to_string(), &json!(value), None);
            let slot = expected.entry(key.to_string()).or_insert((0u64, 0));
            *slot = (slot.0 + 1, value);
        }
        for (key, (version, value)) in expected {
            let (_, record) = harness.get(&format!("/records/{key}"));
            prop_assert_eq!(record["version"].as_u64(), Some(version));
            prop_assert_eq!(record["value"].as_i64(), Some(value));
        }
    }
}

#[test]
fn a_number_that_cannot_be_stored_exactly_is_refused() {
    let mut harness = RecordsHarness::new(RecordsOptions::default());
    let mut put = |value: &str| {
        let answer = harness.send(&Request::new("PUT", "/records/a").body(format!("{{\"value\": {value}}}")));
        (answer.status, body(&answer))
    };
    for number in ["12345678901234567890123", "[0.10000000000000000001]", "{\"a\": 1e-400}"] {
        let (status, problem) = put(number);
        assert_eq!((status, &problem["field"]), (400, &json!("value")), "{number}");
        assert!(problem["detail"].as_str().unwrap().contains("can be sent as a string"), "{problem}");
    }
    for number in ["18446744073709551615", "-9223372036854775808", "49.99", "\"12345678901234567890123\""] {
        let (status, record) = put(number);
        assert_eq!((status / 100, record["value"].to_string()), (2, number.to_owned()));
    }
    for by in ["9223372036854775808", "12345678901234567890123", "1.5", "0"] {
        let answer =
            harness.send(&Request::new("POST", "/counters/c/increment").body(format!("{{\"by\": {by}}}")));
        assert_eq!(answer.status, 422, "{by}");
    }
    assert_eq!(harness.get("/counters/c").1["value"], 0);
}
