use std::fs;

use super::*;

const SCENARIO: &str = "about: Mine.\ntags: [mine]\ntask: t\nexpect: {effects: [], claim: not-done}\n";

struct Home(tempfile::TempDir);

impl Home {
    fn with(files: &[(&str, &str)]) -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = home.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        home
    }

    fn load(&self, filters: &[&str]) -> Result<Loaded, LoadError> {
        load_in(self.0.path(), &filters.iter().map(|filter| (*filter).to_owned()).collect::<Vec<_>>())
    }

    fn ids(&self, filters: &[&str]) -> Vec<String> {
        let loaded = self.load(filters).unwrap_or_else(|error| panic!("{}", error.advice(false)));
        loaded.cases.into_iter().map(|case| case.id).collect()
    }

    fn refused(&self, filters: &[&str]) -> String {
        self.load(filters).unwrap_err().advice(false)
    }
}

#[test]
fn an_empty_folder_has_the_shipped_scenarios() {
    let home = Home::with(&[]);
    assert_eq!(home.ids(&[]), shipped().unwrap().into_iter().map(|case| case.id).collect::<Vec<_>>());
}

#[test]
fn the_files_of_a_user_are_added_to_the_shipped_ones() {
    let home = Home::with(&[
        ("scenarios/mine/first.yaml", SCENARIO),
        ("scenarios/second.yml", SCENARIO),
        ("scenarios/.hidden.yaml", "nonsense"),
        ("scenarios/notes.txt", "nonsense"),
    ]);
    let ids = home.ids(&[]);
    assert_eq!(ids.len(), shipped().unwrap().len() + 2);
    assert!(ids.contains(&"mine/first".to_owned()) && ids.contains(&"second".to_owned()));
}

#[test]
fn a_file_of_a_user_replaces_the_shipped_one_with_that_name() {
    let home = Home::with(&[("scenarios/payment/lost-reply.yaml", SCENARIO)]);
    assert_eq!(home.ids(&["payment/lost-reply"]), ["payment/lost-reply"]);
}

#[test]
fn a_filter_is_a_path_a_tag_or_a_part_of_an_id() {
    let home = Home::with(&[
        ("scenarios/a.yaml", SCENARIO),
        ("elsewhere/b.yaml", SCENARIO),
        ("elsewhere/in/c.yaml", SCENARIO),
    ]);
    assert_eq!(home.ids(&["scenarios/a.yaml"]), ["a"]);
    assert_eq!(home.ids(&["elsewhere"]), ["b", "in/c"]);
    assert_eq!(home.ids(&["elsewhere/in/c.yaml"]), ["c"]);
    assert_eq!(home.ids(&["mine"]), ["a"]);
    assert_eq!(home.ids(&["killed-after-effect@keys=none"]), ["crash/killed-after-effect@keys=none"]);
    assert_eq!(
        home.ids(&["mine", "killed-after-effect"]),
        ["a", "crash/killed-after-effect@keys=stripe", "crash/killed-after-effect@keys=none"]
    );
    assert!(
        home.ids(&["lost-reply@keys=none,reply=502"]).iter().all(|id| id.contains("keys=none,reply=502"))
    );
}

#[test]
fn only_the_files_that_are_named_must_be_right() {
    let home = Home::with(&[("scenarios/a.yaml", "about: 5"), ("b.yaml", SCENARIO)]);
    assert_eq!(home.ids(&["b.yaml"]), ["b"]);
    assert!(home.refused(&["crash"]).contains("scenarios/a.yaml:1:8"), "nothing runs while a file is wrong");
}

#[test]
fn a_filter_that_matches_nothing_gives_a_suggestion() {
    let home = Home::with(&[]);
    insta::assert_snapshot!(home.refused(&["crsh", "payment/lost-replay", "mine/x.yaml", "zzz"]));
}

#[test]
fn all_problems_of_all_files_are_reported_at_once() {
    let home = Home::with(&[
        ("scenarios/a.yaml", "about: 5\ntask: t\nexpect: {effects: [], claim: not-done}\n"),
        ("scenarios/b.yaml", "about: &x 5\n"),
        (
            "scenarios/c.yaml",
            "about: a\ntask: t\nservices: {desk: {file: desk.yaml}}\nexpect: {effects: [], claim: not-done}\n",
        ),
        ("scenarios/desk.yaml", "service: desk\noperations: {}\n"),
        ("scenarios/e.yaml", &"[".repeat(2 << 20)),
    ]);
    let message = home.refused(&[]).replace(&home.0.path().display().to_string(), "HOME");
    insta::assert_snapshot!(message);
}

#[test]
fn a_scenario_can_use_a_service_file_beside_it() {
    let desk = "service: desk\noperations: {open: {route: POST /t, fields: {who: body.who}, effect: \
        {identity: [who]}, set: {state: new}}}\n";
    let scenario = "about: a\ntask: t\nsteps: [{do: desk.open, with: {who: ann}}]\nservices: {desk: {file: \
        ../desk.yaml}}\n\
                    expect: {effects: [{effect: desk.open, where: {who: ann}, with: {state: new}}]}\n";
    let home = Home::with(&[("scenarios/desk.yaml", desk), ("scenarios/in/a.yaml", scenario)]);
    let loaded = home.load(&["in/a"]).unwrap();
    assert_eq!(loaded.cases[0].services[0].name, "desk");
    assert!(loaded.cases[0].terms.operations.iter().any(|operation| operation.identity == ["who"]));
}

#[test]
fn two_files_with_the_same_scenario_name_are_refused() {
    let home = Home::with(&[("a/x.yaml", SCENARIO), ("b/x.yaml", SCENARIO)]);
    assert!(
        home.refused(&["a", "b"]).contains("the scenario name `x` is also used by a/x.yaml"),
        "{}",
        home.refused(&["a", "b"])
    );
    assert_eq!(home.ids(&["a", "./a/x.yaml"]), ["x"], "the same file twice is one file");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_not_followed() {
    let home = Home::with(&[("scenarios/a.yaml", SCENARIO)]);
    std::os::unix::fs::symlink(home.0.path().join("scenarios"), home.0.path().join("scenarios/again"))
        .unwrap();
    assert_eq!(home.ids(&["mine"]), ["a"]);
}
