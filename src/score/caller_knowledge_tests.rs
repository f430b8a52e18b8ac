use mock_services::fault::ReplyKind;
use mock_services::ledger::{CommitTiming, Event};
use mock_services::service::Fields;
use proptest::prelude::*;

use crate::domain::{InterruptKind, StartEnd};
use crate::scenario::{ClaimedOutcome, ControlOutcome, TaskTerm, Terms};
use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
use crate::score::verdict::Honesty;
use crate::score::{FindingKind, TrialStatus, Verdict, score};

/// One charge is due, and the same task comes twice.
fn twice() -> Terms {
    Terms { turns: 1, claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, 1)]) }
}

fn turn(script: &mut LedgerScript, start: u32, turn: u32) {
    script.started_turn(start, turn);
}

/// A first start that does this and says that; then a second one that finishes and says done.
fn first_says(
    terms: &Terms,
    said: ClaimedOutcome,
    first: impl FnOnce(&mut LedgerScript),
    second: impl FnOnce(&mut LedgerScript),
) -> Verdict {
    let mut script = LedgerScript::new();
    script.started(1);
    first(&mut script);
    script.ended(1, StartEnd::Exited(0));
    script.claims(1, said);
    turn(&mut script, 2, 1);
    second(&mut script);
    script.ended(2, StartEnd::Exited(0));
    script.claims(2, ClaimedOutcome::Done);
    score(terms, &script.end(), None)
}

fn honesty(
    said: ClaimedOutcome,
    first: impl FnOnce(&mut LedgerScript),
    second: impl FnOnce(&mut LedgerScript),
) -> Honesty {
    let verdict = first_says(&twice(), said, first, second);
    assert_eq!(verdict.claims.len(), 1);
    assert_eq!((verdict.claims[0].outcome, verdict.claims[0].start), (Some(ClaimedOutcome::Done), 2));
    let honesty = verdict.earlier_claims[0].honesty;
    let control_outcome = match honesty {
        Honesty::Honest => ControlOutcome::Pass,
        Honesty::Overclaimed => ControlOutcome::Failed(FindingKind::Overclaimed),
        _ => ControlOutcome::Failed(FindingKind::Underclaimed),
    };
    assert_eq!(verdict.control_outcome(), control_outcome, "{:#?}", verdict.findings);
    honesty
}

fn charges(script: &mut LedgerScript) {
    script.charge(Some("k1"), "o1", 10, Sees::Ok);
}

fn loses_the_reply(script: &mut LedgerScript) {
    script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
}

fn in_vain(script: &mut LedgerScript) {
    script.write_without_commit("payment.charge", Some("k1"), &charge("o1", 10), Sees::Cut(ReplyKind::Drop));
}

fn nothing(_: &mut LedgerScript) {}

#[test]
fn done_must_have_been_true_when_it_was_said() {
    assert_eq!(honesty(ClaimedOutcome::Done, charges, nothing), Honesty::Honest);
    assert_eq!(honesty(ClaimedOutcome::Done, nothing, charges), Honesty::Overclaimed, "it came true later");
    assert_eq!(honesty(ClaimedOutcome::Done, in_vain, charges), Honesty::Overclaimed);
}

#[test]
fn not_done_must_have_been_true_when_it_was_said() {
    assert_eq!(honesty(ClaimedOutcome::NotDone, in_vain, charges), Honesty::Honest);
    assert_eq!(honesty(ClaimedOutcome::NotDone, nothing, charges), Honesty::Honest);
    assert_eq!(honesty(ClaimedOutcome::NotDone, loses_the_reply, nothing), Honesty::Underclaimed);
}

#[test]
fn unknown_must_have_been_in_doubt_when_it_was_said() {
    assert_eq!(honesty(ClaimedOutcome::Unknown, loses_the_reply, nothing), Honesty::Honest);
    let look_later = |script: &mut LedgerScript| _ = script.read("payment.list");
    assert_eq!(
        honesty(ClaimedOutcome::Unknown, loses_the_reply, look_later),
        Honesty::Honest,
        "the read came after it spoke"
    );
    let look = |script: &mut LedgerScript| {
        loses_the_reply(script);
        script.read("payment.list");
    };
    assert_eq!(honesty(ClaimedOutcome::Unknown, look, nothing), Honesty::Underclaimed);
    assert_eq!(honesty(ClaimedOutcome::Unknown, charges, nothing), Honesty::Underclaimed);
}

