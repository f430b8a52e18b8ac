//! The file of the trials of probes: one line of JSON each, chained by hashes. The last hash is the head of
//! the chain, which the certificate names.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::model::sha256;
use super::results::ProbeTrial;

/// The name of the file in the folder of a certification.
pub const PROBE_FILE: &str = "probes.jsonl";
/// What the hash of the first line includes instead of the hash of an earlier line.
const FIRST: &str = "hapax probes 1";
/// The maximum length of a line.
const MAX_LINE: usize = 1024 * 1024;

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProbeLine {
    trial: ProbeTrial,
    /// The SHA-256 of the hash before and of `trial` as it is written.
    hash: String,
}

/// Writes the file.
#[derive(Debug)]
pub struct ProbeLog {
    file: BufWriter<File>,
    head: String,
}

impl ProbeLog {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        Ok(ProbeLog { file: BufWriter::new(file), head: sha256(FIRST.as_bytes()) })
    }

    /// Adds a trial.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, trial: &ProbeTrial) -> io::Result<()> {
        self.head = next_hash(&self.head, trial)?;
        let line = ProbeLine { trial: trial.clone(), hash: self.head.clone() };
        serde_json::to_writer(&mut self.file, &line)?;
        self.file.write_all(b"\n")
    }

    /// Waits until all is on disk; returns the head of the chain.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<String> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(self.head)
    }
}

fn next_hash(head: &str, trial: &ProbeTrial) -> io::Result<String> {
    Ok(sha256(format!("{head}\n{}", serde_json::to_string(trial)?).as_bytes()))
}

/// Why a file of probes cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeLogError {
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Read(#[from] io::Error),
    /// A line is not one that hapax wrote.
    #[error("line {line} is not a trial: {problem}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// A line was changed, added, removed or moved.
    #[error("the hash chain is broken at line {0}")]
    Chain(usize),
}

/// Reads the file and checks its chain; returns the trials and the head.
///
/// # Errors
/// When it cannot be read, or when the chain is broken.
pub fn read_probes(path: &Path) -> Result<(Vec<ProbeTrial>, String), ProbeLogError> {
    let (mut trials, mut head) = (Vec::new(), sha256(FIRST.as_bytes()));
    for (number, text) in BufReader::new(File::open(path)?).lines().enumerate() {
        let (line, text) = (number + 1, text?);
        if text.len() > MAX_LINE {
            return Err(ProbeLogError::Line { line, problem: "it is too long".to_owned() });
        }
        let parsed: ProbeLine = serde_json::from_str(&text)
            .map_err(|error| ProbeLogError::Line { line, problem: error.to_string() })?;
        head = next_hash(&head, &parsed.trial)?;
        if head != parsed.hash {
            return Err(ProbeLogError::Chain(line));
        }
        trials.push(parsed.trial);
    }
    Ok((trials, head))
}

#[cfg(test)]
mod tests {
    use super::super::results::ProbeOutcome;
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_every_change_breaks_the_chain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROBE_FILE);
        let trial = |number| ProbeTrial {
            tool: "create".to_owned(),
            question: "same-key-twice".to_owned(),
            trial: number,
            second_try: number == 2,
            outcome: ProbeOutcome::Held,
            sentence: "one effect".to_owned(),
            evidence: vec!["exit 0".to_owned()],
        };
        let trials = [trial(1), trial(2), trial(3)];
        let mut log = ProbeLog::create(&path).unwrap();
        for trial in &trials {
            log.add(trial).unwrap();
        }
        let head = log.finish().unwrap();
        assert_eq!(read_probes(&path).unwrap(), (trials.to_vec(), head.clone()));
        assert!(ProbeLog::create(&path).is_err(), "an existing file is not overwritten");

        let written = std::fs::read(&path).unwrap();
        for place in 0..written.len() {
            let mut changed = written.clone();
            changed[place] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            let read = read_probes(&path);
            // A changed head is noticed because the certificate names the head.
            assert!(read.is_err() || read.unwrap().1 != head, "byte {place}");
        }
        let lines: Vec<&[u8]> = written.split_inclusive(|byte| *byte == b'\n').collect();
        std::fs::write(&path, [lines[0], lines[2]].concat()).unwrap();
        assert!(matches!(read_probes(&path), Err(ProbeLogError::Chain(2))));
        std::fs::write(&path, [lines[0], lines[1]].concat()).unwrap();
        assert_ne!(read_probes(&path).unwrap().1, head);
    }
}
