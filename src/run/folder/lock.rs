//! Only one process writes to the folder of a run. The lock is on the journal, and the system lets go of it
//! when the process ends, however that comes about.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::run::RunError;

/// Takes the lock for as long as the file is open.
///
/// # Errors
/// When another process has it.
pub(super) fn take(journal: &File, folder: &Path) -> Result<(), RunError> {
    match journal.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(RunError::Live(folder.to_owned())),
        // Some file systems have no locks; then nothing is locked.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(RunError::Output { path: folder.to_owned(), error }),
    }
}
