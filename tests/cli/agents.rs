//! Recipes of published agent programs: listed, shown, copied, used; here with a program of the test. The published
//! programs themselves are in `docs/agents/make`.

use std::os::unix::fs::PermissionsExt;

use crate::kit::workspace::{Called, WRITES, Workspace, charge};

/// A program that reads its task from an argument, its settings from its home and another from a variable.
const PROGRAM: &str = r#"
[ -e "$HOME/own-file-of-the-user" ] && { echo 'it sees the home of the user' >&2; exit 4; }
[ -e "$HOME/.billing/broken" ] && { echo 'error: unknown setting `speed` in settings' >&2; exit 5; }
[ "$(cat "$HOME/.billing/settings")" = "$HAPAX_PAYMENT_URL" ] && [ "$SPEED" = "${EXPECTED-slow}" ] || exit 6
[ $# = 1 ] && [ "$1" = "$HAPAX_TASK" ] || exit 7
charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null
echo '{"outcome": "done"}'
"#;

const RECIPE: &str = r#"about: the billing program of a test
version: 1.2.0
install: npm install --global billing@1.2.0
approvals: none is asked (--yes)
sandbox: none (sandbox = off)
problems:
  "unknown setting": this version does not understand a setting of .billing/settings
subject:
  command: [billing, "${task}"]
  home: { .billing/settings: "${payment.url}" }
  env: { SPEED: slow }
"#;

/// A project with the recipe, and a folder of programs in PATH, which has the program.
struct Project(Workspace);

impl Project {
    fn new() -> Self {
        let workspace = Workspace::new();
        workspace.write("scenarios/mine/charge.yaml", &charge(""));
        workspace.write("agents/billing.yaml", RECIPE);
        workspace.write("bin/billing", &format!("#!/usr/bin/env bash\n{WRITES}{PROGRAM}"));
        workspace.write("user/own-file-of-the-user", "");
        let program = workspace.path().join("bin/billing");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Project(workspace)
    }

    fn call(&self, arguments: &[&str]) -> Called {
        let path = std::env::var("PATH").unwrap();
        let bin = self.0.path().join("bin");
        let mut command = self.0.command(arguments);
        command.env("PATH", format!("{}:{path}", bin.display())).env("HOME", self.0.path().join("user"));
        command.env_remove("HAPAX_NO_SMOKE").env("COLUMNS", "160").output().unwrap().into()
    }
}

#[test]
fn a_recipe_of_a_project_starts_its_program_and_the_report_names_what_it_sets() {
    let project = Project::new();
    project.call(&["run", "mine", "--agent", "billing"]).expect(0);
    let report = project.0.report();
    let notes = report["notes"].as_array().unwrap();
    let note = notes.iter().find_map(|note| note.as_str().filter(|note| note.contains("recipe"))).unwrap();
    assert_eq!(
        note,
        "Not shipped with hapax: the recipe `billing` (agents/billing.yaml) is local, and starts `billing ${task}`. By \
         its own words it starts the billing program of a test, and is made for version 1.2.0. Approvals: none is asked \
         (--yes). Sandbox: none (sandbox = off). Everything else is the program's default."
    );
    // With `naive`, in one table; the options of the command line come after the recipe.
    let called =
        project.call(&["run", "mine", "--agent", "billing", "--subject", "naive", "--set", "EXPECTED=slow"]);
    called.expect(0);
}

/// The recipe of Claude Code of this project starts another program.
const IMPOSTOR: &str =
    "is local, with the name of a shipped recipe and other content, and starts `billing ${task}`";

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_impostor() -> Project {
    let project = Project::new();
    let shipped = project.call(&["list", "--agents", "claude"]).expect(0).stdout;
    let about = shipped.lines().find(|line| line.starts_with("about: ")).unwrap();
    let recipe = RECIPE.replace("about: the billing program of a test", about);
    project.0.write("agents/claude.yaml", &recipe);
    project
}

#[test]
fn a_recipe_of_a_project_with_the_name_of_a_shipped_one_is_named_as_local_with_its_command() {
    let project = with_impostor();
    let called = project.call(&["run", "mine", "--agent", "claude"]).expect(0);
    assert!(one_line(&called.stdout).contains(IMPOSTOR), "{}", called.stdout);
    let report = project.0.report();
    let notes = report["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains(IMPOSTOR))), "{notes:?}");
    let note = notes.iter().find_map(|note| note.as_str().filter(|note| note.contains("recipe"))).unwrap();
    assert!(note.starts_with("Not shipped with hapax: the recipe `claude` (agents/claude.yaml)"), "{note}");
    let list = project.call(&["list", "--agents"]).expect(0).stdout;
    let line = list.lines().find(|line| line.starts_with("claude ")).unwrap();
    assert!(line.contains("agents/claude.yaml") && line.contains(IMPOSTOR), "{line}");
    // A copy is the shipped recipe, and so is one that hapax.yaml changes; then the note says what it changes.
    let shipped = Project::new().call(&["list", "--agents", "claude"]).expect(0).stdout;
    project.0.write("agents/claude.yaml", &shipped);
    let list = project.call(&["list", "--agents"]).expect(0).stdout;
    assert!(!list.contains("is local"), "{list}");
}

#[test]
fn what_hapax_yaml_changes_of_a_recipe_is_named() {
    let project = Project::new();
    let config =
        "subjects: { mine: { agent: billing, env: { SPEED: fast, EXPECTED: fast }, timeout: 20s } }\n";
    project.0.write("hapax.yaml", config);
    project.call(&["run", "mine"]).expect(0);
    let report = project.0.report();
    let notes = report["notes"].as_array().unwrap();
    let note = notes.iter().find_map(|note| note.as_str().filter(|note| note.contains("recipe"))).unwrap();
    assert!(note.contains(" hapax.yaml changes it: env, timeout. Everything else"), "{note}");
}

#[test]
fn a_certificate_of_a_local_recipe_says_so_in_its_first_sentence_and_verify_repeats_it() {
    let project = with_impostor();
    let certify = [
        "certify",
        "mine",
        "--agent",
        "claude",
        "--level",
        "0.2",
        "--callers",
        "1",
        "--seed",
        "7",
        "--out",
        "out",
    ];
    let called = project.call(&certify).expect(0);
    let local = "(local recipe agents/claude.yaml, which starts `billing ${task}`)";
    assert!(one_line(&called.stdout).contains(&format!("claude {local}")), "{}", called.stdout);
    let page = project.0.read("out/certificate.html");
    assert!(page.contains(&format!("Agent claude {local}, on ")), "{page}");
    assert!(page.contains(IMPOSTOR), "{page}");
    let verified = project.call(&["certify", "verify", "out/certificate.json", "--run", "out"]);
    let text = one_line(&verified.stdout);
    assert!(text.contains("not checked recipe: the name `claude` is that of a local recipe"), "{text}");
    assert!(text.contains("and not the shipped recipe with that name"), "{text}");
}

#[test]
fn a_subject_of_hapax_yaml_can_be_a_recipe_with_other_settings() {
    let project = Project::new();
    let config =
        "subjects: { mine: { agent: billing, env: { SPEED: fast, EXPECTED: fast }, timeout: 20s } }\n";
    project.0.write("hapax.yaml", config);
    project.call(&["run", "mine"]).expect(0);
    project.0.write("hapax.yaml", "subjects: { mine: { agent: biling } }\n");
    let called = project.call(&["run", "mine"]).expect(2);
    assert!(called.stderr.contains("there is no recipe for an agent `biling`"), "{}", called.stderr);
    project.0.write("hapax.yaml", "subjects: { mine: { agent: billing, command: billing } }\n");
    let called = project.call(&["run", "mine"]).expect(2);
    assert!(called.stderr.contains("either `agent`, or `command`"), "{}", called.stderr);
}

#[test]
fn a_program_that_is_not_installed_or_does_not_understand_its_settings_is_told_apart() {
    let project = Project::new();
    let called = project.call(&["run", "mine", "--agent", "codx"]).expect(2);
    assert!(called.stderr.contains("did you mean `codex`?"), "{}", called.stderr);
    project.0.write("agents/missing.yaml", &RECIPE.replace("[billing,", "[no-such-program,"));
    let called = project.call(&["run", "mine", "--agent", "missing"]).expect(2);
    assert!(called.stderr.contains("install it: npm install --global billing@1.2.0"), "{}", called.stderr);
    let broken = RECIPE.replace("home: { ", "home: { .billing/broken: x, ");
    project.0.write("agents/billing.yaml", &broken);
    let called = project.call(&["run", "mine", "--agent", "billing"]).expect(3);
    assert!(called.stdout.contains("unknown setting `speed`"), "{}", called.stdout);
    assert!(
        called.stdout.contains("this version does not understand a setting of .billing"),
        "{}",
        called.stdout
    );
    assert!(called.stdout.contains("is made for version 1.2.0"), "{}", called.stdout);
    project.0.write("agents/billing.yaml", &RECIPE.replace("sandbox:", "sandbx:"));
    let called = project.call(&["run", "mine", "--agent", "billing"]).expect(2);
    assert!(called.stderr.contains("agents/billing.yaml:5:1"), "{}", called.stderr);
}

#[test]
fn recipes_are_listed_and_shown_as_files_that_can_be_copied() {
    let project = Project::new();
    let list = project.call(&["list", "--agents"]).expect(0).stdout;
    for name in ["claude", "cline", "codex", "copilot", "gemini", "mini-swe-agent", "opencode", "pi", "qwen"]
    {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{list}");
        let shown = project.call(&["list", "--agents", name]).expect(0).stdout;
        assert!(shown.contains("approvals: ") && shown.contains("${task}"), "{shown}");
        // A shell makes the file before hapax writes into it.
        project.0.write(&format!("agents/{name}.yaml"), "");
        assert_eq!(project.call(&["list", "--agents", name]).expect(0).stdout, shown);
        project.0.write(&format!("agents/copy-of-{name}.yaml"), &shown);
        assert_eq!(project.call(&["list", "--agents", &format!("copy-of-{name}")]).expect(0).stdout, shown);
    }
    assert_eq!(project.call(&["list", "--agents", "billing"]).expect(0).stdout, RECIPE);
}

#[test]
fn init_copies_the_recipe_of_a_published_program() {
    let project = Project::new();
    let called = project.call(&["init", "--agent", "claude"]).expect(0);
    assert!(called.stdout.contains("created  agents/claude.yaml"), "{}", called.stdout);
    let workflow = project.0.read(".github/workflows/hapax.yml");
    assert!(workflow.contains("npm install --global @anthropic-ai/claude-code@"), "{workflow}");
    project.call(&["lint"]).expect(0);
    project.0.write("hapax.yaml", "subjects: {}\n");
    std::fs::remove_file(project.0.path().join("hapax.yaml")).unwrap();
    project.call(&["init", "--agent", "billing"]).expect(0);
    project.call(&["run", "mine"]).expect(0);
}
