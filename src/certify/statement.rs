//! The certificate: an in-toto statement whose predicate says what was tested, with what, and what was observed.
//! Issues it with its page, and reads it again.

use std::path::Path;

use jiff::Timestamp;
use mock_services::word_enum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::envelope::SignedEnvelope;
use super::evidence::{FileDigest, TRIALS_FILE, files_in, write_trials};
use super::key::SigningKey;
use super::page::certificate_page;
use super::trials::{AskedLevel, CallersPassed, CaseVerdict, Conclusion, TrialRecord};
use super::{CERTIFICATE_FILE, CERTIFICATE_PAGE, version_1};
use crate::domain::{Promise, is_default};
use crate::results::{StoreError, write_file};
use crate::text::words::counted;

/// The type of the statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate without its version.
const PREDICATE_NAME: &str = "urn:hapax:certificate:v";
/// The version of the predicate; it changes when readers of the old version would misread it.
const CERTIFICATE_VERSION: u32 = 2;

/// What a certificate of a subject that was not sealed says.
const UNSEALED: &str = "The subject was not sealed: it could read and change what its user can, and reach \
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

/// How a certificate is issued.
#[derive(Debug)]
pub(crate) struct IssueOptions<'a> {
    /// The folder of the certification, with the evidence.
    pub(crate) folder: &'a Path,
    pub(crate) key: Option<&'a SigningKey>,
    pub(crate) asked: AskedLevel,
    /// Why this certification is not meant to give a certificate.
    pub(crate) partial: Option<&'static str>,
    pub(crate) seed: u64,
    pub(crate) now: Timestamp,
}

/// What came of a certification.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Certification {
    pub(crate) tested: Tested,
    pub(super) asked: AskedLevel,
    pub(crate) conclusion: Conclusion,
    /// The identifier of the key that signed the certificate, or why there is none.
    pub(crate) issued: Result<Option<String>, NoCertificate>,
}

/// Why there is no certificate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum NoCertificate {
    #[error("the certification was interrupted")]
    Interrupted,
    #[error("{0}")]
    Partial(&'static str),
    #[error(
        "no tool made a write reach a backend and said that it worked, so there is nothing to test; give arguments, or the read that shows \
         the effects of a tool (`verify`), in a tools file (--tools), or answers of the backend (--answers)"
    )]
    NoWrites,
    #[error("no control ran, so nothing shows that the trials can fail")]
    NoControl,
    /// Then the verdicts on the subject prove nothing.
    #[error("the control {} did not come out as known in {}: expected {}, found {}", .0.control, .0.case, .0.expected, .0.found)]
    Control(ControlCheck),
    #[error("{0}")]
    Finding(String),
    #[error("{count} of {scenario} stayed void after a second try: {why}")]
    Void { count: String, scenario: String, why: String },
    #[error(
        "the interval is too wide: {trials} of {scenario} without a failure show a level of {reached:.4}, and \
         {level} was asked for"
    )]
    Inconclusive { trials: String, scenario: String, reached: f64, level: f64 },
    #[error("no scenario could be tested")]
    NothingTested,
}

/// Writes the trials to the folder and issues a certificate, if there can be one.
pub(crate) fn issue(tested: Tested, options: &IssueOptions<'_>) -> Result<Certification, StoreError> {
    let path = options.folder.join(TRIALS_FILE);
    let head = write_trials(&path, &tested.trials).map_err(|error| StoreError::Write { path, error })?;
    let conclusion = Conclusion::new(&tested.trials, options.asked);
    let evidence = files_in(options.folder)?;
    let issued = match refuse(&tested, &conclusion, options) {
        Err(why) => Err(why),
        Ok(()) => {
            let statement = statement(&tested, conclusion.clone(), head, evidence, options);
            let path = options.folder.join(CERTIFICATE_FILE);
            let failed =
                |error: serde_json::Error| StoreError::Write { path: path.clone(), error: error.into() };
            let envelope = SignedEnvelope::new(&serde_json::to_vec(&statement).map_err(failed)?, options.key);
            let signed_by = envelope.signed_by().map(str::to_owned);
            let page = certificate_page(&statement, signed_by.as_deref());
            write_file(&options.folder.join(CERTIFICATE_PAGE), page.as_bytes())?;
            write_file(&path, &envelope.written().map_err(failed)?)?;
            Ok(signed_by)
        }
    };
    Ok(Certification { tested, asked: options.asked, conclusion, issued })
}

