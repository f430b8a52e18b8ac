//! The plain API.

use super::*;
use crate::service::Fields;

fn started(environment: EnvironmentOptions) -> DeployOptions {
    DeployOptions { environments: vec![environment], ..DeployOptions::default() }
}

fn production(locked_by: Option<(String, LockEnd)>) -> EnvironmentOptions {
    EnvironmentOptions { name: "production".to_owned(), version: Some("v1".to_owned()), locked_by }
}

fn deploy(harness: &mut DeployHarness, version: &str) -> (u16, Value) {
    harness.call("POST", "/deployments", &json!({"environment": "production", "version": version}))
}

#[test]
fn a_version_is_deployed_and_shown() {
    let mut harness = DeployHarness::new(started(production(None)));
    let body = json!({"environment": "production", "version": "v2", "description": "d",
        "metadata": {"order": "o1"}});
    let answer = harness.send(&request("POST", "/deployments", &body));
    let deployment = parsed(&answer);
    assert_eq!(
        (answer.status, &deployment["effect"], &deployment["state"]),
        (201, &json!("deployed"), &json!("live"))
    );
    let id = deployment["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(format!("http://127.0.0.1:4010/deployments/{id}").as_str()));
    let (_, environment) = harness.get("/environments/production");
    assert_eq!((&environment["version"], &environment["state"]), (&json!("v2"), &json!("live")));
    assert_eq!(environment["lock"], Value::Null);
    assert_eq!(harness.get(&format!("/deployments/{id}")).1["version"], "v2");
    let fields = Fields::new()
        .with("environment", "production")
        .with("version", "v2")
        .with("description", "d")
        .with("order", "o1")
        .with("metadata.order", "o1")
        .with("deployment", id);
    assert_eq!(harness.effects, [EffectFacts { effect: "deploy.deploy".into(), id: id.to_owned(), fields }]);
}

#[test]
fn a_live_version_is_not_deployed_again() {
    let mut harness = DeployHarness::new(started(production(None)));
    assert_eq!(deploy(&mut harness, "v1").1["effect"], "noop");
    assert_eq!(harness.operation, "deploy.no-change");
    let first = deploy(&mut harness, "v2").1["id"].clone();
    let (status, again) = deploy(&mut harness, "v2");
    assert_eq!((status, &again["effect"], &again["id"]), (200, &json!("noop"), &first));
    let dry = json!({"environment": "production", "version": "v2", "dry_run": true});
    harness.call("POST", "/deployments", &dry);
    assert_eq!(harness.operation, "deploy.dry-run");
    assert_eq!(harness.effects.len(), 1);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_changes_nothing() {
    let mut harness = DeployHarness::new(started(production(Some(("ci".to_owned(), LockEnd::Never)))));
    let dry = |target: &str, version: &str, dry: bool| {
        request("POST", target, &json!({"environment": "production", "version": version, "dry_run": dry}))
    };
    let status_and_effect =
        |answer: &Answer| (answer.status, parsed(answer)["effect"].as_str().unwrap().to_owned());
    assert_eq!(
        status_and_effect(&harness.send(&dry("/deployments", "v2", true))),
        (200, "would_deploy".to_owned())
    );
    assert_eq!(
        status_and_effect(&harness.send(&dry("/deployments?dry_run=true", "v2", false))),
        (200, "would_deploy".to_owned())
    );
    assert_eq!(
        status_and_effect(&harness.send(&dry("/deployments?dry_run=true", "v1", false))),
        (200, "noop".to_owned())
    );
    assert_eq!(harness.send(&dry("/deployments?dry_run=maybe", "v2", false)).status, 400);
    assert_eq!(harness.get("/environments/production").1["version"], "v1");
    assert!(harness.effects.is_empty());
    assert!(harness.get("/deployments").1["deployments"].as_array().unwrap().is_empty());
}

#[test]
fn an_initial_lock_is_held_for_its_number_of_requests() {
    let end = LockEnd::After(After::Requests(2));
    let mut harness = DeployHarness::new(started(production(Some(("pipeline-7".to_owned(), end)))));
    let refused = harness.send(&request(
        "POST",
        "/deployments",
        &json!({"environment": "production", "version": "v2"}),
    ));
    assert_eq!((refused.status, refused.header("retry-after")), (409, Some("1")));
    let problem = parsed(&refused);
    assert_eq!(
        (&problem["error"], &problem["holder"], &problem["retry_after"]),
        (&json!("locked"), &json!("pipeline-7"), &json!(1))
    );
    assert_eq!(harness.get("/environments/production").1["lock"]["holder"], "pipeline-7");
    assert_eq!(deploy(&mut harness, "v2").0, 201);
    assert_eq!(harness.effects.len(), 1);
}

#[test]
fn only_the_holder_renews_uses_and_releases_a_lock() {
    let mut harness = DeployHarness::new(started(production(None)));
    let lock = "/environments/production/lock";
    let (status, taken) = harness.call("PUT", lock, &json!({"holder": "me", "ttl": 60}));
    assert_eq!(
        (status, &taken["effect"], &taken["expires_at"]),
        (200, &json!("locked"), &json!("2025-10-09T08:54:20Z"))
    );
    assert_eq!(harness.call("PUT", lock, &json!({"holder": "me"})).1["effect"], "renewed");
    assert_eq!(harness.call("PUT", lock, &json!({"holder": "you"})).0, 409);
    assert_eq!(deploy(&mut harness, "v2").0, 409);
    let mine = json!({"environment": "production", "version": "v2", "holder": "me"});
    assert_eq!(harness.call("POST", "/deployments", &mine).0, 201);
    assert_eq!(harness.call("DELETE", lock, &json!({"holder": "you"})).0, 409);
    assert_eq!(harness.send(&Request::new("DELETE", &format!("{lock}?holder=me"))).status, 204);
    assert_eq!(harness.call("DELETE", lock, &json!({"holder": "me"})).1["error"], "not_locked");
    assert_eq!(harness.effects.len(), 1, "using one's own lock is not an effect");
    assert!(harness.unreleased_locks().is_empty());
}

#[test]
fn naming_another_holder_of_a_lock_is_an_effect() {
    let lock = "/environments/production/lock";
    let by = |harness: &DeployHarness| -> Vec<(String, String)> {
        let taken = harness.effects.iter().filter(|facts| facts.effect == "deploy.take-lock");
        taken
            .map(|facts| {
                (facts.fields.get("by").unwrap().to_string(), facts.fields.get("holder").unwrap().to_string())
            })
            .collect()
    };
    let taken = |how: &str| (how.to_owned(), "bob".to_owned());
    let held = || DeployHarness::new(started(production(Some(("bob".to_owned(), LockEnd::Never)))));
    let bobs = json!({"environment": "production", "version": "v2", "holder": "bob"});
    let mut harness = held();
    assert_eq!(harness.call("POST", "/deployments", &bobs).0, 201);
    assert_eq!(by(&harness), [taken("deploy")]);
    let mut harness = held();
    assert_eq!(harness.send(&Request::new("DELETE", &format!("{lock}?holder=bob"))).status, 204);
    assert_eq!(by(&harness), [taken("unlock")]);
    let mut harness = held();
    assert_eq!(harness.call("PUT", lock, &json!({"holder": "bob"})).0, 200);
    assert_eq!((by(&harness), harness.operation.as_str()), (vec![taken("lock")], "deploy.take-lock"));
    let mut harness = DeployHarness::new(started(production(None)));
    assert_eq!(harness.call("PUT", lock, &json!({"holder": "bob"})).0, 200);
    harness.caller = 2;
    assert_eq!(harness.call("POST", "/deployments", &bobs).0, 201);
    assert_eq!(by(&harness), [taken("deploy")], "the lock of another caller in the same trial counts too");
}

#[test]
fn an_unreleased_lock_is_left_behind() {
    let mut harness =
        DeployHarness::new(started(production(Some(("ci".to_owned(), LockEnd::After(After::Requests(0)))))));
    let lock = "/environments/production/lock";
    harness.get("/environments");
    assert!(harness.unreleased_locks().is_empty(), "an initial lock is not left behind by anyone");
    harness.call("PUT", lock, &json!({"holder": "me", "ttl": 10}));
    harness.call("PUT", lock, &json!({"holder": "me", "ttl": 10}));
    assert_eq!(harness.unreleased_locks(), [("deploy.lock".to_owned(), "me".to_owned())]);
    harness.pass(Duration::from_secs(20));
    assert_eq!(
        harness.unreleased_locks().len(),
        1,
        "an expired lock counts, because expiry depends on timing"
    );
    assert_eq!(
        harness.send(&Request::new("DELETE", &format!("{lock}?holder=me"))).status,
        204,
        "an expired lock can be released"
    );
    assert!(harness.unreleased_locks().is_empty());
    assert_eq!(harness.send(&Request::new("DELETE", &format!("{lock}?holder=me"))).status, 404);
}

#[test]
fn a_deployment_of_one_service_has_the_service_as_a_field() {
    let mut harness = DeployHarness::new(started(production(None)));
    harness.call(
        "POST",
        "/deployments",
        &json!({"environment": "production", "version": "v2", "service": "web"}),
    );
    assert_eq!(harness.effects[0].fields.get("service"), Some(&"web".into()));
}

#[test]
fn a_lock_ends_with_its_lifetime() {
    let mut harness = DeployHarness::new(started(production(None)));
    harness.call("PUT", "/environments/production/lock", &json!({"holder": "ci", "ttl": 10}));
    harness.pass(Duration::from_secs(4));
    assert_eq!(deploy(&mut harness, "v2").1["retry_after"], 6);
    harness.pass(Duration::from_secs(6));
    assert_eq!(deploy(&mut harness, "v2").0, 201);
}

#[test]
fn a_rollout_advances_in_steps_and_counts_once() {
    let rollout = Rollout::Steps { count: 3, each: After::Requests(2) };
    let mut harness = DeployHarness::new(DeployOptions { rollout, ..started(production(None)) });
    let (status, started) = deploy(&mut harness, "v2");
    assert_eq!(
        (status, &started["state"], &started["progress"]),
        (201, &json!("rolling_out"), &json!({"done": 1, "of": 3}))
    );
    assert_eq!(harness.deployed_versions(), [("production".to_owned(), "v2".to_owned())]);
    let (_, environment) = harness.get("/environments/production");
    assert_eq!(
        (&environment["version"], &environment["progress"]),
        (&json!("v2"), &json!({"done": 1, "of": 3}))
    );
    assert_eq!(environment["live"], json!([{"version": "v2", "parts": 1}, {"version": "v1", "parts": 2}]));
    let (status, conflict) = deploy(&mut harness, "v3");
    assert_eq!(
        (status, &conflict["error"], &conflict["deployment"]),
        (409, &json!("in_progress"), &started["id"])
    );
    assert_eq!(harness.get("/environments/production").1["progress"], json!({"done": 2, "of": 3}));
    assert_eq!(deploy(&mut harness, "v2").1["error"], "in_progress");
    let (_, environment) = harness.get("/environments/production");
    assert_eq!(
        (&environment["state"], &environment["live"]),
        (&json!("live"), &json!([{"version": "v2", "parts": 3}]))
    );
    assert_eq!(deploy(&mut harness, "v2").1["effect"], "noop");
    assert_eq!(harness.effects.len(), 1);
}

#[test]
fn an_asynchronous_deployment_counts_when_it_completes() {
    let asynchronous = Some(After::Requests(2));
    let mut harness = DeployHarness::new(DeployOptions { asynchronous, ..started(production(None)) });
    let answer = harness.send(&request(
        "POST",
        "/deployments",
        &json!({"environment": "production", "version": "v2"}),
    ));
    let queued = parsed(&answer);
    assert_eq!((answer.status, &queued["state"]), (202, &json!("queued")));
    let path =
        queued["status_url"].as_str().unwrap().strip_prefix("http://127.0.0.1:4010").unwrap().to_owned();
    assert_eq!(harness.get(&path).1["state"], "queued");
    assert_eq!(harness.get("/environments/production").1["version"], "v1");
    assert!(harness.effects.is_empty());
    assert_eq!(harness.get(&path).1["state"], "live");
    assert_eq!(harness.deployed_versions(), [("production".to_owned(), "v2".to_owned())]);
}

#[test]
fn a_version_queued_twice_is_deployed_twice() {
    let rollout = Rollout::Steps { count: 2, each: After::Settled };
    let mut harness = DeployHarness::new(DeployOptions {
        rollout,
        asynchronous: Some(After::Settled),
        ..DeployOptions::default()
    });
    assert_eq!(deploy(&mut harness, "v2").0, 202);
    assert_eq!(deploy(&mut harness, "v2").0, 202);
    harness.settle();
    assert_eq!(harness.effects.len(), 2);
    let (_, list) = harness.get("/deployments");
    let states: Vec<_> =
        list["deployments"].as_array().unwrap().iter().map(|deployment| &deployment["state"]).collect();
    assert_eq!(states, ["live", "superseded"]);
}

#[test]
fn a_service_has_its_own_version_until_the_environment_is_deployed() {
    let mut harness = DeployHarness::new(started(production(None)));
    let of = |service: &str, version: &str| json!({"environment": "production", "version": version, "service": service});
    assert_eq!(harness.call("POST", "/deployments", &of("web", "v1")).1["effect"], "noop");
    assert_eq!(harness.call("POST", "/deployments", &of("web", "v2")).0, 201);
    assert_eq!(harness.call("POST", "/deployments", &of("api", "v2")).0, 201);
    let (_, environment) = harness.get("/environments/production");
    assert_eq!(
        (&environment["version"], &environment["services"]["web"]["version"]),
        (&json!("v1"), &json!("v2"))
    );
    assert_eq!(deploy(&mut harness, "v1").0, 201, "the services are not at v1");
    assert_eq!(deploy(&mut harness, "v1").1["effect"], "noop");
    assert_eq!(harness.get("/deployments?state=superseded").1["deployments"].as_array().unwrap().len(), 2);
}

#[test]
fn a_list_is_filtered_and_limited() {
    let mut harness = harness();
    for version in ["v1", "v2", "v3"] {
        deploy(&mut harness, version);
    }
    let (_, list) = harness.get("/deployments?environment=production&limit=2");
    let versions: Vec<_> =
        list["deployments"].as_array().unwrap().iter().map(|deployment| &deployment["version"]).collect();
    assert_eq!((versions, &list["has_more"]), (vec![&json!("v3"), &json!("v2")], &json!(true)));
    assert_eq!(harness.get("/deployments?version=v1").1["has_more"], false);
    assert_eq!(harness.get("/deployments?state=live").1["deployments"].as_array().unwrap().len(), 1);
    assert_eq!(harness.get("/deployments?state=odd").0, 400);
    assert_eq!(harness.get("/deployments?limit=101").0, 400);
    assert_eq!(harness.get("/environments").1["environments"][0]["name"], "production");
}

#[test]
fn a_bad_request_gets_a_problem_document() {
    let mut harness = harness();
    let mut refused = |method: &str, target: &str, body: &str| {
        let answer = harness.send(&Request::new(method, target).body(body));
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{target}");
        answer.status
    };
    assert_eq!(refused("POST", "/deployments", "{"), 400);
    assert_eq!(refused("POST", "/deployments", "7"), 400);
    assert_eq!(refused("POST", "/deployments", "{\"environment\": \"p\"}"), 422);
    assert_eq!(refused("POST", "/deployments", "{\"environment\": \"p\", \"version\": 2}"), 422);
    assert_eq!(refused("POST", "/deployments", "{\"environment\": \"\", \"version\": \"v\"}"), 422);
    assert_eq!(refused("PUT", "/environments/p/lock", "{\"holder\": \"a\", \"ttl\": -1}"), 422);
    assert_eq!(refused("DELETE", "/environments/p/lock", ""), 422);
    assert_eq!(refused("PUT", "/deployments", "{}"), 405);
    assert_eq!(refused("GET", "/deployments/none", ""), 404);
    assert_eq!(refused("GET", "/environments/none", ""), 404);
    assert_eq!(refused("GET", "/", ""), 404);
    assert!(harness.effects.is_empty());
}
