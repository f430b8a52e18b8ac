//! The service, driven by folding its own effects, as the engine does.

mod github;
mod plain;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::service::Ids;

/// A service, its state, and its committed effects.
struct DeployHarness {
    service: Deploy,
    state: state::State,
    requests: u64,
    now: Timestamp,
    /// Delayed effects, with the number of requests until they are due.
    pending: Vec<(After, Effect)>,
    effects: Vec<EffectFacts>,
    /// All changes, in order.
    committed: Vec<Effect>,
    /// The caller of the requests.
    caller: u32,
    /// The operation of the last accepted request.
    operation: String,
}

impl DeployHarness {
    fn new(options: DeployOptions) -> Self {
        let service = Deploy::new(options);
        let (there, pending) = service.at_start();
        let now = Timestamp::from_second(1_760_000_000).unwrap();
        let mut harness = DeployHarness {
            service,
            state: state::State::default(),
            requests: 0,
            now,
            pending,
            effects: Vec::new(),
            committed: Vec::new(),
            caller: 1,
            operation: String::new(),
        };
        for effect in there {
            harness.commit(&effect);
        }
        harness.committed.clear();
        assert!(harness.effects.is_empty(), "the initial state is not an effect");
        harness
    }

    fn commit(&mut self, effect: &Effect) {
        self.service.apply(&mut self.state, effect);
        self.effects.extend(self.service.describe(effect));
        self.committed.push(effect.clone());
    }

    /// The unreleased locks: effect and holder.
    fn unreleased_locks(&self) -> Vec<(String, String)> {
        let left = self.committed.iter().filter_map(|effect| self.service.left_behind(&self.state, effect));
        let mut left: Vec<_> = left
            .map(|facts| (facts.effect.into_owned(), facts.fields.get("holder").unwrap().to_string()))
            .collect();
        left.dedup();
        left
    }

    /// Counts a request: commits the effects that are due and moves the others closer.
    fn count(&mut self) {
        let mut due = Vec::new();
        self.pending.retain_mut(|(after, effect)| match after {
            After::Requests(0) => {
                due.push(effect.clone());
                false
            }
            After::Requests(left) => {
                *left -= 1;
                true
            }
            After::Time(_) | After::Settled => true,
        });
        for effect in due {
            self.commit(&effect);
        }
    }

