use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn the_command_is_guessed_from_what_is_there() {
    let command = |files: &[(&str, &str)]| guess(folder(files).path()).command.join(" ");
    assert_eq!(command(&[("agent.py", ""), ("main.py", "")]), "python3 agent.py");
    assert_eq!(command(&[("package.json", r#"{"scripts": {"start": "node x.js"}}"#)]), "npm start --silent");
    assert_eq!(command(&[("package.json", "not JSON"), ("index.js", "")]), "node index.js");
    assert_eq!(command(&[("Cargo.toml", ""), ("src/main.rs", "")]), "cargo run --quiet");
    assert_eq!(command(&[("go.mod", ""), ("main.go", "")]), "go run .");
    assert_eq!(command(&[("go.mod", "")]), "sh agent.sh");
}

#[test]
fn where_nothing_is_found_a_sample_is_laid_out() {
    let empty = folder(&[]);
    let found = guess(empty.path());
    assert!(found.is_sample);
    lay_out(empty.path(), &found).unwrap();
    assert!(empty.path().join(SAMPLE_AGENT).is_file());
}

#[test]
fn nothing_is_overwritten() {
    let taken = folder(&[("hapax.yaml", "mine"), ("agent.py", "")]);
    let wrote = lay_out(taken.path(), &guess(taken.path())).unwrap();
    assert_eq!(wrote[0], Wrote::Kept("hapax.yaml"));
    assert_eq!(fs::read_to_string(taken.path().join("hapax.yaml")).unwrap(), "mine");
    assert!(taken.path().join("scenarios/first-charge.yaml").is_file());
}

#[test]
fn what_is_laid_out_can_be_read_whatever_starts_the_agent() {
    let empty = folder(&[]);
    let command = ["my agent", "it's \"quoted\"", "a: b # c"].map(str::to_owned).to_vec();
    lay_out(empty.path(), &Guess::said(command.clone())).unwrap();
    let config = crate::subject::Config::load(&empty.path().join("hapax.yaml")).unwrap();
    let subject = config.subject(None).unwrap();
    assert_eq!(subject.kind, crate::subject::SubjectKind::Command { program: command });
    let cases = crate::scenario::load_in(empty.path(), &["scenarios".to_owned()]).unwrap().cases;
    assert_eq!(cases.len(), 2);
}

/// Nobody owns the name in the registry: whoever registers it first would be run.
#[test]
fn no_shipped_workflow_installs_hapax_by_its_name() {
    let shipped = [WORKFLOW, include_str!("../../examples/ci/github.yml"), include_str!("../../examples/ci/gitlab.yml")];
    for workflow in shipped {
        let installs = workflow.lines().filter(|line| line.contains("cargo install") || line.contains("cargo binstall"));
        let mut count = 0;
        for line in installs {
            assert!(line.contains("cargo install --path .hapax --locked"), "{line}");
            count += 1;
        }
        assert_eq!(count, 1, "it builds hapax once:\n{workflow}");
        assert!(workflow.contains("Until there is a release, it is built from a checkout."), "it says why:\n{workflow}");
    }
}