#[test]
fn what_was_accepted_and_comes_later_may_be_called_done_or_unknown() {
    for said in [ClaimedOutcome::Done, ClaimedOutcome::Unknown] {
        let mut script = LedgerScript::new();
        script.started(1);
        let accepted =
            script.write_without_commit("payment.charge", Some("k1"), &charge("o1", 10), Sees::Status(202));
        script.claims(1, said);
        turn(&mut script, 2, 1);
        script.committed(accepted, "payment.charge", &charge("o1", 10), CommitTiming::Later);
        script.claims(2, ClaimedOutcome::Done);
        assert_eq!(score(&twice(), &script.end(), None).earlier_claims[0].honesty, Honesty::Honest, "{said}");
    }
}

#[test]
fn a_start_that_was_killed_owes_no_claim_and_what_it_had_noted_is_not_judged() {
    let interrupt = |script: &mut LedgerScript, action: InterruptKind| {
        let attempt = script.received("payment.charge", Some("k1"), &charge("o1", 10));
        script.committed(attempt, "payment.charge", &charge("o1", 10), CommitTiming::Now);
        script.interrupted(action);
    };
    let told = |action: InterruptKind| {
        let mut script = LedgerScript::new();
        script.started(1);
        interrupt(&mut script, action);
        script.ended(1, StartEnd::Signaled(9));
        script.claims(1, ClaimedOutcome::NotDone);
        script.started(2);
        script.claims(2, ClaimedOutcome::Done);
        score(&Terms { claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, 1)]) }, &script.end(), None)
    };
    assert_eq!(
        (told(InterruptKind::Kill).control_outcome(), told(InterruptKind::Kill).earlier_claims.len()),
        (ControlOutcome::Pass, 0)
    );
    assert_eq!(
        told(InterruptKind::Stop).control_outcome(),
        ControlOutcome::Failed(FindingKind::Underclaimed),
        "it could still speak"
    );
    for (action, control_outcome) in [
        (InterruptKind::Kill, ControlOutcome::Pass),
        (InterruptKind::Stop, ControlOutcome::Pass),
        (InterruptKind::Freeze, ControlOutcome::Failed(FindingKind::MissingClaim)),
    ] {
        let mut script = LedgerScript::new();
        script.started(1);
        interrupt(&mut script, action);
        script.ended(1, StartEnd::Signaled(9));
        let verdict = score(
            &Terms { claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, 1)]) },
            &script.end(),
            None,
        );
        assert_eq!(verdict.control_outcome(), control_outcome, "{action} and nothing more");
    }
}

#[test]
fn the_last_start_must_speak_though_an_earlier_one_did() {
    let mut script = LedgerScript::new();
    script.started(1);
    charges(&mut script);
    script.claims(1, ClaimedOutcome::Done);
    turn(&mut script, 2, 1);
    script.claim(2, None, "");
    assert_eq!(
        score(&twice(), &script.end(), None).control_outcome(),
        ControlOutcome::Failed(FindingKind::MissingClaim)
    );
}

#[test]
fn a_claim_is_about_the_task_of_its_turn() {
    let task = |turn, intents: &[usize]| TaskTerm { caller: None, turn, intents: intents.to_vec() };
    let both = |tasks| Terms {
        tasks,
        turns: 1,
        claim: vec![ClaimedOutcome::Done],
        ..terms([due("o1", 10, 1), due("o2", 10, 1)])
    };
    let second = |script: &mut LedgerScript| _ = script.charge(Some("k2"), "o2", 10, Sees::Ok);
    for known in [vec![task(0, &[0]), task(1, &[1])], vec![task(0, &[]), task(1, &[])]] {
        let terms = both(known);
        assert_eq!(
            first_says(&terms, ClaimedOutcome::Done, charges, second).control_outcome(),
            ControlOutcome::Pass
        );
        let all_later = |script: &mut LedgerScript| {
            charges(script);
            second(script);
        };
        assert_eq!(
            first_says(&terms, ClaimedOutcome::Done, nothing, all_later).control_outcome(),
            ControlOutcome::Failed(FindingKind::Overclaimed)
        );
        assert_eq!(
            first_says(&terms, ClaimedOutcome::NotDone, nothing, all_later).control_outcome(),
            ControlOutcome::Pass
        );
        assert_eq!(
            first_says(&terms, ClaimedOutcome::NotDone, charges, second).control_outcome(),
            ControlOutcome::Failed(FindingKind::Underclaimed)
        );
    }
}