/// A scenario that fails does not prevent a certificate: it then says so.
fn refuse(tested: &Tested, conclusion: &Conclusion, options: &IssueOptions<'_>) -> Result<(), NoCertificate> {
    if tested.interrupted {
        return Err(NoCertificate::Interrupted);
    }
    if tested.subject.kind == SubjectKindTested::McpServer && tested.trials.is_empty() {
        return Err(NoCertificate::NoWrites);
    }
    if let Some(why) = options.partial {
        return Err(NoCertificate::Partial(why));
    }
    if tested.controls.is_empty() {
        return Err(NoCertificate::NoControl);
    }
    if let Some(wrong) = tested.controls.iter().find(|check| !check.is_as_known()) {
        return Err(NoCertificate::Control(wrong.clone()));
    }
    // What is wrong with the subject, although every trial passes.
    let wrong = tested.findings.iter().find(|finding| finding.fails);
    if let Some(wrong) = wrong.filter(|_| conclusion.verdict != CaseVerdict::Fail) {
        return Err(NoCertificate::Finding(wrong.message.clone()));
    }
    let first = |verdict| conclusion.scenarios.iter().find(|result| result.verdict == verdict);
    let trials = |count: u64| counted(usize::try_from(count).unwrap_or(usize::MAX), "trial");
    match conclusion.verdict {
        // A failure is certain, whatever else is not.
        CaseVerdict::Fail | CaseVerdict::Pass => Ok(()),
        CaseVerdict::Skipped => Err(NoCertificate::NothingTested),
        verdict => match first(verdict) {
            Some(void) if verdict == CaseVerdict::Void => Err(NoCertificate::Void {
                count: trials(void.voids),
                scenario: void.scenario.clone(),
                why: void.message.clone(),
            }),
            Some(few) => Err(NoCertificate::Inconclusive {
                trials: trials(few.trials),
                scenario: few.scenario.clone(),
                reached: (few.level * 1e4).floor() / 1e4,
                level: options.asked.level,
            }),
            None => Err(NoCertificate::NothingTested),
        },
    }
}

fn statement(
    tested: &Tested,
    conclusion: Conclusion,
    head: String,
    evidence: Vec<FileDigest>,
    options: &IssueOptions<'_>,
) -> Statement {
    let (shows, mut does_not_show) = limits_of(tested.subject.kind, conclusion.confidence);
    does_not_show.splice(0..0, tested.warning().map(str::to_owned));
    let subject = tested.subject.digests.iter().map(|file| StatementSubject {
        name: file.name.clone(),
        digest: Sha256Digest { sha256: file.sha256.clone() },
    });
    Statement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: subject.collect(),
        predicate_type: format!("{PREDICATE_NAME}{CERTIFICATE_VERSION}"),
        predicate: Certificate {
            issued_at: options.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            hapax: env!("CARGO_PKG_VERSION").to_owned(),
            seed: options.seed,
            asked: options.asked,
            reached: conclusion,
            tested: Tested { trials: Vec::new(), ..tested.clone() },
            head,
            evidence,
            shows,
            does_not_show,
        },
    }
}

