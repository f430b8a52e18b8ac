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
