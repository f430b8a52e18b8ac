//! `hapax run --task … --expect …`: one task, without a file.

use crate::kit::workspace::{WRITES, Workspace, charge, verdict};

const TASK: [&str; 5] = ["run", "--task", "Refund order 7", "--expect", "payment.refund:order=7"];

fn call(more: &[&'static str]) -> Vec<&'static str> {
    TASK.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn one_task_meets_every_standard_cell_and_a_careful_agent_passes() {
    let workspace = Workspace::new();
    workspace.call(&call(&["--subject", "careful"])).expect(0);
    let report = workspace.report();
    assert_eq!(report["cases"].as_array().unwrap().len(), 42);
}

#[test]
fn a_subject_that_is_not_made_for_many_cases_is_told_the_can_line_first() {
    let workspace = Workspace::new();
    workspace.write("scenarios/charge.yaml", &charge(""));
    for number in 1..=3 {
        let mail = format!(
            "about: A mail.\ntags: [mine]\ntask: Send it.\nsteps: [{{do: email.send, with: {{to: a@example.com, \
             subject: s{number}}}}}]\nexpect: {{effects: [{{effect: email.send, where: {{to: a@example.com}}}}]}}\n"
        );
        workspace.write(&format!("scenarios/mail-{number}.yaml"), &mail);
    }
    let agent =
        format!("{WRITES}charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >&2\necho done");
    let run = ["run", "scenarios", "--claims", "optional"];
    let called = workspace.call(&[&run[..], &["--", "bash", "-c", &agent]].concat()).expect(1);
    let first = called.stdout.split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "It never attempted email.send, which 3 cases ask for. If it is not made for that, write \
                `can: [payment]` for it in hapax.yaml";
    assert!(first.contains(line), "{}", called.stdout);
    let summary = workspace.read("reports/latest/summary.md");
    assert!(summary.find("It never attempted").unwrap() < summary.find("**").unwrap(), "{summary}");
    // With that line the cases are skipped.
    workspace.write("agent.sh", &agent);
    workspace.write("hapax.yaml", "subjects:\n  mine: { command: [bash, agent.sh], can: [payment] }\n");
    let called = workspace.call(&[&run[..], &["--subject", "mine"]].concat());
    assert!(called.stdout.contains("3 skipped"), "{}", called.stdout);
    assert!(!called.stdout.contains("It never attempted"), "{}", called.stdout);
}

#[test]
fn a_task_that_duplicates_is_found() {
    let workspace = Workspace::new();
    let charge = "payment.charge:customer=cus_42,amount=4999,order=7";
    workspace.call(&["run", "--task", "Charge it.", "--expect", charge, "--subject", "naive"]).expect(1);
    assert_eq!(
        verdict(&workspace.report(), "task@keys=stripe,commit=now,reply=drop")["outcome"],
        "duplicated"
    );
}

#[test]
fn the_scenario_can_be_saved_and_runs_the_same() {
    let workspace = Workspace::new();
    workspace
        .call(&call(&["--save", "scenarios/refund.yaml", "--seed", "1", "--subject", "naive"]))
        .expect(1);
    let made = workspace.report();
    workspace.call(&["lint", "scenarios/refund.yaml"]).expect(0);
    workspace.call(&["run", "scenarios/refund.yaml", "--seed", "1", "--subject", "naive"]).expect(1);
    let saved = workspace.report();
    let results = |report: &serde_json::Value| -> Vec<(String, String, String)> {
        let cases = report["cases"].as_array().unwrap();
        let one = |case: &serde_json::Value| {
            let trial = &case["trials"][0];
            (case["id"].to_string(), trial["seed"].to_string(), trial["verdict"]["result"].to_string())
        };
        cases.iter().map(one).collect()
    };
    assert_eq!(results(&made), results(&saved));
    assert_eq!(results(&made).len(), 42);
}

#[test]
fn an_existing_file_is_not_overwritten_and_nothing_runs() {
    let workspace = Workspace::new();
    workspace.write("mine.yaml", "mine");
    let called = workspace.call(&call(&["--save", "mine.yaml", "--subject", "naive"])).expect(2);
    assert!(called.stderr.contains("mine.yaml exists already"), "{}", called.stderr);
    assert_eq!(workspace.read("mine.yaml"), "mine");
    assert!(!workspace.path().join("reports").exists(), "nothing ran");
}

#[test]
fn a_naive_agent_fails_one_task_and_its_replay_line_works_without_a_file() {
    let workspace = Workspace::new();
    workspace.call(&call(&["--subject", "naive"])).expect(1);
    let report = workspace.report();
    assert_eq!(verdict(&report, "task@keys=none,commit=never,reply=ok")["outcome"], "lost");
    assert_eq!(verdict(&report, "task@keys=none,commit=now,reply=ok")["result"], "pass");
    let case = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["id"] == "task@keys=none,commit=never,reply=ok");
    let again = case.unwrap()["trials"][0]["replay"].as_str().unwrap().to_owned();
    let line = again.strip_prefix("hapax ").unwrap();
    let status = std::process::Command::new("sh")
        .args(["-c", &format!("{} {line} -q", crate::kit::workspace::HAPAX)])
        .current_dir(workspace.path())
        .output()
        .unwrap();
    assert_eq!(status.status.code(), Some(1), "{again}: {status:?}");
    assert_eq!(verdict(&workspace.report(), "task@keys=none,commit=never,reply=ok")["outcome"], "lost");
}

#[test]
fn problems_in_an_expectation_say_what_would_be_valid() {
    let workspace = Workspace::new();
    let called = workspace
        .call(&["run", "--task", "x", "--expect", "payment.refnd:order=7", "--subject", "naive"])
        .expect(2);
    assert!(called.stderr.contains("did you mean `payment.refund`?"), "{}", called.stderr);
    workspace.call(&["run", "--task", "x", "--subject", "naive"]).expect(2);
    workspace.call(&["run", "--expect", "email.send", "--subject", "naive"]).expect(2);
}

#[test]
fn a_filter_or_an_expression_selects_among_the_cases_of_the_task() {
    let workspace = Workspace::new();
    let ids = |more: &[&'static str]| {
        let called =
            workspace.call(&call(&[more, &["--dry-run", "--subject", "careful"]].concat())).expect(0);
        called.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]).len(), 42);
    let none = ids(&["keys=none"]);
    assert!(
        !none.is_empty() && none.len() < 42 && none.iter().all(|id| id.contains("keys=none")),
        "{none:?}"
    );
    let lost = ids(&["-E", "keys=none & reply=drop"]);
    assert!(!lost.is_empty() && lost.len() < none.len(), "{lost:?}");
    assert!(lost.iter().all(|id| id.contains("keys=none") && id.contains("reply=drop")), "{lost:?}");
    let called = workspace.call(&call(&["email", "--subject", "careful"])).expect(2);
    assert!(
        called.stderr.contains("`email`") && called.stderr.contains("the cases are `task@"),
        "{}",
        called.stderr
    );
}
