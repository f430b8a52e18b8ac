//! Checks files of each kind that a user writes: scenarios, `hapax.yaml`, service files and recipes. All problems of all
//! files are reported at once.

use std::path::Path;

use mock_services::custom::DeclaredService;
use yaml_reader::{Problem, Problems, Source, Span, parse};

use crate::scenario::{Case, LoadError, load, read_text};
use crate::subject::{Config, ConfigError, Recipe, RecipeError, recipes_of};

/// What was checked and has no problem.
#[derive(Debug)]
pub struct Linted {
    /// The cases of the scenarios.
    pub cases: Vec<Case>,
    /// The number of files.
    pub files: usize,
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Scenario,
    Config,
    Service,
    Recipe,
}

/// Checks files and folders; without paths, all scenarios, the `hapax.yaml` and the recipes of the current folder. A
/// folder contains scenarios.
///
/// # Errors
/// Every problem of every file, or else the paths that do not exist.
pub fn lint(paths: &[String]) -> Result<Linted, LoadError> {
    let mut problems = Problems::default();
    let mut others: Vec<(String, FileKind)> = Vec::new();
    let mut scenarios: Vec<String> = Vec::new();
    for path in paths {
        match kind_of(Path::new(path)) {
            FileKind::Scenario => scenarios.push(path.clone()),
            kind => others.push((path.clone(), kind)),
        }
    }
    if paths.is_empty() {
        let config = Config::find(Path::new(".")).filter(|path| path.parent() == Some(Path::new(".")));
        others.extend(config.map(|path| (path.display().to_string(), FileKind::Config)));
        let recipes = recipes_of(Path::new("")).into_iter().filter(|path| kind_of(path) == FileKind::Recipe);
        others.extend(recipes.map(|path| (path.display().to_string(), FileKind::Recipe)));
    }
    for (path, kind) in &others {
        let found = match kind {
            FileKind::Config => check_config(Path::new(path)),
            FileKind::Recipe => check_recipe(Path::new(path)),
            _ => read_service_file(Path::new(path)).err(),
        };
        found.iter().flat_map(Problems::iter).for_each(|problem| problems.push(problem.clone()));
    }
    let loaded = if scenarios.is_empty() && !paths.is_empty() { None } else { Some(load(&scenarios)) };
    let loaded = match loaded.transpose() {
        Err(LoadError::Problems(found)) => {
            found.iter().for_each(|problem| problems.push(problem.clone()));
            None
        }
        Err(error) if problems.is_empty() => return Err(error),
        other => other.unwrap_or_default(),
    };
    if !problems.is_empty() {
        return Err(LoadError::Problems(problems));
    }
    let (cases, files) = loaded.map_or((Vec::new(), 0), |loaded| (loaded.cases, loaded.files));
    Ok(Linted { cases, files: files + others.len() })
}

/// The kind of a file: by its name, or by the keys that only one kind has.
fn kind_of(path: &Path) -> FileKind {
    if path.file_name().is_some_and(|name| name == "hapax.yaml") && path.is_file() {
        return FileKind::Config;
    }
    let Ok(text) = read_text(path) else { return FileKind::Scenario };
    let Ok(tree) = parse(&Source::new("", text)) else { return FileKind::Scenario };
    let has = |key: &str| tree.get(key).is_some();
    match () {
        () if has("subjects") => FileKind::Config,
        () if has("service") || has("operations") => FileKind::Service,
        () if has("subject") && !has("task") => FileKind::Recipe,
        () => FileKind::Scenario,
    }
}

fn check_config(path: &Path) -> Option<Problems> {
    match Config::load(path) {
        Ok(_) => None,
        Err(ConfigError::Problems { problems, .. }) => Some(problems),
        Err(error) => Some(unreadable(path, &error.to_string())),
    }
}

fn check_recipe(path: &Path) -> Option<Problems> {
    match Recipe::load(path) {
        Ok(_) => None,
        Err(RecipeError::Problems { problems, .. }) => Some(problems),
        Err(error) => Some(unreadable(path, &error.to_string())),
    }
}

/// Reads the service that a file declares.
///
/// # Errors
/// Every problem in the file.
pub fn read_service_file(path: &Path) -> Result<DeclaredService, Problems> {
    let text =
        read_text(path).map_err(|error| unreadable(path, &format!("cannot read the file: {error}")))?;
    DeclaredService::from_source(&Source::new(path.display().to_string(), text))
}

