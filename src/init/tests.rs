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
fn what_the_project_itself_uses_runs_the_agent() {
    let command = |files: &[(&str, &str)]| guess(folder(files).path()).command.join(" ");
    let tsx = r#"{"devDependencies": {"tsx": "^4"}}"#;
    assert_eq!(command(&[("agent.ts", ""), ("package.json", tsx)]), "npx --no-install tsx agent.ts");
    assert_eq!(command(&[("agent.py", ""), ("uv.lock", "")]), "uv run agent.py");
    assert_eq!(command(&[("agent.py", ""), (".venv/bin/python", "")]), ".venv/bin/python agent.py");
    let start = r#"{"scripts": {"start": "node x.js"}}"#;
    assert_eq!(command(&[("package.json", start), ("index.js", "")]), "npm start --silent");
    assert_eq!(command(&[("package.json", start), ("pnpm-lock.yaml", "")]), "pnpm --silent start");
    let project = "[project]\nname = \"billing\"\n\n[project.scripts]\n# what starts it\n\
                   billing-agent = \"billing:main\"\n[tool.x]\n";
    assert_eq!(command(&[("pyproject.toml", project)]), "billing-agent");
    assert_eq!(command(&[("pyproject.toml", project), ("uv.lock", "")]), "uv run billing-agent");
    assert_eq!(
        command(&[("pyproject.toml", project), (".venv/bin/billing-agent", "")]),
        ".venv/bin/billing-agent"
    );
    assert_eq!(
        command(&[("pyproject.toml", "[project.scripts]\n[other]\nx = 1\n"), ("main.py", "")]),
        "python3 main.py"
    );
}

#[test]
fn the_workflow_goes_to_the_root_of_the_repository_with_what_the_agent_needs() {
    let repository = folder(&[
        (".git/config", "[remote \"origin\"]\n\turl = git@example.com:a/b.git\n"),
        ("bots/billing/agent.py", ""),
        ("bots/billing/requirements.txt", ""),
    ]);
    let below = repository.path().join("bots/billing");
    let wrote = create_files(&below, &guess(&below), None, None).unwrap();
    assert!(
        wrote.contains(&FileChange::Created("../../.github/workflows/hapax.yml".to_owned())),
        "{wrote:?}"
    );
    let workflow = fs::read_to_string(repository.path().join(".github/workflows/hapax.yml")).unwrap();
    for line in [
        "working-directory: bots/billing",
        "uses: actions/setup-python@v6",
        "run: pip install -r requirements.txt",
        "path: bots/billing/hapax-report",
    ] {
        assert!(workflow.contains(line), "{line}\n{workflow}");
    }
    assert!(
        ["@SETUP@", "@DIRECTORY@", "@PREFIX@", "@VERSION@"].iter().all(|place| !workflow.contains(place)),
        "{workflow}"
    );
}

#[test]
fn a_gitlab_remote_gets_a_gitlab_file() {
    let gitlab = "[remote \"origin\"]\n\turl = https://gitlab.com/a/b.git\n";
    let new = folder(&[(".git/config", gitlab), ("agent.js", ""), ("package-lock.json", "")]);
    let wrote = create_files(new.path(), &guess(new.path()), None, None).unwrap();
    assert!(wrote.contains(&FileChange::Created(".gitlab-ci.yml".to_owned())), "{wrote:?}");
    let text = fs::read_to_string(new.path().join(".gitlab-ci.yml")).unwrap();
    for part in ["image: debian:stable\n", "--no-install-recommends pipx nodejs npm\n", "    - npm ci\n"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains('@'), "{text}");
    assert!(!new.path().join(".github").exists());
    let taken = folder(&[(".git/config", gitlab), (".gitlab-ci.yml", "mine"), ("agent.sh", "")]);
    let wrote = create_files(taken.path(), &guess(taken.path()), None, None).unwrap();
    assert!(wrote.contains(&FileChange::Created(".gitlab/hapax.yml".to_owned())), "{wrote:?}");
    assert!(
        wrote.iter().any(|wrote| matches!(wrote, FileChange::ToDo(what) if what.contains("include"))),
        "{wrote:?}"
    );
    assert_eq!(fs::read_to_string(taken.path().join(".gitlab-ci.yml")).unwrap(), "mine");
}

#[test]
fn reports_are_ignored_once() {
    let text = |folder: &tempfile::TempDir| fs::read_to_string(folder.path().join(".gitignore")).unwrap();
    let (new, mine, done) =
        (folder(&[]), folder(&[(".gitignore", "target")]), folder(&[(".gitignore", "/reports/\n")]));
    for folder in [&new, &mine, &done] {
        create_files(folder.path(), &guess(folder.path()), None, None).unwrap();
        create_files(folder.path(), &guess(folder.path()), None, None).unwrap();
    }
    assert_eq!(
        (text(&new).as_str(), text(&mine).as_str(), text(&done).as_str()),
        ("reports/\n", "target\nreports/\n", "/reports/\n")
    );
}

#[test]
fn where_no_agent_is_found_an_example_is_created() {
    let empty = folder(&[]);
    let found = guess(empty.path());
    assert!(found.is_sample);
    create_files(empty.path(), &found, None, None).unwrap();
    assert!(empty.path().join(SAMPLE_AGENT).is_file());
}

#[test]
fn nothing_is_overwritten() {
    let taken = folder(&[("hapax.yaml", "mine"), ("agent.py", "")]);
    let wrote = create_files(taken.path(), &guess(taken.path()), None, None).unwrap();
    assert_eq!(wrote[0], FileChange::Kept("hapax.yaml".to_owned()));
    assert_eq!(fs::read_to_string(taken.path().join("hapax.yaml")).unwrap(), "mine");
    assert!(taken.path().join("scenarios/first-charge.yaml").is_file());
}

