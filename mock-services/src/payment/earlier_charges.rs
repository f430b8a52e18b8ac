//! The state before the first request: earlier charges.

use std::sync::Arc;

use jiff::Timestamp;

use super::calls::{CallContext, charge};
use super::cards::Card;
use super::effects::PaymentChange;
use super::metadata::Metadata;
use super::objects::{CardSource, Charge, Expandable};
use super::options::{EarlierCharge, PaymentOptions};
use super::source::Instrument;
use super::state::{INITIAL_TIME, PaymentState};
use crate::service::{Context, Ids};

/// The charges that exist before the first request, oldest first.
pub(super) fn charges(options: &PaymentOptions) -> Vec<PaymentChange> {
    let nothing = PaymentState::default();
    let charges = options.charges.iter().zip(1..).map(|(earlier, number)| {
        // No caller has the number 0, so no request creates these ids.
        let ids = Ids::new(options.seed, "payment", 0, number, 0);
        let context = Context { now: Timestamp::from_second(INITIAL_TIME).unwrap_or_default(), ids };
        PaymentChange::Charged(Arc::new(earlier_charge(
            earlier,
            &CallContext { state: &nothing, options, request: &context },
        )))
    });
    charges.collect()
}

fn earlier_charge(earlier: &EarlierCharge, context: &CallContext<'_>) -> Charge {
    let wallet =
        earlier.customer.as_ref().and_then(|customer| context.state.wallet(context.options, customer));
    let known = wallet.and_then(|wallet| wallet.card).map(|(id, card)| Instrument::known(id, card));
    let card = known.as_ref().map_or(Card::VISA, |instrument| instrument.card);
    let method = known.map_or_else(
        || context.id("card_1", 23),
        |instrument| instrument.into_id(&context.request.ids, "card_1"),
    );
    let source =
        CardSource { id: method.clone(), customer: earlier.customer.as_deref().map(Into::into), card };
    let mut charge = Charge {
        customer: earlier.customer.as_deref().map(Expandable::new),
        metadata: earlier.order.as_ref().map(|order| Metadata::single("order", order)).unwrap_or_default(),
        source: Some(source),
        ..charge::approved_charge(context, earlier.amount, earlier.currency, card, method)
    };
    charge.capture(earlier.amount, context.id("txn_3", 23));
    charge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_charge_is_paid_and_can_be_refunded() {
        let earlier =
            EarlierCharge { order: Some("7".to_owned()), ..EarlierCharge::new(4999, "USD").unwrap() };
        let changes =
            charges(&PaymentOptions { charges: vec![earlier.clone(), earlier], ..PaymentOptions::default() });
        let mut state = PaymentState::default();
        changes.iter().for_each(|change| change.apply(&mut state));
        let [one, other] = state.charges.rows() else { panic!("two charges") };
        assert!(one.id != other.id, "each has its own id");
        assert_eq!(
            (one.captured, one.refundable(), one.currency, one.metadata.order()),
            (true, 4999, "usd", Some("7"))
        );
    }

    #[test]
    fn the_ids_of_the_initial_state_come_from_the_seed() {
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
    fn an_earlier_charge_needs_a_valid_amount_and_currency() {
        assert_eq!(EarlierCharge::new(1, "usd"), None);
        assert_eq!(EarlierCharge::new(4999, "dollars"), None);
    }
}
