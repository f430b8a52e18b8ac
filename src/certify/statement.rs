//! The certificate: an in-toto statement whose predicate says what was tested, with what, and what was observed. Reads
//! one again.

use mock_services::word_enum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evidence::FileDigest;
use super::trials::{AskedLevel, CallersPassed, Conclusion, TrialRecord};
use super::version_1;
use crate::domain::{Promise, is_default};
use crate::text::line;

/// The type of the statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate without its version.
const PREDICATE_NAME: &str = "urn:hapax:certificate:v";
/// The version of the predicate; it changes when readers of the old version would misread it.
const CERTIFICATE_VERSION: u32 = 2;

/// What a certificate of a subject that was not sealed says.
pub(super) const UNSEALED: &str = "The subject was not sealed: it could read and change what its user can, and reach \
    hosts that hapax does not see.";

/// An in-toto statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    /// The files that it is about.
    pub(super) subject: Vec<StatementSubject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    pub(crate) predicate: Certificate,
}

impl Statement {
    /// A statement of this version about these files.
    pub(super) fn new(subject: Vec<StatementSubject>, predicate: Certificate) -> Self {
        let predicate_type = format!("{PREDICATE_NAME}{CERTIFICATE_VERSION}");
        Statement { kind: STATEMENT_TYPE.to_owned(), subject, predicate_type, predicate }
    }
}

/// A file that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatementSubject {
    pub(super) name: String,
    pub(super) digest: Sha256Digest,
}

/// A digest in a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sha256Digest {
    pub(super) sha256: String,
}

/// The predicate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Certificate {
    /// When it was issued (RFC 3339).
    pub(super) issued_at: String,
    /// The version of hapax.
    pub(super) hapax: String,
    /// The seed that all other seeds are derived from.
    pub(super) seed: u64,
    pub(super) asked: AskedLevel,
    pub(crate) reached: Conclusion,
    pub(super) tested: Tested,
    /// The last hash of the log of the trials, which includes the last hash of each ledger.
    pub(super) head: String,
    pub(super) evidence: Vec<FileDigest>,
    /// What the numbers show, and what they do not show.
    pub(super) shows: Vec<String>,
    pub(super) does_not_show: Vec<String>,
}

/// What was tested, and what was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Tested {
    pub(crate) subject: TestedSubject,
    /// Whether it was sealed; `None` in a certificate that does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sealed: Option<bool>,
    /// They are in a file of their own.
    #[serde(skip)]
    pub(crate) trials: Vec<TrialRecord>,
    /// The scenarios of an agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scenarios: Vec<ScenarioDigest>,
    /// The digest of all scenarios that this hapax ships, for an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) golden_set: Option<String>,
    /// The files about a tool or a server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<FileDigest>,
    /// `None` if the number of callers was not increased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) callers: Option<CallersPassed>,
    /// The score of a command-line tool, 0 to 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<u8>,
    /// The commands of a command-line tool that its help shows as writing, and that were not tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unlisted_writes: Vec<String>,
    /// The settings that limit what is tested or compared, a line each: `ignore = telemetry.example.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) silencing: Vec<String>,
    /// What an agent promises, and was judged by.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) promise: Promise,
    /// The controls in the same run.
    pub(crate) controls: Vec<ControlCheck>,
    pub(crate) findings: Vec<CertifiedFinding>,
    /// What could not be tested, and why.
    pub(crate) not_tested: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) interrupted: bool,
}

impl Tested {
    /// What the reader of a certificate must know first: the subject was not sealed.
    pub(super) fn warning(&self) -> Option<&'static str> {
        (self.sealed == Some(false)).then_some(UNSEALED)
    }
}

word_enum! {
    /// The kind of a subject; each kind has its scenarios.
    pub(crate) enum SubjectKindTested {
        Agent => "agent",
        McpServer => "mcp-server",
        CommandLineTool => "command-line-tool",
    }
}

/// What was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TestedSubject {
    pub(crate) kind: SubjectKindTested,
    pub(crate) name: String,
    /// The command that starts it.
    pub(crate) command: Vec<String>,
    /// Its version, if it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// The executable, the files that the command names, or the package. The first is the thing itself.
    pub(crate) digests: Vec<FileDigest>,
    /// The recipe that names and starts it, if it is a file of the user and not one that hapax ships.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) local_recipe: Option<TestedRecipe>,
}

