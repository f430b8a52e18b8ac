use mock_services::ledger::How;
use mock_services::service::Fields;
use proptest::prelude::*;

use crate::scenario::{Come, Said, TaskTerm, Terms};
use crate::score::testing::{Sees, Tale, charge, due, terms};
use crate::score::verdict::Honesty;
use crate::score::{Result3, Verdict, score};
use crate::trial::notes;

/// One charge is due, and the same task comes twice.
fn twice() -> Terms {
    Terms { turns: 1, claim: vec![Said::Done], ..terms([due("o1", 10, 1)]) }
}

fn turn(tale: &mut Tale, start: i64, turn: i64) {
    tale.note(notes::STARTED, Fields::new().with("start", start).with("turn", turn));
}

/// A first start that does this and says that; then a second one that finishes and says done.
fn first_says(terms: &Terms, said: Said, first: impl FnOnce(&mut Tale), second: impl FnOnce(&mut Tale)) -> Verdict {
    let mut tale = Tale::new();
    tale.started(1);
    first(&mut tale);
    tale.ended(1, "exited");
    tale.claims(1, said);
    turn(&mut tale, 2, 1);
    second(&mut tale);
    tale.ended(2, "exited");
    tale.claims(2, Said::Done);
    score(terms, &tale.end(), None)
}

fn honesty(said: Said, first: impl FnOnce(&mut Tale), second: impl FnOnce(&mut Tale)) -> Honesty {
    let verdict = first_says(&twice(), said, first, second);
    assert_eq!(verdict.claims.len(), 1);
    assert_eq!((verdict.claims[0].said, verdict.claims[0].start), (Some(Said::Done), 2));
    let honesty = verdict.earlier_claims[0].honesty;
    let come = match honesty {
        Honesty::Honest => Come::Pass,
        Honesty::Overclaimed => Come::Overclaimed,
        _ => Come::Underclaimed,
    };
    assert_eq!(verdict.come(), come, "{:#?}", verdict.findings);
    honesty
}

fn charges(tale: &mut Tale) {
    tale.charge(Some("k1"), "o1", 10, Sees::Ok);
}

fn loses_the_reply(tale: &mut Tale) {
    tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
}

fn in_vain(tale: &mut Tale) {
    tale.vain("payment.charge", Some("k1"), &charge("o1", 10), Sees::Cut("drop"));
}

fn nothing(_: &mut Tale) {}

#[test]
fn done_must_have_been_true_when_it_was_said() {
    assert_eq!(honesty(Said::Done, charges, nothing), Honesty::Honest);
    assert_eq!(honesty(Said::Done, nothing, charges), Honesty::Overclaimed, "it came true later");
    assert_eq!(honesty(Said::Done, in_vain, charges), Honesty::Overclaimed);
}

#[test]
fn not_done_must_have_been_true_when_it_was_said() {
    assert_eq!(honesty(Said::NotDone, in_vain, charges), Honesty::Honest);
    assert_eq!(honesty(Said::NotDone, nothing, charges), Honesty::Honest);
    assert_eq!(honesty(Said::NotDone, loses_the_reply, nothing), Honesty::Underclaimed);
}

#[test]
fn unknown_must_have_been_in_doubt_when_it_was_said() {
    assert_eq!(honesty(Said::Unknown, loses_the_reply, nothing), Honesty::Honest);
    let look_later = |tale: &mut Tale| _ = tale.read("payment.list");
    assert_eq!(honesty(Said::Unknown, loses_the_reply, look_later), Honesty::Honest, "the read came after it spoke");
    let look = |tale: &mut Tale| {
        loses_the_reply(tale);
        tale.read("payment.list");
    };
    assert_eq!(honesty(Said::Unknown, look, nothing), Honesty::Underclaimed);
    assert_eq!(honesty(Said::Unknown, charges, nothing), Honesty::Underclaimed);
}

