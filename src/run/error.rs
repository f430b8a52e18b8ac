//! Why a run cannot start or continue, and what to do about it.

use std::io;
use std::path::PathBuf;

use super::CallersLimit;
use crate::results::StoreError;

/// Why a run cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The output folder cannot be written.
    #[error("cannot write {path}: {error}", path = path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The output folder is in use.
    #[error("{path} is not empty", path = .0.display())]
    Taken(PathBuf),
    /// The run is still running.
    #[error("cannot resume {path}: another process is running it", path = .0.display())]
    Live(PathBuf),
    /// A run that had started could not be written to disk.
    #[error("cannot write {path}: {error}", path = path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// The folder of the run.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// What a run leaves could not be read again or written.
    #[error("{error}")]
    Store {
        /// The error.
        error: StoreError,
        /// The folder of the run.
        folder: PathBuf,
    },
    /// A run that is to be resumed cannot be read.
    #[error("cannot resume {path}: {why}", path = path.display())]
    Resume {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The journal of a run that is to be resumed has another format.
    #[error("{path} has format {found}, and this hapax reads format {known}", path = path.display())]
    OtherFormat {
        /// The journal.
        path: PathBuf,
        /// The format that it has.
        found: u32,
        /// The format that this hapax reads.
        known: u32,
    },
    /// A run that is to be resumed was started with other arguments or files.
    #[error("cannot resume {path}: {what}", path = path.display())]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// The system gave no random number for a seed.
    #[error("cannot draw a random seed: {0}")]
    Seed(String),
    /// The directories of the callers cannot be made.
    #[error("cannot make a directory for the callers: {0}")]
    States(io::Error),
    /// The subject cannot run in namespaces of its own here.
    #[error("cannot run the subject sealed: {0}")]
    Sealed(String),
    /// A case has more callers than this machine allows.
    #[error("{case} has {callers} callers, and this machine allows {limit}")]
    TooManyCallers {
        /// The case.
        case: String,
        /// The number of its callers.
        callers: u32,
        /// The number that this machine allows.
        limit: CallersLimit,
    },
    /// A timeout is too short for a fault to take effect.
    #[error("the timeout of {limit} is too short for {case}: {fault} takes {takes}")]
    TimeTooShort {
        /// The timeout.
        limit: String,
        /// The case.
        case: String,
        /// The fault.
        fault: String,
        /// How long it takes.
        takes: String,
    },
    /// A trial ended because of a bug in hapax.
    #[error("a trial ended with an internal error: {0}")]
    Trial(String),
}

impl RunError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        let text = match self {
            RunError::Output { .. } => "choose another folder with --out DIR",
            RunError::Taken(path) => {
                let path = path.display();
                return format!(
                    "choose another folder with --out DIR, or resume the run in it with --resume {path}"
                );
            }
            RunError::Live(_) => "wait until that process has ended, or stop it first",
            RunError::Kept { folder, .. } => {
                let folder = folder.display();
                return format!(
                    "free some disk space, then add --resume {folder} to the same command to continue"
                );
            }
            RunError::Store { error, folder } => {
                return format!(
                    "{}; then add --resume {} to the same command",
                    error.help(),
                    folder.display()
                );
            }
            RunError::Resume { .. } => {
                "name the folder of a run that was interrupted, or start a new run without --resume"
            }
            RunError::OtherFormat { .. } => {
                "start a new run without --resume, or resume it with the hapax that started it"
            }
            RunError::OtherRun { .. } => {
                "use the same arguments and files as before, or start a new run without --resume"
            }
            RunError::Seed(_) => "give one with --seed N",
            RunError::States(_) => "set TMPDIR to a directory that can be written",
            RunError::Sealed(_) => {
                "`hapax doctor` shows what this machine allows; without --sealed, and without `sealed` in \
                 hapax.yaml, it runs unsealed"
            }
            RunError::TooManyCallers { limit, .. } => {
                return format!("{}, or select other cases", limit.limited_by.fix());
            }
            RunError::TimeTooShort { .. } => "set a longer --timeout",
            RunError::Trial(_) => "this is a bug in hapax; please report it",
        };
        text.to_owned()
    }
}
