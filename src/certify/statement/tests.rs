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
