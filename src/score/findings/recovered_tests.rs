use crate::scenario::{Come, Recovery, Terms};
use crate::score::testing::{Sees, Tale, charge, due, terms};
use crate::score::{Verdict, score};

fn permitting(recovery: &[Recovery]) -> Terms {
    Terms { recovery: recovery.to_vec(), ..terms([due("o1", 10, 1)]) }
}

/// The first attempt commits nothing and its reply is dropped, so that any retry is lucky.
fn lucky(key: Option<&str>, reads: bool) -> Tale {
    let mut tale = Tale::new();
    tale.vain("payment.charge", Some("k1"), &charge("o1", 10), Sees::Cut("drop"));
    if reads {
        tale.read("payment.list");
    }
    tale.charge(key, "o1", 10, Sees::Ok);
    tale
}

fn judged(terms: &Terms, tale: Tale) -> Verdict {
    score(terms, &tale.end(), None)
}

#[test]
fn a_blind_retry_that_was_lucky_fails_where_it_is_not_permitted() {
    let safe = permitting(&[Recovery::SameKey, Recovery::VerifiedThenRetried]);
    for (key, reads, come) in [
        (None, false, Come::UnexpectedRecovery),
        (Some("k2"), false, Come::UnexpectedRecovery),
        (Some("k1"), false, Come::Pass),
        (Some("k2"), true, Come::Pass),
    ] {
        assert_eq!(judged(&safe, lucky(key, reads)).come(), come, "{key:?}, reads: {reads}");
    }
    assert_eq!(judged(&permitting(&[]), lucky(None, false)).come(), Come::Pass, "any is permitted where none is named");
}

#[test]
fn the_finding_says_what_was_done_and_what_is_permitted() {
    let verdict = judged(&permitting(&[Recovery::SameKey, Recovery::VerifiedThenRetried]), lucky(None, false));
    let finding = verdict.findings.iter().find(|finding| finding.fails).unwrap();
    insta::assert_snapshot!(format!("{}\n{}\n{:?}", finding.message, finding.remedy, finding.entries));
}

#[test]
fn every_ambiguous_answer_counts_and_not_the_first_alone() {
    let mut tale = Tale::new();
    for _ in 0..2 {
        tale.vain("payment.charge", Some("k1"), &charge("o1", 10), Sees::Cut("drop"));
    }
    tale.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(judged(&permitting(&[Recovery::SameKey]), tale).come(), Come::UnexpectedRecovery);
}

#[test]
fn a_clear_answer_needs_no_permission() {
    let mut tale = Tale::new();
    tale.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(judged(&permitting(&[Recovery::SameKey]), tale).come(), Come::Pass);
}
