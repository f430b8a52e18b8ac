//! Verifies a certificate: its signature, its digests, and, given the run's folder, the hash chain and the
//! verdicts, which are computed again from the evidence.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::envelope::{SignatureCheck, SignedEnvelope};
use super::evidence::{CHAIN_START, TRIALS_FILE, file_digest, files_in, read_trials};
use super::key::{KeyError, VerifyingKey};
use super::page::certificate_page;
use super::runs::{JudgeRun, RUN_NAMES, RunNames, callers_in, trials_in};
use super::statement::{Certificate, Statement, StatementError, SubjectKindTested, Tested, read_statement};
use super::trials::{CaseVerdict, Conclusion, TrialRecord};
use super::{CERTIFICATE_PAGE, agent, golden_sets, version_1};
use crate::ExitStatus;

/// A larger file is not a certificate.
const MAX_CERTIFICATE_BYTES: u64 = 256 * 1024 * 1024;

/// Why a certificate cannot be verified at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    #[error("cannot read {path}: {error}", path = path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{path} is not a certificate: {problem}", path = path.display())]
    NotACertificate { path: PathBuf, problem: String },
    #[error("cannot verify {path}: {error}", path = path.display())]
    Statement { path: PathBuf, error: StatementError },
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckResult {
    Good(String),
    Bad(String),
    /// Why, and how to check it.
    NotChecked(String),
}

/// What came of verifying a certificate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verification {
    pub(super) statement: Statement,
    /// Each check by its name, in order.
    pub(super) checks: Vec<(&'static str, CheckResult)>,
}

impl Verification {
    /// 0: the certificate is genuine and says that the subject passes; 1: something is wrong, or it says that the
    /// subject fails; 3: nothing is wrong, but the signature was not checked.
    pub(crate) fn exit_status(&self) -> ExitStatus {
        let passes = self.statement.predicate.reached.verdict == CaseVerdict::Pass;
        let is_bad = |(_, result): &(&str, CheckResult)| matches!(result, CheckResult::Bad(_));
        if !passes || self.checks.iter().any(is_bad) {
            return ExitStatus::Failed;
        }
        let is_open = |(name, result): &(&str, CheckResult)| {
            *name == SIGNATURE && matches!(result, CheckResult::NotChecked(_))
        };
        if self.checks.iter().any(is_open) { ExitStatus::Unproven } else { ExitStatus::Success }
    }
}

const SIGNATURE: &str = "signature";