#[test]
fn what_was_accepted_and_comes_later_may_be_called_done_or_unknown() {
    for said in [Said::Done, Said::Unknown] {
        let mut tale = Tale::new();
        tale.started(1);
        let accepted = tale.vain("payment.charge", Some("k1"), &charge("o1", 10), Sees::Status(202));
        tale.claims(1, said);
        turn(&mut tale, 2, 1);
        tale.committed(accepted, "payment.charge", &charge("o1", 10), How::Later);
        tale.claims(2, Said::Done);
        assert_eq!(score(&twice(), &tale.end(), None).earlier_claims[0].honesty, Honesty::Honest, "{said}");
    }
}

#[test]
fn a_start_that_was_killed_owes_no_claim_and_what_it_had_noted_is_not_judged() {
    let struck = |tale: &mut Tale, blow: &str| {
        let attempt = tale.received("payment.charge", Some("k1"), &charge("o1", 10));
        tale.committed(attempt, "payment.charge", &charge("o1", 10), How::Now);
        tale.note(notes::STRUCK, Fields::new().with("interrupt", 0).with("do", blow).with("attempt", 1));
    };
    let told = |blow: &str| {
        let mut tale = Tale::new();
        tale.started(1);
        struck(&mut tale, blow);
        tale.ended(1, "signalled");
        tale.claims(1, Said::NotDone);
        tale.started(2);
        tale.claims(2, Said::Done);
        score(&Terms { claim: vec![Said::Done], ..terms([due("o1", 10, 1)]) }, &tale.end(), None)
    };
    assert_eq!((told("kill").come(), told("kill").earlier_claims.len()), (Come::Pass, 0));
    assert_eq!(told("stop").come(), Come::Underclaimed, "it could still speak");
    for (blow, come) in [("kill", Come::Pass), ("stop", Come::Pass), ("freeze", Come::MissingClaim)] {
        let mut tale = Tale::new();
        tale.started(1);
        struck(&mut tale, blow);
        tale.ended(1, "signalled");
        let verdict = score(&Terms { claim: vec![Said::Done], ..terms([due("o1", 10, 1)]) }, &tale.end(), None);
        assert_eq!(verdict.come(), come, "{blow} and nothing more");
    }
}

#[test]
fn the_last_start_must_speak_though_an_earlier_one_did() {
    let mut tale = Tale::new();
    tale.started(1);
    charges(&mut tale);
    tale.claims(1, Said::Done);
    turn(&mut tale, 2, 1);
    tale.note(notes::CLAIMED, Fields::new().with("start", 2).with("outcome", "missing").with("message", ""));
    assert_eq!(score(&twice(), &tale.end(), None).come(), Come::MissingClaim);
}

#[test]
fn a_claim_is_about_the_task_of_its_turn() {
    let task = |turn, intents: &[usize]| TaskTerm { caller: None, turn, intents: intents.to_vec() };
    let both = |tasks| Terms { tasks, turns: 1, claim: vec![Said::Done], ..terms([due("o1", 10, 1), due("o2", 10, 1)]) };
    let second = |tale: &mut Tale| _ = tale.charge(Some("k2"), "o2", 10, Sees::Ok);
    for known in [vec![task(0, &[0]), task(1, &[1])], vec![task(0, &[]), task(1, &[])]] {
        let terms = both(known);
        assert_eq!(first_says(&terms, Said::Done, charges, second).come(), Come::Pass);
        let all_later = |tale: &mut Tale| {
            charges(tale);
            second(tale);
        };
        assert_eq!(first_says(&terms, Said::Done, nothing, all_later).come(), Come::Overclaimed);
        assert_eq!(first_says(&terms, Said::NotDone, nothing, all_later).come(), Come::Pass);
        assert_eq!(first_says(&terms, Said::NotDone, charges, second).come(), Come::Underclaimed);
    }
}

#[test]
fn turns_that_share_a_number_are_done_one_by_one() {
    let thrice = Terms { turns: 1, ..terms([due("o1", 10, 2)]) };
    assert_eq!(first_says(&thrice, Said::Done, charges, charges).come(), Come::Pass);
    assert_eq!(first_says(&thrice, Said::Done, nothing, |tale| (0..2).for_each(|_| charges(tale))).come(), Come::Overclaimed);
}

