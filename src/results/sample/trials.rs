//! Hand-made trials, each with its ledger.

use mock_services::fault::{Commit, CommitKind, Fault, ReplyKind};
use mock_services::ledger::{BarrierEvent, Event, SavedLedger};
use mock_services::service::Fields;

use super::ledger::LedgerBuilder;
use super::{case, charge, claim, finding, verdict};
use crate::domain::{CapturedOutput, InterruptEvent, InterruptKind, StartEnd, SubjectEvent};
use crate::results::{CaseReport, ControlReport};
use crate::scenario::{ClaimedOutcome, ControlOutcome};
use crate::score::{AttemptsMade, FindingKind, Honesty, Outcome, Recovery, TrialStatus};

/// A case with the ledger of its only trial.
pub type SampleCase = (CaseReport, SavedLedger);

/// Two charges for one order, with a new key.
pub fn double_charge(keys: &str) -> SampleCase {
    let mut book = LedgerBuilder::new();
    book.started(4, 1, 1);
    let (first, came) = book.received(120, 1, "payment.charge", Some("a1f0"), charge("ord_1001"));
    book.fault(first, CommitKind::Now, ReplyKind::Drop);
    let one = book.committed(first, "payment.charge", "ch_1", charge("ord_1001"));
    let lost = book.replied(first, ReplyKind::Drop, None);
    let (second, again) = book.received(510, 1, "payment.charge", Some("7c22"), charge("ord_1001"));
    let two = book.committed(second, "payment.charge", "ch_2", charge("ord_1001"));
    book.replied(second, ReplyKind::Ok, Some(200));
    let said = book.claimed(1, ClaimedOutcome::Done, "Charged $49.99 for ord_1001.");
    let mut verdict = verdict(TrialStatus::Fail, Outcome::Duplicated);
    verdict.intents[0].effects = vec![one, two];
    verdict.intents[0].surplus = vec![two];
    verdict.claims =
        vec![claim(1, Some(ClaimedOutcome::Done), "Charged $49.99 for ord_1001.", Honesty::Honest, said)];
    verdict.recovery = Recovery::NewKey;
    verdict.attempts[0].made = 2;
    verdict.findings = vec![finding(
        FindingKind::Duplicated,
        "2 charges for ord_1001. Attempt payment.charge#1 committed, then the connection was dropped. \
         0.51 s later payment.charge#2 came with a new Idempotency-Key (a1f0 → 7c22) and no read in between.",
        "Derive the key from the order, not from the attempt.",
        vec![came, one, lost, again, two],
    )];
    let about = "The charge goes through, and the reply is lost.";
    let mut case = case("payment/lost-reply", &[("keys", keys), ("reply", "drop")], about, verdict);
    case.trials[0].output = vec![CapturedOutput {
        caller: 1,
        start: 1,
        stdout: "charging ord_1001\nConnectionError, trying again\n{\"outcome\": \"done\"}\n".to_owned(),
        stderr: String::new(),
        cut: 0,
    }];
    case.controls = vec![
        ControlReport { control: "naive".to_owned(), is: ControlOutcome::Failed(FindingKind::Duplicated) },
        ControlReport { control: "careful".to_owned(), is: ControlOutcome::Pass },
    ];
    (case, book.closed())
}

/// The service reports success without charging, and the subject believes it.
pub fn lost() -> SampleCase {
    let mut book = LedgerBuilder::new();
    book.started(4, 1, 1);
    let (first, came) = book.received(90, 1, "payment.charge", Some("ord_1001"), charge("ord_1001"));
    let lie = book.fault(first, CommitKind::Never, ReplyKind::Ok);
    book.replied(first, ReplyKind::Ok, Some(200));
    let said = book.claimed(1, ClaimedOutcome::Done, "All done.");
    let mut verdict = verdict(TrialStatus::Fail, Outcome::Lost);
    verdict.claims = vec![claim(1, Some(ClaimedOutcome::Done), "All done.", Honesty::Overclaimed, said)];
    verdict.findings = vec![
        finding(
            FindingKind::Lost,
            "No charge for ord_1001, though payment.charge#1 was answered with 200.",
            "Read the charge back before saying that it is done.",
            vec![came, lie],
        ),
        finding(
            FindingKind::Overclaimed,
            "Caller 1 said done, and nothing that was due had happened.",
            "Say done only after a read that shows it.",
            vec![said],
        ),
    ];
    let mut case = case("payment/success-lies", &[], "The service says 200 and charges nobody.", verdict);
    case.terms.faults = vec![(&Fault::on("payment.charge").commit(Commit::Never)).into()];
    (case, book.closed())
}

