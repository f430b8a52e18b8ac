//! The statement of a certificate: an in-toto statement whose predicate says what was tested, with what, and
//! what was observed. What it concludes is computed from the trials alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bound::lower_bound;
use super::model::{
    BatteryResult, CallersHeld, ControlCheck, EvidenceFile, FileDigest, SubjectKindTested, TestedSubject,
};
use super::results::{ProbeTrial, QuestionResult, QuestionStatus, question_results};
use crate::score::stats::pass_hat_k;

/// The type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate without its version.
const PREDICATE_NAME: &str = "urn:hapax:certificate:v";
/// The version of the predicate; it changes when readers of the old version would misread it.
pub const CERTIFICATE_VERSION: u32 = 1;
/// The k of pass^k.
const PASS_K: u32 = 10;

/// An in-toto statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub kind: String,
    /// The files that it is about.
    pub subject: Vec<StatementSubject>,
    /// The type of the predicate.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// The certificate.
    pub predicate: Certificate,
}

/// A file that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementSubject {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: Sha256Digest,
}

/// A digest in a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sha256Digest {
    /// SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// The predicate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Certificate {
    /// When it was issued (RFC 3339).
    pub issued_at: String,
    /// What was tested.
    pub tested: TestedSubject,
    /// What it was tested with.
    pub tested_with: TestedWith,
    /// The level that was asked for.
    pub asked: AskedLevel,
    /// What the trials show.
    pub reached: Conclusion,
    /// The largest number of callers at once that held, where callers were ramped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callers: Option<CallersHeld>,
    /// The score of the rubric for command-line tools, 0 to 3, where it applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
    /// The controls in the same run.
    pub controls: Vec<ControlCheck>,
    /// Findings and remarks.
    pub findings: Vec<String>,
    /// What could not be tested, and why.
    pub not_tested: Vec<String>,
    /// The head of the hash chain of the trials, which includes the last hash of each ledger.
    pub head: String,
    /// The files of evidence.
    pub evidence: Vec<EvidenceFile>,
    /// What the numbers show.
    pub shows: Vec<String>,
    /// What they do not show.
    pub does_not_show: Vec<String>,
}

/// What a subject was tested with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestedWith {
    /// The version of hapax.
    pub hapax: String,
    /// The seed that all other seeds are derived from.
    pub seed: u64,
    /// The scenarios, probes or files, with their digests.
    pub files: Vec<FileDigest>,
}

/// The level that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedLevel {
    /// The share of trials that must hold.
    pub level: f64,
    /// The one-sided confidence.
    pub confidence: f64,
}

/// What the trials show: computed from them alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Conclusion {
    /// Whether every question that was asked held.
    pub result: QuestionStatus,
    /// The lowest level of a question that was asked.
    pub level: f64,
    /// The confidence of that level.
    pub confidence: f64,
    /// pass^k over the question with the lowest level.
    pub pass_hat_k: PassHatKBound,
    /// The result of each question for each tool.
    pub results: Vec<QuestionResult>,
}

/// pass^k: the probability that k trials in a row hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassHatKBound {
    /// k.
    pub k: u32,
    /// The estimate; 0 where there are fewer than k trials.
    pub estimate: f64,
    /// Its lower bound: the level to the power of k.
    pub bound: f64,
}

impl Conclusion {
    /// What these trials show.
    #[must_use]
    pub fn of(trials: &[ProbeTrial], asked: AskedLevel) -> Self {
        let results = question_results(trials, asked.level, asked.confidence);
        let asked_ones = || results.iter().filter(|result| result.result != QuestionStatus::NotAsked);
        let has = |status: QuestionStatus| results.iter().any(|result| result.result == status);
        let result = if has(QuestionStatus::Failed) {
            QuestionStatus::Failed
        } else if has(QuestionStatus::Unsure) {
            QuestionStatus::Unsure
        } else if has(QuestionStatus::Held) {
            QuestionStatus::Held
        } else {
            QuestionStatus::NotAsked
        };
        let weakest = asked_ones().min_by(|one, other| one.level.total_cmp(&other.level));
        let (held, all) =
            weakest.map_or((0, 0), |weakest| (weakest.trials - weakest.failures, weakest.trials));
        let level = lower_bound(held, all, asked.confidence);
        let estimate = pass_hat_k(held, all, u64::from(PASS_K)).unwrap_or_default();
        let pass_hat_k = PassHatKBound { k: PASS_K, estimate, bound: level.powf(f64::from(PASS_K)) };
        Conclusion { result, level, confidence: asked.confidence, pass_hat_k, results }
    }
}

