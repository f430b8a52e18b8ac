//! What is there before the first request: charges that were made earlier.

use std::sync::Arc;

use jiff::Timestamp;

use super::calls::{World, charge};
use super::cards::Card;
use super::effects::Change;
use super::metadata::Metadata;
use super::objects::{CardSource, Charge, Expandable};
use super::options::{EarlierCharge, PaymentOptions};
use super::source::Instrument;
use super::state::{GIVEN_AT, PaymentState};
use crate::service::{Context, Ids};

/// The charges that were made before any request came, oldest first.
pub(super) fn charges(options: &PaymentOptions) -> Vec<Change> {
    let nothing = PaymentState::default();
    let made = options.charges.iter().zip(1..).map(|(earlier, number)| {
        // No caller has the number 0, so no request is ever given these ids.
        let ids = Ids::new(options.seed, "payment", 0, number, 0);
        let context = Context { now: Timestamp::from_second(GIVEN_AT).unwrap_or_default(), ids };
        Change::Charged(Arc::new(made(earlier, &World { state: &nothing, options, context: &context })))
    });
    made.collect()
}

fn made(earlier: &EarlierCharge, world: &World<'_>) -> Charge {
    let wallet = earlier.customer.as_ref().and_then(|customer| world.state.wallet(world.options, customer));
    let known = wallet.and_then(|wallet| wallet.card).map(|(id, card)| Instrument::known(id, card));
    let card = known.as_ref().map_or(Card::VISA, |instrument| instrument.card);
    let method = known.map_or_else(
        || world.id("card_1", 23),
        |instrument| instrument.into_id(&world.context.ids, "card_1"),
    );
    let source =
        CardSource { id: method.clone(), customer: earlier.customer.as_deref().map(Into::into), card };
    let mut charge = Charge {
        customer: earlier.customer.as_deref().map(Expandable::of),
        metadata: earlier.order.as_ref().map(|order| Metadata::single("order", order)).unwrap_or_default(),
        source: Some(source),
        ..charge::approved(world, earlier.amount, earlier.currency, card, method)
    };
    charge.capture(earlier.amount, world.id("txn_3", 23));
    charge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_charge_is_paid_and_can_be_given_back() {
        let earlier =
            EarlierCharge { order: Some("7".to_owned()), ..EarlierCharge::new(4999, "USD").unwrap() };
        let changes =
            charges(&PaymentOptions { charges: vec![earlier.clone(), earlier], ..PaymentOptions::default() });
        let mut state = PaymentState::default();
        changes.iter().for_each(|change| change.apply(&mut state));
        let [one, other] = state.charges.rows() else { panic!("two charges") };
        assert!(one.id != other.id, "each has an id of its own");
        assert_eq!(
            (one.captured, one.refundable(), one.currency, one.metadata.order()),
            (true, 4999, "usd", Some("7"))
        );
    }

    #[test]
    fn the_ids_of_what_is_there_before_the_first_request_come_from_the_seed() {
        let earlier =
            EarlierCharge { customer: Some("cus_1".to_owned()), ..EarlierCharge::new(4999, "USD").unwrap() };
        let ids = |seed: u64| {
            let options =
                PaymentOptions { charges: vec![earlier.clone()], seed, ..PaymentOptions::default() };
            let mut state = PaymentState::default();
            charges(&options).iter().for_each(|change| change.apply(&mut state));
            let [charge] = state.charges.rows() else { panic!("one charge") };
            let card = state.wallet(&options, "cus_1").and_then(|wallet| wallet.card).unwrap().0;
            [charge.id.clone(), card]
        };
        assert_eq!(ids(1), ids(1));
        assert!(ids(1).iter().all(|id| !ids(2).contains(id)), "{:?} {:?}", ids(1), ids(2));
    }

    #[test]
    fn an_amount_or_a_currency_that_the_service_would_refuse_makes_no_charge() {
        assert_eq!(EarlierCharge::new(1, "usd"), None);
        assert_eq!(EarlierCharge::new(4999, "dollars"), None);
    }
}
