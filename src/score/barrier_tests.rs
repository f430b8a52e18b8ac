use mock_services::ledger::Event;
use mock_services::service::Fields;

use super::*;
use crate::scenario::{ClaimedOutcome, ControlOutcome};
use crate::score::testing::{LedgerScript, Sees, due, terms};
use crate::score::{FindingKind, TrialStatus, score};

const ONLY_ONE: &str = "only caller 1 reached the barrier, so no two callers ran at the same time; let all \
                        of them write, or at least send a request before they wait for each other";

fn with_barrier(notes: &[(u32, BarrierEvent)]) -> crate::score::Verdict {
    let mut script = LedgerScript::new();
    for (caller, what) in notes {
        script.add(Event::Barrier { caller: *caller, event: *what });
    }
    score(&Terms { barrier: true, callers: 3, ..terms([]) }, &script.end(), None)
}

#[test]
fn the_callers_that_met_and_the_time_between_them_are_shown() {
    let verdict =
        with_barrier(&[(2, BarrierEvent::Admitted), (1, BarrierEvent::Admitted), (3, BarrierEvent::Absent)]);
    let facts = verdict.barrier.unwrap();
    assert_eq!((facts.met, facts.absent, facts.spread_us), (vec![1, 2], vec![3], 1_000));
    assert_eq!(verdict.result, TrialStatus::Pass);
}

#[test]
fn a_client_that_gave_up_at_the_barrier_and_did_not_come_again_makes_a_trial_void() {
    let met = [(1, BarrierEvent::Admitted), (2, BarrierEvent::Admitted)];
    let verdict = with_barrier(&[met[0], met[1], (3, BarrierEvent::GaveUp)]);
    assert_eq!(verdict.result, TrialStatus::Void);
    assert!(verdict.void_because[0].contains("caller 3 gave up"), "{:?}", verdict.void_because);
    assert_eq!(
        with_barrier(&[(1, BarrierEvent::GaveUp), met[0], met[1]]).result,
        TrialStatus::Pass,
        "it came again"
    );
    assert_eq!(with_barrier(&met[..1]).void_because, [ONLY_ONE]);
    assert_eq!(with_barrier(&[]).void_because, [ONLY_ONE.replace("only caller 1", "no caller")]);
}

#[test]
fn what_is_missing_after_a_client_gave_up_at_the_barrier_is_not_held_against_the_subject() {
    let verdict = |said: ClaimedOutcome| {
        let mut script = LedgerScript::new();
        script.add(Event::Barrier { caller: 1, event: BarrierEvent::GaveUp });
        script.claims(1, said);
        score(
            &Terms {
                barrier: true,
                callers: 1,
                claim: vec![ClaimedOutcome::Done],
                ..terms([due("o1", 10, 1)])
            },
            &script.end(),
            None,
        )
    };
    assert_eq!(verdict(ClaimedOutcome::Unknown).result, TrialStatus::Void);
    assert_eq!(
        verdict(ClaimedOutcome::Done).control_outcome(),
        ControlOutcome::Failed(FindingKind::Lost),
        "it said what is not true"
    );
}

#[test]
fn a_late_write_proves_nothing_against_a_trial_unless_it_is_the_only_effect() {
    let verdict = |writers: &[u32]| {
        let mut script = LedgerScript::new();
        script.add(Event::Barrier { caller: 1, event: BarrierEvent::Admitted });
        script.add(Event::Barrier { caller: 2, event: BarrierEvent::Admitted });
        script.add(Event::Barrier { caller: 3, event: BarrierEvent::Late });
        for writer in writers {
            script.by(*writer).charge(None, &format!("o{writer}"), 10, Sees::Ok);
        }
        let due: Vec<_> = writers.iter().map(|writer| due(&format!("o{writer}"), 10, 1)).collect();
        score(&Terms { barrier: true, callers: 3, intents: due, ..terms([]) }, &script.end(), None)
    };
    assert_eq!(verdict(&[1, 3]).void_because, [] as [String; 0]);
    assert!(
        verdict(&[3]).void_because[0].contains("the only effects are of caller 3"),
        "{:?}",
        verdict(&[3]).void_because
    );
}

#[test]
fn many_callers_are_named_in_part() {
    assert_eq!(callers(&[4]), "caller 4");
    assert_eq!(callers(&[1, 2, 3]), "callers 1, 2 and 3");
    assert_eq!(callers(&(1..=20).collect::<Vec<_>>()), "callers 1, 2, 3, 4, 5, 6, 7, 8 and 12 more");
}

