//! Hand-made runs for tests: a double charge, a lost one, a void trial, passes, twelve callers, a kill, and a
//! hostile subject.

mod ledger;
mod trials;

use std::collections::BTreeMap;

use mock_services::fault::{Fault, Reply};
use mock_services::ledger::SavedLedger;
use mock_services::service::Fields;

pub use ledger::LedgerBuilder;
pub use trials::{SampleCase, double_charge, hostile, killed, lost, pass, twelve_callers, void};

use crate::results::{
    CaseReport, PlanRecord, PlannedCase, PlannedPart, REPORT_VERSION, Report, Skipped, TrialReport,
    part_hash, seed_hash,
};
use crate::scenario::{ClaimedOutcome, Intent, OperationTerm, Terms};
use crate::score::{
    AttemptsMade, Claim, Finding, FindingKind, Honesty, IntentOutcome, Outcome, Recovery, Remedy, RetriedBy,
    TrialStatus, Verdict,
};

/// What a subject writes into every field that it controls.
pub const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`|*_[x](y)\
                           \u{202e}gnp\u{1b}[31m\r\n::error::\u{0}&amp;]]>";

pub fn charge(order: &str) -> Fields {
    Fields::new().with("order", order).with("customer", "cus_42").with("amount", 4999).with("currency", "usd")
}

pub fn verdict(result: TrialStatus, outcome: Outcome) -> Verdict {
    Verdict {
        result,
        outcome,
        intents: vec![IntentOutcome {
            outcome,
            due: 1,
            at_least: None,
            effects: vec![],
            surplus: vec![],
            compensated: vec![],
            why: "by order".to_owned(),
        }],
        unintended: vec![],
        claims: vec![],
        earlier_claims: Vec::new(),
        recovery: Recovery::NoneNeeded,
        attempts: vec![AttemptsMade {
            operation: "payment.charge".to_owned(),
            made: 1,
            refused: 0,
            at_least: 0,
            budget: Some(3),
            layers: None,
        }],
        retried_by: RetriedBy::NotSure,
        retries: Vec::new(),
        findings: vec![],
        void_because: vec![],
        void_causes: vec![],
        barrier: None,
        hosts: Vec::new(),
        costs: Vec::new(),
        key_uses: Vec::new(),
    }
}

fn claim(caller: u32, outcome: Option<ClaimedOutcome>, message: &str, honesty: Honesty, entry: u64) -> Claim {
    Claim { caller, start: 1, outcome, message: message.to_owned(), honesty, entry: Some(entry) }
}

fn finding(kind: FindingKind, message: &str, fix: &str, entries: Vec<u64>) -> Finding {
    let remedy = match kind {
        FindingKind::Duplicated => Remedy::SameKey,
        other => other.remedy(),
    };
    Finding {
        kind,
        remedy,
        fails: true,
        excuse: None,
        message: message.to_owned(),
        fix: fix.to_owned(),
        entries,
    }
}

fn terms(fault: &Fault) -> Terms {
    let operation = |name: &str, write| OperationTerm {
        name: name.to_owned(),
        write,
        identity: vec!["order".to_owned()],
        natural: Vec::new(),
        cost: false,
    };
    Terms {
        intents: vec![Intent {
            effect: "payment.charge".to_owned(),
            selector: Fields::new().with("order", "ord_1001"),
            expected: Fields::new().with("amount", 4999),
            defaults: Fields::new(),
            times: 1,
            at_least: None,
            approval: false,
            stands: false,
        }],
        claim: vec![ClaimedOutcome::Done],
        faults: vec![fault.into()],
        callers: 1,
        operations: vec![operation("payment.charge", true), operation("payment.list", false)],
        ..Terms::default()
    }
}

/// A case with one trial.
pub fn case(scenario: &str, variant: &[(&str, &str)], about: &str, verdict: Verdict) -> CaseReport {
    let variant: Vec<(String, String)> =
        variant.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let tail: Vec<String> = variant.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let id = if tail.is_empty() { scenario.to_owned() } else { format!("{scenario}@{}", tail.join(",")) };
    let trial = TrialReport {
        trial: 1,
        seed: 77,
        ledger: format!("{id}#1"),
        seal: String::new(),
        duration_ms: 540,
        verdict,
        output: vec![],
        replay: format!("hapax replay reports/sample '{id}' --trial 1"),
        first_try: None,
        scored: None,
        end: None,
    };
    CaseReport {
        id,
        scenario: scenario.to_owned(),
        file: format!("scenarios/{scenario}.yaml"),
        line: 3,
        about: about.to_owned(),
        tags: vec!["payment".to_owned(), "ambiguous".to_owned()],
        digest: "d1".to_owned(),
        variant,
        idempotency: vec![("payment".to_owned(), "stripe".to_owned())],
        task: "Charge customer cus_42 $49.99 for order ord_1001.".to_owned(),
        terms: terms(&Fault::on("payment.charge").reply(Reply::Drop)),
        trials: vec![trial],
        controls: vec![],
    }
}

/// The plan of a report, and its parts as JSON.
pub fn plan_of(report: &Report) -> (PlanRecord, Vec<String>) {
    let mut parts = Vec::new();
    for case in &report.cases {
        let planned = PlannedCase {
            id: case.id.clone(),
            scenario: case.scenario.clone(),
            digest: case.digest.clone(),
            seeds: BTreeMap::new(),
            terms: case.terms.clone(),
        };
        for trial in &case.trials {
            let part = PlannedPart {
                salt: format!("{} {}", case.id, trial.trial),
                trial: trial.trial,
                seed: trial.seed,
                case: planned.clone(),
            };
            parts.push(serde_json::to_string(&part).unwrap_or_default());
        }
    }
    let mut hidden: Vec<String> = parts.iter().map(|json| part_hash(json)).collect();
    hidden.sort();
    let plan = PlanRecord {
        id: "1".to_owned(),
        hapax: report.hapax.clone(),
        subject: report.subject.clone(),
        settings: String::new(),
        trials: report.trials,
        part: report.partition,
        whole: report.whole.clone(),
        resumed: 0,
        digest: report.digest.clone(),
        hidden,
        seed_hash: seed_hash("1", report.seed),
        seed: None,
        cases: Vec::new(),
        skipped: report.skipped.clone(),
    };
    (plan, parts)
}

/// One run of all of them, without the hostile one.
pub fn run() -> (Report, BTreeMap<String, SavedLedger>) {
    let mut sampled = vec![double_charge("none"), lost(), void(), twelve_callers(), killed()];
    sampled.extend((1..=4).map(pass));
    run_of(sampled)
}

/// A run of these cases.
pub fn run_of(sampled: Vec<SampleCase>) -> (Report, BTreeMap<String, SavedLedger>) {
    let mut ledgers = BTreeMap::new();
    let mut cases = Vec::new();
    for (case, saved) in sampled {
        ledgers.insert(case.trials[0].ledger.clone(), saved);
        cases.push(case);
    }
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    let report = Report {
        report: REPORT_VERSION,
        hapax: "0.1.0".to_owned(),
        run: "sample".to_owned(),
        subject: "python agent.py".to_owned(),
        seed: 7,
        started_at: 1_800_000_000_000,
        duration_ms: 4_230,
        trials: 1,
        interrupted: false,
        partition: None,
        whole: None,
        digest: "d0".to_owned(),
        planned: cases.iter().map(|case| case.trials.len() as u64).sum(),
        notes: vec![],
        time: None,
        cases,
        skipped: vec![Skipped::new("email/lost-reply".to_owned(), "it needs email.send".to_owned())],
    };
    (report, ledgers)
}

/// Two cases of different scenarios, each with so many trials that pass, fail and are void.
pub fn run_with_trials(passes: usize, failures: usize, voids: usize) -> Report {
    let (mut report, _) = run_of(vec![pass(1), lost()]);
    let trials = |(case, _): SampleCase, times: usize| vec![case.trials[0].clone(); times];
    for case in &mut report.cases {
        case.trials = [trials(pass(1), passes), trials(lost(), failures), trials(void(), voids)].concat();
    }
    report.trials = u32::try_from(passes + failures + voids).unwrap_or(u32::MAX);
    report
}
