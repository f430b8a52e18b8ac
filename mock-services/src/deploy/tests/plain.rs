//! The plain API.

use super::*;
use crate::service::Fields;

fn started(environment: EnvironmentOptions) -> DeployOptions {
    DeployOptions { environments: vec![environment], ..DeployOptions::default() }
}

fn production(locked_by: Option<(String, LockEnd)>) -> EnvironmentOptions {
    EnvironmentOptions { name: "production".to_owned(), version: Some("v1".to_owned()), locked_by }
}

fn deploy(world: &mut World, version: &str) -> (u16, Value) {
    world.call("POST", "/deployments", &json!({"environment": "production", "version": version}))
}

#[test]
fn a_version_is_deployed_and_shown() {
    let mut world = World::new(started(production(None)));
    let body = json!({"environment": "production", "version": "v2", "description": "d", "metadata": {"order": "o1"}});
    let answer = world.send(&request("POST", "/deployments", &body));
    let deployment = parsed(&answer);
    assert_eq!(
        (answer.status, &deployment["effect"], &deployment["state"]),
        (201, &json!("deployed"), &json!("live"))
    );
    let id = deployment["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(format!("http://127.0.0.1:4010/deployments/{id}").as_str()));
    let (_, environment) = world.get("/environments/production");
    assert_eq!((&environment["version"], &environment["state"]), (&json!("v2"), &json!("live")));
    assert_eq!(environment["lock"], Value::Null);
    assert_eq!(world.get(&format!("/deployments/{id}")).1["version"], "v2");
    let fields = Fields::new()
        .with("environment", "production")
        .with("version", "v2")
        .with("description", "d")
        .with("order", "o1")
        .with("metadata.order", "o1")
        .with("deployment", id);
    assert_eq!(world.effects, [EffectFacts { effect: "deploy.deploy".into(), id: id.to_owned(), fields }]);
}

#[test]
fn what_is_there_already_is_not_deployed_again() {
    let mut world = World::new(started(production(None)));
    assert_eq!(deploy(&mut world, "v1").1["effect"], "noop");
    assert_eq!(world.operation, "deploy.no-change");
    let first = deploy(&mut world, "v2").1["id"].clone();
    let (status, again) = deploy(&mut world, "v2");
    assert_eq!((status, &again["effect"], &again["id"]), (200, &json!("noop"), &first));
    let dry = json!({"environment": "production", "version": "v2", "dry_run": true});
    world.call("POST", "/deployments", &dry);
    assert_eq!(world.operation, "deploy.dry-run");
    assert_eq!(world.effects.len(), 1);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_changes_nothing() {
    let mut world = World::new(started(production(Some(("ci".to_owned(), LockEnd::Never)))));
    let dry = |target: &str, version: &str, dry: bool| {
        request("POST", target, &json!({"environment": "production", "version": version, "dry_run": dry}))
    };
    let told = |answer: &Answer| (answer.status, parsed(answer)["effect"].as_str().unwrap().to_owned());
    assert_eq!(told(&world.send(&dry("/deployments", "v2", true))), (200, "would_deploy".to_owned()));
    assert_eq!(
        told(&world.send(&dry("/deployments?dry_run=true", "v2", false))),
        (200, "would_deploy".to_owned())
    );
    assert_eq!(told(&world.send(&dry("/deployments?dry_run=true", "v1", false))), (200, "noop".to_owned()));
    assert_eq!(world.send(&dry("/deployments?dry_run=maybe", "v2", false)).status, 400);
    assert_eq!(world.get("/environments/production").1["version"], "v1");
    assert!(world.effects.is_empty());
    assert!(world.get("/deployments").1["deployments"].as_array().unwrap().is_empty());
}

#[test]
fn a_lock_of_somebody_else_holds_until_so_many_requests_have_come() {
    let end = LockEnd::After(After::Requests(2));
    let mut world = World::new(started(production(Some(("pipeline-7".to_owned(), end)))));
    let refused =
        world.send(&request("POST", "/deployments", &json!({"environment": "production", "version": "v2"})));
    assert_eq!((refused.status, refused.header("retry-after")), (409, Some("1")));
    let problem = parsed(&refused);
    assert_eq!(
        (&problem["error"], &problem["holder"], &problem["retry_after"]),
        (&json!("locked"), &json!("pipeline-7"), &json!(1))
    );
    assert_eq!(world.get("/environments/production").1["lock"]["holder"], "pipeline-7");
    assert_eq!(deploy(&mut world, "v2").0, 201);
    assert_eq!(world.effects.len(), 1);
}

#[test]
fn a_lock_is_taken_renewed_passed_and_freed_by_its_holder_alone() {
    let mut world = World::new(started(production(None)));
    let lock = "/environments/production/lock";
    let (status, taken) = world.call("PUT", lock, &json!({"holder": "me", "ttl": 60}));
    assert_eq!(
        (status, &taken["effect"], &taken["expires_at"]),
        (200, &json!("locked"), &json!("2025-10-09T08:54:20Z"))
    );
    assert_eq!(world.call("PUT", lock, &json!({"holder": "me"})).1["effect"], "renewed");
    assert_eq!(world.call("PUT", lock, &json!({"holder": "you"})).0, 409);
    assert_eq!(deploy(&mut world, "v2").0, 409);
    let mine = json!({"environment": "production", "version": "v2", "holder": "me"});
    assert_eq!(world.call("POST", "/deployments", &mine).0, 201);
    assert_eq!(world.call("DELETE", lock, &json!({"holder": "you"})).0, 409);
    assert_eq!(world.send(&Request::new("DELETE", &format!("{lock}?holder=me"))).status, 204);
    assert_eq!(world.call("DELETE", lock, &json!({"holder": "me"})).1["error"], "not_locked");
    assert_eq!(world.effects.len(), 1, "locks of one's own are no effects");
    assert!(world.left().is_empty());
}

#[test]
fn whoever_names_the_holder_of_anothers_lock_takes_it() {
    let lock = "/environments/production/lock";
    let by = |world: &World| -> Vec<(String, String)> {
        let taken = world.effects.iter().filter(|facts| facts.effect == "deploy.take-lock");
        taken
            .map(|facts| {
                (facts.fields.get("by").unwrap().to_string(), facts.fields.get("holder").unwrap().to_string())
            })
            .collect()
    };
    let taken = |how: &str| (how.to_owned(), "bob".to_owned());
    let held = || World::new(started(production(Some(("bob".to_owned(), LockEnd::Never)))));
    let bobs = json!({"environment": "production", "version": "v2", "holder": "bob"});
    let mut world = held();
    assert_eq!(world.call("POST", "/deployments", &bobs).0, 201);
    assert_eq!(by(&world), [taken("deploy")]);
    let mut world = held();
    assert_eq!(world.send(&Request::new("DELETE", &format!("{lock}?holder=bob"))).status, 204);
    assert_eq!(by(&world), [taken("unlock")]);
    let mut world = held();
    assert_eq!(world.call("PUT", lock, &json!({"holder": "bob"})).0, 200);
    assert_eq!((by(&world), world.operation.as_str()), (vec![taken("lock")], "deploy.take-lock"));
    let mut world = World::new(started(production(None)));
    assert_eq!(world.call("PUT", lock, &json!({"holder": "bob"})).0, 200);
    world.caller = 2;
    assert_eq!(world.call("POST", "/deployments", &bobs).0, 201);
    assert_eq!(by(&world), [taken("deploy")], "another caller of the same trial has a lock of its own, too");
}

#[test]
fn a_lock_that_nobody_freed_is_left_behind() {
    let mut world =
        World::new(started(production(Some(("ci".to_owned(), LockEnd::After(After::Requests(0)))))));
    let lock = "/environments/production/lock";
    world.get("/environments");
    assert!(world.left().is_empty(), "what was there at the start is nobody's");
    world.call("PUT", lock, &json!({"holder": "me", "ttl": 10}));
    world.call("PUT", lock, &json!({"holder": "me", "ttl": 10}));
    assert_eq!(world.left(), [("deploy.lock".to_owned(), "me".to_owned())]);
    world.pass(Duration::from_secs(20));
    assert_eq!(world.left().len(), 1, "whether it has run out is a matter of how fast everybody is");
    assert_eq!(
        world.send(&Request::new("DELETE", &format!("{lock}?holder=me"))).status,
        204,
        "so is whether it could be freed"
    );
    assert!(world.left().is_empty());
    assert_eq!(world.send(&Request::new("DELETE", &format!("{lock}?holder=me"))).status, 404);
}

#[test]
fn a_deployment_of_one_service_says_so() {
    let mut world = World::new(started(production(None)));
    world.call(
        "POST",
        "/deployments",
        &json!({"environment": "production", "version": "v2", "service": "web"}),
    );
    assert_eq!(world.effects[0].fields.get("service"), Some(&"web".into()));
}

#[test]
fn a_lock_ends_with_its_lifetime() {
    let mut world = World::new(started(production(None)));
    world.call("PUT", "/environments/production/lock", &json!({"holder": "ci", "ttl": 10}));
    world.pass(Duration::from_secs(4));
    assert_eq!(deploy(&mut world, "v2").1["retry_after"], 6);
    world.pass(Duration::from_secs(6));
    assert_eq!(deploy(&mut world, "v2").0, 201);
}

#[test]
fn a_roll_out_goes_step_by_step_and_counts_once() {
    let rollout = Rollout::Steps { count: 3, each: After::Requests(2) };
    let mut world = World::new(DeployOptions { rollout, ..started(production(None)) });
    let (status, begun) = deploy(&mut world, "v2");
    assert_eq!(
        (status, &begun["state"], &begun["progress"]),
        (201, &json!("rolling_out"), &json!({"done": 1, "of": 3}))
    );
    assert_eq!(world.deployed(), [("production".to_owned(), "v2".to_owned())]);
    let (_, environment) = world.get("/environments/production");
    assert_eq!(
        (&environment["version"], &environment["progress"]),
        (&json!("v2"), &json!({"done": 1, "of": 3}))
    );
    assert_eq!(environment["live"], json!([{"version": "v2", "parts": 1}, {"version": "v1", "parts": 2}]));
    let (status, conflict) = deploy(&mut world, "v3");
    assert_eq!(
        (status, &conflict["error"], &conflict["deployment"]),
        (409, &json!("in_progress"), &begun["id"])
    );
    assert_eq!(world.get("/environments/production").1["progress"], json!({"done": 2, "of": 3}));
    assert_eq!(deploy(&mut world, "v2").1["error"], "in_progress");
    let (_, environment) = world.get("/environments/production");
    assert_eq!(
        (&environment["state"], &environment["live"]),
        (&json!("live"), &json!([{"version": "v2", "parts": 3}]))
    );
    assert_eq!(deploy(&mut world, "v2").1["effect"], "noop");
    assert_eq!(world.effects.len(), 1);
}

#[test]
fn an_asynchronous_deployment_counts_when_it_is_done() {
    let asynchronous = Some(After::Requests(2));
    let mut world = World::new(DeployOptions { asynchronous, ..started(production(None)) });
    let answer =
        world.send(&request("POST", "/deployments", &json!({"environment": "production", "version": "v2"})));
    let queued = parsed(&answer);
    assert_eq!((answer.status, &queued["state"]), (202, &json!("queued")));
    let path =
        queued["status_url"].as_str().unwrap().strip_prefix("http://127.0.0.1:4010").unwrap().to_owned();
    assert_eq!(world.get(&path).1["state"], "queued");
    assert_eq!(world.get("/environments/production").1["version"], "v1");
    assert!(world.effects.is_empty());
    assert_eq!(world.get(&path).1["state"], "live");
    assert_eq!(world.deployed(), [("production".to_owned(), "v2".to_owned())]);
}

#[test]
fn what_is_queued_twice_is_deployed_twice() {
    let rollout = Rollout::Steps { count: 2, each: After::Settled };
    let mut world =
        World::new(DeployOptions { rollout, asynchronous: Some(After::Settled), ..DeployOptions::default() });
    assert_eq!(deploy(&mut world, "v2").0, 202);
    assert_eq!(deploy(&mut world, "v2").0, 202);
    world.settle();
    assert_eq!(world.effects.len(), 2);
    let (_, list) = world.get("/deployments");
    let states: Vec<_> =
        list["deployments"].as_array().unwrap().iter().map(|deployment| &deployment["state"]).collect();
    assert_eq!(states, ["live", "superseded"]);
}

#[test]
fn a_service_has_a_version_of_its_own_until_the_whole_is_deployed() {
    let mut world = World::new(started(production(None)));
    let of = |service: &str, version: &str| json!({"environment": "production", "version": version, "service": service});
    assert_eq!(world.call("POST", "/deployments", &of("web", "v1")).1["effect"], "noop");
    assert_eq!(world.call("POST", "/deployments", &of("web", "v2")).0, 201);
    assert_eq!(world.call("POST", "/deployments", &of("api", "v2")).0, 201);
    let (_, environment) = world.get("/environments/production");
    assert_eq!(
        (&environment["version"], &environment["services"]["web"]["version"]),
        (&json!("v1"), &json!("v2"))
    );
    assert_eq!(deploy(&mut world, "v1").0, 201, "the services are not at v1");
    assert_eq!(deploy(&mut world, "v1").1["effect"], "noop");
    assert_eq!(world.get("/deployments?state=superseded").1["deployments"].as_array().unwrap().len(), 2);
}

#[test]
fn a_list_is_filtered_and_cut() {
    let mut world = world();
    for version in ["v1", "v2", "v3"] {
        deploy(&mut world, version);
    }
    let (_, list) = world.get("/deployments?environment=production&limit=2");
    let versions: Vec<_> =
        list["deployments"].as_array().unwrap().iter().map(|deployment| &deployment["version"]).collect();
    assert_eq!((versions, &list["has_more"]), (vec![&json!("v3"), &json!("v2")], &json!(true)));
    assert_eq!(world.get("/deployments?version=v1").1["has_more"], false);
    assert_eq!(world.get("/deployments?state=live").1["deployments"].as_array().unwrap().len(), 1);
    assert_eq!(world.get("/deployments?state=odd").0, 400);
    assert_eq!(world.get("/deployments?limit=101").0, 400);
    assert_eq!(world.get("/environments").1["environments"][0]["name"], "production");
}

#[test]
fn a_bad_request_gets_its_true_refusal() {
    let mut world = world();
    let mut refused = |method: &str, target: &str, body: &str| {
        let answer = world.send(&Request::new(method, target).body(body));
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
    assert!(world.effects.is_empty());
}
