//! `hapax.yaml`: the subjects of a project. Finds the file and selects a subject; `read` reads it.

mod http;
mod read;
mod schema;
mod secret_values;
mod values;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use yaml_reader::{MAX_BYTES, Problems, Source, listed, nearest, shown};

pub(super) use self::read::read_recipe_subject;
use self::read::{ConfigContent, read};
pub use self::schema::{config_schema, config_schema_text};
pub(crate) use self::secret_values::secret_values;
pub use self::values::{checked_operation, checked_variable};
pub(crate) use self::values::{claim_named, claim_names, read_command};
use crate::subject::Subject;

/// The name of the file.
const FILE: &str = "hapax.yaml";

/// The configuration of a project.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
    /// The subjects, in the order of the file.
    pub subjects: Vec<Subject>,
    /// The name of the default subject.
    pub default: Option<String>,
    /// The suites, in the order of the file.
    pub suites: Vec<Suite>,
}

/// Cases with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// The name.
    pub name: String,
    /// Which cases.
    pub selection: SuiteSelection,
}

/// How the cases of a suite are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuiteSelection {
    /// As after `-E`.
    Expression(String),
    /// As the words on the command line.
    Filters(Vec<String>),
}

/// Why there is no configuration, or no such subject in it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file has problems.
    #[error("problems in {file}:\n{problems}", file = file.display())]
    Problems {
        /// Which file.
        file: PathBuf,
        /// The problems.
        problems: Problems,
    },
    /// No subject has that name.
    #[error("unknown subject `{name}` in {file}: {help}", file = file.display())]
    UnknownSubject {
        /// The name.
        name: String,
        /// The file.
        file: PathBuf,
        /// What to do about it.
        help: String,
    },
    /// No suite has that name.
    #[error("unknown suite `{name}` in {file}: {help}", file = file.display())]
    UnknownSuite {
        /// The name.
        name: String,
        /// The file.
        file: PathBuf,
        /// What to do about it.
        help: String,
    },
    /// No subject was selected, and there is no default.
    #[error("no subject selected: {help}")]
    NoSubject {
        /// What to do about it.
        help: String,
    },
}

impl Config {
    /// Reads a file. Reports every problem at once.
    ///
    /// # Errors
    /// If the file cannot be read or has problems.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let failed = |error| ConfigError::File { path: path.to_owned(), error };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(failed)?;
        // Paths in the file are relative to its folder.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let secrets = secret_values(&text);
        let source = Source::hiding(path.display().to_string(), text, secrets);
        let ConfigContent { subjects, default, suites } = read(&source, folder)
            .map_err(|problems| ConfigError::Problems { file: path.to_owned(), problems })?;
        Ok(Config { file: path.to_owned(), subjects, default, suites })
    }

    /// The file for a directory: in the directory or in the nearest parent, up to the root of the repository.
    #[must_use]
    pub fn find(directory: &Path) -> Option<PathBuf> {
        for folder in directory.ancestors() {
            let file = folder.join(FILE);
            if file.is_file() {
                return Some(file);
            }
            if folder.join(".git").exists() {
                break;
            }
        }
        None
    }

    /// The suite with that name.
    ///
    /// # Errors
    /// If there is none.
    pub fn suite(&self, name: &str) -> Result<&Suite, ConfigError> {
        let names = || self.suites.iter().map(|suite| suite.name.as_str());
        self.suites.iter().find(|suite| suite.name == name).ok_or_else(|| ConfigError::UnknownSuite {
            name: shown(name),
            file: self.file.clone(),
            help: match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.suites.is_empty() => {
                    format!(
                        "it has no suites; add one: suites: {{{name}: 'tag(payment)'}}",
                        name = shown(name)
                    )
                }
                None => format!("expected one of {}", listed(names())),
            },
        })
    }

    /// The subject with that name; without a name, the default or the only one.
    ///
    /// # Errors
    /// If there is none.
    pub fn subject(&self, name: Option<&str>) -> Result<&Subject, ConfigError> {
        let names = || self.subjects.iter().map(|subject| subject.name.as_str());
        let Some(name) = name.or(self.default.as_deref()) else {
            return match self.subjects.as_slice() {
                [only] => Ok(only),
                _ => Err(ConfigError::NoSubject {
                    help: format!("choose one with --subject: {}", listed(names())),
                }),
            };
        };
        self.subjects.iter().find(|subject| subject.name == name).ok_or_else(|| ConfigError::UnknownSubject {
            name: shown(name),
            file: self.file.clone(),
            help: match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("expected one of {}", listed(names())),
            },
        })
    }
}

#[cfg(test)]
mod tests;