/// What the numbers show, and what they do not show.
fn limits_of(kind: SubjectKindTested, confidence: f64) -> (Vec<String>, Vec<String>) {
    let what = match kind {
        SubjectKindTested::Agent => "other tasks, services, models or prompts than those of the scenarios",
        SubjectKindTested::McpServer => "other tools, arguments or backends than those that were called",
        SubjectKindTested::CommandLineTool => "other commands or arguments than those that were called",
    };
    let of_cases = "The cases of a scenario have equally many trials. The level of a scenario is about the average \
                    over its cases, not about each case.";
    let shows = [
        format!(
            "For each scenario by itself: if the true share of trials that pass were below its level, a result \
             at least this good would be seen with a probability of at most {:.2} %, by the exact one-sided \
             bound (Clopper and Pearson).",
            100.0 - confidence * 100.0
        ),
        of_cases.to_owned(),
        "The trials have different seeds: names, keys, values and the order of the trials differ. The \
         scheduling of processes is left to the system and is not controlled."
            .to_owned(),
    ];
    let does_not_show = [
        &format!("It says nothing about {what}."),
        "It says nothing about a level for all scenarios at once: the confidence is that of one scenario.",
        "The bound assumes that trials are independent and that the subject behaves in use as it does in \
         trials; a subject that recognizes a test could break this.",
        "A digest identifies the files that were tested, not the libraries, models and services that they \
         use.",
        "A signature shows who issued the certificate, not that the issuer is honest; with the run's folder, \
         `hapax certify verify --run` computes the results again.",
    ];
    let has_several_cases = kind != SubjectKindTested::CommandLineTool;
    let shows = shows.into_iter().filter(|text| has_several_cases || text != of_cases).collect();
    (shows, does_not_show.map(str::to_owned).to_vec())
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
pub(super) mod tests {
    use super::*;

    pub(crate) fn sample_tested() -> Tested {
        let trials = |scenario: &str| -> Vec<TrialRecord> {
            let trial = |number| TrialRecord {
                trial: number,
                verdict: CaseVerdict::Pass,
                evidence: vec!["exit 0: {\"effect\":\"created\"}".to_owned()],
                ..TrialRecord::skipped(scenario, "one effect")
            };
            (1..=29).map(trial).collect()
        };
        let mut all = trials("create/same-key-twice");
        all.extend(trials("create/another-key"));
        all.push(TrialRecord::skipped("create/exit-statuses", "the file names no command that fails"));
        Tested {
            subject: TestedSubject {
                kind: SubjectKindTested::CommandLineTool,
                name: "todo".to_owned(),
                command: vec!["./todo".to_owned()],
                version: Some("1.2.0".to_owned()),
                digests: vec![FileDigest { name: "todo".to_owned(), sha256: "ab".repeat(32) }],
            },
            sealed: Some(true),
            trials: all,
            silencing: Vec::new(),
            promise: Promise::default(),
            controls: vec![ControlCheck {
                control: "tool-with-keys".to_owned(),
                case: "score".to_owned(),
                expected: "3".to_owned(),
                found: "3".to_owned(),
            }],
            callers: Some(CallersPassed {
                scenario: "callers-at-once".to_owned(),
                passed: 8,
                failed_at: None,
                tried: vec![1, 2, 4, 8],
                trials_each: 5,
            }),
            scenarios: Vec::new(),
            golden_set: None,
            files: vec![FileDigest { name: "tool.yaml".to_owned(), sha256: "cd".repeat(32) }],
            score: Some(2),
            unlisted_writes: Vec::new(),
            findings: Vec::new(),
            not_tested: vec!["`list`: it is marked safe and is only read".to_owned()],
            notes: Vec::new(),
            interrupted: false,
        }
    }

    fn sample_options() -> IssueOptions<'static> {
        IssueOptions {
            folder: Path::new("."),
            key: None,
            asked: AskedLevel { level: 0.9, confidence: 0.95 },
            partial: None,
            seed: 7,
            now: "2026-11-16T12:00:00Z".parse().unwrap(),
        }
    }

    pub(crate) fn sample_statement() -> Statement {
        let (tested, options) = (sample_tested(), sample_options());
        let conclusion = Conclusion::new(&tested.trials, options.asked);
        let evidence = vec![FileDigest { name: TRIALS_FILE.to_owned(), sha256: "12".repeat(32) }];
        statement(&tested, conclusion, "ef".repeat(32), evidence, &options)
    }

    /// What comes of these trials, signed.
    pub(crate) fn sample_certification(change: impl FnOnce(&mut Tested)) -> Certification {
        let (mut tested, options) = (sample_tested(), sample_options());
        change(&mut tested);
        let conclusion = Conclusion::new(&tested.trials, options.asked);
        let issued = refuse(&tested, &conclusion, &options).map(|()| Some("0123456789abcdef0123".to_owned()));
        Certification { tested, asked: options.asked, conclusion, issued }
    }

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

    #[test]
    fn a_failure_gives_a_certificate_that_says_so_even_beside_void_trials() {
        let change = |tested: &mut Tested| {
            tested.trials[0].verdict = CaseVerdict::Fail;
            tested.trials[1].verdict = CaseVerdict::Void;
        };
        let certification = sample_certification(change);
        assert!(certification.issued.is_ok());
        assert_eq!(certification.conclusion.verdict, CaseVerdict::Fail);
        let wrong_control = sample_certification(|tested| {
            change(tested);
            tested.controls[0].found = "2".to_owned();
        });
        assert!(matches!(wrong_control.issued, Err(NoCertificate::Control(_))));
    }

    #[test]
    fn a_certificate_that_does_not_say_whether_it_was_sealed_can_be_read() {
        let (options, tested) = (sample_options(), Tested { sealed: Some(false), ..sample_tested() });
        let conclusion = Conclusion::new(&tested.trials, options.asked);
        let statement = statement(&tested, conclusion, String::new(), Vec::new(), &options);
        assert_eq!(statement.predicate.does_not_show.first().map(String::as_str), Some(UNSEALED));
        let mut value = serde_json::to_value(&statement).unwrap();
        let read =
            |value: &Value| read_statement(&serde_json::to_vec(value).unwrap()).unwrap().0.predicate.tested;
        assert_eq!(read(&value).sealed, Some(false));
        value.pointer_mut("/predicate/tested").unwrap().as_object_mut().unwrap().remove("sealed");
        let older = read(&value);
        assert_eq!((older.sealed, older.warning()), (None, None));
    }

    #[test]
    fn every_reason_for_no_certificate_is_said() {
        let reasons = [
            sample_certification(|tested| tested.controls[0].found = "2".to_owned()),
            sample_certification(|tested| tested.controls.clear()),
            sample_certification(|tested| tested.trials[3].verdict = CaseVerdict::Void),
            sample_certification(|tested| tested.trials.truncate(40)),
            sample_certification(|tested| tested.trials.clear()),
            sample_certification(|tested| tested.interrupted = true),
        ];
        let text = |certification: &Certification| match &certification.issued {
            Err(why) => why.to_string(),
            Ok(_) => "a certificate".to_owned(),
        };
        insta::assert_snapshot!(reasons.iter().map(text).collect::<Vec<_>>().join("\n"));
    }
}
