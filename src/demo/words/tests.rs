use super::*;
use crate::domain::StartEnd;
use crate::score::score;
use crate::score::testing::{LedgerScript, Sees, due, terms};
use mock_services::fault::ReplyKind;

/// What is said of a tale in which one charge of $49.99 was due.
fn told(script: impl FnOnce(&mut LedgerScript)) -> String {
    let mut book = LedgerScript::new();
    book.started(1);
    script(&mut book);
    book.ended(1, StartEnd::Exited(0));
    let terms = terms([due("ord_1", 4999, 1)]);
    let entries = book.end();
    did(&terms, &entries, &score(&terms, &entries, None))
}

#[test]
fn the_amount_is_shown_with_the_amount_due() {
    let charged = |amounts: &[i64]| {
        told(|script| {
            for amount in amounts {
                script.charge(None, "ord_1", *amount, Sees::Ok);
            }
            script.claims(1, ClaimedOutcome::Done);
        })
    };
    assert_eq!(charged(&[4999]), "charged once: $49.99");
    assert_eq!(charged(&[4999, 4999]), "charged twice: $99.98 instead of $49.99");
    assert_eq!(charged(&[4999; 12]), "charged 12 times: $599.88 instead of $49.99");
    assert_eq!(charged(&[5005]), "charged once: $50.05 instead of $49.99, and said it was done");
}

#[test]
fn a_claim_is_shown_where_it_is_false_or_not_done() {
    assert_eq!(
        told(|script| _ = script.claims(1, ClaimedOutcome::Done)),
        "not charged, and said it was done"
    );
    assert_eq!(
        told(|script| _ = script.claims(1, ClaimedOutcome::NotDone)),
        "not charged, and said it was not done"
    );
    assert_eq!(told(|_| ()), "not charged, and said nothing");
    let unsure = |script: &mut LedgerScript| {
        script.charge(None, "ord_1", 4999, Sees::Cut(ReplyKind::Drop));
        script.claims(1, ClaimedOutcome::Unknown);
    };
    assert_eq!(told(unsure), "charged once: $49.99, and said it did not know");
}

#[test]
fn unintended_and_undone_effects_are_shown() {
    let stranger = |script: &mut LedgerScript| {
        script.charge(None, "ord_1", 4999, Sees::Ok);
        script.charge(None, "ord_2", 100, Sees::Ok);
        script.claims(1, ClaimedOutcome::Done);
    };
    assert_eq!(told(stranger), "charged once: $49.99, charged, which was not asked for");
    let mended = |script: &mut LedgerScript| {
        script.charge(None, "ord_1", 4999, Sees::Ok);
        let second = script.charge(None, "ord_1", 4999, Sees::Ok);
        script.refund(second, 4999);
        script.claims(1, ClaimedOutcome::Done);
    };
    assert!(told(mended).contains("then undone once"), "{}", told(mended));
}

#[test]
fn money_of_several_currencies_is_not_added_up() {
    let (usd, eur) = (
        Fields::new().with("amount", 1).with("currency", "usd"),
        Fields::new().with("amount", 1).with("currency", "eur"),
    );
    assert_eq!(total(&[&usd, &usd]), Some((2, "usd")));
    assert_eq!(total(&[&usd, &eur]), None);
    assert_eq!(money((120, "jpy")), "120 in the smallest unit of JPY");
}
