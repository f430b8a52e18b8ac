//! Issues a certificate with its page, or says why there is none.

use std::path::Path;

use jiff::Timestamp;

use super::envelope::SignedEnvelope;
use super::evidence::{FileDigest, TRIALS_FILE, files_in, write_trials};
use super::key::SigningKey;
use super::page::certificate_page;
use super::statement::{
    Certificate, ControlCheck, Sha256Digest, Statement, StatementSubject, SubjectKindTested, Tested,
};
use super::trials::{AskedLevel, CaseVerdict, Conclusion};
use super::{CERTIFICATE_FILE, CERTIFICATE_PAGE};
use crate::results::{StoreError, write_file};
use crate::text::words::counted;

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
    Statement::new(
        subject.collect(),
        Certificate {
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
    )
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

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Value;

    use super::*;
    use crate::certify::statement::{TestedSubject, UNSEALED, read_statement};
    use crate::certify::trials::{CallersPassed, TrialRecord};
    use crate::domain::Promise;

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
                local_recipe: None,
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
