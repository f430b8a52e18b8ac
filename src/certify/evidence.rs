//! The evidence of a certificate: the digests of what was tested, the log of the trials, and the list of files in
//! the folder of the certification.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::trials::TrialRecord;
use super::{CERTIFICATE_FILE, CERTIFICATE_PAGE, CertifyError};
use crate::process_env;
use crate::results::StoreError;

/// The log of the trials.
pub(super) const TRIALS_FILE: &str = "trials.jsonl";
/// The hash of the first trial of the log includes this instead of the hash of an earlier one.
pub(super) const CHAIN_START: &str = "hapax trials 2";
/// The maximum length of a line of the log.
const MAX_LINE: usize = 1024 * 1024;
/// Folders of evidence are not deeper than this.
const MAX_DEPTH: usize = 8;

/// A file or package, and the SHA-256 of its content in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileDigest {
    /// Its name; for evidence, its path in the folder with `/`.
    #[serde(alias = "path")]
    pub(crate) name: String,
    pub(crate) sha256: String,
}

impl FileDigest {
    /// The digest of a text that was read from a file.
    pub(super) fn of_text(name: &str, text: &str) -> Self {
        FileDigest { name: name.to_owned(), sha256: sha256(text.as_bytes()) }
    }
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn file_digest(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize())),
            count => digest.update(&buffer[..count]),
        }
    }
}

/// The digests of the files of a command: first its executable, then the files that its arguments name, in
/// order. Relative paths are relative to `directory`, or to the current folder.
pub(super) fn command_files(
    command: &[String],
    directory: Option<&Path>,
) -> Result<Vec<FileDigest>, CertifyError> {
    let folder = directory.unwrap_or(Path::new("."));
    let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let executable = process_env::find_executable(program, folder)
        .ok_or_else(|| CertifyError::NoExecutable(program.to_owned()))?;
    let named = arguments.iter().map(|argument| folder.join(argument)).filter(|path| path.is_file());
    let digest = |path: PathBuf| {
        let sha256 =
            file_digest(&path).map_err(|error| CertifyError::Unreadable { path: path.clone(), error })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(FileDigest { name, sha256 })
    };
    std::iter::once(executable).chain(named).map(digest).collect()
}

