//! The options of the payment service in a scenario, and the initial charges that a task with refunds needs.

use serde_json::Value;
use yaml_reader::{Key, Map, Node, NodeKind, Reader, Span, shown};

use super::{Customers, EarlierCharge, Payment, PaymentOptions};
use crate::description::{ConfiguredService, ExpectedEffect, OptionType, Preparation, read_texts};
use crate::services::{Builder, ServiceOptions};

/// The charged amount when a refund without an amount is expected: the whole charge is refunded.
const EARLIER_AMOUNT: i64 = 4999;
/// The charge of an expected refund with an amount is this many times as large; otherwise the service would
/// refuse the second of two equal refunds.
const CHARGE_PER_REFUND: i64 = 3;

/// The options and their types.
pub(super) fn options() -> Vec<(&'static str, OptionType)> {
    let charge = OptionType::Object {
        keys: vec![
            ("amount", OptionType::Whole(Some(1))),
            ("currency", OptionType::Text),
            ("customer", OptionType::Text),
            ("order", OptionType::Text),
        ],
        required: &["amount"],
    };
    vec![
        ("declines", OptionType::texts()),
        ("customers", OptionType::texts()),
        ("prices", OptionType::texts()),
        ("charges", OptionType::List(Box::new(charge))),
    ]
}

/// Reads the options.
pub(super) fn read(reader: &Reader, map: &mut Map<'_, '_>) -> PaymentOptions {
    let mut options = PaymentOptions::default();
    if let Some(node) = map.optional("declines") {
        options.declining_customers = read_texts(reader, node);
    }
    if let Some(node) = map.optional("customers") {
        options.customers = Customers::Only(read_texts(reader, node));
    }
    options.prices = map.optional("prices").map(|node| read_texts(reader, node));
    let charges = map.optional("charges").and_then(|node| reader.list(node)).unwrap_or_default();
    options.charges = charges.iter().filter_map(|node| read_charge(reader, node)).collect();
    options
}

/// A charge that exists before the first request.
fn read_charge(reader: &Reader, node: &Node) -> Option<EarlierCharge> {
    let mut map = reader.map(node, "an earlier charge")?;
    let (amount, currency) = (map.required("amount"), map.optional("currency"));
    let text = |node: Option<&Node>| node.and_then(|node| reader.text(node)).map(str::to_owned);
    let (customer, order) = (text(map.optional("customer")), text(map.optional("order")));
    let place = map.place();
    map.finish();
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