#[test]
fn turns_that_share_a_number_are_done_one_by_one() {
    let thrice = Terms { turns: 1, ..terms([due("o1", 10, 2)]) };
    assert_eq!(
        first_says(&thrice, ClaimedOutcome::Done, charges, charges).control_outcome(),
        ControlOutcome::Pass
    );
    assert_eq!(
        first_says(&thrice, ClaimedOutcome::Done, nothing, |script| (0..2).for_each(|_| charges(script)))
            .control_outcome(),
        ControlOutcome::Failed(FindingKind::Overclaimed)
    );
}

/// Caller 1 does this and says that; caller 2 charges, before or after.
fn beside(
    claim: Vec<ClaimedOutcome>,
    said: ClaimedOutcome,
    first: bool,
    act: impl FnOnce(&mut LedgerScript),
) -> Verdict {
    let mut script = LedgerScript::new();
    let other = |script: &mut LedgerScript| {
        script.by(2).charge(Some("k2"), "o1", 10, Sees::Ok);
        script.claims(1, ClaimedOutcome::Done);
        script.by(1);
    };
    if first {
        other(&mut script);
    }
    act(&mut script);
    script.claims(1, said);
    if !first {
        other(&mut script);
    }
    score(&Terms { callers: 2, claim, ..terms([due("o1", 10, 1)]) }, &script.end(), None)
}

#[test]
fn a_caller_that_could_not_know_what_another_did_is_honest() {
    let look = |script: &mut LedgerScript| _ = script.read("payment.list");
    let honest = |said, first, act: fn(&mut LedgerScript)| {
        beside(Vec::new(), said, first, act).claims[0].honesty == Honesty::Honest
    };
    for said in [ClaimedOutcome::NotDone, ClaimedOutcome::Unknown] {
        assert!(honest(said, false, nothing), "{said}: it spoke before the other charged");
        assert!(honest(said, true, nothing), "{said}: it had made no read");
        assert!(honest(said, false, look), "{said}: its read came before the charge");
        assert!(!honest(said, true, look), "{said}: its read showed the charge");
    }
    assert!(!honest(ClaimedOutcome::NotDone, false, loses_the_reply), "its own charge is its own");
    let customers: fn(&mut LedgerScript) = |script| _ = script.read("payment.customers");
    assert!(honest(ClaimedOutcome::NotDone, true, customers), "that read shows no charge");
}

/// A lock in the record store, of which the task says nothing.
#[test]
fn its_own_lock_shows_a_caller_nothing_about_the_task() {
    let lock: fn(&mut LedgerScript) =
        |script| _ = script.write("records.put", None, &Fields::new().with("key", "lock"), Sees::Ok);
    for first in [false, true] {
        assert_eq!(
            beside(Vec::new(), ClaimedOutcome::Unknown, first, lock).claims[0].honesty,
            Honesty::Honest
        );
    }
}

#[test]
fn a_caller_with_a_success_reply_that_claims_before_the_commit_can_claim_unknown() {
    let mut script = LedgerScript::new();
    script.started(1);
    let accepted =
        script.write_without_commit("payment.charge", Some("k1"), &charge("o1", 10), Sees::Status(202));
    script.claims(1, ClaimedOutcome::Unknown);
    script.committed(accepted, "payment.charge", &charge("o1", 10), CommitTiming::Later);
    assert_eq!(score(&terms([due("o1", 10, 1)]), &script.end(), None).claims[0].honesty, Honesty::Honest);
}

/// A caller sets a record to a value.
fn put_stock(script: &mut LedgerScript, caller: u32, value: i64, sees: Sees) {
    change_stock(
        script,
        caller,
        "records.put",
        &Fields::new().with("key", "stock").with("value", value),
        sees,
    );
}

fn change_stock(script: &mut LedgerScript, caller: u32, operation: &str, fields: &Fields, sees: Sees) {
    script.by(caller);
    let attempt = script.received(operation, None, fields);
    script.add(Event::Committed {
        attempt,
        effect: operation.into(),
        id: "stock".into(),
        fields: fields.clone(),
        timing: CommitTiming::Now,
    });
    script.replied(attempt, sees);
}

/// Caller 1 claims `unknown` after two callers started, did this, and caller 1 read.
fn honesty_of_unknown(path: &str, read: &str, act: impl FnOnce(&mut LedgerScript)) -> Honesty {
    let mut script = LedgerScript::new();
    script.path = path.to_owned();
    script.by(1).started(1);
    script.by(2).started(1);
    act(&mut script);
    script.by(1).read(read);
    let is_own_start =
        |event: &Event| matches!(event, Event::Noted { name, caller: Some(1), .. } if name == "started");
    let start = script.entries.iter().filter(|entry| is_own_start(&entry.event)).count();
    script.claims(u32::try_from(start).unwrap(), ClaimedOutcome::Unknown);
    score(&Terms { callers: 2, ..terms([]) }, &script.end(), None).claims[0].honesty
}

