use super::*;
use crate::domain::{InterruptEvent, InterruptKind, SubjectEvent};
use crate::score::history::TrialHistory;
use crate::score::testing::{LedgerScript, Sees, terms};

fn leaves_doubt(sees: Sees) -> bool {
    let mut script = LedgerScript::new();
    script.charge(None, "o1", 10, sees);
    let entries = script.end();
    let history = TrialHistory::new(&terms([]), &entries);
    ambiguity(&history.attempts[0]).is_some()
}

#[test]
fn an_answer_that_did_not_arrive_or_asks_to_come_again_leaves_a_doubt() {
    for reply in [ReplyKind::Drop, ReplyKind::Reset, ReplyKind::Hang, ReplyKind::Truncate, ReplyKind::Garble]
    {
        assert!(leaves_doubt(Sees::Cut(reply)), "{reply}");
    }
    for status in [408, 409, 429, 451, 500, 502, 503, 504] {
        assert!(leaves_doubt(Sees::Status(status)), "{status}");
    }
}

#[test]
fn a_yes_and_a_plain_no_are_clear() {
    assert!(!leaves_doubt(Sees::Ok));
    for status in [200, 202, 400, 402, 404, 422] {
        assert!(!leaves_doubt(Sees::Status(status)), "{status}");
    }
}

#[test]
fn an_interrupt_leaves_a_doubt_after_any_answer_and_a_freeze_does_not() {
    for (action, expected) in
        [(InterruptKind::Kill, true), (InterruptKind::Stop, true), (InterruptKind::Freeze, false)]
    {
        let mut script = LedgerScript::new();
        let attempt = script.charge(None, "o1", 10, Sees::Ok);
        script.event(&SubjectEvent::Interrupted(InterruptEvent { interrupt: 0, action, attempt }));
        let entries = script.end();
        assert_eq!(
            ambiguity(&TrialHistory::new(&terms([]), &entries).attempts[0]).is_some(),
            expected,
            "{action}"
        );
    }
}