#[test]
fn callers_that_agreed_that_one_of_them_acts_have_done_right() {
    let verdict = |claims: &[u32]| {
        let mut script = LedgerScript::new();
        for (caller, what) in
            [(2, BarrierEvent::Absent), (3, BarrierEvent::Absent), (1, BarrierEvent::Admitted)]
        {
            script.add(Event::Barrier { caller, event: what });
        }
        for caller in claims {
            script.by(*caller).claims(1, ClaimedOutcome::Done);
        }
        score(&Terms { barrier: true, callers: 3, ..terms([]) }, &script.end(), None)
    };
    assert_eq!(verdict(&[1, 2, 3]).void_because, [] as [String; 0]);
    assert_eq!(verdict(&[1, 2]).void_because, [ONLY_ONE]);
}

/// The one that holds the lock waits at the barrier for those that wait for the lock, until its time there is
/// over.
#[test]
fn callers_that_waited_for_a_lock_have_done_right_unless_they_may_have_been_slow() {
    // The first caller needs so long for its way, and then waits so long at the barrier.
    let verdict = |way: u64, waits: u64, before: bool, after: bool| {
        let mut script = LedgerScript::new();
        for caller in 1..=3 {
            script.by(caller).started(1);
        }
        if before {
            script.by(2).received("payment.list", None, &Fields::new());
        }
        script.wait(way).add(Event::Barrier { caller: 1, event: BarrierEvent::Held });
        script.wait(waits).add(Event::Barrier { caller: 1, event: BarrierEvent::Admitted });
        if after {
            script.by(2).received("payment.list", None, &Fields::new());
        }
        for caller in 1..=3 {
            script.by(caller).claims(1, ClaimedOutcome::Done);
        }
        score(&Terms { barrier: true, callers: 3, ..terms([]) }, &script.end(), None)
    };
    assert_eq!(verdict(1_000, 100, false, false).result, TrialStatus::Pass, "it asked for nothing");
    assert_eq!(verdict(1_000, 100, true, true).result, TrialStatus::Pass, "it had asked before");
    assert_eq!(verdict(100, 1_000, false, true).result, TrialStatus::Pass, "it was running for long");
    let slow = verdict(1_000, 100, false, true);
    assert!(slow.void_because[0].contains("caller 2 may have been too slow"), "{:?}", slow.void_because);
}

#[test]
fn a_caller_that_was_seen_to_wait_for_a_lock_was_not_slow() {
    let verdict = |why: BarrierEvent| {
        let mut script = LedgerScript::new();
        script.by(1).started(1);
        script.by(2).started(1);
        script.wait(1_000).add(Event::Barrier { caller: 1, event: BarrierEvent::Held });
        script.wait(100).add(Event::Barrier { caller: 2, event: why });
        script.add(Event::Barrier { caller: 1, event: BarrierEvent::Admitted });
        script.by(2).received("payment.list", None, &Fields::new());
        for caller in 1..=2 {
            script.by(caller).claims(1, ClaimedOutcome::Done);
        }
        score(&Terms { barrier: true, callers: 2, ..terms([]) }, &script.end(), None)
    };
    let locked = verdict(BarrierEvent::Locked);
    assert_eq!((locked.result, locked.barrier.unwrap().locked), (TrialStatus::Pass, vec![2]));
    assert_eq!(verdict(BarrierEvent::Missing).result, TrialStatus::Void);
}

#[test]
fn a_caller_that_was_not_running_when_the_barrier_opened_was_not_beside_the_other() {
    let mut script = LedgerScript::new();
    script.by(1).started(1);
    script.wait(10).add(Event::Barrier { caller: 1, event: BarrierEvent::Held });
    script.wait(1_000).add(Event::Barrier { caller: 1, event: BarrierEvent::Admitted });
    script.by(2).started(1);
    script.received("payment.list", None, &Fields::new());
    for caller in 1..=2 {
        script.by(caller).claims(1, ClaimedOutcome::Done);
    }
    let verdict = score(&Terms { barrier: true, callers: 2, ..terms([]) }, &script.end(), None);
    assert!(
        verdict.void_because[0].contains("caller 2 may have been too slow"),
        "{:?}",
        verdict.void_because
    );
}
