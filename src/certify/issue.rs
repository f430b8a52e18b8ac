//! Issues a certificate: digests the files of evidence, and writes `certificate.json` and its page.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::envelope::SignedEnvelope;
use super::key::SigningKey;
use super::model::{BatteryResult, EvidenceFile, file_digest};
use super::page::certificate_page;
use super::probe_log::{PROBE_FILE, ProbeLog};
use super::statement::{AskedLevel, Conclusion, IssueFacts, NoCertificate, Statement, statement};
use crate::report::{StoreError, write_file};

/// The name of the certificate in the folder of a certification.
pub const CERTIFICATE_FILE: &str = "certificate.json";
/// The name of its page.
pub const CERTIFICATE_PAGE: &str = "certificate.html";
/// Folders of evidence are not deeper than this.
const MAX_DEPTH: usize = 8;

/// How a certificate is issued.
#[derive(Debug)]
pub struct IssueOptions<'a> {
    /// The folder of the certification, with the evidence.
    pub folder: &'a Path,
    /// The key that signs it.
    pub key: Option<&'a SigningKey>,
    /// The level that was asked for.
    pub asked: AskedLevel,
    /// The seed of the certification.
    pub seed: u64,
    /// When it is issued.
    pub now: Timestamp,
}

/// What came of a certification.
#[derive(Debug, Clone, PartialEq)]
pub struct Certification {
    /// What the battery handed over.
    pub battery: BatteryResult,
    /// What its trials show.
    pub conclusion: Conclusion,
    /// The statement, or why there is no certificate.
    pub statement: Result<Box<Statement>, NoCertificate>,
    /// The identifier of the key that signed it.
    pub signed_by: Option<String>,
}

/// Writes the trials to the folder and issues a certificate, if there can be one.
///
/// # Errors
/// When a file cannot be read or written.
pub fn issue(battery: BatteryResult, options: &IssueOptions<'_>) -> Result<Certification, StoreError> {
    let log_path = options.folder.join(PROBE_FILE);
    let head = write_trials(&battery, &log_path)
        .map_err(|error| StoreError::Write { path: log_path.clone(), error })?;
    let conclusion = Conclusion::of(&battery.trials, options.asked);
    let evidence = evidence_of(options.folder)?;
    let facts = IssueFacts {
        issued_at: options.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        hapax: env!("CARGO_PKG_VERSION").to_owned(),
        seed: options.seed,
        asked: options.asked,
        head,
        evidence,
    };
    let made = statement(&battery, facts);
    let mut signed_by = None;
    if let Ok(made) = &made {
        let path = options.folder.join(CERTIFICATE_FILE);
        let failed = |error: serde_json::Error| StoreError::Write { path: path.clone(), error: error.into() };
        let payload = serde_json::to_vec(made).map_err(failed)?;
        let envelope = SignedEnvelope::new(&payload, options.key);
        signed_by = envelope.signatures.first().map(|signature| signature.keyid.clone());
        let page = certificate_page(made, signed_by.as_deref());
        write_file(&options.folder.join(CERTIFICATE_PAGE), page.as_bytes())?;
        write_file(&path, &envelope.written().map_err(failed)?)?;
    }
    Ok(Certification { battery, conclusion, statement: made.map(Box::new), signed_by })
}

fn write_trials(battery: &BatteryResult, path: &Path) -> io::Result<String> {
    let mut log = ProbeLog::create(path)?;
    for trial in &battery.trials {
        log.add(trial)?;
    }
    log.finish()
}

/// All files in a folder with their digests, except the certificate itself and its page.
pub(super) fn evidence_of(folder: &Path) -> Result<Vec<EvidenceFile>, StoreError> {
    let mut files = Vec::new();
    list(folder, &mut files, MAX_DEPTH)
        .map_err(|error| StoreError::Read { path: folder.to_owned(), error })?;
    let mut evidence = Vec::new();
    for path in files {
        let name = relative(folder, &path);
        if name == CERTIFICATE_FILE || name == CERTIFICATE_PAGE {
            continue;
        }
        let sha256 = file_digest(&path).map_err(|error| StoreError::Read { path: path.clone(), error })?;
        evidence.push(EvidenceFile { path: name, sha256 });
    }
    evidence.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(evidence)
}

fn relative(folder: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
}

/// The regular files below a folder; links are left out.
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