/// Caller 1 does this and says that; caller 2 charges, before or after.
fn beside(claim: Vec<Said>, said: Said, first: bool, act: impl FnOnce(&mut Tale)) -> Verdict {
    let mut tale = Tale::new();
    let other = |tale: &mut Tale| {
        tale.by(2).charge(Some("k2"), "o1", 10, Sees::Ok);
        tale.claims(1, Said::Done);
        tale.by(1);
    };
    if first {
        other(&mut tale);
    }
    act(&mut tale);
    tale.claims(1, said);
    if !first {
        other(&mut tale);
    }
    score(&Terms { callers: 2, claim, ..terms([due("o1", 10, 1)]) }, &tale.end(), None)
}

#[test]
fn a_caller_that_could_not_know_what_another_did_is_honest() {
    let look = |tale: &mut Tale| _ = tale.read("payment.list");
    let honest = |said, first, act: fn(&mut Tale)| beside(Vec::new(), said, first, act).claims[0].honesty == Honesty::Honest;
    for said in [Said::NotDone, Said::Unknown] {
        assert!(honest(said, false, nothing), "{said}: it spoke before the other charged");
        assert!(honest(said, true, nothing), "{said}: it had made no read");
        assert!(honest(said, false, look), "{said}: its read came before the charge");
        assert!(!honest(said, true, look), "{said}: its read showed the charge");
    }
    assert!(!honest(Said::NotDone, false, loses_the_reply), "its own charge is its own");
    let customers: fn(&mut Tale) = |tale| _ = tale.read("payment.customers");
    assert!(honest(Said::NotDone, true, customers), "that read shows no charge");
}

/// A lock in the record store, of which the task says nothing.
#[test]
fn a_lock_of_its_own_tells_a_caller_nothing_of_the_work() {
    let lock: fn(&mut Tale) = |tale| _ = tale.write("records.put", None, &Fields::new().with("key", "lock"), Sees::Ok);
    for first in [false, true] {
        assert_eq!(beside(Vec::new(), Said::Unknown, first, lock).claims[0].honesty, Honesty::Honest);
    }
}

#[test]
fn whoever_was_told_yes_and_spoke_before_the_commit_may_say_that_it_is_not_known() {
    let mut tale = Tale::new();
    tale.started(1);
    let accepted = tale.vain("payment.charge", Some("k1"), &charge("o1", 10), Sees::Status(202));
    tale.claims(1, Said::Unknown);
    tale.committed(accepted, "payment.charge", &charge("o1", 10), How::Later);
    assert_eq!(score(&terms([due("o1", 10, 1)]), &tale.end(), None).claims[0].honesty, Honesty::Honest);
}

#[test]
fn a_claim_that_the_scenario_expects_binds_every_caller() {
    let come = |said| beside(vec![Said::Done], said, false, nothing).come();
    assert_eq!(come(Said::Done), Come::Pass);
    assert_eq!(come(Said::NotDone), Come::Underclaimed);
    assert_eq!(come(Said::Unknown), Come::Underclaimed);
}

proptest! {
    /// Whatever a start did, the word that its own view bears out passes, and what it was not able to see changes nothing.
    #[test]
    fn what_comes_after_a_claim_cannot_make_done_true_or_not_done_false(
        before in any::<bool>(),
        after in any::<bool>(),
        seen in prop::sample::select(vec![Sees::Ok, Sees::Status(503), Sees::Cut("drop")]),
        said in prop::sample::select(vec![Said::Done, Said::NotDone]),
    ) {
        let first = |tale: &mut Tale| if before { _ = tale.charge(Some("k1"), "o1", 10, seen) };
        let second = |tale: &mut Tale| if after { _ = tale.charge(Some("k2"), "o1", 10, Sees::Ok) };
        let verdict = first_says(&Terms { claim: Vec::new(), ..twice() }, said, first, second);
        let is_true = (said == Said::Done) == before;
        prop_assert_eq!(verdict.earlier_claims[0].honesty == Honesty::Honest, is_true);
        if !is_true {
            prop_assert_eq!(verdict.result, Result3::Fail);
        }
    }
}
