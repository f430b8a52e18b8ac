//! Subjects that use another API than a case needs: void with a `can` line that skips such cases, and skipped
//! with that line.

use crate::kit::workspace::{Called, Workspace, kinds, verdict};

/// A subject in bash that sends one request, ignores the answer, and claims `done`.
fn client(variable: &str, path: &str, body: &str) -> String {
    format!(
        r#"url=$HAPAX_{variable}_URL key=HAPAX_{variable}_KEY
exec 3<>"/dev/tcp/127.0.0.1/${{url##*:}}"
body='{body}'
head="POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${{!key}}\r\nUser-Agent: bash\r\n"
head="${{head}}Content-Type: application/json\r\nContent-Length: ${{#body}}\r\nConnection: close\r\n\r\n"
printf '%b%s' "$head" "$body" >&3
cat <&3 >/dev/null
echo '{{"outcome": "done"}}' > "$HAPAX_RESULT""#
    )
}

fn github(body: &str) -> String {
    client("DEPLOY", "/repos/acme/shop/deployments", body)
}

fn reasons(workspace: &Workspace, case: &str) -> String {
    verdict(&workspace.report(), case)["void_because"]
        .as_array()
        .unwrap()
        .iter()
        .map(|why| why.as_str().unwrap())
        .collect()
}

/// Puts the `can` line from a report into hapax.yaml, and runs the case again.
fn run_with_line(workspace: &Workspace, case: &str, why: &str) -> Called {
    let line =
        why.split('`').find(|part| part.starts_with("can: [")).unwrap_or_else(|| panic!("no line in {why}"));
    workspace.write("hapax.yaml", &format!("subjects:\n  mine:\n    command: [bash, agent]\n    {line}\n"));
    workspace.call(&["run", case])
}

#[test]
fn a_case_with_locks_is_void_over_the_github_api() {
    let workspace = Workspace::new();
    workspace.write(
        "agent",
        &github(r#"{"ref": "v1.4.2", "environment": "production", "required_contexts": []}"#),
    );
    let case = "deploy/lock-held-then-free@free=6";
    workspace.call(&["run", case, "--", "bash", "agent"]).expect(3);
    let why = reasons(&workspace, case);
    assert!(why.contains("the GitHub API, which has no locks"), "{why}");
    assert!(
        why.contains("this case needs the plain deploy API")
            && why.contains("`can: [deploy.deploy via github]`"),
        "{why}"
    );
    let called = run_with_line(&workspace, case, &why);
    assert!(called.stdout.contains("1 skipped"), "{}\n{}", called.stdout, called.stderr);
    assert_eq!(
        workspace.report()["skipped"][0]["why"],
        "needs deploy.deploy via plain, which `can` of mine does not name"
    );
}

#[test]
fn smtp_codes_make_a_trial_of_a_rest_client_void() {
    let workspace = Workspace::new();
    let body = r#"{"from": "shop@example.com", "to": "ann@example.com",
        "subject": "Your receipt for ord_1001", "text": "x",
        "tags": [{"name": "order", "value": "ord_1001"}]}"#;
    workspace.write("agent", &client("EMAIL", "/emails", body));
    let case = "email/lost-250@reply=451";
    workspace.call(&["run", case, "--", "bash", "agent"]).expect(3);
    let why = reasons(&workspace, case);
    assert!(why.contains("the Resend API") && why.contains("this case needs SMTP"), "{why}");
    let called = run_with_line(&workspace, case, &why);
    assert!(called.stdout.contains("1 skipped"), "{}\n{}", called.stdout, called.stderr);
    // The same email in a case that allows any API.
    workspace.call(&["run", "email/lost-reply@keys=none,reply=truncate", "--", "bash", "agent"]).expect(0);
}

#[test]
fn what_a_rest_client_does_after_a_status_of_smtp_is_void_whatever_it_is() {
    let workspace = Workspace::new();
    let body = r#"{"from": "shop@example.com", "to": "ann@example.com",
        "subject": "Your receipt for ord_1001", "text": "x",
        "tags": [{"name": "order", "value": "ord_1001"}]}"#;
    let once = client("EMAIL", "/emails", body);
    let case = "email/lost-250@reply=421";
    for agent in [once.replace("\"done\"", "\"not-done\""), once.replace("\"done\"", "\"unknown\"")] {
        workspace.write("agent", &agent);
        workspace.call(&["run", case, "--", "bash", "agent"]).expect(3);
        assert!(reasons(&workspace, case).contains("this case needs SMTP"));
    }
    // A lost reply means the same over every API.
    workspace.write("agent", &format!("{once}\n{once}"));
    workspace.call(&["run", "email/lost-250@reply=drop", "--", "bash", "agent"]).expect(1);
}

#[test]
fn a_failure_through_another_api_is_still_a_failure() {
    let workspace = Workspace::new();
    let once = github(r#"{"ref": "v1.4.2", "environment": "production", "required_contexts": []}"#);
    workspace.write("agent", &format!("{once}\n{once}"));
    let case = "deploy/lock-held-then-free@free=2";
    workspace.call(&["run", case, "--", "bash", "agent"]).expect(1);
    assert!(kinds(verdict(&workspace.report(), case)).contains(&"duplicated"));
}

#[test]
fn an_unknown_api_is_an_error_that_lists_the_known_ones() {
    let workspace = Workspace::new();
    workspace.write("hapax.yaml", "subjects:\n  mine: { command: [true], can: [email.send via pigeon] }\n");
    let called = workspace.call(&["run"]).expect(2);
    assert!(
        called.stderr.contains("has no API `pigeon`")
            && called.stderr.contains("`resend`, `sendgrid` or `smtp`"),
        "{}",
        called.stderr
    );
    let scenario = "about: x\ntags: [clean]\ntask: y\nsteps: [{do: email.send, with: {to: a@b.example, \
        subject: x, via: resend}}]\n\
                    via: { email.send: smpt, deploy.deploy: [], email.send2: smtp }\nexpect: {effects: \
                    [{effect: email.send, where: {to: a@b.example}}]}\n";
    workspace.write("scenarios/wrong.yaml", scenario);
    let called = workspace.call(&["lint", "scenarios/wrong.yaml"]).expect(2);
    for message in ["did you mean `smtp`?", "this list is empty", "there is no operation `email.send2`"] {
        assert!(called.stderr.contains(message), "{message}: {}", called.stderr);
    }
    workspace.write(
        "scenarios/wrong.yaml",
        &scenario.replace("smpt, deploy.deploy: [], email.send2: smtp", "smtp"),
    );
    let called = workspace.call(&["lint", "scenarios/wrong.yaml"]).expect(2);
    assert!(called.stderr.contains("a step does email.send via `resend`"), "{}", called.stderr);
    workspace.write("scenarios/wrong.yaml", &scenario.replace("via: resend", "via: pigeon"));
    let called = workspace.call(&["lint", "scenarios/wrong.yaml"]).expect(2);
    assert!(called.stderr.contains("has no API `pigeon`"), "{}", called.stderr);
}