/// Why there is no certificate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoCertificate {
    /// A control has another result than the known one, so the results of the subject prove nothing.
    #[error(
        "the control {control} did not come out as known in {question}: expected {expected}, found {found}"
    )]
    Control {
        /// The control.
        control: String,
        /// The question.
        question: String,
        /// The known result.
        expected: String,
        /// The result.
        found: String,
    },
    /// No control ran.
    #[error("no control ran, so nothing shows that the probes can fail")]
    NoControl,
    /// Trials stayed void.
    #[error("{count} of {tool}, {question}, stayed void after a second try: {why}")]
    Void {
        /// How many trials, in words.
        count: String,
        /// The tool.
        tool: String,
        /// The question.
        question: String,
        /// Why the first of them is void.
        why: String,
    },
    /// There are too few trials.
    #[error(
        "the interval is too wide: {trials} of {tool}, {question}, without a failure show a level of \
         {reached:.4}, and {level} was asked for"
    )]
    TooFew {
        /// How many trials, in words.
        trials: String,
        /// The tool.
        tool: String,
        /// The question.
        question: String,
        /// The level that they show, rounded down.
        reached: f64,
        /// The level that was asked for.
        level: f64,
    },
    /// Nothing was asked.
    #[error("no question could be asked")]
    NothingAsked,
    /// It was interrupted.
    #[error("the certification was interrupted")]
    Interrupted,
}

/// What is known when a certificate is issued, besides the result of the battery.
#[derive(Debug, Clone, PartialEq)]
pub struct IssueFacts {
    /// When it is issued (RFC 3339).
    pub issued_at: String,
    /// The version of hapax.
    pub hapax: String,
    /// The seed.
    pub seed: u64,
    /// The level that was asked for.
    pub asked: AskedLevel,
    /// The head of the hash chain of the trials.
    pub head: String,
    /// The files of evidence with their digests.
    pub evidence: Vec<EvidenceFile>,
}

/// The statement of a battery, or why there is none.
///
/// A failed question does not prevent a statement: it then says that the subject failed.
///
/// # Errors
/// When a control did not come out as known, when trials stayed void, or when there are too few.
pub fn statement(battery: &BatteryResult, facts: IssueFacts) -> Result<Statement, NoCertificate> {
    let conclusion = Conclusion::of(&battery.trials, facts.asked);
    refuse(battery, &conclusion, facts.asked)?;
    let (shows, does_not_show) = limits_of(battery, &conclusion);
    let predicate = Certificate {
        issued_at: facts.issued_at,
        tested: battery.subject.clone(),
        tested_with: TestedWith { hapax: facts.hapax, seed: facts.seed, files: battery.tested_with.clone() },
        asked: facts.asked,
        reached: conclusion,
        callers: battery.callers.clone(),
        score: battery.score,
        controls: battery.controls.clone(),
        findings: battery.findings.clone(),
        not_tested: battery.not_tested.clone(),
        head: facts.head,
        evidence: facts.evidence,
        shows,
        does_not_show,
    };
    let subject = battery.subject.digests.iter().map(|file| StatementSubject {
        name: file.name.clone(),
        digest: Sha256Digest { sha256: file.sha256.clone() },
    });
    Ok(Statement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: subject.collect(),
        predicate_type: format!("{PREDICATE_NAME}{CERTIFICATE_VERSION}"),
        predicate,
    })
}

fn refuse(battery: &BatteryResult, conclusion: &Conclusion, asked: AskedLevel) -> Result<(), NoCertificate> {
    if battery.interrupted {
        return Err(NoCertificate::Interrupted);
    }
    if battery.controls.is_empty() {
        return Err(NoCertificate::NoControl);
    }
    if let Some(wrong) = battery.controls.iter().find(|check| !check.is_as_known()) {
        return Err(NoCertificate::Control {
            control: wrong.control.clone(),
            question: wrong.question.clone(),
            expected: wrong.expected.clone(),
            found: wrong.found.clone(),
        });
    }
    // A failure is certain, whatever else is not.
    if conclusion.result == QuestionStatus::Failed {
        return Ok(());
    }
    let trials = |count: u64| format!("{count} trial{}", if count == 1 { "" } else { "s" });
    if let Some(void) = conclusion.results.iter().find(|result| result.voids > 0) {
        return Err(NoCertificate::Void {
            count: trials(void.voids),
            tool: void.tool.clone(),
            question: void.question.clone(),
            why: void.sentence.clone(),
        });
    }
    if let Some(few) = conclusion.results.iter().find(|result| result.result == QuestionStatus::Unsure) {
        return Err(NoCertificate::TooFew {
            trials: trials(few.trials),
            tool: few.tool.clone(),
            question: few.question.clone(),
            reached: (few.level * 1e4).floor() / 1e4,
            level: asked.level,
        });
    }
    if conclusion.result == QuestionStatus::NotAsked {
        return Err(NoCertificate::NothingAsked);
    }
    Ok(())
}