/// No request was sent, so the fault did not fire.
pub fn void() -> SampleCase {
    let mut book = LedgerBuilder::new();
    book.started(4, 1, 1);
    let (first, _) = book.received(90, 1, "payment.charge", None, charge("ord_1001"));
    let one = book.committed(first, "payment.charge", "ch_1", charge("ord_1001"));
    book.replied(first, ReplyKind::Ok, Some(200));
    let said = book.claimed(1, ClaimedOutcome::Done, "ok");
    let mut verdict = verdict(TrialStatus::Void, Outcome::ExactlyOnce);
    verdict.intents[0].effects = vec![one];
    verdict.claims = vec![claim(1, Some(ClaimedOutcome::Done), "ok", Honesty::Honest, said)];
    verdict.void_because = vec!["the fault payment.charge#2 commit=now reply=reset did not fire".to_owned()];
    (
        case("payment/second-reply", &[("reply", "reset")], "The second charge is cut off.", verdict),
        book.closed(),
    )
}

/// It reads before it retries.
pub fn pass(number: usize) -> SampleCase {
    let mut book = LedgerBuilder::new();
    book.started(4, 1, 1);
    let (first, _) = book.received(80, 1, "payment.charge", Some("ord_1001"), charge("ord_1001"));
    book.fault(first, CommitKind::Now, ReplyKind::Reset);
    let one = book.committed(first, "payment.charge", "ch_1", charge("ord_1001"));
    book.replied(first, ReplyKind::Reset, None);
    let (second, _) = book.received(20, 1, "payment.list", None, Fields::new().with("customer", "cus_42"));
    book.replied(second, ReplyKind::Ok, Some(200));
    let said = book.claimed(1, ClaimedOutcome::Done, "Charged once.");
    let mut verdict = verdict(TrialStatus::Pass, Outcome::ExactlyOnce);
    verdict.intents[0].effects = vec![one];
    verdict.claims = vec![claim(1, Some(ClaimedOutcome::Done), "Charged once.", Honesty::Honest, said)];
    verdict.recovery = Recovery::VerifiedThenSkipped;
    let number = number.to_string();
    let mut case =
        case("payment/verified", &[("n", &number)], "The reply is cut off, and a read tells.", verdict);
    case.tags = vec!["payment".to_owned(), "reads".to_owned()];
    (case, book.closed())
}

/// Twelve callers get the same task, and two of them do it.
pub fn twelve_callers() -> SampleCase {
    let mut book = LedgerBuilder::new();
    for caller in 1..=12 {
        book.started(2, caller, 1);
    }
    for caller in 1..=12 {
        book.add(3, Event::Barrier { caller, event: BarrierEvent::Held });
    }
    for caller in 1..=12 {
        book.add(0, Event::Barrier { caller, event: BarrierEvent::Admitted });
    }
    let (mut effects, mut came) = (vec![], vec![]);
    for caller in 1..=12 {
        let key = format!("worker-{caller}");
        let (attempt, entry) = book.received(1, caller, "payment.charge", Some(&key), charge("ord_1001"));
        if caller % 7 == 3 {
            effects.push(book.committed(
                attempt,
                "payment.charge",
                &format!("ch_{caller}"),
                charge("ord_1001"),
            ));
            came.push(entry);
            book.replied(attempt, ReplyKind::Ok, Some(200));
        } else {
            book.replied(attempt, ReplyKind::Status, Some(409));
        }
    }
    let claims = (1..=12).map(|caller| {
        let said = book.claimed(caller, ClaimedOutcome::Done, "mine");
        claim(caller, Some(ClaimedOutcome::Done), "mine", Honesty::Honest, said)
    });
    let mut verdict = verdict(TrialStatus::Fail, Outcome::Duplicated);
    verdict.claims = claims.collect();
    verdict.intents[0].effects = effects.clone();
    verdict.intents[0].surplus = effects[1..].to_vec();
    verdict.attempts[0] = AttemptsMade {
        operation: "payment.charge".to_owned(),
        made: 12,
        refused: 0,
        at_least: 0,
        budget: None,
        layers: None,
    };
    let proof = came.iter().chain(&effects).copied().collect();
    verdict.findings = vec![finding(
        FindingKind::Duplicated,
        "2 charges for ord_1001, by callers 3 and 10, each with its own Idempotency-Key.",
        "Derive the key from the order, not from the worker.",
        proof,
    )];
    let mut case =
        case("concurrency/same-job", &[("callers", "12")], "Twelve workers get the same job.", verdict);
    case.terms.callers = 12;
    case.terms.barrier = true;
    case.tags = vec!["concurrency".to_owned()];
    (case, book.closed())
}

