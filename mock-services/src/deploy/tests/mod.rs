//! The service, driven by a fold of its own effects as the engine drives it.

mod github;
mod plain;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::service::Ids;

/// A service, its state, and what it committed.
struct World {
    service: Deploy,
    state: state::State,
    requests: u64,
    now: Timestamp,
    /// What is put off: how many more requests still find it undone.
    pending: Vec<(After, Effect)>,
    effects: Vec<EffectFacts>,
    /// All changes, in order.
    committed: Vec<Effect>,
    /// Whose requests these are.
    caller: u32,
    /// What the last request that was accepted turned out to be.
    operation: String,
}

impl World {
    fn new(options: DeployOptions) -> Self {
        let service = Deploy::new(options);
        let (there, pending) = service.at_start();
        let now = Timestamp::from_second(1_760_000_000).unwrap();
        let mut world = World {
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
            world.commit(&effect);
        }
        world.committed.clear();
        assert!(world.effects.is_empty(), "what is there at the start is no effect");
        world
    }

    fn commit(&mut self, effect: &Effect) {
        self.service.apply(&mut self.state, effect);
        self.effects.extend(self.service.describe(effect));
        self.committed.push(effect.clone());
    }

    /// What is left in force, by name and holder.
    fn left(&self) -> Vec<(String, String)> {
        let left = self.committed.iter().filter_map(|effect| self.service.left_behind(&self.state, effect));
        let mut left: Vec<_> = left
            .map(|facts| (facts.effect.into_owned(), facts.fields.get("holder").unwrap().to_string()))
            .collect();
        left.dedup();
        left
    }

    /// Counts a request: what is due by now is done, the rest comes nearer.
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
    fn deployed(&self) -> Vec<(String, String)> {
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

fn world() -> World {
    World::new(DeployOptions::default())
}

#[test]
fn both_apis_look_at_one_state() {
    let mut world = world();
    world.call("POST", "/repos/o/r/deployments", &json!({"ref": "v7", "environment": "staging"}));
    assert_eq!(world.get("/environments/staging").1["version"], "v7");
    assert_eq!(world.get("/deployments?environment=staging").1["deployments"][0]["version"], "v7");
    world.call("POST", "/deployments", &json!({"environment": "staging", "version": "v8"}));
    assert_eq!(world.get("/repos/o/r/deployments").1.as_array().unwrap().len(), 1);
    assert_eq!(world.deployed(), [("staging".into(), "v7".into()), ("staging".into(), "v8".into())]);
}

#[test]
fn each_api_fails_in_its_own_words() {
    let world = world();
    let (context, service) = (world.context(), &world.service);
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
fn a_wrong_key_gets_what_each_api_says_to_it() {
    let world = world();
    let github = Request::new("GET", "/api/v3/repos/o/r")
        .header("User-Agent", "tests")
        .header("Authorization", "Bearer x");
    let answer = world.service.unauthorized(&github, &world.context());
    assert_eq!((answer.status, &parsed(&answer)["message"]), (401, &json!("Bad credentials")));
    let answer = world.service.unauthorized(&Request::new("GET", "/deployments"), &world.context());
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
        fn of_any_bytes_makes_no_panic(
            method in prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "PATCH"]),
            target in prop::sample::select(TARGETS.to_vec()),
            rest in ".{0,16}",
            body in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let answer = world().send(&Request::new(method, &format!("{target}{rest}")).header("User-Agent", "tests").body(body));
            prop_assert!((200..500).contains(&answer.status) || answer.lacks().is_some());
        }

        #[test]
        fn of_any_json_makes_no_panic_and_no_two_effects(
            method in prop::sample::select(vec!["POST", "PUT"]),
            target in prop::sample::select(TARGETS.to_vec()),
            members in prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), value(), 0..8),
        ) {
            let mut world = world();
            let body = Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
            let answer = world.send(&request(method, target, &body));
            prop_assert!((200..500).contains(&answer.status));
            prop_assert_eq!(world.deployed().len(), usize::from(answer.status == 201 && target.ends_with("deployments")));
        }
    }
}
