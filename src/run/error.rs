//! Why a run cannot be made, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why a run cannot be made, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The output folder cannot be written.
    #[error("cannot write {path}: {error}\n  choose another folder with --out DIR", path = path.display())]
    Output {
        /// Which file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The output folder is in use.
    #[error("{path} is not empty\n  choose another folder with --out DIR, or go on with the run that it holds by --resume {path}", path = .0.display())]
    Taken(PathBuf),
    /// The run is still running.
    #[error("cannot go on with {path}: another process is running it\n  wait until that process has ended, or stop it first", path = .0.display())]
    Live(PathBuf),
    /// The disk failed a run that has begun.
    #[error("cannot write {path}: {error}\n  free some space or mend the disk, then go on with what is finished: add --resume {folder} to the same command", path = path.display(), folder = folder.display())]
    Kept {
        /// Which file.
        path: PathBuf,
        /// The folder of the run.
        folder: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A run that is to be gone on with cannot be read.
    #[error("cannot go on with {path}: {why}\n  name the folder of a run that was interrupted, or begin a new run without --resume", path = path.display())]
    Resume {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A run that is to be gone on with is another one.
    #[error("cannot go on with {path}: {what}\n  call it as it was called, with the same files; or begin a new run without --resume", path = path.display())]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// A run that is to be gone on with has another seed than the one that is asked for.
    #[error("cannot go on with {path}: its seed is {seed}, and --seed says {asked}\n  leave --seed out: --resume takes it from the journal of the run", path = path.display())]
    OtherSeed {
        /// The folder.
        path: PathBuf,
        /// The seed of the run.
        seed: u64,
        /// The one that is asked for.
        asked: u64,
    },
    /// The system gave no random number for a seed.
    #[error("cannot draw a random seed: {0}\n  name one with --seed N")]
    Seed(String),
    /// There is no room for the directories of the callers.
    #[error("cannot make a directory for the callers: {0}\n  set TMPDIR to a directory that can be written")]
    States(io::Error),
    /// A time limit is too short for a fault to do its work.
    #[error(
        "the time limit of {limit} is too short for {case}: {fault} takes {takes}\n  give more time with --timeout"
    )]
    TimeTooShort {
        /// The limit.
        limit: String,
        /// The case.
        case: String,
        /// The fault.
        fault: String,
        /// How long it takes.
        takes: String,
    },
    /// A trial broke off by a fault of hapax itself.
    #[error("a trial broke off: {0}\n  this is a bug of hapax; please report it")]
    Trial(String),
}
