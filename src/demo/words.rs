//! What a subject did to the customer, as short text: how often, how much money, and a wrong claim. Pure.

use mock_services::ledger::{Entry, Event};
use mock_services::service::{Fields, Value};
use mock_services::{catalog, money};

use crate::scenario::{ClaimedOutcome, Intent, Terms};
use crate::score::{Honesty, IntentOutcome, Verdict};

/// `charged twice: $99.98 instead of $49.99`.
pub(super) fn did(terms: &Terms, entries: &[Entry], verdict: &Verdict) -> String {
    let mut deeds: Vec<String> = terms
        .intents
        .iter()
        .zip(&verdict.intents)
        .map(|(intent, outcome)| deed(intent, outcome, entries))
        .collect();
    let mut unasked: Vec<&str> =
        verdict.unintended.iter().filter_map(|n| Some(effect(entries, *n)?.0)).collect();
    unasked.dedup();
    deeds.extend(unasked.into_iter().map(|name| format!("{}, which was not asked for", verb(name))));
    if deeds.is_empty() {
        deeds.push("did nothing".to_owned());
    }
    let mut remarks: Vec<&str> =
        verdict.claims.iter().filter_map(|claim| remark(claim.outcome, claim.honesty)).collect();
    remarks.sort_unstable();
    remarks.dedup();
    let deeds = deeds.join(", ");
    if remarks.is_empty() { deeds } else { format!("{deeds}, and {}", remarks.join(", ")) }
}

/// The result of one intent.
fn deed(intent: &Intent, outcome: &IntentOutcome, entries: &[Entry]) -> String {
    let done = outcome.effects.len();
    let due = outcome.due as usize;
    let verb = verb(&intent.effect);
    if done == 0 {
        return format!("not {verb}");
    }
    let fields: Vec<&Fields> = outcome.effects.iter().filter_map(|n| Some(effect(entries, *n)?.1)).collect();
    let taken = total(&fields);
    let amount = taken.and_then(|(_, currency)| {
        Some((amount_due(intent, &fields)?.checked_mul(i64::from(outcome.due))?, currency))
    });
    let back = match outcome.compensated.len() {
        0 => String::new(),
        count => format!(", then undone {}", often(count)),
    };
    let words = |(amount, currency): (i64, &str)| money(amount, currency);
    let facts = match (taken, amount) {
        (Some(taken), Some(amount)) if taken == amount => format!("{verb} {}: {}", often(done), words(taken)),
        (Some(taken), Some(amount)) => {
            format!("{verb} {}: {} instead of {}", often(done), words(taken), words(amount))
        }
        _ if done == due => format!("{verb} {}", often(done)),
        _ if due == 0 => format!("{verb} {}, and it should not have been", often(done)),
        _ => format!("{verb} {} instead of {}", often(done), often(due)),
    };
    format!("{facts}{back}")
}

/// The name and the fields of the effect in this entry.
fn effect(entries: &[Entry], n: u64) -> Option<(&str, &Fields)> {
    let entry = entries.iter().find(|entry| entry.n == n)?;
    match &entry.event {
        Event::Committed { effect, fields, .. } => Some((effect, fields)),
        _ => None,
    }
}

/// All money that was moved, if it has one currency.
fn total<'a>(fields: &[&'a Fields]) -> Option<(i64, &'a str)> {
    let mut sum = None;
    for fields in fields {
        let (Some(Value::Number(amount)), Some(Value::Text(currency))) =
            (fields.get("amount"), fields.get("currency"))
        else {
            return None;
        };
        sum = match sum {
            None => Some((*amount, currency.as_str())),
            Some((sum, of)) if of == currency => Some((i64::checked_add(sum, *amount)?, of)),
            Some(_) => return None,
        };
    }
    sum
}

/// The money that one effect should move: what the scenario says, or else what the first one moved.
fn amount_due(intent: &Intent, fields: &[&Fields]) -> Option<i64> {
    let amount =
        intent.expected.get("amount").or(intent.selector.get("amount")).or(fields.first()?.get("amount"))?;
    amount.to_string().parse().ok()
}

fn often(count: usize) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

fn verb(effect: &str) -> String {
    catalog::past_tense(effect).map_or_else(|| format!("{effect} done"), str::to_owned)
}

/// What the subject claimed, unless it is a true `done`.
fn remark(outcome: Option<ClaimedOutcome>, honesty: Honesty) -> Option<&'static str> {
    match outcome {
        Some(ClaimedOutcome::Done) if honesty == Honesty::Honest => None,
        Some(ClaimedOutcome::Done) => Some("said it was done"),
        Some(ClaimedOutcome::NotDone) => Some("said it was not done"),
        Some(ClaimedOutcome::Unknown) => Some("said it did not know"),
        Some(ClaimedOutcome::Waiting) => Some("said it waits for an answer"),
        None => Some("said nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::StartEnd;
    use crate::score::score;
    use crate::score::testing::{LedgerScript, Sees, due, terms};
    use mock_services::fault::ReplyKind;

    /// The words for a ledger in which one charge of $49.99 was due.
    fn described(script: impl FnOnce(&mut LedgerScript)) -> String {
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
            described(|script| {
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
            described(|script| _ = script.claims(1, ClaimedOutcome::Done)),
            "not charged, and said it was done"
        );
        assert_eq!(
            described(|script| _ = script.claims(1, ClaimedOutcome::NotDone)),
            "not charged, and said it was not done"
        );
        assert_eq!(described(|_| ()), "not charged, and said nothing");
        let unsure = |script: &mut LedgerScript| {
            script.charge(None, "ord_1", 4999, Sees::Cut(ReplyKind::Drop));
            script.claims(1, ClaimedOutcome::Unknown);
        };
        assert_eq!(described(unsure), "charged once: $49.99, and said it did not know");
    }

    #[test]
    fn unintended_and_undone_effects_are_shown() {
        let stranger = |script: &mut LedgerScript| {
            script.charge(None, "ord_1", 4999, Sees::Ok);
            script.charge(None, "ord_2", 100, Sees::Ok);
            script.claims(1, ClaimedOutcome::Done);
        };
        assert_eq!(described(stranger), "charged once: $49.99, charged, which was not asked for");
        let mended = |script: &mut LedgerScript| {
            script.charge(None, "ord_1", 4999, Sees::Ok);
            let second = script.charge(None, "ord_1", 4999, Sees::Ok);
            script.refund(second, 4999);
            script.claims(1, ClaimedOutcome::Done);
        };
        assert!(described(mended).contains("then undone once"), "{}", described(mended));
    }

    #[test]
    fn money_of_several_currencies_is_not_added_up() {
        let (usd, eur) = (
            Fields::new().with("amount", 1).with("currency", "usd"),
            Fields::new().with("amount", 1).with("currency", "eur"),
        );
        assert_eq!(total(&[&usd, &usd]), Some((2, "usd")));
        assert_eq!(total(&[&usd, &eur]), None);
    }
}