/// Verifies the certificate in this file with the public key of the issuer, the folder of the certification, and a
/// file that the certificate should be about.
pub(crate) fn verify(
    path: &Path,
    public_key: Option<&Path>,
    run: Option<&Path>,
    subject: Option<&Path>,
) -> Result<Verification, VerifyError> {
    let key = public_key.map(VerifyingKey::load).transpose()?;
    let bytes = read_limited(path).map_err(|error| VerifyError::Read { path: path.to_owned(), error })?;
    let not_one = |problem| VerifyError::NotACertificate { path: path.to_owned(), problem };
    let envelope = SignedEnvelope::read(&bytes).map_err(not_one)?;
    let payload = envelope.payload().map_err(not_one)?;
    let (statement, version) =
        read_statement(&payload).map_err(|error| VerifyError::Statement { path: path.to_owned(), error })?;
    let mut checks = vec![
        (SIGNATURE, check_signature(&envelope, key.as_ref())),
        ("subject", check_subject(&statement, subject)),
    ];
    checks.extend(check_scenarios(&statement.predicate.tested));
    checks.extend(check_recipe(&statement.predicate.tested));
    match run {
        None => checks.push((
            "evidence",
            CheckResult::NotChecked("add --run FOLDER to compute the verdicts again".to_owned()),
        )),
        Some(folder) => {
            checks.push(("evidence", check_evidence(&statement, folder)));
            checks.extend(check_trials(&statement.predicate, version, folder));
            checks.push(("page", check_page(&statement, version, envelope.signed_by(), folder)));
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
        return CheckResult::NotChecked(if envelope.signed_by().is_none() {
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

/// Whether the scenarios are those that a known hapax ships. The golden set of a certificate of an earlier build, or of
/// a tool or server, is not named.
fn check_scenarios(tested: &Tested) -> Option<(&'static str, CheckResult)> {
    let named = tested.golden_set.as_deref()?;
    let replaced = tested.scenarios.iter().filter(|scenario| scenario.replaces_shipped);
    let replaced: Vec<&str> = replaced.map(|scenario| scenario.scenario.as_str()).collect();
    let result = if !replaced.is_empty() {
        let names = replaced.join(", ");
        CheckResult::NotChecked(format!(
            "local files replace shipped scenarios, with the same names and other content: {names}"
        ))
    } else if let Some(version) = golden_sets::released_version(named) {
        CheckResult::Good(format!("the golden set is that of hapax {version}"))
    } else if golden_sets::digest().is_ok_and(|own| own == named) {
        CheckResult::Good("the golden set is that of this hapax".to_owned())
    } else {
        CheckResult::NotChecked(format!(
            "the golden set {} is not that of a released version that this hapax knows; verify it with the hapax \
             that issued it, or with a newer one",
            short(named)
        ))
    };
    Some(("golden set", result))
}

/// What names the subject, if that is not a recipe that hapax ships.
fn check_recipe(tested: &Tested) -> Option<(&'static str, CheckResult)> {
    let recipe = tested.subject.local_recipe.as_ref()?;
    let replaced = if recipe.replaces_shipped { ", and not the shipped recipe with that name" } else { "" };
    let message = format!("the name `{}` is that of a {}{replaced}", recipe.name, recipe.clause());
    Some(("recipe", CheckResult::NotChecked(message)))
}

fn check_evidence(statement: &Statement, folder: &Path) -> CheckResult {
    let found = match files_in(folder) {
        Ok(found) => found,
        Err(error) => return CheckResult::Bad(error.to_string()),
    };
    let certified = &statement.predicate.evidence;
    for file in certified {
        match found.iter().find(|other| other.name == file.name) {
            None => return CheckResult::Bad(format!("{} is missing", file.name)),
            Some(other) if other.sha256 != file.sha256 => {
                return CheckResult::Bad(format!("{} was changed", file.name));
            }
            Some(_) => {}
        }
    }
    match found.iter().find(|file| !certified.iter().any(|other| other.name == file.name)) {
        Some(more) => CheckResult::Bad(format!("{} is not a file of this certification", more.name)),
        None => CheckResult::Good(format!("{} files are unchanged", certified.len())),
    }
}

fn check_trials(certificate: &Certificate, version: u32, folder: &Path) -> Vec<(&'static str, CheckResult)> {
    let kind = certificate.tested.subject.kind;
    let (file, read) = match version {
        1 => (version_1::TRIALS_FILE, {
            let path = folder.join(version_1::TRIALS_FILE);
            read_trials(&path, version_1::CHAIN_START, |text| version_1::read_trial(text, kind))
                .map(|(trials, head)| (version_1::in_order(trials), head))
        }),
        _ => (TRIALS_FILE, {
            read_trials(&folder.join(TRIALS_FILE), CHAIN_START, |text| serde_json::from_str(text))
        }),
    };
    let (trials, head) = match read {
        Ok(read) => read,
        Err(error) => return vec![("hash chain", CheckResult::Bad(format!("{file}: {error}")))],
    };
    let chain = if head == certificate.head {
        CheckResult::Good(format!("{} trials, head {}", trials.len(), short(&head)))
    } else {
        CheckResult::Bad(format!("the head of {file} is not the one in the certificate"))
    };
    let again = if Conclusion::new(&trials, certificate.asked) == certificate.reached {
        CheckResult::Good("the same when they are computed again from the trials".to_owned())
    } else {
        CheckResult::Bad("other results when they are computed again from the trials".to_owned())
    };
    let mut checks = vec![("hash chain", chain), ("results", again)];
    match kind {
        SubjectKindTested::Agent => {
            let names = if version == 1 { agent::RUN_NAMES_1 } else { RUN_NAMES };
            checks.extend(check_runs(certificate, version, &trials, folder, names, &agent::judge_run));
        }
        SubjectKindTested::McpServer => checks.extend(check_server(certificate, version, &trials, folder)),
        SubjectKindTested::CommandLineTool => {}
    }
    checks
}

#[cfg(feature = "mcp")]
fn check_server(
    certificate: &Certificate,
    version: u32,
    trials: &[TrialRecord],
    folder: &Path,
) -> Vec<(&'static str, CheckResult)> {
    use super::mcp::{RUN_NAMES_1, ServerCases};
    let (cases, names) = match version {
        1 => (ServerCases::load_version_1(folder), RUN_NAMES_1),
        _ => (ServerCases::load(folder), RUN_NAMES),
    };
    match cases {
        Err(error) => vec![("ledgers", CheckResult::Bad(format!("the cases cannot be read: {error}")))],
        Ok(cases) => {
            let judge = |folder: &Path, callers| cases.judge_run(folder, callers);
            check_runs(certificate, version, trials, folder, names, &judge)
        }
    }
}

#[cfg(not(feature = "mcp"))]
fn check_server(_: &Certificate, _: u32, _: &[TrialRecord], _: &Path) -> Vec<(&'static str, CheckResult)> {
    let why = "this hapax is built without MCP, so it cannot judge the trials again";
    vec![("ledgers", CheckResult::NotChecked(why.to_owned()))]
}

/// Judges all runs again.
fn check_runs(
    certificate: &Certificate,
    version: u32,
    trials: &[TrialRecord],
    folder: &Path,
    names: RunNames,
    judge: &JudgeRun<'_>,
) -> Vec<(&'static str, CheckResult)> {
    // A scenario that was skipped has no ledger, and so no evidence.
    let made = trials.iter().filter(|trial| !trial.evidence.is_empty()).cloned().collect();
    let ledgers = match trials_in(folder, names, judge).map(|again| is_same(made, again, version)) {
        Err(error) => CheckResult::Bad(error),
        Ok(true) => CheckResult::Good("every verdict is the same when its ledger is judged again".to_owned()),
        Ok(false) => CheckResult::Bad("another verdict when the ledgers are judged again".to_owned()),
    };
    let scenario = certificate.tested.callers.as_ref().map_or("", |callers| &callers.scenario);
    let callers = match callers_in(folder, names, scenario, judge) {
        Err(error) => CheckResult::Bad(error),
        Ok(callers) if callers == certificate.tested.callers => {
            CheckResult::Good("the same number passes when the ledgers are judged again".to_owned())
        }
        Ok(_) => CheckResult::Bad("another number passes when the ledgers are judged again".to_owned()),
    };
    vec![("ledgers", ledgers), ("callers", callers)]
}

/// Whether the trials are judged as before, in any order. Of a certificate of version 1, the numbers of the trials
/// and the words of their messages do not matter.
fn is_same(mut trials: Vec<TrialRecord>, mut again: Vec<TrialRecord>, version: u32) -> bool {
    for trial in trials.iter_mut().chain(&mut again).filter(|_| version == 1) {
        trial.case.clear();
        trial.message.clear();
        (trial.trial, trial.finding, trial.void) = (0, None, None);
    }
    let key =
        |trial: &TrialRecord| (trial.case.clone(), trial.trial, trial.second_try, trial.evidence.clone());
    trials.sort_by_cached_key(key);
    again.sort_by_cached_key(key);
    trials == again
}

fn check_page(statement: &Statement, version: u32, signed_by: Option<&str>, folder: &Path) -> CheckResult {
    if version == 1 {
        let why = "pages of version 1 are not made any more; certificate.json is what was signed";
        return CheckResult::NotChecked(why.to_owned());
    }
    match fs::read(folder.join(CERTIFICATE_PAGE)) {
        Err(error) => CheckResult::Bad(format!("cannot read {CERTIFICATE_PAGE}: {error}")),
        Ok(page) if page == certificate_page(statement, signed_by).as_bytes() => {
            CheckResult::Good("shows this certificate".to_owned())
        }
        Ok(_) if statement.predicate.hapax != env!("CARGO_PKG_VERSION") => CheckResult::NotChecked(format!(
            "this hapax makes other pages than hapax {}, which issued the certificate; certificate.json is what was \
             signed",
            statement.predicate.hapax
        )),
        Ok(_) => CheckResult::Bad(format!("{CERTIFICATE_PAGE} was changed, or shows another certificate")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::issue::tests::sample_statement;
    use super::*;

    #[test]
    fn the_page_of_another_version_is_not_checked_and_one_of_this_version_is() {
        let folder = tempfile::tempdir().unwrap();
        let check = |statement: &Statement, page: &str| {
            fs::write(folder.path().join(CERTIFICATE_PAGE), page).unwrap();
            check_page(statement, 2, None, folder.path())
        };
        let mut statement = sample_statement();
        let page = certificate_page(&statement, None);
        assert!(matches!(check(&statement, &page), CheckResult::Good(_)));
        assert!(matches!(check(&statement, "changed"), CheckResult::Bad(_)));
        statement.predicate.hapax = "0.0.9".to_owned();
        assert!(matches!(check(&statement, "of 0.0.9"), CheckResult::NotChecked(_)));
    }
}
