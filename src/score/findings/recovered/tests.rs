use crate::scenario::{ControlOutcome, Recovery, Terms};
use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
use crate::score::{Verdict, score};
use mock_services::fault::ReplyKind;

fn permitting(recovery: &[Recovery]) -> Terms {
    Terms { recovery: recovery.to_vec(), ..terms([due("o1", 10, 1)]) }
}

/// The first attempt commits nothing and its reply is dropped, so that any retry is lucky.
fn lucky(key: Option<&str>, reads: bool) -> LedgerScript {
    let mut script = LedgerScript::new();
    script.write_without_commit("payment.charge", Some("k1"), &charge("o1", 10), Sees::Cut(ReplyKind::Drop));
    if reads {
        script.read("payment.list");
    }
    script.charge(key, "o1", 10, Sees::Ok);
    script
}

fn judged(terms: &Terms, script: LedgerScript) -> Verdict {
    score(terms, &script.end(), None)
}

#[test]
fn a_blind_retry_that_was_lucky_fails_where_it_is_not_permitted() {
    let safe = permitting(&[Recovery::SameKey, Recovery::VerifiedThenRetried]);
    for (key, reads, control_outcome) in [
        (None, false, ControlOutcome::UnexpectedRecovery),
        (Some("k2"), false, ControlOutcome::UnexpectedRecovery),
        (Some("k1"), false, ControlOutcome::Pass),
        (Some("k2"), true, ControlOutcome::Pass),
    ] {
        assert_eq!(
            judged(&safe, lucky(key, reads)).control_outcome(),
            control_outcome,
            "{key:?}, reads: {reads}"
        );
    }
    assert_eq!(
        judged(&permitting(&[]), lucky(None, false)).control_outcome(),
        ControlOutcome::Pass,
        "any is permitted where none is named"
    );
}

#[test]
fn the_finding_says_what_was_done_and_what_is_permitted() {
    let verdict =
        judged(&permitting(&[Recovery::SameKey, Recovery::VerifiedThenRetried]), lucky(None, false));
    let finding = verdict.findings.iter().find(|finding| finding.fails).unwrap();
    insta::assert_snapshot!(format!("{}\n{}\n{:?}", finding.message, finding.fix, finding.entries));
}

#[test]
fn every_ambiguous_answer_counts_and_not_the_first_alone() {
    let mut script = LedgerScript::new();
    for _ in 0..2 {
        script.write_without_commit(
            "payment.charge",
            Some("k1"),
            &charge("o1", 10),
            Sees::Cut(ReplyKind::Drop),
        );
    }
    script.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(
        judged(&permitting(&[Recovery::SameKey]), script).control_outcome(),
        ControlOutcome::UnexpectedRecovery
    );
}

#[test]
fn a_clear_answer_needs_no_permission() {
    let mut script = LedgerScript::new();
    script.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(judged(&permitting(&[Recovery::SameKey]), script).control_outcome(), ControlOutcome::Pass);
}
