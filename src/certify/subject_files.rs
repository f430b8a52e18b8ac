//! The files that a command consists of: its executable, and the files that its arguments name.

use std::io;
use std::path::{Path, PathBuf};

use super::model::{FileDigest, file_digest};

use crate::process_env;

/// Why the files of a subject cannot be named.
#[derive(Debug, thiserror::Error)]
pub enum SubjectFilesError {
    /// The executable is not found.
    #[error("cannot find the executable `{0}`, whose digest the certificate names")]
    NotFound(String),
    /// A file cannot be read.
    #[error("cannot read {path}, whose digest the certificate names: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The subject is not started by hapax.
    #[error(
        "a certificate names the digest of what was tested, and hapax does not start the agent at {0}; give \
         the command that starts it"
    )]
    NoCommand(String),
}

/// The digests of the files of a command: first its executable, then the files that its arguments name, in
/// order. Relative paths are relative to `directory`, or to the current folder.
///
/// # Errors
/// When the executable is not found, or a file cannot be read.
pub fn subject_files(
    command: &[String],
    directory: Option<&Path>,
) -> Result<Vec<FileDigest>, SubjectFilesError> {
    let folder = directory.unwrap_or(Path::new("."));
    let (program, arguments) = match command.split_first() {
        Some((program, arguments)) => (program.as_str(), arguments),
        None => ("", &[][..]),
    };
    let executable =
        find_executable(program, folder).ok_or_else(|| SubjectFilesError::NotFound(program.to_owned()))?;
    let named = arguments.iter().map(|argument| folder.join(argument)).filter(|path| path.is_file());
    let digest = |path: PathBuf| {
        let sha256 =
            file_digest(&path).map_err(|error| SubjectFilesError::Read { path: path.clone(), error })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(FileDigest { name, sha256 })
    };
    std::iter::once(executable).chain(named).map(digest).collect()
}

/// The path of an executable: as it is written where it has a slash, otherwise from `PATH`.
pub(super) fn find_executable(program: &str, folder: &Path) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    if program.contains('/') {
        return Some(folder.join(program)).filter(is_file);
    }
    let path = process_env::value("PATH").filter(|_| !program.is_empty())?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(is_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_comes_first_and_then_the_files_of_the_arguments() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("agent.py"), "print()").unwrap();
        let command = ["sh", "agent.py", "--flag", "missing.txt"].map(str::to_owned);
        let files = subject_files(&command, Some(folder.path())).unwrap();
        assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["sh", "agent.py"]);
        assert_eq!(files[1].sha256, super::super::model::sha256(b"print()"));
        for program in ["no-such-program-here", "./missing", ""] {
            let error = subject_files(&[program.to_owned()], Some(folder.path())).unwrap_err();
            assert!(matches!(error, SubjectFilesError::NotFound(_)), "{error}");
        }
    }
}