/// A local recipe: its name and its facts are the user's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TestedRecipe {
    pub(crate) name: String,
    pub(crate) file: String,
    /// The command that it starts.
    pub(crate) starts: String,
    /// Whether hapax ships another recipe with this name.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) replaces_shipped: bool,
}

impl TestedRecipe {
    /// What a reader must know before the name of the subject: `local recipe agents/claude.yaml, which starts ./agent`.
    pub(super) fn clause(&self) -> String {
        format!("local recipe {}, which starts `{}`", line(&self.file, 200), line(&self.starts, 200))
    }
}

/// A scenario, and the digest of its cases, made as in `report.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ScenarioDigest {
    pub(crate) scenario: String,
    pub(crate) digest: String,
    /// Whether it has the name of a shipped scenario and other content.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) replaces_shipped: bool,
}

/// A control in the same run: its known result, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ControlCheck {
    pub(crate) control: String,
    /// The case or scenario; `score` for the score of a tool.
    pub(crate) case: String,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl ControlCheck {
    pub(crate) fn is_as_known(&self) -> bool {
        self.expected == self.found
    }
}

/// Something that is wrong, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CertifiedFinding {
    /// A kind of finding of a report, or `description`, `output`, `score` or `tool-list`.
    pub(crate) kind: String,
    /// Whether the subject fails because of it.
    pub(crate) fails: bool,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) fix: String,
}

impl CertifiedFinding {
    pub(super) fn sentence(&self) -> String {
        match self.fix.as_str() {
            "" => self.message.clone(),
            fix => format!("{} Fix: {fix}", self.message),
        }
    }
}

/// Why a payload is not a statement that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StatementError {
    #[error("it is not a certificate of hapax: {0}")]
    NotACertificate(String),
    #[error(
        "it has version {0}, and this hapax reads versions up to {CERTIFICATE_VERSION}; verify it with the hapax \
         that wrote it, or with a newer one"
    )]
    OtherVersion(String),
}

/// Reads the payload of an envelope; returns its version, too.
pub(super) fn read_statement(payload: &[u8]) -> Result<(Statement, u32), StatementError> {
    let not_one = |problem: String| StatementError::NotACertificate(problem);
    let mut value: Value = serde_json::from_slice(payload).map_err(|error| not_one(error.to_string()))?;
    let kind = value.get("predicateType").and_then(Value::as_str).unwrap_or_default();
    let version = match kind.strip_prefix(PREDICATE_NAME) {
        None => return Err(not_one("its predicate has another type".to_owned())),
        Some("1") => 1,
        Some("2") => CERTIFICATE_VERSION,
        Some(other) => return Err(StatementError::OtherVersion(other.chars().take(40).collect())),
    };
    if version == 1 {
        version_1::upgrade_statement(&mut value);
    }
    let statement: Statement = serde_json::from_value(value).map_err(|error| not_one(error.to_string()))?;
    if statement.kind != STATEMENT_TYPE {
        return Err(not_one("it is not an in-toto statement of version 1".to_owned()));
    }
    Ok((statement, version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::issue::tests::sample_statement;

    #[test]
    fn a_statement_is_read_back_as_it_was_written() {
        let statement = sample_statement();
        let payload = serde_json::to_vec(&statement).unwrap();
        assert_eq!(read_statement(&payload).unwrap(), (statement, 2));
        let value: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(value["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(value["predicateType"], "urn:hapax:certificate:v2");
        assert_eq!(value["subject"][0]["digest"]["sha256"], "ab".repeat(32));
    }

    #[test]
    fn a_newer_certificate_and_other_statements_are_refused() {
        let mut newer = sample_statement();
        newer.predicate_type = "urn:hapax:certificate:v3".to_owned();
        let error = read_statement(&serde_json::to_vec(&newer).unwrap()).unwrap_err();
        assert_eq!(error, StatementError::OtherVersion("3".to_owned()));
        newer.predicate_type = "https://slsa.dev/provenance/v1".to_owned();
        for payload in [serde_json::to_vec(&newer).unwrap(), b"{}".to_vec(), b"nonsense".to_vec()] {
            let error = read_statement(&payload).unwrap_err();
            assert!(matches!(error, StatementError::NotACertificate(_)), "{error}");
        }
    }
}
