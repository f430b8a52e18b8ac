//! The most common answer of all, a plain charge, written from a text with holes instead of member by member.
//! The text is cut once, from what the usual way makes of a charge with marks in it, so there is nothing here
//! that could differ from it but the holes.

use std::sync::OnceLock;

use super::{Charge, Expandable};
use crate::json;
use crate::payment::cards::Card;
use crate::payment::metadata::Metadata;

/// What goes into a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    Id,
    Amount,
    BalanceTransaction,
    Created,
    Currency,
    Customer,
    Metadata,
    PaymentMethod,
    ReceiptUrl,
}

/// Each hole with the text by which it is found. That of the receipt is found by what stands in it anyway: no
/// other text is so long.
const MARKS: [(Hole, &str); 8] = [
    (Hole::Id, "\"@id\""),
    (Hole::Amount, "7000000000000001"),
    (Hole::BalanceTransaction, "\"@transaction\""),
    (Hole::Created, "7000000000000002"),
    (Hole::Currency, "\"@currency\""),
    (Hole::Customer, "\"@customer\""),
    (Hole::Metadata, "{\n    \"@name\": \"@value\"\n  }"),
    (Hole::PaymentMethod, "\"@method\""),
];

/// A text, and the hole behind it.
type Piece = (Vec<u8>, Option<Hole>);

/// Writes the charge where it is a plain one: paid in full by a customer with the usual card, with nothing to
/// it but metadata. `false` where it is not, and nothing was written.
pub(crate) fn write_plain(charge: &Charge, out: &mut Vec<u8>) -> bool {
    static PIECES: OnceLock<Vec<Piece>> = OnceLock::new();
    let (Some(Expandable::Id(customer)), Some(transaction)) = (&charge.customer, &charge.balance_transaction)
    else {
        return false;
    };
    if !is_plain(charge, customer) {
        return false;
    }
    let start = out.len();
    for (text, hole) in PIECES.get_or_init(|| cut(charge)) {
        out.extend_from_slice(text);
        let written = match hole {
            Some(Hole::Id) => json::write(out, &charge.id, 1),
            Some(Hole::Amount) => json::write(out, &charge.amount, 1),
            Some(Hole::BalanceTransaction) => json::write(out, transaction, 1),
            Some(Hole::Created) => json::write(out, &charge.created, 1),
            Some(Hole::Currency) => json::write(out, charge.currency, 1),
            Some(Hole::Customer) => json::write(out, customer, 1),
            Some(Hole::Metadata) => json::write(out, &charge.metadata, 1),
            Some(Hole::PaymentMethod) => json::write(out, &charge.payment_method, 1),
            Some(Hole::ReceiptUrl) => json::write(out, &charge.receipt_url, 1),
            None => Ok(()),
        };
        if written.is_err() {
            out.truncate(start);
            return false;
        }
    }
    true
}

fn is_plain(charge: &Charge, customer: &str) -> bool {
    let source = charge.source.as_ref();
    let paid = charge.captured
        && charge.amount_captured == charge.amount
        && charge.amount_refunded == 0
        && charge.paid;
    let usual_card = charge.payment_method_details.card == Card::VISA
        && charge.payment_method_details.amount == charge.amount
        && source.is_some_and(|source| {
            source.card == Card::VISA
                && source.id == charge.payment_method
                && source.customer.as_deref() == Some(customer)
        });
    let nothing_else = charge.application_fee_amount.is_none()
        && charge.description.is_none()
        && charge.on_behalf_of.is_none()
        && charge.payment_intent.is_none()
        && charge.receipt_email.is_none()
        && charge.shipping.is_none()
        && charge.statement_descriptor.is_none()
        && charge.statement_descriptor_suffix.is_none()
        && charge.transfer_group.is_none();
    paid && !charge.refunded && !charge.disputed && usual_card && nothing_else
}