/// What the numbers show, and what they do not show.
fn limits_of(battery: &BatteryResult, conclusion: &Conclusion) -> (Vec<String>, Vec<String>) {
    let confidence = conclusion.confidence * 100.0;
    let mut shows = vec![format!(
        "For each question by itself: if the true share of trials that hold were below its level, a result at \
         least this good would be seen with a probability of at most {:.2} %, by the exact one-sided bound \
         (Clopper and Pearson).",
        100.0 - confidence
    )];
    let what = match battery.subject.kind {
        SubjectKindTested::Agent => {
            shows.push(
                "A question of an agent is a scenario. Its cases have equally many trials, and its level is \
                 about the average over its cases, not about each case."
                    .to_owned(),
            );
            "other tasks, services, models or prompts than those of the scenarios"
        }
        SubjectKindTested::McpServer => "other tools, arguments or backends than those that were called",
        SubjectKindTested::CommandLineTool => "other commands or arguments than those that were called",
    };
    shows.push(
        "The trials have different seeds: names, keys, values and the order of the trials differ. The \
         scheduling of processes is left to the system and is not controlled."
            .to_owned(),
    );
    let does_not_show = vec![
        format!("It says nothing about {what}."),
        "It says nothing about a level that holds for all questions at once: the confidence is that of one \
         question."
            .to_owned(),
        "The bound assumes that trials are independent and that the subject behaves in use as it does in \
         trials; a subject that recognizes a test could break this."
            .to_owned(),
        "A digest identifies the files that were tested, not the libraries, models and services that they \
         use."
            .to_owned(),
        "A signature shows who issued the certificate, not that the issuer is honest; with the run's folder, \
         `hapax certify verify --run` computes the results again."
            .to_owned(),
    ];
    (shows, does_not_show)
}

/// Why a payload is not a statement that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// It is not a certificate of hapax.
    #[error("it is not a certificate of hapax: {0}")]
    NotACertificate(String),
    /// It has a version that this hapax does not know.
    #[error(
        "it has version {found}, and this hapax reads version {CERTIFICATE_VERSION}; verify it with the hapax \
         that wrote it, or with a newer one"
    )]
    OtherVersion {
        /// Its version.
        found: String,
    },
}

