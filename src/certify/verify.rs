//! Verifies a certificate: its signature, its digests, and, given the run's folder, the hash chain and the
//! results, which are computed again from the evidence.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::agent;
use super::envelope::{SignatureCheck, SignedEnvelope};
use super::issue::{CERTIFICATE_PAGE, evidence_of};
use super::key::{KeyError, VerifyingKey};
use super::model::{SubjectKindTested, file_digest};
use super::page::certificate_page;
use super::probe_log::{PROBE_FILE, read_probes};
use super::results::QuestionStatus;
use super::statement::{Conclusion, Statement, StatementError, read_statement};
use crate::ExitStatus;

/// A larger file is not a certificate.
const MAX_CERTIFICATE_BYTES: u64 = 256 * 1024 * 1024;

/// What a certificate is verified with.
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    /// The public key of the issuer.
    pub public_key: Option<PathBuf>,
    /// The folder of the certification.
    pub run: Option<PathBuf>,
    /// A file that the certificate should be about.
    pub subject: Option<PathBuf>,
}

/// Why a certificate cannot be verified at all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is not a certificate.
    #[error("{path} is not a certificate: {problem}", path = path.display())]
    NotACertificate {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// Its statement cannot be read.
    #[error("cannot verify {path}: {error}", path = path.display())]
    Statement {
        /// The file.
        path: PathBuf,
        /// The problem.
        error: StatementError,
    },
    /// The public key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckResult {
    /// It is as it should be.
    Good(String),
    /// It is not: why.
    Bad(String),
    /// It was not checked: why, and how to check it.
    NotChecked(String),
}

/// What came of verifying a certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// The statement.
    pub statement: Statement,
    /// Each check by its name, in order.
    pub checks: Vec<(&'static str, CheckResult)>,
}

impl Verification {
    /// 0: the certificate is genuine and says that the subject held; 1: something is wrong, or it says that
    /// the subject failed; 3: nothing is wrong, but the signature was not checked.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        let held = self.statement.predicate.reached.result == QuestionStatus::Held;
        let is_bad = |(_, result): &(&str, CheckResult)| matches!(result, CheckResult::Bad(_));
        if !held || self.checks.iter().any(is_bad) {
            return ExitStatus::Failed;
        }
        let is_open = |(name, result): &(&str, CheckResult)| {
            *name == SIGNATURE && matches!(result, CheckResult::NotChecked(_))
        };
        if self.checks.iter().any(is_open) { ExitStatus::Unproven } else { ExitStatus::Success }
    }
}

const SIGNATURE: &str = "signature";
const SUBJECT: &str = "subject";
const EVIDENCE: &str = "evidence";
const CHAIN: &str = "hash chain";
const RESULTS: &str = "results";
const PAGE: &str = "page";

/// Verifies the certificate in this file.
///
/// # Errors
/// When it is not a certificate that this version can read, or when the key cannot be used.
pub fn verify(path: &Path, options: &VerifyOptions) -> Result<Verification, VerifyError> {
    let key = options.public_key.as_deref().map(VerifyingKey::load).transpose()?;
    let bytes = read_limited(path).map_err(|error| VerifyError::Read { path: path.to_owned(), error })?;
    let not_one = |problem| VerifyError::NotACertificate { path: path.to_owned(), problem };
    let envelope = SignedEnvelope::read(&bytes).map_err(not_one)?;
    let payload = envelope.payload().map_err(not_one)?;
    let statement =
        read_statement(&payload).map_err(|error| VerifyError::Statement { path: path.to_owned(), error })?;
    let mut checks = vec![
        (SIGNATURE, check_signature(&envelope, key.as_ref())),
        (SUBJECT, check_subject(&statement, options.subject.as_deref())),
    ];
    match &options.run {
        None => checks.push((
            EVIDENCE,
            CheckResult::NotChecked("add --run FOLDER to compute the results again".to_owned()),
        )),
        Some(folder) => {
            let signed_by = envelope.signatures.first().map(|signature| signature.keyid.as_str());
            checks.push((EVIDENCE, check_evidence(&statement, folder)));
            checks.extend(check_trials(&statement, folder));
            checks.push((PAGE, check_page(&statement, signed_by, folder)));
        }
    }
    Ok(Verification { statement, checks })
}

fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > MAX_CERTIFICATE_BYTES {
        return Err(io::Error::other("the file is too large for a certificate"));
    }
    fs::read(path)
}

fn check_signature(envelope: &SignedEnvelope, key: Option<&VerifyingKey>) -> CheckResult {
    let Some(key) = key else {
        return CheckResult::NotChecked(if envelope.signatures.is_empty() {
            "the certificate is not signed: nothing shows who issued it, or that it was not changed"
                .to_owned()
        } else {
            "add --public-key FILE with the key of the issuer".to_owned()
        });
    };
    match envelope.check(key) {
        SignatureCheck::Good => CheckResult::Good(format!("made with the key {}", short(&key.id()))),
        SignatureCheck::Bad => {
            CheckResult::Bad("the certificate or its signature was changed after it was signed".to_owned())
        }
        SignatureCheck::OtherKey => {
            CheckResult::Bad(format!("the certificate was signed with another key than {}", short(&key.id())))
        }
        SignatureCheck::Unsigned => CheckResult::Bad("the certificate is not signed".to_owned()),
    }
}