fn unreadable(path: &Path, message: &str) -> Problems {
    Problem::new(&Source::new(path.display().to_string(), ""), Span::default(), message).into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The problems of files in a temporary folder, which is shown as `.`.
    fn problems(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<String> = files
            .iter()
            .map(|(name, text)| {
                let path = folder.path().join(name);
                fs::write(&path, text).unwrap();
                path.display().to_string()
            })
            .collect();
        let advice = lint(&paths).unwrap_err().advice(false);
        advice.replace(&folder.path().display().to_string(), ".")
    }

    #[test]
    fn problems_of_every_kind_of_file_are_reported_at_once() {
        insta::assert_snapshot!(problems(&[
            ("hapax.yaml", "default: agnet\nsubjects:\n  agent:\n    comand: python agent.py\n"),
            (
                "desk.yaml",
                "service: desk\noperations:\n  open:\n    route: PSOT /tickets\n    fields: { subject: subject }\n    \
             effect: { identity: [subjct] }\n",
            ),
            (
                "program.yaml",
                "about: A program.\nversion: 1.0.0\ninstall: npm install program\napproval: none\nsandbox: none\nsubject:\n  \
                 command: [program, \"${tsk}\"]\n",
            ),
            ("lost.yaml", "about: A charge.\ntask: Charge.\nexpekt: { effects: [], claim: not-done }\n"),
            ("subjects.yaml", "subjects: { agent: { http: \"ftp://x\" } }\n"),
        ]));
    }

    #[test]
    fn the_kind_of_a_file_is_known_from_its_name_or_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, kind) in [
            ("hapax.yaml", "", FileKind::Config),
            ("other.yaml", "subjects: {}", FileKind::Config),
            ("desk.yaml", "service: desk", FileKind::Service),
            ("no-name.yaml", "operations: {}", FileKind::Service),
            ("program.yaml", "version: 1\nsubject: {}", FileKind::Recipe),
            ("scenario.yaml", "about: a\nservices: {}", FileKind::Scenario),
            ("broken.yaml", "a: [", FileKind::Scenario),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            assert_eq!(kind_of(&path), kind, "{name}");
        }
        assert_eq!(kind_of(&folder.path().join("none/hapax.yaml")), FileKind::Scenario);
    }

    #[test]
    fn files_without_a_problem_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (config, service) = (folder.path().join("hapax.yaml"), folder.path().join("tickets.yaml"));
        fs::write(&config, "subjects: { agent: { command: ./agent } }\n").unwrap();
        fs::write(&service, mock_services::custom::TICKETS).unwrap();
        let linted = lint(&[config, service].map(|path| path.display().to_string())).unwrap();
        assert_eq!((linted.files, linted.cases.len()), (2, 0));
        assert!(matches!(lint(&["no/such/hapax.yaml".to_owned()]), Err(LoadError::NoMatch(_))));
    }

    #[test]
    fn the_schema_of_service_files_is_fresh_and_accepts_the_shipped_one() {
        let schema = mock_services::custom::service_schema();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/service.schema.json");
        let stored = fs::read_to_string(path).unwrap();
        assert_eq!(
            stored,
            format!("{schema:#}\n"),
            "stale: cargo run -- schema service > docs/service.schema.json"
        );
        let validator = jsonschema::validator_for(&schema).unwrap();
        let as_json =
            |text: &str| serde_json::to_value(parse(&Source::new("service", text)).unwrap()).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&as_json(mock_services::custom::TICKETS))
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        for (operation, is_valid) in [
            ("{route: POST /a, effect: {identity: [x]}, fields: {x: body.x}}", true),
            ("{route: POST /a/{id}, changes: open, set: {state: done}, unless: {state: done}}", false),
            ("{route: \"POST /a/{id}\", changes: open, set: {state: done}, unless: {state: done}}", true),
            ("{route: GET /a, reads: open, filter: [x], answer: {status: 200, body: {n: 1}}}", true),
            ("{route: PSOT /a, effect: {identity: [x]}}", false),
            ("{route: POST /a}", false),
            ("{route: POST /a, effect: {identity: [x]}, reads: open}", false),
            ("{route: POST /a, effect: {identity: []}}", false),
            ("{route: GET /a, reads: open, each: {x: body.x}}", false),
            ("{route: GET /a, reads: open, fields: {x: somewhere}}", false),
            ("{route: GET /a, reads: open, answer: {status: 404}}", false),
        ] {
            let text = format!("{{service: desk, operations: {{open: {operation}}}}}");
            let Ok(tree) = parse(&Source::new("service", text.as_str())) else {
                assert!(!is_valid, "{text}");
                continue;
            };
            let value = serde_json::to_value(tree).unwrap();
            assert_eq!(validator.is_valid(&value), is_valid, "{text}");
        }
    }
}
