use std::borrow::Cow;

use mock_services::ledger::Event;
use mock_services::service::Fields;

use super::*;
use crate::score::testing::{Tale, terms};
use crate::score::{Result3, score};

const ONLY_ONE: &str = "only caller 1 came to the door, so no two callers were seen to run side by side; let all of them write, or at \
                        least ask a service for something before they wait for each other";

fn with_door(notes: &[(u32, AtDoor)]) -> crate::score::Verdict {
    let mut tale = Tale::new();
    for (caller, what) in notes {
        tale.add(Event::Door { caller: *caller, what: *what });
    }
    score(&Terms { door: true, callers: 3, ..terms([]) }, &tale.end(), None)
}

#[test]
fn those_who_met_and_how_close_is_told() {
    let verdict = with_door(&[(2, AtDoor::Admitted), (1, AtDoor::Admitted), (3, AtDoor::Absent)]);
    let facts = verdict.door.unwrap();
    assert_eq!((facts.met, facts.absent, facts.spread_us), (vec![1, 2], vec![3], 1_000));
    assert_eq!(verdict.result, Result3::Pass);
}

#[test]
fn a_door_that_did_not_hold_makes_a_pass_void() {
    let met = [(1, AtDoor::Admitted), (2, AtDoor::Admitted)];
    for (extra, word) in [((3, AtDoor::GaveUp), "gave up"), ((3, AtDoor::Late), "after the door had opened")] {
        let verdict = with_door(&[met[0], met[1], extra]);
        assert_eq!(verdict.result, Result3::Void);
        assert!(verdict.void_because[0].contains(word), "{:?}", verdict.void_because);
    }
    assert_eq!(with_door(&met[..1]).void_because, [ONLY_ONE]);
    assert_eq!(with_door(&[]).void_because, [ONLY_ONE.replace("only caller 1", "nobody")]);
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
        let mut tale = Tale::new();
        for (caller, what) in [(2, AtDoor::Absent), (3, AtDoor::Absent), (1, AtDoor::Admitted)] {
            tale.add(Event::Door { caller, what });
        }
        for caller in claims {
            let fields = Fields::new().with("start", 1).with("outcome", "done");
            tale.add(Event::Noted { name: notes::CLAIMED.into(), caller: Some(*caller), fields: Cow::Owned(fields) });
        }
        score(&Terms { door: true, callers: 3, ..terms([]) }, &tale.end(), None)
    };
    assert_eq!(verdict(&[1, 2, 3]).void_because, [] as [String; 0]);
    assert_eq!(verdict(&[1, 2]).void_because, [ONLY_ONE]);
}

/// The one that holds the lock waits at the door for those that wait for the lock, until its time there is over.
#[test]
fn callers_that_waited_for_a_lock_have_done_right_unless_they_came_late() {
    let verdict = |before: bool, after: bool| {
        let mut tale = Tale::new();
        if before {
            tale.by(2).received("payment.list", None, &Fields::new());
        }
        tale.add(Event::Door { caller: 1, what: AtDoor::Admitted });
        if after {
            tale.by(2).received("payment.list", None, &Fields::new());
        }
        for caller in 1..=3 {
            let fields = Fields::new().with("start", 1).with("outcome", "done");
            tale.add(Event::Noted { name: notes::CLAIMED.into(), caller: Some(caller), fields: Cow::Owned(fields) });
        }
        score(&Terms { door: true, callers: 3, ..terms([]) }, &tale.end(), None)
    };
    assert_eq!(verdict(false, false).result, Result3::Pass);
    assert_eq!(verdict(true, true).result, Result3::Pass);
    assert_eq!(verdict(false, true).void_because, [ONLY_ONE]);
}
