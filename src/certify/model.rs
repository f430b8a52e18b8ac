//! What a battery hands over: the subject, the trials of its probes, the controls, and the files with the
//! evidence. Plain data.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use mock_services::word_enum;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::results::ProbeTrial;

word_enum! {
    /// The kind of a subject; each kind has its battery.
    pub enum SubjectKindTested {
        /// An agent that calls services.
        Agent => "agent",
        /// A server of the Model Context Protocol.
        McpServer => "mcp-server",
        /// A command-line tool.
        CommandLineTool => "command-line-tool",
    }
}

/// What was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TestedSubject {
    /// Its kind.
    pub kind: SubjectKindTested,
    /// Its name.
    pub name: String,
    /// The command that starts it.
    pub command: Vec<String>,
    /// Its version, as far as it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digests of the executable, of files that the command names, or of the package. The first is that
    /// of the thing itself.
    pub digests: Vec<FileDigest>,
}

/// A file, and the SHA-256 of its content in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    /// The name of the file or package.
    pub name: String,
    /// The digest.
    pub sha256: String,
}

/// A control in the same run: its known result, and the result that it had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlCheck {
    /// The control.
    pub control: String,
    /// The question, or the case.
    pub question: String,
    /// The known result.
    pub expected: String,
    /// The result in this run.
    pub found: String,
}

impl ControlCheck {
    /// Whether it came out as known.
    #[must_use]
    pub fn is_as_known(&self) -> bool {
        self.expected == self.found
    }
}

/// How many callers at once the subject held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CallersHeld {
    /// The scenario or question of the ramp.
    pub question: String,
    /// The largest number of callers at once for which every trial held; 0 if not even one did.
    pub held: u32,
    /// The smallest number for which a trial did not hold, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke_at: Option<u32>,
    /// The numbers that were tried, in order.
    pub tried: Vec<u32>,
    /// How many trials each number had.
    pub trials_each: u32,
}

impl CallersHeld {
    /// Adds the result of the next number of callers.
    #[cfg(feature = "mcp")]
    pub(super) fn add(&mut self, count: u32, holds: bool) {
        self.tried.push(count);
        match holds {
            true => self.held = count,
            false => self.broke_at = Some(count),
        }
    }
}

/// A file of evidence in the folder of the certification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceFile {
    /// Its path in the folder, with `/`.
    pub path: String,
    /// The digest of its content.
    pub sha256: String,
}

/// What a battery hands over.
#[derive(Debug, Clone, PartialEq)]
pub struct BatteryResult {
    /// What was tested.
    pub subject: TestedSubject,
    /// The trials of all probes.
    pub trials: Vec<ProbeTrial>,
    /// The controls that ran with it.
    pub controls: Vec<ControlCheck>,
    /// How many callers at once held, where callers were ramped.
    pub callers: Option<CallersHeld>,
    /// The digests of the scenarios, probes or answers files that it was tested with.
    pub tested_with: Vec<FileDigest>,
    /// The score of the rubric, where the battery has one.
    pub score: Option<u8>,
    /// Findings and remarks, each one sentence.
    pub findings: Vec<String>,
    /// What could not be tested, and why.
    pub not_tested: Vec<String>,
    /// The files of evidence, relative to the folder of the certification.
    pub evidence: Vec<String>,
    /// Whether it was stopped before it was complete.
    pub interrupted: bool,
}

/// The SHA-256 of bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// When the file cannot be read.
pub fn file_digest(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize())),
            count => digest.update(&buffer[..count]),
        }
    }
}