/// The text of a plain charge, cut at its holes.
fn cut(plain: &Charge) -> Vec<Piece> {
    let mut marked = plain.clone();
    marked.id = "@id".to_owned();
    (marked.amount, marked.amount_captured, marked.payment_method_details.amount) =
        (7_000_000_000_000_001, 7_000_000_000_000_001, 7_000_000_000_000_001);
    marked.balance_transaction = Some("@transaction".to_owned());
    marked.created = 7_000_000_000_000_002;
    marked.currency = "@currency";
    marked.customer = Some(Expandable::of("@customer"));
    marked.metadata = Metadata::single("@name", "@value");
    marked.payment_method = "@method".to_owned();
    if let Some(source) = &mut marked.source {
        source.id = "@method".to_owned();
        source.customer = Some("@customer".into());
    }
    let mut text = Vec::new();
    // A charge can be written, or it would not be answered with in the usual way either.
    let _ = json::write(&mut text, &marked, 0);
    let text = String::from_utf8(text).unwrap_or_default();
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    let receipt = serde_json::to_string(&plain.receipt_url).unwrap_or_default();
    let marks = [MARKS.as_slice(), &[(Hole::ReceiptUrl, &receipt)]].concat();
    let first = |rest: &str| {
        marks
            .iter()
            .filter_map(|(hole, mark)| Some((rest.find(mark)?, *hole, mark.len())))
            .min_by_key(|found| found.0)
    };
    while let Some((at, hole, length)) = first(rest) {
        pieces.push((rest.as_bytes()[..at].to_vec(), Some(hole)));
        rest = &rest[at + length..];
    }
    pieces.push((rest.as_bytes().to_vec(), None));
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::payment::{Payment, PaymentState};
    use crate::service::{Context, Decision, Ids, Request, Service};

    /// The body of a charge, and what `serde_json` makes of the same charge.
    fn both(seed: u64, form: &str) -> (Vec<u8>, Vec<u8>) {
        let payment = Payment::default();
        let context = Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(seed, "payment", 1, 1, 0) };
        let call = payment.recognize(&Request::new("POST", "/v1/charges").body(form), &context).unwrap().call;
        let mut state = PaymentState::default();
        let Decision::Accept(accepted) = payment.decide(&state, &call, &context) else { panic!("refused") };
        accepted.effects.iter().for_each(|effect| payment.apply(&mut state, effect));
        let charge = &state.charges.rows()[0];
        (accepted.answer.written().body, serde_json::to_vec_pretty(&**charge).unwrap())
    }

    proptest! {
        #[test]
        fn a_plain_charge_is_written_as_in_the_usual_way(
            seed: u64,
            amount in 50i64..99_999_999,
            customer in "cus_[a-zA-Z0-9]{1,14}",
            metadata in proptest::collection::btree_map("[a-z@]{1,8}", "[ -~]{1,20}", 0..4),
            description in proptest::option::of("[a-z]{1,9}"),
            eur: bool,
        ) {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.append_pair("amount", &amount.to_string()).append_pair("currency", if eur { "eur" } else { "usd" });
            form.append_pair("customer", &customer);
            for (name, value) in &metadata {
                form.append_pair(&format!("metadata[{name}]"), value);
            }
            if let Some(description) = &description {
                form.append_pair("description", description);
            }
            let (body, usual) = both(seed, &form.finish());
            prop_assert_eq!(String::from_utf8(body).unwrap(), String::from_utf8(usual).unwrap());
        }
    }

    #[test]
    fn each_hole_is_found_and_only_a_plain_charge_is_taken() {
        let payment = Payment::default();
        let context = Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "payment", 1, 1, 0) };
        for (form, is_plain) in [
            ("amount=100&currency=usd&customer=cus_1&metadata[a]=b", true),
            ("amount=100&currency=usd&customer=cus_1&description=x", false),
            ("amount=100&currency=usd&source=tok_visa", false),
            ("amount=100&currency=usd&customer=cus_1&capture=false", false),
            ("amount=100&currency=usd&customer=cus_1&source=tok_mastercard", false),
        ] {
            let call =
                payment.recognize(&Request::new("POST", "/v1/charges").body(form), &context).unwrap().call;
            let mut state = PaymentState::default();
            let Decision::Accept(accepted) = payment.decide(&state, &call, &context) else {
                panic!("refused")
            };
            accepted.effects.iter().for_each(|effect| payment.apply(&mut state, effect));
            let charge = &state.charges.rows()[0];
            assert_eq!(write_plain(charge, &mut Vec::new()), is_plain, "{form}");
            if is_plain {
                let holes: Vec<Hole> = cut(charge).into_iter().filter_map(|(_, hole)| hole).collect();
                assert!(
                    MARKS.iter().all(|(hole, _)| holes.contains(hole)) && holes.contains(&Hole::ReceiptUrl),
                    "{holes:?}"
                );
            }
        }
    }
}