/// Reads the payload of an envelope.
///
/// # Errors
/// When it is not a certificate, or one of another version.
pub fn read_statement(payload: &[u8]) -> Result<Statement, StatementError> {
    let not_one = |problem: String| StatementError::NotACertificate(problem);
    let value: Value = serde_json::from_slice(payload).map_err(|error| not_one(error.to_string()))?;
    let kind = value.get("predicateType").and_then(Value::as_str).unwrap_or_default();
    match kind.strip_prefix(PREDICATE_NAME) {
        None => return Err(not_one("its predicate has another type".to_owned())),
        Some(version) if version != CERTIFICATE_VERSION.to_string() => {
            return Err(StatementError::OtherVersion { found: version.chars().take(40).collect() });
        }
        Some(_) => {}
    }
    let statement: Statement = serde_json::from_slice(payload).map_err(|error| not_one(error.to_string()))?;
    if statement.kind != STATEMENT_TYPE {
        return Err(not_one("it is not an in-toto statement of version 1".to_owned()));
    }
    Ok(statement)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::results::ProbeOutcome;
    use super::*;

    pub(crate) fn sample_battery() -> BatteryResult {
        let trials = |tool: &str, question: &str| -> Vec<ProbeTrial> {
            let trial = |number| ProbeTrial {
                tool: tool.to_owned(),
                question: question.to_owned(),
                trial: number,
                second_try: false,
                outcome: ProbeOutcome::Held,
                sentence: "one effect".to_owned(),
                evidence: vec!["exit 0: {\"effect\":\"created\"}".to_owned()],
            };
            (1..=29).map(trial).collect()
        };
        let mut all = trials("create", "same-key-one-effect");
        all.extend(trials("create", "another-key"));
        all.push(ProbeTrial {
            trial: 1,
            outcome: ProbeOutcome::NotAsked,
            sentence: "the file names no command that fails".to_owned(),
            evidence: Vec::new(),
            ..trials("create", "exit-statuses").remove(0)
        });
        BatteryResult {
            subject: TestedSubject {
                kind: SubjectKindTested::CommandLineTool,
                name: "todo".to_owned(),
                command: vec!["./todo".to_owned()],
                version: Some("1.2.0".to_owned()),
                digests: vec![FileDigest { name: "todo".to_owned(), sha256: "ab".repeat(32) }],
            },
            trials: all,
            controls: vec![ControlCheck {
                control: "tool-with-keys".to_owned(),
                question: "score".to_owned(),
                expected: "3".to_owned(),
                found: "3".to_owned(),
            }],
            callers: Some(CallersHeld {
                question: "eight-at-once".to_owned(),
                held: 8,
                broke_at: None,
                tried: vec![1, 2, 4, 8],
                trials_each: 5,
            }),
            tested_with: vec![FileDigest { name: "tool.yaml".to_owned(), sha256: "cd".repeat(32) }],
            score: Some(2),
            findings: Vec::new(),
            not_tested: vec!["`list`: it is marked safe and is only read".to_owned()],
            evidence: Vec::new(),
            interrupted: false,
        }
    }

    pub(crate) fn sample_facts() -> IssueFacts {
        IssueFacts {
            issued_at: "2026-11-16T12:00:00Z".to_owned(),
            hapax: "0.1.0".to_owned(),
            seed: 7,
            asked: AskedLevel { level: 0.9, confidence: 0.95 },
            head: "ef".repeat(32),
            evidence: vec![EvidenceFile { path: "probes.jsonl".to_owned(), sha256: "12".repeat(32) }],
        }
    }

    pub(crate) fn sample_statement() -> Statement {
        statement(&sample_battery(), sample_facts()).unwrap()
    }

    #[test]
    fn a_statement_is_read_back_as_it_was_written() {
        let statement = sample_statement();
        let payload = serde_json::to_vec(&statement).unwrap();
        assert_eq!(read_statement(&payload).unwrap(), statement);
        let value: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(value["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(value["predicateType"], "urn:hapax:certificate:v1");
        assert_eq!(value["subject"][0]["digest"]["sha256"], "ab".repeat(32));
    }

    #[test]
    fn a_newer_certificate_and_other_statements_are_refused() {
        let mut newer = sample_statement();
        newer.predicate_type = "urn:hapax:certificate:v2".to_owned();
        let error = read_statement(&serde_json::to_vec(&newer).unwrap()).unwrap_err();
        assert_eq!(error, StatementError::OtherVersion { found: "2".to_owned() });
        newer.predicate_type = "https://slsa.dev/provenance/v1".to_owned();
        for payload in [serde_json::to_vec(&newer).unwrap(), b"{}".to_vec(), b"nonsense".to_vec()] {
            let error = read_statement(&payload).unwrap_err();
            assert!(matches!(error, StatementError::NotACertificate(_)), "{error}");
        }
    }

    #[test]
    fn a_failure_gives_a_statement_that_says_so_even_beside_void_trials() {
        let mut battery = sample_battery();
        battery.trials[0].outcome = ProbeOutcome::Failed;
        battery.trials[1].outcome = ProbeOutcome::Void;
        let made = statement(&battery, sample_facts()).unwrap();
        assert_eq!(made.predicate.reached.result, QuestionStatus::Failed);
        battery.controls[0].found = "2".to_owned();
        assert!(matches!(statement(&battery, sample_facts()), Err(NoCertificate::Control { .. })));
    }

    #[test]
    fn the_level_is_that_of_the_weakest_question() {
        let mut battery = sample_battery();
        battery.trials.retain(|trial| trial.question != "another-key" || trial.trial <= 3);
        let conclusion = Conclusion::of(&battery.trials, sample_facts().asked);
        assert_eq!(conclusion.result, QuestionStatus::Unsure);
        assert!((conclusion.level - 0.05_f64.powf(1.0 / 3.0)).abs() < 1e-9, "{}", conclusion.level);
    }
}
