//! Selecting cases with expressions, and showing scenarios.

use crate::kit::workspace::Workspace;

fn listed(arguments: &[&str]) -> Vec<String> {
    let out = Workspace::new().call(&[&["list", "--json"], arguments].concat()).expect(0).stdout;
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].to_string();
    out.lines().map(id).collect()
}

#[test]
fn an_expression_selects_cases() {
    let selected = listed(&["-E", "scenario(payment/lost-reply) & keys=stripe & !reply=429"]);
    assert_eq!(selected.len(), 9, "{selected:?}");
    assert_eq!(
        listed(&["payment/lost-reply", "--expression", "reply=drop"]),
        listed(&["lost-reply@reply=drop", "-E", "scenario(payment/lost-reply)"])
    );
}

#[test]
fn a_mistake_in_an_expression_is_an_error_with_a_suggestion() {
    let workspace = Workspace::new();
    for (expression, said) in [
        ("tag(payment", "expected `)`"),
        ("!tag(paymnt)", "did you mean `tag(payment)`?"),
        ("scenario(payment/clean) & reply=drop", "no case all of it"),
    ] {
        let called = workspace.call(&["list", "-E", expression]).expect(2);
        assert!(called.stderr.contains(said), "{expression}: {}", called.stderr);
    }
}

#[test]
fn a_word_that_names_a_folder_runs_the_folder_and_a_note_names_the_tag() {
    let workspace = Workspace::new();
    let dry = |word: &str| workspace.call(&["run", word, "--dry-run", "--subject", "naive"]).expect(0);
    let (folder, tagged) = (dry("payment"), listed(&["-E", "tag(payment)"]).len());
    assert_eq!(folder.stdout, dry("payment/").stdout);
    assert!(folder.stdout.lines().all(|id| id.starts_with("payment/")), "{}", folder.stdout);
    assert!(
        folder.stderr.contains(" more cases have the tag payment: `-E 'tag(payment)'`"),
        "{}",
        folder.stderr
    );
    assert!(tagged > listed(&["payment"]).len());
    assert!(!dry("ambiguous").stderr.contains("note: "), "no folder has the name of this tag");
    let quiet = workspace.call(&["run", "web", "-q", "--dry-run", "--subject", "naive"]).expect(0).stderr;
    assert!(!quiet.contains("note: "), "{quiet}");
}

#[test]
fn a_short_list_has_one_line_for_each_scenario() {
    let workspace = Workspace::new();
    let short = |arguments: &[&str]| {
        let mut command = workspace.command(&[&["list", "--short"], arguments].concat());
        String::from_utf8(command.env("COLUMNS", "80").output().unwrap().stdout).unwrap()
    };
    insta::assert_snapshot!(short(&["crash"]));
    let all = short(&[]);
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let mut scenarios: Vec<String> =
        listed(&[]).iter().map(|id| id.trim_matches('"').split('@').next().unwrap().to_owned()).collect();
    scenarios.dedup();
    let names: Vec<&str> = all.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, scenarios);
}

#[test]
fn a_suite_of_hapax_yaml_runs_its_cases() {
    let workspace = Workspace::new();
    workspace.write(
        "hapax.yaml",
        "subjects: {mine: {command: 'true'}}\n\
         suites:\n  quick: scenario(payment/lost-reply) & reply=drop\n  nightly: [payment/clean, crash/frozen]\n",
    );
    let cases = |suite: &str| {
        let called = workspace.call(&["run", "--suite", suite, "--dry-run"]).expect(0);
        called.stdout.lines().map(|id| format!("\"{id}\"")).collect::<Vec<_>>()
    };
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    assert_eq!(cases("quick"), sorted(listed(&["payment/lost-reply", "-E", "reply=drop"])));
    assert_eq!(cases("nightly"), sorted(listed(&["payment/clean", "crash/frozen"])));
    let unknown = workspace.call(&["run", "--suite", "nightyl", "--dry-run"]).expect(2).stderr;
    let shown = |message: &str| message.replace(workspace.path().to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!(shown(&unknown));
    let narrowed = ["run", "payment/clean", "--suite", "nightly", "-E", "keys=stripe", "--dry-run"];
    assert_eq!(workspace.call(&narrowed).expect(0).stdout, "payment/clean@keys=stripe\n");
    let none = workspace.call(&["run", "email", "--suite", "quick", "--dry-run"]).expect(2).stderr;
    assert!(none.contains("the suite quick has none of the cases"), "{none}");
    workspace.write(
        "hapax.yaml",
        "subjects: {mine: {command: 'true'}}\nsuites: {quick: 'tag(payment', none: []}\n",
    );
    let wrong = workspace.call(&["run", "--suite", "quick", "--dry-run"]).expect(2).stderr;
    insta::assert_snapshot!(shown(&wrong));
    let nowhere = Workspace::new();
    let none = nowhere.call(&["run", "--suite", "quick", "--subject", "naive"]).expect(2).stderr;
    assert!(none.contains("there is no hapax.yaml"), "{none}");
}

#[test]
fn a_scenario_is_shown_by_its_name() {
    let workspace = Workspace::new();
    let built_in = include_str!("../../scenarios/email/lost-250.yaml");
    for name in ["email/lost-250", "lost-250"] {
        assert_eq!(workspace.call(&["show", name]).expect(0).stdout, built_in);
    }
    let several = workspace.call(&["show", "lost-request"]).expect(2).stderr;
    assert!(several.contains("scenarios are called `lost-request`\nhelp: did you mean `"), "{several}");
    assert!(
        several.contains("`email/lost-request`") && several.contains("`payment/lost-request`"),
        "{several}"
    );
    let unknown = workspace.call(&["show", "payment/lost-repyl"]).expect(2).stderr;
    assert!(unknown.contains("did you mean `payment/lost-reply`?"), "{unknown}");
    workspace.write("scenarios/email/lost-250.yaml", "about: mine\n");
    assert_eq!(workspace.call(&["show", "lost-250@x=1"]).expect(0).stdout, "about: mine\n");
}
