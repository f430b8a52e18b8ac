//! GitHub's API.

use super::*;
use crate::service::Fields;

const DEPLOYMENTS: &str = "/repos/octo/shop/deployments";

fn created(harness: &mut DeployHarness, body: &Value) -> Value {
    let (status, deployment) = harness.call("POST", DEPLOYMENTS, body);
    assert_eq!(status, 201, "{deployment}");
    deployment
}

#[test]
fn a_deployment_is_made_and_read_back() {
    let mut harness = harness();
    let payload = json!({"order": "ord_1", "retries": 2});
    let answer = harness.send(&request(
        "POST",
        DEPLOYMENTS,
        &json!({"ref": "v2", "payload": payload, "required_contexts": []}),
    ));
    assert_eq!(answer.status, 201);
    let deployment = parsed(&answer);
    let url = deployment["url"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(url));
    assert_eq!(url, format!("http://127.0.0.1:4010{DEPLOYMENTS}/{}", deployment["id"].as_u64().unwrap()));
    assert_eq!(deployment["statuses_url"], format!("{url}/statuses"));
    for (name, value) in [
        ("ref", json!("v2")),
        ("task", json!("deploy")),
        ("environment", json!("production")),
        ("original_environment", json!("production")),
        ("description", Value::Null),
        ("payload", payload),
        ("production_environment", json!(true)),
        ("transient_environment", json!(false)),
        ("created_at", json!("2025-10-09T08:53:20Z")),
    ] {
        assert_eq!(deployment[name], value, "{name}");
    }
    let path = url.strip_prefix("http://127.0.0.1:4010").unwrap();
    assert_eq!(harness.get(path), (200, deployment.clone()));
    let sha = deployment["sha"].as_str().unwrap();
    assert_eq!(sha.len(), 40);
    let fields = Fields::new()
        .with("environment", "production")
        .with("version", "v2")
        .with("ref", "v2")
        .with("sha", sha)
        .with("repo", "octo/shop")
        .with("task", "deploy")
        .with("order", "ord_1")
        .with("metadata.order", "ord_1")
        .with("metadata.retries", 2)
        .with("payload.order", "ord_1")
        .with("payload.retries", 2)
        .with("deployment", deployment["id"].to_string());
    assert_eq!(
        harness.effects,
        [EffectFacts { effect: "deploy.deploy".into(), id: deployment["id"].to_string(), fields }]
    );
}

#[test]
fn the_same_deployment_twice_is_two_deployments() {
    let mut harness = harness();
    let first = created(&mut harness, &json!({"ref": "v2"}));
    let second = created(&mut harness, &json!({"ref": "v2"}));
    assert_ne!(first["id"], second["id"]);
    assert_eq!(first["sha"], second["sha"]);
    assert_eq!(harness.effects.len(), 2);
}

#[test]
fn every_url_keeps_the_prefix() {
    let mut harness = harness();
    let (_, deployment) = harness.call("POST", "/api/v3/repos/octo/shop/deployments", &json!({"ref": "v2"}));
    for name in ["url", "statuses_url", "repository_url"] {
        let url = deployment[name].as_str().unwrap();
        assert!(url.starts_with("http://127.0.0.1:4010/api/v3/repos/octo/shop"), "{url}");
    }
    let (status, repository) = harness.get("/api/v3/repos/octo/shop");
    assert_eq!((status, &repository["full_name"]), (200, &json!("octo/shop")));
    assert_eq!(repository["url"], "http://127.0.0.1:4010/api/v3/repos/octo/shop");
    assert_eq!(repository["deployments_url"], "http://127.0.0.1:4010/api/v3/repos/octo/shop/deployments");
    assert_eq!(repository["id"], harness.get("/repos/Octo/shop").1["id"]);
}

