//! The options of the payment service in a scenario, and the initial charges that a task with refunds needs.

use serde_json::Value;
use yaml_reader::shape::{Count, MapShape, Shape, optional, required};
use yaml_reader::{Key, Map, Node, NodeKind, Reader, Span, shown};

use super::{Customers, EarlierCharge, Payment, PaymentOptions};
use crate::description::{ConfiguredService, ExpectedEffect, Preparation, read_texts};
use crate::services::{Builder, ServiceOptions};

/// The charged amount when a refund without an amount is expected: the whole charge is refunded.
const EARLIER_AMOUNT: i64 = 4999;
/// The charge of an expected refund with an amount is this many times as large; otherwise the service would
/// refuse the second of two equal refunds.
const CHARGE_PER_REFUND: i64 = 3;

/// The options.
pub(super) static OPTIONS: MapShape<4> = MapShape::new([
    optional("declines", Shape::TEXTS),
    optional("customers", Shape::TEXTS),
    optional("prices", Shape::TEXTS),
    optional("charges", Shape::List(&CHARGE.shape(), Count::ANY)),
]);
static CHARGE: MapShape<4> = MapShape::new([
    required("amount", Shape::Integer(1, i64::MAX)),
    optional("currency", Shape::Text),
    optional("customer", Shape::Text),
    optional("order", Shape::Text),
]);

/// Reads the options.
pub(super) fn read(reader: &Reader, map: &mut Map<'_, '_>) -> PaymentOptions {
    let [declines, customers, prices, charges] = map.fields(&OPTIONS);
    let mut options = PaymentOptions::default();
    if let Some(node) = declines {
        options.declining_customers = read_texts(reader, node);
    }
    if let Some(node) = customers {
        options.customers = Customers::Only(read_texts(reader, node));
    }
    options.prices = prices.map(|node| read_texts(reader, node));
    let charges = charges.and_then(|node| reader.list(node)).unwrap_or_default();
    options.charges = charges.iter().filter_map(|node| read_charge(reader, node)).collect();
    options
}

/// A charge that exists before the first request.
fn read_charge(reader: &Reader, node: &Node) -> Option<EarlierCharge> {
    let [amount, currency, customer, order] = reader.fields(node, "an earlier charge", &CHARGE)?;
    let text = |node: Option<&Node>| node.and_then(|node| reader.text(node)).map(str::to_owned);
    let (customer, order) = (text(customer), text(order));
    let place = node.place();
    let amount = reader.integer(amount?, 1..=i64::MAX)?;
    let currency = currency.map_or(Some("usd"), |node| reader.text(node))?;
    let Some(charge) = EarlierCharge::new(amount, currency) else {
        let message = format!("the service does not accept a charge of {amount} {}", shown(currency));
        reader.report_with_help(
            place,
            message,
            "amounts are in the smallest unit: { amount: 4999, currency: usd } is $49.99",
        );
        return None;
    };
    Some(EarlierCharge { customer, order, ..charge })
}

impl ConfiguredService for PaymentOptions {
    fn configuration(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn add_to(&self, builder: Builder, seed: u64, options: ServiceOptions) -> Builder {
        builder.service(Payment::new(PaymentOptions { seed, ..self.clone() }), options)
    }
}

/// The charges that the expected refunds need; none when the task creates a charge itself.
pub(super) fn prepare(expected: &[ExpectedEffect<'_>]) -> Preparation {
    let refunds: Vec<(usize, &ExpectedEffect<'_>)> =
        expected.iter().enumerate().filter(|(_, one)| one.effect == "payment.refund").collect();
    if refunds.is_empty() || expected.iter().any(|one| one.effect == "payment.charge") {
        return Preparation::default();
    }
    let charges = refunds.iter().map(|(_, refund)| earlier_charge(refund)).collect();
    let is_of_all = |refund: &ExpectedEffect<'_>| refund.times == 1 && refund.text("amount").is_none();
    Preparation {
        options: vec![("charges", NodeKind::List(charges))],
        certain: refunds
            .iter()
            .filter(|(_, refund)| is_of_all(refund))
            .map(|(place, _)| (*place, "amount", NodeKind::Integer(EARLIER_AMOUNT)))
            .collect(),
    }
}

/// The charge that a refund needs.
fn earlier_charge(refund: &ExpectedEffect<'_>) -> Node {
    let amount = refund.number("amount").map_or(EARLIER_AMOUNT, |amount| {
        amount.saturating_mul(CHARGE_PER_REFUND).saturating_mul(refund.times.into())
    });
    let text = |name: &'static str| refund.text(name).map(|text| (name, NodeKind::Text(text)));
    let customer = text("customer").unwrap_or(("customer", NodeKind::Text("cus_42".to_owned())));
    let fields =
        [Some(("amount", NodeKind::Integer(amount))), text("currency"), Some(customer), text("order")];
    let entry = |(name, kind): (&str, NodeKind)| {
        (Key { name: name.to_owned(), span: Span::default() }, Node::new(kind, Span::default()))
    };
    Node::new(NodeKind::Map(fields.into_iter().flatten().map(entry).collect()), Span::default())
}