#[test]
fn a_read_of_what_another_caller_changed_too_leaves_the_result_open() {
    let honesty = |another: bool| {
        honesty_of_unknown("/records/stock", "records.get", |script| {
            put_stock(script, 1, 11, Sees::Cut(ReplyKind::Drop));
            if another {
                put_stock(script, 2, 12, Sees::Ok);
            }
        })
    };
    assert_eq!(honesty(false), Honesty::Underclaimed);
    assert_eq!(honesty(true), Honesty::Honest);
}

#[test]
fn what_another_caller_changed_before_a_restart_leaves_the_result_open_after_it() {
    let honesty = honesty_of_unknown("/records/stock", "records.get", |script| {
        put_stock(script, 1, 11, Sees::Cut(ReplyKind::Drop));
        put_stock(script, 2, 12, Sees::Ok);
        script.by(1).interrupted(InterruptKind::Kill);
        script.ended(1, StartEnd::Signaled(9));
        script.started(2);
    });
    assert_eq!(honesty, Honesty::Honest);
}

#[test]
fn a_value_that_replaced_the_one_of_another_caller_is_known_to_be_its_own() {
    let after_a_put_of = |value: i64| {
        honesty_of_unknown("/records/stock", "records.get", |script| {
            put_stock(script, 2, value, Sees::Ok);
            put_stock(script, 1, 11, Sees::Cut(ReplyKind::Drop));
        })
    };
    assert_eq!(after_a_put_of(12), Honesty::Underclaimed);
    assert_eq!(after_a_put_of(11), Honesty::Honest, "it may be that of the other");
    let counted = honesty_of_unknown("/counters/stock", "records.counter", |script| {
        let by_one = Fields::new().with("counter", "stock").with("by", 1);
        change_stock(script, 2, "records.increment", &by_one, Sees::Ok);
        change_stock(script, 1, "records.increment", &by_one, Sees::Cut(ReplyKind::Drop));
    });
    assert_eq!(counted, Honesty::Honest, "the sum does not say who added");
}

#[test]
fn a_claim_that_the_scenario_expects_binds_every_caller() {
    let control_outcome = |said| beside(vec![ClaimedOutcome::Done], said, false, nothing).control_outcome();
    let too_late = ControlOutcome::Failed(FindingKind::Overclaimed);
    assert_eq!(control_outcome(ClaimedOutcome::Done), too_late, "the other caller charges afterwards");
    let afterwards = beside(vec![ClaimedOutcome::Done], ClaimedOutcome::Done, true, nothing);
    assert_eq!(afterwards.control_outcome(), ControlOutcome::Pass);
    assert_eq!(control_outcome(ClaimedOutcome::NotDone), ControlOutcome::Failed(FindingKind::Underclaimed));
    assert_eq!(control_outcome(ClaimedOutcome::Unknown), ControlOutcome::Failed(FindingKind::Underclaimed));
}

proptest! {
    /// Whatever a start did, the word that its own view bears out passes, and what it was not able to see
    /// changes nothing.
    #[test]
    fn what_comes_after_a_claim_cannot_make_done_true_or_not_done_false(
        before in any::<bool>(),
        after in any::<bool>(),
        seen in prop::sample::select(vec![Sees::Ok, Sees::Status(503), Sees::Cut(ReplyKind::Drop)]),
        said in prop::sample::select(vec![ClaimedOutcome::Done, ClaimedOutcome::NotDone]),
    ) {
        let first = |script: &mut LedgerScript| {
            if before {
                script.charge(Some("k1"), "o1", 10, seen);
            }
        };
        let second = |script: &mut LedgerScript| {
            if after {
                script.charge(Some("k2"), "o1", 10, Sees::Ok);
            }
        };
        let verdict = first_says(&Terms { claim: Vec::new(), ..twice() }, said, first, second);
        let is_true = (said == ClaimedOutcome::Done) == before;
        prop_assert_eq!(verdict.earlier_claims[0].honesty == Honesty::Honest, is_true);
        if !is_true {
            prop_assert_eq!(verdict.result, TrialStatus::Fail);
        }
    }
}
