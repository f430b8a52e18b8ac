//! Requests to the payment service, and what its reads show. Everything here is right.

use serde_json::Value;

use crate::once::{Sight, Tries, once};
use crate::program::Outcome;
use crate::world::{Reply, Request, World, escaped};

/// What is to be charged or refunded.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// The number of the order.
    pub(crate) order: String,
    /// The customer.
    pub(crate) customer: String,
    /// The amount, in the smallest unit of the currency.
    pub(crate) amount: String,
    /// The currency.
    pub(crate) currency: String,
}

impl Order {
    /// The order with this number (from 0) of the task.
    pub(crate) fn of(world: &World, operation: &str, number: usize) -> Self {
        let field = |name: &str, usual: &str| world.field(operation, number, name, usual);
        let usual = ["4999", "1500", "900"];
        Order {
            order: field("order", &(7 + number).to_string()),
            customer: field("customer", "cus_42"),
            amount: field("amount", usual.get(number).unwrap_or(&usual[0])),
            currency: field("currency", "usd"),
        }
    }

    /// The order of the first charge of the task.
    pub(crate) fn to_charge(world: &World) -> Self {
        Order::of(world, "payment.charge", 0)
    }

    /// The request that charges it.
    pub(crate) fn charge(&self, key: impl Into<String>) -> Request {
        Request::form("payment", "/v1/charges", &self.pairs()).key(key)
    }

    /// The request that charges it with a note.
    pub(crate) fn charge_with_note(&self, note: &str, key: impl Into<String>) -> Request {
        let mut pairs = self.pairs();
        pairs.push(("description", note));
        Request::form("payment", "/v1/charges", &pairs).key(key)
    }

    /// The request that only holds the money.
    pub(crate) fn hold(&self, key: impl Into<String>) -> Request {
        let mut pairs = self.pairs();
        pairs.push(("capture", "false"));
        Request::form("payment", "/v1/charges", &pairs).key(key)
    }

    /// The request that creates a payment intent and does not confirm it.
    pub(crate) fn intent(&self, key: impl Into<String>) -> Request {
        Request::form("payment", "/v1/payment_intents", &self.intent_pairs()).key(key)
    }

    /// The request that creates a payment intent and confirms it.
    pub(crate) fn confirmed_intent(&self, key: impl Into<String>) -> Request {
        let mut pairs = self.intent_pairs();
        pairs.push(("confirm", "true"));
        Request::form("payment", "/v1/payment_intents", &pairs).key(key)
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        vec![
            ("amount", &self.amount),
            ("currency", &self.currency),
            ("customer", &self.customer),
            ("metadata[order]", &self.order),
        ]
    }

    fn intent_pairs(&self) -> Vec<(&str, &str)> {
        let mut pairs = self.pairs();
        pairs.extend([
            ("payment_method", "pm_card_visa"),
            ("automatic_payment_methods[enabled]", "true"),
            ("automatic_payment_methods[allow_redirects]", "never"),
        ]);
        pairs
    }

    /// Whether a charge is the one of this order.
    pub(crate) fn is_of(&self, charge: &Value) -> bool {
        charge.pointer("/metadata/order").and_then(Value::as_str) == Some(&self.order)
    }

    /// The charges of this customer, the newest first, or `None` if there is no answer.
    pub(crate) fn charges(&self, world: &World) -> Option<Vec<Value>> {
        let path = format!("/v1/charges?limit=100&customer={}", escaped(&self.customer));
        rows(world.read("payment", &path, 1)?)
    }

    /// Reads once whether the order is charged.
    pub(crate) fn look(&self, world: &World) -> Sight {
        let is_charge = |charge: &Value| self.is_of(charge) && charge["captured"] == true;
        Sight::of(self.charges(world).map(|charges| charges.iter().any(is_charge)))
    }

    /// Charges it once, with one key for all attempts.
    pub(crate) fn charge_once(&self, world: &World) -> (Outcome, Reply) {
        let key = format!("order-{}", self.order);
        once(world, |tries: &Tries| self.charge(tries.key(&key)), || self.look(world))
    }

    /// Holds the money once, and returns the id of the hold.
    pub(crate) fn hold_once(&self, world: &World, key: &str) -> Result<String, Outcome> {
        let look = || Sight::of(self.charges(world).map(|all| all.iter().any(|one| self.is_of(one))));
        let (outcome, reply) = once(world, |tries: &Tries| self.hold(tries.key(key)), look);
        match (outcome, reply.text("/id")) {
            (Outcome::Done, id) if !id.is_empty() => Ok(id),
            (Outcome::Done, _) => self.find(world).ok_or(Outcome::Unknown),
            (outcome, _) => Err(outcome),
        }
    }

    /// The id of the charge of this order: two reads must agree on it.
    pub(crate) fn find(&self, world: &World) -> Option<String> {
        for _ in 0..12 {
            let charges = self.charges(world).unwrap_or_default();
            let found = charges.iter().find(|charge| self.is_of(charge));
            let Some(id) = found.and_then(|charge| charge["id"].as_str()) else {
                crate::world::pause();
                continue;
            };
            let same = world.read("payment", &format!("/v1/charges/{}", escaped(id)), 4);
            if same.is_some_and(|charge| self.is_of(&charge)) {
                return Some(id.to_owned());
            }
        }
        None
    }
}

/// The rows of a list; `None` where it has none.
pub(crate) fn rows(list: Value) -> Option<Vec<Value>> {
    list["data"].as_array().cloned()
}

/// The request that captures what a charge holds.
pub(crate) fn capture(charge: &str, key: impl Into<String>) -> Request {
    Request::form("payment", &format!("/v1/charges/{}/capture", escaped(charge)), &[]).key(key)
}

/// Reads once whether a hold is captured.
pub(crate) fn look_captured(world: &World, charge: &str) -> Sight {
    let read = world.read("payment", &format!("/v1/charges/{}", escaped(charge)), 1);
    Sight::of(read.map(|read| read["captured"] == true && read["id"] == charge))
}

/// The request that refunds a charge, in part if there is an amount.
pub(crate) fn refund(charge: &str, amount: Option<&str>, key: impl Into<String>) -> Request {
    refund_without_key(charge, amount).key(key)
}

/// The same without an idempotency key.
pub(crate) fn refund_without_key(charge: &str, amount: Option<&str>) -> Request {
    let mut pairs = vec![("charge", charge)];
    pairs.extend(amount.map(|amount| ("amount", amount)));
    Request::form("payment", "/v1/refunds", &pairs)
}

/// Reads once whether a charge has a refund.
pub(crate) fn look_refunded(world: &World, charge: &str) -> Sight {
    let read = world.read("payment", &format!("/v1/refunds?limit=100&charge={}", escaped(charge)), 1);
    let is_of = |refund: &Value| refund["charge"] == charge;
    Sight::of(read.and_then(rows).map(|refunds| refunds.iter().any(is_of)))
}

/// Captures a hold once.
pub(crate) fn capture_once(world: &World, charge: &str, key: &str) -> Outcome {
    once(world, |tries: &Tries| capture(charge, tries.key(key)), || look_captured(world, charge)).0
}

/// Refunds a charge once, in part if there is an amount.
pub(crate) fn refund_once(world: &World, charge: &str, amount: Option<&str>, key: &str) -> Outcome {
    let request = |tries: &Tries| refund(charge, amount, tries.key(key));
    once(world, request, || look_refunded(world, charge)).0
}
