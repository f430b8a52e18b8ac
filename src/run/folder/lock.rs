//! Only one process writes to the folder of a run. The lock is on the journal, and the system releases it
//! when the process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::run::RunError;

/// Locks the file as long as it is open.
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
