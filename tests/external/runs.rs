//! Runs for pages: a usual one, one with many callers, a large one, and one with hostile text.

use hapax::domain::{CapturedOutput, ClaimedOutcome, StartEnd};
use hapax::results::{Report, SavedLedgers};
use mock_services::fault::ReplyKind;

use hapax::results::sample::{self, LedgerBuilder, SampleCase, charge};

/// A run with a double charge, a lost one, a void trial, twelve callers, a kill, passes, and one of another
/// service.
pub(crate) fn usual() -> (Report, SavedLedgers) {
    let (mut report, mut ledgers) = sample::run();
    for case in report.cases.iter_mut().filter(|case| case.id == "payment/success-lies") {
        case.trials[0].duration_ms = 2_040;
    }
    let (mut case, saved) = sample::pass(1);
    (case.id, case.scenario, case.variant) = ("deploy/once".to_owned(), "deploy/once".to_owned(), vec![]);
    case.tags = vec!["deploy".to_owned()];
    case.terms.intents[0].effect = "deploy.deploy".to_owned();
    case.terms.operations.truncate(1);
    case.terms.operations[0].name = "deploy.deploy".to_owned();
    let mut again = case.trials[0].clone();
    (again.trial, again.replay) = (2, "hapax replay reports/sample deploy/once --trial 2".to_owned());
    case.trials.push(again);
    for trial in &mut case.trials {
        trial.ledger = format!("deploy/once#{}", trial.trial);
        ledgers.insert(trial.ledger.clone(), saved.clone());
    }
    report.cases.push(case);
    report.cases.sort_by(|one, other| one.id.cmp(&other.id));
    (report, ledgers)
}

/// A subject that exits with an error.
pub(crate) fn crashed() -> (Report, SavedLedgers) {
    let (mut case, _) = sample::lost();
    let mut book = LedgerBuilder::new();
    book.started(1, 1, 1);
    book.ended(1, 1, StartEnd::Exited(1));
    (case.id, case.scenario) = ("payment/crashed".to_owned(), "payment/crashed".to_owned());
    case.trials[0].ledger.clone_from(&case.id);
    case.trials[0].output = vec![CapturedOutput {
        caller: 1,
        start: 1,
        stdout: "printed before the crash".to_owned(),
        stderr: "Traceback: the reason of the crash".to_owned(),
        cut: 0,
    }];
    sample::run_of(vec![(case, book.closed()), sample::pass(1)])
}

/// Twelve callers whose ledger has a thousand entries, and a finding that rests on its first and its last
/// attempt.
pub(crate) fn crowded() -> (Report, SavedLedgers) {
    let (mut case, _) = sample::twelve_callers();
    let mut book = LedgerBuilder::new();
    for caller in 1..=12 {
        book.started(1, caller, 1);
    }
    let mut committed = vec![];
    for round in 0.. {
        let caller = round % 12 + 1;
        let order = format!("ord_{round}");
        let (attempt, _) = book.received(1, caller, "payment.charge", Some(&order), charge(&order));
        committed.push(book.committed(attempt, "payment.charge", &format!("ch_{round}"), charge(&order)));
        book.replied(
            attempt,
            if round % 5 == 0 { ReplyKind::Drop } else { ReplyKind::Ok },
            (round % 5 != 0).then_some(200),
        );
        if book.entries.len() >= 1_000 {
            break;
        }
    }
    let proof = vec![committed[0], committed[committed.len() - 1]];
    case.trials[0].verdict.findings[0].entries = proof;
    for caller in 1..=12 {
        book.claimed(caller, ClaimedOutcome::Done, "mine");
    }
    sample::run_of(vec![(case, book.closed())])
}

/// Five thousand trials, of a thousand cases; every tenth case fails.
pub(crate) fn large() -> (Report, SavedLedgers) {
    let cases = (1..=1_000).map(|number| -> SampleCase {
        let (mut case, saved) =
            if number % 10 == 0 { sample::double_charge("none") } else { sample::pass(number) };
        case.id = format!("{}@n={number}", case.scenario);
        case.variant = vec![("n".to_owned(), number.to_string())];
        case.trials[0].ledger = format!("{}#1", case.id);
        (case, saved)
    });
    let (mut report, mut ledgers) = sample::run_of(cases.collect());
    report.trials = 5;
    for case in &mut report.cases {
        for number in 2..=5 {
            let mut trial = case.trials[0].clone();
            (trial.trial, trial.ledger) = (number, format!("{}#{number}", case.id));
            ledgers.insert(trial.ledger.clone(), ledgers[&case.trials[0].ledger].clone());
            case.trials.push(trial);
        }
    }
    (report, ledgers)
}

/// A run in which every text that a subject can write is this one, and many others too.
pub(crate) fn hostile(text: &str) -> (Report, SavedLedgers) {
    let (mut case, mut saved) = sample::hostile(text);
    case.about = text.to_owned();
    case.task = text.to_owned();
    case.tags.push(text.to_owned());
    case.trials[0].verdict.findings[0].fix = text.to_owned();
    case.trials[0].verdict.void_because = vec![text.to_owned()];
    let again =
        CapturedOutput { caller: 1, start: 2, stdout: text.to_owned(), stderr: text.to_owned(), cut: 0 };
    case.trials[0].output.push(again);
    saved.torn = None;
    let (mut report, ledgers) = sample::run_of(vec![(case, saved), sample::pass(1)]);
    report.subject = text.to_owned();
    report.run = text.to_owned();
    report.skipped[0].why = text.to_owned();
    (report, ledgers)
}