    fn settle(&mut self) {
        for (_, effect) in std::mem::take(&mut self.pending) {
            self.commit(&effect);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += SignedDuration::try_from(time).unwrap();
    }

    fn context(&self) -> Context {
        Context { now: self.now, ids: Ids::new(1, "deploy", self.caller, self.requests, 0) }
    }

    fn send(&mut self, request: &Request) -> Answer {
        self.count();
        self.requests += 1;
        let context = self.context();
        let mut answer = match self.service.recognize(request, &context) {
            Err(answer) => answer,
            Ok(known) => {
                let operation = &self.service.operations()[known.operation];
                for (name, _) in known.fields.iter() {
                    assert!(operation.has_field(name), "{} does not declare {name}", operation.name);
                }
                match self.service.decide(&self.state, &known.call, &context) {
                    Decision::Refuse(refusal) => refusal.answer,
                    Decision::Accept(accepted) => {
                        let operation = accepted.operation.unwrap_or(known.operation);
                        self.operation = self.service.operations()[operation].name.clone().into_owned();
                        for effect in &accepted.effects {
                            self.commit(effect);
                        }
                        self.pending.extend(accepted.afterwards);
                        accepted.answer
                    }
                }
            }
        };
        self.service.add_standard_headers(&mut answer, request, &context);
        answer
    }

    fn call(&mut self, method: &str, target: &str, body: &Value) -> (u16, Value) {
        let answer = self.send(&request(method, target, body));
        (answer.status, parsed(&answer))
    }

    fn get(&mut self, target: &str) -> (u16, Value) {
        let answer = self.send(
            &Request::new("GET", target).header("Host", "127.0.0.1:4010").header("User-Agent", "tests"),
        );
        (answer.status, parsed(&answer))
    }

    /// `environment` and `version` of each effect.
    fn deployed_versions(&self) -> Vec<(String, String)> {
        let text = |effect: &EffectFacts, name| effect.fields.get(name).unwrap().to_string();
        let deployed = self.effects.iter().filter(|effect| effect.effect == "deploy.deploy");
        deployed.map(|effect| (text(effect, "environment"), text(effect, "version"))).collect()
    }
}

fn request(method: &str, target: &str, body: &Value) -> Request {
    Request::new(method, target)
        .header("Host", "127.0.0.1:4010")
        .header("User-Agent", "tests")
        .body(body.to_string())
}

fn parsed(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

fn harness() -> DeployHarness {
    DeployHarness::new(DeployOptions::default())
}

#[test]
fn both_apis_share_one_state() {
    let mut harness = harness();
    harness.call("POST", "/repos/o/r/deployments", &json!({"ref": "v7", "environment": "staging"}));
    assert_eq!(harness.get("/environments/staging").1["version"], "v7");
    assert_eq!(harness.get("/deployments?environment=staging").1["deployments"][0]["version"], "v7");
    harness.call("POST", "/deployments", &json!({"environment": "staging", "version": "v8"}));
    assert_eq!(harness.get("/repos/o/r/deployments").1.as_array().unwrap().len(), 1);
    assert_eq!(
        harness.deployed_versions(),
        [("staging".into(), "v7".into()), ("staging".into(), "v8".into())]
    );
}

#[test]
fn each_api_fails_in_its_own_format() {
    let harness = harness();
    let (context, service) = (harness.context(), &harness.service);
    let github = Request::new("POST", "/repos/o/r/deployments").body("{\"ref\": \"v7\"}");
    let plain = Request::new("POST", "/deployments");
    assert_eq!(parsed(&service.failure(500, &github, &context)), json!({"message": "Server Error"}));
    assert_eq!(parsed(&service.failure(502, &github, &context)), json!({"message": "Server Error"}));
    assert_eq!(
        parsed(&service.failure(409, &github, &context))["message"],
        "Conflict: Commit status checks failed for v7."
    );
    let mut primary = service.failure(403, &github, &context);
    service.add_standard_headers(&mut primary, &github, &context);
    assert!(parsed(&primary)["message"].as_str().unwrap().starts_with("API rate limit exceeded"));
    assert_eq!(primary.header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(primary.header("x-ratelimit-reset"), Some("1760000010"));
    let secondary = service.failure(429, &github, &context);
    assert!(
        parsed(&secondary)["message"]
            .as_str()
            .unwrap()
            .starts_with("You have exceeded a secondary rate limit")
    );
    assert!(secondary.header("retry-after").is_some());
    let down = service.failure(503, &plain, &context);
    assert_eq!(
        (down.header("content-type"), &parsed(&down)["error"]),
        (Some("application/problem+json"), &json!("unavailable"))
    );
    for status in 100..=999 {
        assert_eq!(service.failure(status, &github, &context).status, status);
        assert_eq!(service.failure(status, &plain, &context).status, status);
    }
}

#[test]
fn each_api_refuses_a_wrong_key_in_its_own_format() {
    let harness = harness();
    let github = Request::new("GET", "/api/v3/repos/o/r")
        .header("User-Agent", "tests")
        .header("Authorization", "Bearer x");
    let answer = harness.service.unauthorized(&github, &harness.context());
    assert_eq!((answer.status, &parsed(&answer)["message"]), (401, &json!("Bad credentials")));
    let answer = harness.service.unauthorized(&Request::new("GET", "/deployments"), &harness.context());
    assert_eq!((answer.status, &parsed(&answer)["error"]), (401, &json!("unauthorized")));
}

mod any_request {
    use super::*;
    use proptest::prelude::*;

    const TARGETS: [&str; 12] = [
        "/repos/o/r",
        "/repos/o/r/deployments",
        "/api/v3/repos/o/r/deployments",
        "/repos/o/r/deployments/1",
        "/repos/o/r/deployments/1/statuses",
        "/repos/o/r/deployments/1/statuses/2",
        "/deployments",
        "/deployments/1",
        "/environments",
        "/environments/production",
        "/environments/production/lock",
        "/",
    ];

    const NAMES: [&str; 10] = [
        "ref",
        "environment",
        "version",
        "payload",
        "state",
        "holder",
        "ttl",
        "dry_run",
        "metadata",
        "required_contexts",
    ];

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            method in prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "PATCH"]),
            target in prop::sample::select(TARGETS.to_vec()),
            rest in ".{0,16}",
            body in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let request = Request::new(method, &format!("{target}{rest}")).header("User-Agent", "tests");
            let answer = harness().send(&request.body(body));
            prop_assert!((200..500).contains(&answer.status) || answer.missing_feature().is_some());
        }

        #[test]
        fn no_json_makes_it_panic_or_deploy_twice(
            method in prop::sample::select(vec!["POST", "PUT"]),
            target in prop::sample::select(TARGETS.to_vec()),
            members in prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), value(), 0..8),
        ) {
            let mut harness = harness();
            let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
            let body = Value::Object(members.collect());
            let answer = harness.send(&request(method, target, &body));
            prop_assert!((200..500).contains(&answer.status));
            let expected = usize::from(answer.status == 201 && target.ends_with("deployments"));
            prop_assert_eq!(harness.deployed_versions().len(), expected);
        }
    }
}