#[test]
fn the_created_files_can_be_read_for_every_command() {
    let empty = folder(&[]);
    let command = ["my agent", "it's \"quoted\"", "a: b # c"].map(str::to_owned).to_vec();
    create_files(empty.path(), &Guess::given(command.clone()), None, None).unwrap();
    let config = crate::subject::Config::load(&empty.path().join("hapax.yaml")).unwrap();
    let subject = config.subject(None).unwrap();
    assert_eq!(subject.kind, crate::subject::SubjectKind::Command { program: command });
    let cases = crate::scenario::load_in(empty.path(), &["scenarios".to_owned()]).unwrap().cases;
    assert_eq!(cases.len(), 2);
}

#[test]
fn an_agent_in_rust_gets_an_image_with_rust() {
    let gitlab = "[remote \"origin\"]\n\turl = https://gitlab.com/a/b.git\n";
    let rust = folder(&[(".git/config", gitlab), ("Cargo.toml", ""), ("src/main.rs", "")]);
    create_files(rust.path(), &guess(rust.path()), None, None).unwrap();
    let text = fs::read_to_string(rust.path().join(".gitlab-ci.yml")).unwrap();
    for part in ["image: rust:latest\n", "--no-install-recommends pipx\n"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// A workflow that takes the newest version, or another one than it was written for, can fail without a change.
#[test]
fn every_shipped_workflow_is_pinned_to_the_running_version() {
    let created = |files: &[(&str, &str)], name: &str| {
        let folder = folder(files);
        create_files(folder.path(), &guess(folder.path()), None, None).unwrap();
        fs::read_to_string(folder.path().join(name)).unwrap()
    };
    let workflows = [
        created(&[], ".github/workflows/hapax.yml"),
        created(&[(".gitlab-ci.yml", ""), (".git/config", "")], ".gitlab/hapax.yml"),
        include_str!("../../examples/ci/github.yml").to_owned(),
        include_str!("../../examples/ci/gitlab.yml").to_owned(),
    ];
    let version = env!("CARGO_PKG_VERSION");
    for workflow in workflows {
        assert_eq!(workflow.matches("hapax-harness").count(), 1, "{workflow}");
        assert!(workflow.contains(&format!("hapax-harness=={version}")), "{workflow}");
    }
    let action = include_str!("../../action.yml");
    assert!(
        action.contains(&format!(
            "  version:\n    description: The version of hapax\n    default: {version}\n"
        ))
    );
    let component = include_str!("../../templates/hapax.yml");
    assert!(
        component.contains(&format!("      description: The version of hapax\n      default: {version}\n"))
    );
}

#[test]
fn every_created_workflow_is_valid_yaml_without_placeholders() {
    let agents: [&[(&str, &str)]; 8] = [
        &[],
        &[("agent.py", ""), ("requirements.txt", "")],
        &[("agent.py", ""), (".venv/bin/python", ""), ("pyproject.toml", "")],
        &[("agent.py", ""), ("uv.lock", "")],
        &[("agent.js", ""), ("package.json", "{}"), ("yarn.lock", "")],
        &[("agent.rb", "")],
        &[("go.mod", ""), ("main.go", "")],
        &[("Cargo.toml", ""), ("src/main.rs", "")],
    ];
    for agent in agents {
        for (host, name) in
            [(".git/config", ".github/workflows/hapax.yml"), (".gitlab-ci.yml", ".gitlab/hapax.yml")]
        {
            let repository = folder(&[agent, &[(".git/config", ""), (host, "")]].concat());
            create_files(repository.path(), &guess(repository.path()), None, None).unwrap();
            let text = fs::read_to_string(repository.path().join(name)).unwrap();
            let parsed = yaml_reader::parse(&yaml_reader::Source::new(name, text.as_str()));
            assert!(parsed.is_ok(), "{agent:?}\n{text}");
            let has_placeholder = text
                .split('@')
                .skip(1)
                .step_by(2)
                .any(|word| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_uppercase()));
            assert!(!has_placeholder, "{text}");
        }
    }
}

#[test]
fn what_the_probe_found_is_in_the_file() {
    let folder = folder(&[("agent.py", "")]);
    let found = ["sealed: true".to_owned(), "can: [payment.charge]".to_owned()];
    create_files(folder.path(), &guess(folder.path()), Some(&found), None).unwrap();
    insta::assert_snapshot!(fs::read_to_string(folder.path().join("hapax.yaml")).unwrap());
}

#[test]
fn a_workflow_of_several_parts_starts_each_once_and_merges_all_of_them() {
    let repository = folder(&[(".git/config", ""), ("bots/agent.py", "")]);
    let below = repository.path().join("bots");
    create_files(&below, &guess(&below), None, Some(3)).unwrap();
    let github = fs::read_to_string(repository.path().join(".github/workflows/hapax.yml")).unwrap();
    let gitlab = folder(&[(".git/config", "url = gitlab"), ("agent.py", "")]);
    create_files(gitlab.path(), &guess(gitlab.path()), None, Some(3)).unwrap();
    let gitlab = fs::read_to_string(gitlab.path().join(".gitlab-ci.yml")).unwrap();
    assert!(!github.contains('@') || github.matches('@').count() == github.matches("@v").count(), "{github}");
    insta::assert_snapshot!(format!("{github}\n---\n{gitlab}"));
}