/// All files in a folder with their digests, except the certificate and its page.
pub(super) fn files_in(folder: &Path) -> Result<Vec<FileDigest>, StoreError> {
    let mut paths = Vec::new();
    list(folder, &mut paths, MAX_DEPTH)
        .map_err(|error| StoreError::Read { path: folder.to_owned(), error })?;
    let mut files = Vec::new();
    for path in paths {
        let parts = path.strip_prefix(folder).unwrap_or(&path).components();
        let name = parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        if name == CERTIFICATE_FILE || name == CERTIFICATE_PAGE {
            continue;
        }
        let sha256 = file_digest(&path).map_err(|error| StoreError::Read { path: path.clone(), error })?;
        files.push(FileDigest { name, sha256 });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// The regular files below a folder; links are not followed.
fn list(folder: &Path, files: &mut Vec<PathBuf>, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_file() {
            files.push(entry.path());
        } else if kind.is_dir() && depth > 0 {
            list(&entry.path(), files, depth - 1)?;
        }
    }
    Ok(())
}

/// Writes the log of the trials: one line of JSON each, chained by hashes. Returns the last hash, which the
/// certificate names.
pub(super) fn write_trials(path: &Path, trials: &[TrialRecord]) -> io::Result<String> {
    let mut file = BufWriter::new(File::options().write(true).create_new(true).open(path)?);
    let mut head = sha256(CHAIN_START.as_bytes());
    for trial in trials {
        let trial = serde_json::to_string(trial)?;
        head = next_hash(&head, &trial);
        writeln!(file, "{LINE_START}{trial}{HASH_START}{head}{LINE_END}")?;
    }
    file.flush()?;
    file.get_ref().sync_all()?;
    Ok(head)
}

const LINE_START: &str = "{\"trial\":";
const HASH_START: &str = ",\"hash\":\"";
const LINE_END: &str = "\"}";

/// The hash of a trial as it is written, and of the hash before.
fn next_hash(head: &str, trial: &str) -> String {
    sha256(format!("{head}\n{trial}").as_bytes())
}

/// Why a log of trials cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrialLogError {
    #[error("cannot read it: {0}")]
    Read(#[from] io::Error),
    #[error("line {line} is not a trial: {problem}")]
    Line { line: usize, problem: String },
    /// A line was changed, added, removed or moved.
    #[error("the hash chain is broken at line {0}")]
    Chain(usize),
}

/// Reads a log and checks its chain; returns the last hash. `parse` reads the JSON of a trial.
pub(super) fn read_trials(
    path: &Path,
    chain_start: &str,
    parse: impl Fn(&str) -> serde_json::Result<TrialRecord>,
) -> Result<(Vec<TrialRecord>, String), TrialLogError> {
    let (mut trials, mut head) = (Vec::new(), sha256(chain_start.as_bytes()));
    for (index, text) in BufReader::new(File::open(path)?).lines().enumerate() {
        let (line, text) = (index + 1, text?);
        let not_one = |problem: &str| TrialLogError::Line { line, problem: problem.to_owned() };
        if text.len() > MAX_LINE {
            return Err(not_one("it is too long"));
        }
        let inner = text.strip_prefix(LINE_START).and_then(|rest| rest.strip_suffix(LINE_END));
        let (trial, hash) = inner
            .and_then(|inner| inner.rsplit_once(HASH_START))
            .ok_or_else(|| not_one("it is not written as hapax writes it"))?;
        head = next_hash(&head, trial);
        if head != hash {
            return Err(TrialLogError::Chain(line));
        }
        trials.push(parse(trial).map_err(|error| not_one(&error.to_string()))?);
    }
    Ok((trials, head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_comes_first_and_then_the_files_of_the_arguments() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("agent.py"), "print()").unwrap();
        let command = ["sh", "agent.py", "--flag", "missing.txt"].map(str::to_owned);
        let files = command_files(&command, Some(folder.path())).unwrap();
        assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["sh", "agent.py"]);
        assert_eq!(files[1].sha256, sha256(b"print()"));
        for program in ["no-such-program-here", "./missing", ""] {
            let error = command_files(&[program.to_owned()], Some(folder.path())).unwrap_err();
            assert!(matches!(error, CertifyError::NoExecutable(_)), "{error}");
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_every_change_breaks_the_chain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(TRIALS_FILE);
        let trial = |number| TrialRecord {
            trial: number,
            second_try: number == 2,
            evidence: vec!["exit 0, \"hash\":\"12\"".to_owned()],
            ..TrialRecord::skipped("create/same-key-twice", "one effect")
        };
        let trials = [trial(1), trial(2), trial(3)];
        let head = write_trials(&path, &trials).unwrap();
        let read = || read_trials(&path, CHAIN_START, |text| serde_json::from_str(text));
        assert_eq!(read().unwrap(), (trials.to_vec(), head.clone()));
        assert!(write_trials(&path, &trials).is_err(), "an existing file is not overwritten");

        let written = std::fs::read(&path).unwrap();
        for index in 0..written.len() {
            let mut changed = written.clone();
            changed[index] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            // A changed head is noticed because the certificate names the head.
            assert!(read().map_or(true, |(_, found)| found != head), "byte {index}");
        }
        let lines: Vec<&[u8]> = written.split_inclusive(|byte| *byte == b'\n').collect();
        std::fs::write(&path, [lines[0], lines[2]].concat()).unwrap();
        assert!(matches!(read(), Err(TrialLogError::Chain(2))));
        std::fs::write(&path, [lines[0], lines[1]].concat()).unwrap();
        assert_ne!(read().unwrap().1, head);
    }
}