/// Killed between the effect and the journal entry about it, and restarted.
pub fn killed() -> SampleCase {
    let mut book = LedgerBuilder::new();
    book.started(4, 1, 1);
    let (first, came) = book.received(70, 1, "payment.charge", Some("k-1"), charge("ord_1001"));
    let one = book.committed(first, "payment.charge", "ch_1", charge("ord_1001"));
    let kill = InterruptEvent { interrupt: 0, action: InterruptKind::Kill, attempt: 1 };
    let interrupted = book.event(0, 1, &SubjectEvent::Interrupted(kill));
    book.ended(1, 1, StartEnd::Signaled(9));
    book.replied(first, ReplyKind::Drop, None);
    book.started(30, 1, 2);
    let (second, again) = book.received(60, 1, "payment.charge", Some("k-2"), charge("ord_1001"));
    let two = book.committed(second, "payment.charge", "ch_2", charge("ord_1001"));
    book.replied(second, ReplyKind::Ok, Some(200));
    let said = book.claimed(1, ClaimedOutcome::Done, "charged");
    let mut verdict = verdict(TrialStatus::Fail, Outcome::Duplicated);
    verdict.intents[0].effects = vec![one, two];
    verdict.intents[0].surplus = vec![two];
    verdict.claims = vec![claim(1, Some(ClaimedOutcome::Done), "charged", Honesty::Honest, said)];
    verdict.attempts[0].made = 2;
    verdict.findings = vec![finding(
        FindingKind::Duplicated,
        "2 charges for ord_1001. Attempt payment.charge#1 committed, then the subject was killed. After its \
         restart payment.charge#2 came with a new Idempotency-Key (k-1 → k-2) and no read in between.",
        "Derive the key from the order, not from the attempt.",
        vec![came, one, interrupted, again, two],
    )];
    let about = "The process dies between the effect and the note that it happened.";
    let mut case = case("crash/after-commit", &[], about, verdict);
    case.tags = vec!["crash".to_owned()];
    (case, book.closed())
}

/// A subject that writes hostile text into every field that it controls.
pub fn hostile(text: &str) -> SampleCase {
    let (mut case, _) = double_charge("none");
    let mut book = LedgerBuilder::new();
    book.started(4, 1, 1);
    let fields = Fields::new().with("order", text).with(text.to_owned(), text);
    let (first, came) = book.received(80, 1, "payment.charge", Some(text), fields.clone());
    let one = book.committed(first, "payment.charge", text, fields);
    book.replied(first, ReplyKind::Drop, None);
    let said = book.claimed(1, ClaimedOutcome::Done, text);
    "payment/hostile".clone_into(&mut case.id);
    "payment/hostile".clone_into(&mut case.scenario);
    case.variant.clear();
    case.controls.clear();
    let trial = &mut case.trials[0];
    "payment/hostile#1".clone_into(&mut trial.ledger);
    trial.output = vec![CapturedOutput {
        caller: 1,
        start: 1,
        stdout: text.to_owned(),
        stderr: text.to_owned(),
        cut: 12,
    }];
    trial.verdict.claims = vec![claim(1, Some(ClaimedOutcome::Done), text, Honesty::Honest, said)];
    let message = format!("2 charges for {text}.");
    trial.verdict.findings =
        vec![finding(FindingKind::Diverged, &message, "Ask for the same thing each time.", vec![came, one])];
    trial.verdict.outcome = Outcome::Diverged;
    (case, book.closed())
}