#[test]
fn a_list_is_filtered_paged_and_newest_first() {
    let mut harness = harness();
    for (version, environment) in
        [("v1", "staging"), ("v1", "production"), ("v2", "staging"), ("v3", "staging")]
    {
        created(
            &mut harness,
            &json!({"ref": version, "environment": environment, "task": "deploy:migrations"}),
        );
    }
    let refs = |list: &Value| -> Vec<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|deployment| deployment["ref"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(refs(&harness.get(&format!("{DEPLOYMENTS}?environment=staging")).1), ["v3", "v2", "v1"]);
    assert_eq!(refs(&harness.get(&format!("{DEPLOYMENTS}?ref=v1")).1), ["v1", "v1"]);
    assert!(refs(&harness.get(&format!("{DEPLOYMENTS}?task=deploy")).1).is_empty());
    assert!(refs(&harness.get("/repos/octo/other/deployments").1).is_empty());
    let answer = harness.send(
        &Request::new("GET", &format!("{DEPLOYMENTS}?per_page=3"))
            .header("Host", "h")
            .header("User-Agent", "tests"),
    );
    assert_eq!(refs(&parsed(&answer)), ["v3", "v2", "v1"]);
    assert!(
        answer
            .header("link")
            .unwrap()
            .starts_with("<http://h/repos/octo/shop/deployments?per_page=3&page=2>; rel=\"next\"")
    );
    assert_eq!(refs(&harness.get(&format!("{DEPLOYMENTS}?per_page=3&page=2")).1), ["v1"]);
}

#[test]
fn a_status_is_posted_and_read_and_deploys_nothing() {
    let mut harness = harness();
    let id = created(&mut harness, &json!({"ref": "v2"}))["id"].as_u64().unwrap();
    let statuses = format!("{DEPLOYMENTS}/{id}/statuses");
    let (status, posted) =
        harness.call("POST", &statuses, &json!({"state": "in_progress", "target_url": "https://ci/1"}));
    assert_eq!(
        (status, &posted["state"], &posted["log_url"]),
        (201, &json!("in_progress"), &json!("https://ci/1"))
    );
    assert_eq!(posted["deployment_url"], format!("http://127.0.0.1:4010{DEPLOYMENTS}/{id}"));
    harness.call("POST", &statuses, &json!({"state": "success"}));
    let (_, list) = harness.get(&statuses);
    assert_eq!((list.as_array().unwrap().len(), &list[0]["state"]), (2, &json!("success")));
    assert_eq!(harness.get(&format!("{statuses}/{}", posted["id"])), (200, posted));
    assert_eq!(harness.get(&format!("{statuses}/1")).0, 404);
    assert_eq!(harness.effects.len(), 1);
}

#[test]
fn a_success_retires_the_previous_one_and_only_that_can_be_deleted() {
    let mut harness = harness();
    let ids: Vec<_> = ["v1", "v2"]
        .map(|version| {
            created(&mut harness, &json!({"ref": version, "environment": "staging"}))["id"].to_string()
        })
        .to_vec();
    let of = |id: &str, rest: &str| format!("{DEPLOYMENTS}/{id}{rest}");
    harness.call("POST", &of(&ids[0], "/statuses"), &json!({"state": "success"}));
    let (status, refusal) = harness.call("DELETE", &of(&ids[0], ""), &json!(null));
    assert_eq!((status, &refusal["message"]), (422, &json!("Validation Failed")));
    harness.call("POST", &of(&ids[1], "/statuses"), &json!({"state": "success"}));
    assert_eq!(harness.get(&of(&ids[0], "/statuses")).1[0]["state"], "inactive");
    assert_eq!(harness.call("DELETE", &of(&ids[0], ""), &json!(null)).0, 204);
    assert_eq!(harness.get(&of(&ids[0], "")).0, 404);
    assert_eq!(harness.call("DELETE", &of(&ids[1], ""), &json!(null)).0, 204);
    let gone: Vec<_> = harness
        .effects
        .iter()
        .filter(|facts| facts.effect == "deploy.delete")
        .map(|facts| facts.id.clone())
        .collect();
    assert_eq!(gone, ids, "deleting a deployment is an effect");
}

#[test]
fn a_status_that_retires_a_deployment_is_an_effect() {
    let mut harness = harness();
    let id = created(&mut harness, &json!({"ref": "v2", "environment": "staging"}))["id"].to_string();
    let mut post = |body: Value| {
        let before = harness.effects.len();
        assert_eq!(harness.call("POST", &format!("{DEPLOYMENTS}/{id}/statuses"), &body).0, 201);
        harness.effects[before..].to_vec()
    };
    for state in ["queued", "pending", "in_progress", "success"] {
        assert!(post(json!({"state": state})).is_empty(), "{state}");
    }
    for state in ["inactive", "failure", "error"] {
        let [facts] = &post(json!({"state": state}))[..] else { panic!("{state}") };
        assert_eq!(facts.effect, "deploy.status");
        let expected =
            Fields::new().with("deployment", id.as_str()).with("state", state).with("version", "v2");
        assert!(
            facts.fields.meet(&expected.with("repo", "octo/shop").with("environment", "staging")),
            "{facts:?}"
        );
    }
    let moved = post(json!({"state": "success", "environment": "production"}));
    assert_eq!(moved[0].fields.get("environment"), Some(&"production".into()));
}

#[test]
fn environment_flags_that_differ_from_the_name_are_fields() {
    let mut harness = harness();
    created(&mut harness, &json!({"ref": "v2", "environment": "production", "production_environment": true}));
    assert_eq!(harness.effects[0].fields.get("production_environment"), None);
    let odd = json!({"ref": "v2", "environment": "production", "production_environment": false,
        "transient_environment": true,
        "payload": "force"});
    created(&mut harness, &odd);
    let expected = Fields::new().with("production_environment", false).with("transient_environment", true);
    assert!(
        harness.effects[1].fields.meet(&expected.with("payload", "force")),
        "{:?}",
        harness.effects[1].fields
    );
}

#[test]
fn a_bad_request_gets_the_message_of_github() {
    let mut harness = harness();
    let mut refused = |target: &str, body: &[u8]| {
        let answer = harness.send(&Request::new("POST", target).header("User-Agent", "tests").body(body));
        (answer.status, parsed(&answer)["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(refused(DEPLOYMENTS, b"{"), (400, "Problems parsing JSON".to_owned()));
    assert_eq!(
        refused(DEPLOYMENTS, "[".repeat(100_000).as_bytes()),
        (400, "Problems parsing JSON".to_owned())
    );
    assert_eq!(refused(DEPLOYMENTS, b"[]"), (400, "Body should be a JSON object".to_owned()));
    assert_eq!(refused(DEPLOYMENTS, b""), (422, "Invalid request.\n\n\"ref\" wasn't supplied.".to_owned()));
    assert_eq!(refused(DEPLOYMENTS, b"{}"), (422, "Invalid request.\n\n\"ref\" wasn't supplied.".to_owned()));
    assert_eq!(
        refused(DEPLOYMENTS, b"{\"ref\": 7}"),
        (422, "Invalid request.\n\nFor 'properties/ref', 7 is not a string.".to_owned())
    );
    assert_eq!(refused(DEPLOYMENTS, b"{\"ref\": \"a b\"}"), (422, "No ref found for: a b".to_owned()));
    assert_eq!(refused("/repos/octo/shop/deployments/1/statuses", b"{\"state\": \"done\"}").0, 422);
    assert_eq!(
        refused("/repos/octo/shop/deployments/1/statuses", b"{\"state\": \"success\"}"),
        (404, "Not Found".to_owned())
    );
    assert_eq!(refused("/repos/octo/shop/deployments/x/statuses", b"{}"), (404, "Not Found".to_owned()));
    assert_eq!(refused("/repos/o%0Ax/shop/deployments", b"{}"), (404, "Not Found".to_owned()));
    assert!(harness.effects.is_empty());
    assert_eq!(
        harness.get("/repos/octo").1,
        json!({"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"})
    );
}

#[test]
fn every_response_has_the_standard_headers_of_github() {
    let mut harness = harness();
    let answer = harness.send(&Request::new("GET", "/repos/octo/shop").header("User-Agent", "tests"));
    assert_eq!(answer.header("server"), Some("github.com"));
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(answer.header("x-github-media-type"), Some("github.v3; format=json"));
    assert_eq!(answer.header("x-ratelimit-limit"), Some("5000"));
    assert_eq!(answer.header("x-github-request-id").map(|id| id.split(':').count()), Some(5));
}

#[test]
fn required_checks_are_pending() {
    let mut harness = harness();
    let (status, body) =
        harness.call("POST", DEPLOYMENTS, &json!({"ref": "main", "required_contexts": ["ci/x", "ci/y"]}));
    let contexts = json!([{"context": "ci/x", "state": "pending"}, {"context": "ci/y", "state": "pending"}]);
    let errors = json!([{"contexts": contexts, "resource": "Deployment", "field": "required_contexts",
        "code": "invalid"}]);
    assert_eq!((status, &body["errors"]), (409, &errors));
    assert_eq!(body["message"], "Conflict: Commit status checks failed for main.");
    assert_eq!(harness.call("POST", DEPLOYMENTS, &json!({"ref": "main", "required_contexts": [7]})).0, 422);
    assert!(harness.deployed_versions().is_empty());
}

#[test]
fn a_request_without_a_user_agent_is_refused() {
    let mut harness = harness();
    for request in
        [Request::new("GET", DEPLOYMENTS), Request::new("GET", DEPLOYMENTS).header("User-Agent", " ")]
    {
        let answer = harness.send(&request);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 403);
        assert!(text.contains("Please make sure your request has a User-Agent header"), "{text}");
    }
    assert_eq!(
        harness.send(&Request::new("GET", "/deployments")).status,
        200,
        "the plain API does not require a User-Agent"
    );
}

#[test]
fn a_read_that_the_client_already_has_is_a_304() {
    let mut harness = harness();
    let get = |tag: &str| {
        let request = Request::new("GET", DEPLOYMENTS).header("User-Agent", "tests");
        if tag.is_empty() { request } else { request.header("If-None-Match", tag) }
    };
    let first = harness.send(&get(""));
    let tag = first.header("ETag").unwrap().to_owned();
    assert!(tag.starts_with("W/\"") && tag.ends_with('"'), "{tag}");
    let again = harness.send(&get(&format!("\"other\", {tag}")));
    assert_eq!((again.status, again.body.len(), again.header("ETag")), (304, 0, Some(tag.as_str())));
    let made = harness.send(&request("POST", DEPLOYMENTS, &json!({"ref": "v2"})));
    assert_eq!((made.status, made.header("ETag")), (201, None));
    let changed = harness.send(&get(&tag));
    assert!(changed.status == 200 && changed.header("ETag") != Some(tag.as_str()));
}

#[test]
fn a_tag_is_the_same_version_under_its_full_ref_name() {
    let mut harness = harness();
    let deployment = created(&mut harness, &json!({"ref": "refs/tags/v1.4.2", "required_contexts": []}));
    assert_eq!(deployment["ref"], "refs/tags/v1.4.2");
    let fields = &harness.effects[0].fields;
    let field = |name: &str| fields.get(name).map(ToString::to_string).unwrap_or_default();
    assert_eq!((field("version"), field("ref")), ("v1.4.2".to_owned(), "refs/tags/v1.4.2".to_owned()));
}
