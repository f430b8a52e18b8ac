use mock_services::service::Fields;

use crate::scenario::{Budget, Come, Said, Terms};
use crate::score::score;
use crate::score::testing::{Sees, Tale, due, terms};
use crate::trial::notes;

fn comes(terms: &Terms, go_on: impl FnOnce(&mut Tale)) -> Come {
    let mut tale = Tale::new();
    tale.charge(None, "o1", 10, Sees::Ok);
    go_on(&mut tale);
    score(terms, &tale.end(), None).come()
}

#[test]
fn the_outcome_comes_before_all_else_and_then_the_worst_finding() {
    let mut terms = terms([due("o1", 10, 1)]);
    terms.attempts = vec![Budget { operation: "payment.charge".to_owned(), at_least: 0, at_most: Some(1) }];
    assert_eq!(comes(&terms, |_| {}), Come::Pass);
    let vain = |tale: &mut Tale| _ = tale.vain("payment.charge", None, &Fields::new(), Sees::Status(400));
    assert_eq!(comes(&terms, vain), Come::OverBudget);
    assert_eq!(comes(&terms, |tale| (vain(tale), _ = tale.claims(1, Said::NotDone)).1), Come::Underclaimed);
    assert_eq!(comes(&terms, |tale| _ = tale.charge(None, "o1", 10, Sees::Ok)), Come::Duplicated);
    let escape = |tale: &mut Tale| _ = tale.note(notes::ESCAPED, Fields::new().with("host", "api.stripe.com").with("port", 443));
    assert_eq!(comes(&terms, escape), Come::Escaped);
    let over = |tale: &mut Tale| _ = tale.note(notes::OVER_LIMIT, Fields::new().with("what", "output"));
    assert_eq!(comes(&terms, over), Come::OverLimit);
}

#[test]
fn every_word_is_its_own() {
    let words: std::collections::BTreeSet<_> = Come::ALL.iter().map(|come| come.word()).collect();
    assert_eq!(words.len(), Come::ALL.len());
    for come in Come::ALL {
        assert_eq!(serde_json::to_value(come).unwrap(), come.word(), "the word is the one that files have");
    }
}
