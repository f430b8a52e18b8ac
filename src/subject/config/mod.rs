//! `hapax.yaml`: the subjects that a project has names for. Which file, and what it comes to; how it is read
//! is for `config_read`.

mod read;
mod values;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mock_services::yaml::{MAX_BYTES, Problems, Source, listed, nearest, shown};

use self::read::read;
use crate::subject::Subject;

/// The name of the file.
const FILE: &str = "hapax.yaml";

/// What a project says of its subjects.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
    /// The subjects, in the order of the file.
    pub subjects: Vec<Subject>,
    /// The name of the one that is meant where none is named.
    pub default: Option<String>,
}

/// Why there is no configuration, or no such subject in it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file is wrong.
    #[error("{file} is wrong:\n{problems}", file = file.display())]
    Problems {
        /// Which file.
        file: PathBuf,
        /// Everything that is wrong with it.
        problems: Problems,
    },
    /// There is no subject of that name.
    #[error("there is no subject `{name}` in {file}: {help}", file = file.display())]
    UnknownSubject {
        /// The name.
        name: String,
        /// The file.
        file: PathBuf,
        /// What would be right.
        help: String,
    },
    /// None is named, and none is the one that is meant then.
    #[error("no subject is named: {help}")]
    NoSubject {
        /// What would be right.
        help: String,
    },
}

impl Config {
    /// Reads a file. All that is wrong with it is told at once.
    ///
    /// # Errors
    /// Where it cannot be read, or is wrong.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let failed = |error| ConfigError::File { path: path.to_owned(), error };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(failed)?;
        // Paths in the file are meant from where it stands.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let source = Source::new(path.display().to_string(), text);
        let (subjects, default) = read(&source, folder)
            .map_err(|problems| ConfigError::Problems { file: path.to_owned(), problems })?;
        Ok(Config { file: path.to_owned(), subjects, default })
    }

    /// The file that holds for a directory: there, or in the nearest directory above it, up to the root of
    /// its repository.
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

    /// The subject of that name; where none is named, the default or the only one.
    ///
    /// # Errors
    /// Where there is none.
    pub fn subject(&self, name: Option<&str>) -> Result<&Subject, ConfigError> {
        let names = || self.subjects.iter().map(|subject| subject.name.as_str());
        let Some(name) = name.or(self.default.as_deref()) else {
            return match self.subjects.as_slice() {
                [only] => Ok(only),
                _ => Err(ConfigError::NoSubject {
                    help: format!("name one with --subject: {}", listed(names())),
                }),
            };
        };
        self.subjects.iter().find(|subject| subject.name == name).ok_or_else(|| ConfigError::UnknownSubject {
            name: shown(name),
            file: self.file.clone(),
            help: match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", listed(names())),
            },
        })
    }
}

#[cfg(test)]
mod tests;
