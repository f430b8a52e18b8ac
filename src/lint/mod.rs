//! Checks files of each kind that a user writes: scenarios, `hapax.yaml` and service files. All problems of all
//! files are reported at once.

use std::path::Path;

use mock_services::custom::DeclaredService;
use mock_services::yaml::{Problem, Problems, Source, Span, parse};

use crate::scenario::{Case, LoadError, load, read_text};
use crate::subject::{Config, ConfigError};

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
}

/// Checks files and folders; without paths, all scenarios and the `hapax.yaml` of the current folder. A folder
/// contains scenarios.
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
    }
    for (path, kind) in &others {
        let found = match kind {
            FileKind::Config => check_config(Path::new(path)),
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
mod tests;