fn short(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

fn check_subject(statement: &Statement, file: Option<&Path>) -> CheckResult {
    let Some(file) = file else {
        return CheckResult::NotChecked(
            "add --subject FILE to compare a file with the digests in the certificate".to_owned(),
        );
    };
    match file_digest(file) {
        Err(error) => CheckResult::Bad(format!("cannot read {}: {error}", file.display())),
        Ok(digest) => match statement.subject.iter().find(|subject| subject.digest.sha256 == digest) {
            Some(subject) => CheckResult::Good(format!("{} is {}", file.display(), subject.name)),
            None => CheckResult::Bad(format!("{} is not a file that was tested", file.display())),
        },
    }
}

fn check_evidence(statement: &Statement, folder: &Path) -> CheckResult {
    let found = match evidence_of(folder) {
        Ok(found) => found,
        Err(error) => return CheckResult::Bad(error.to_string()),
    };
    let certified = &statement.predicate.evidence;
    for file in certified {
        match found.iter().find(|other| other.path == file.path) {
            None => return CheckResult::Bad(format!("{} is missing", file.path)),
            Some(other) if other.sha256 != file.sha256 => {
                return CheckResult::Bad(format!("{} was changed", file.path));
            }
            Some(_) => {}
        }
    }
    match found.iter().find(|file| !certified.iter().any(|other| other.path == file.path)) {
        Some(more) => CheckResult::Bad(format!("{} is not a file of this certification", more.path)),
        None => CheckResult::Good(format!("{} files are unchanged", certified.len())),
    }
}

fn check_trials(statement: &Statement, folder: &Path) -> Vec<(&'static str, CheckResult)> {
    let certificate = &statement.predicate;
    let (trials, head) = match read_probes(&folder.join(PROBE_FILE)) {
        Ok(read) => read,
        Err(error) => return vec![(CHAIN, CheckResult::Bad(format!("{PROBE_FILE}: {error}")))],
    };
    let chain = if head == certificate.head {
        CheckResult::Good(format!("{} trials, head {}", trials.len(), short(&head)))
    } else {
        CheckResult::Bad(format!("the head of {PROBE_FILE} is not the one in the certificate"))
    };
    let again = if Conclusion::of(&trials, certificate.asked) == certificate.reached {
        CheckResult::Good("the same when they are computed again from the trials".to_owned())
    } else {
        CheckResult::Bad("other results when they are computed again from the trials".to_owned())
    };
    let mut checks = vec![(CHAIN, chain), (RESULTS, again)];
    match certificate.tested.kind {
        SubjectKindTested::Agent => {
            checks.push(("ledgers", check_ledgers(&trials, folder)));
            checks.push(("callers", check_callers(statement, folder)));
        }
        SubjectKindTested::McpServer => checks.push(("ledgers", check_server(statement, &trials, folder))),
        SubjectKindTested::CommandLineTool => {}
    }
    checks
}

/// Judges the trials of an MCP server and the ramp of callers again.
#[cfg(feature = "mcp")]
fn check_server(statement: &Statement, trials: &[super::ProbeTrial], folder: &Path) -> CheckResult {
    // A question that was not asked has no trial, and so no evidence.
    let made: Vec<&super::ProbeTrial> = trials.iter().filter(|trial| !trial.evidence.is_empty()).collect();
    match super::mcp::judge_again(folder) {
        Err(error) => CheckResult::Bad(format!("the trials cannot be judged again: {error}")),
        Ok((again, _)) if !again.iter().eq(made) => {
            CheckResult::Bad("another result when the ledgers are judged again".to_owned())
        }
        Ok((_, callers)) if callers != statement.predicate.callers => {
            CheckResult::Bad("another number of callers held when the ledgers are judged again".to_owned())
        }
        Ok(_) => CheckResult::Good("every trial is the same when its ledger is judged again".to_owned()),
    }
}

#[cfg(not(feature = "mcp"))]
fn check_server(_: &Statement, _: &[super::ProbeTrial], _: &Path) -> CheckResult {
    CheckResult::NotChecked("this hapax is built without MCP, so it cannot judge the trials again".to_owned())
}

/// Scores the ledgers of an agent again.
fn check_ledgers(trials: &[super::ProbeTrial], folder: &Path) -> CheckResult {
    match agent::trials_from_folder(folder) {
        Err(error) => CheckResult::Bad(error),
        Ok(scored) if scored == trials => {
            CheckResult::Good("every verdict is the same when its ledger is scored again".to_owned())
        }
        Ok(_) => CheckResult::Bad("another verdict when the ledgers are scored again".to_owned()),
    }
}

/// Computes the ramp of callers again.
fn check_callers(statement: &Statement, folder: &Path) -> CheckResult {
    match agent::callers_from_folder(folder) {
        Err(error) => CheckResult::Bad(error),
        Ok(callers) if callers == statement.predicate.callers => {
            CheckResult::Good("the same number held when the ledgers are scored again".to_owned())
        }
        Ok(_) => CheckResult::Bad("another number held when the ledgers are scored again".to_owned()),
    }
}

fn check_page(statement: &Statement, signed_by: Option<&str>, folder: &Path) -> CheckResult {
    match fs::read(folder.join(CERTIFICATE_PAGE)) {
        Err(error) => CheckResult::Bad(format!("cannot read {CERTIFICATE_PAGE}: {error}")),
        Ok(page) if page == certificate_page(statement, signed_by).as_bytes() => {
            CheckResult::Good("shows this certificate".to_owned())
        }
        Ok(_) => CheckResult::Bad(format!("{CERTIFICATE_PAGE} was changed, or shows another certificate")),
    }
}
