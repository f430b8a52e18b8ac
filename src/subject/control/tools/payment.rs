//! Payments over Stripe's API: charges, holds, captures, refunds and subscriptions. Products and prices are in
//! `products`.

use mock_services::service::Fields;
use serde_json::{Value, json};

use super::{Observation, Tool, ToolError, products, read, required, rows, text, word};
use crate::scenario::Step;
use crate::subject::control::answer::ReplyClass;
use crate::subject::control::wire::{Content, ToolRequest, Wire, escaped};

pub(super) const TOOL: Tool = Tool {
    service: "payment",
    facts: |wire, step, _| facts(wire, step),
    write: |step, facts, _| write(step, facts),
    observe,
};

/// Fields with a parameter of their own; all others are metadata.
const PARAMETERS: [&str; 13] = [
    "card",
    "amount",
    "currency",
    "customer",
    "description",
    "source",
    "charge",
    "payment_intent",
    "reason",
    "subscription",
    "price",
    "quantity",
    "status",
];

fn facts(wire: &Wire<'_>, step: &Step) -> Result<Value, ToolError> {
    match step.operation.as_str() {
        "payment.refund" | "payment.capture" => find_charge(wire, step),
        "payment.upgrade" | "payment.unsubscribe" => find_subscription(wire, step),
        _ => match text(step, "card") {
            Some(number) => new_token(wire, number),
            None => Ok(Value::Null),
        },
    }
}

/// A token for a card, which can be charged once.
fn new_token(wire: &Wire<'_>, number: String) -> Result<Value, ToolError> {
    let parts = [("number", number), ("exp_month", "12".to_owned()), ("exp_year", "2034".to_owned())];
    let form = parts.map(|(name, value)| (format!("card[{name}]"), value)).to_vec();
    let reply = wire.send(&ToolRequest::new("payment", "POST", "/v1/tokens", Content::Form(form)));
    match reply.class {
        ReplyClass::Done => Ok(json!({ "source": word(&reply.body, "id") })),
        ReplyClass::Refused => Err(ToolError::Impossible("the card was refused".to_owned())),
        _ => Err(ToolError::Unanswered),
    }
}

/// The charge to refund or to capture.
fn find_charge(wire: &Wire<'_>, step: &Step) -> Result<Value, ToolError> {
    for name in ["charge", "payment_intent"] {
        if let Some(id) = text(step, name) {
            return Ok(json!({ "of": name, "id": id }));
        }
    }
    let order = required(step, "order")?;
    let found = charges(wire, step)?.into_iter().find(|charge| is_named(charge, "order", &order));
    let charge = found.ok_or_else(|| ToolError::Impossible(format!("no charge for order {order}")))?;
    Ok(json!({ "of": "charge", "id": word(&charge, "id") }))
}

/// The subscription to change, and its item.
fn find_subscription(wire: &Wire<'_>, step: &Step) -> Result<Value, ToolError> {
    let found = match text(step, "subscription") {
        Some(id) => read(wire, "payment", &format!("/v1/subscriptions/{}", escaped(&id)))?,
        None => subscriptions(wire, step, "")?.into_iter().next(),
    };
    let found = found.ok_or_else(|| ToolError::Impossible("no subscription to change".to_owned()))?;
    Ok(json!({ "id": word(&found, "id"), "item": found.pointer("/items/data/0/id") }))
}

/// Whether the object of an event of Stripe has changed since.
pub(super) fn is_stale_event(wire: &Wire<'_>, event: &Value) -> bool {
    let Some(then) = event.pointer("/data/object") else { return false };
    let place = match word(then, "object") {
        "charge" => "charges",
        "payment_intent" => "payment_intents",
        "subscription" => "subscriptions",
        _ => return false,
    };
    let path = format!("/v1/{place}/{}", escaped(word(then, "id")));
    matches!(read(wire, "payment", &path), Ok(Some(now)) if now != *then)
}

fn write(step: &Step, facts: &Value) -> Result<ToolRequest, ToolError> {
    let mut form: Vec<(String, String)> = Vec::new();
    let mut set =
        |name: &str, value: Option<String>| form.extend(value.map(|value| (name.to_owned(), value)));
    let path = match step.operation.as_str() {
        "payment.charge" | "payment.hold" => {
            set("amount", Some(required(step, "amount")?));
            set("currency", text(step, "currency").or(Some("usd".to_owned())));
            set("customer", text(step, "customer"));
            let token = facts.get("source").and_then(Value::as_str).map(str::to_owned);
            let usual = || text(step, "customer").is_none().then(|| "tok_visa".to_owned());
            set("source", text(step, "source").or(token).or_else(usual));
            set("description", text(step, "description"));
            set("capture", is_held(step).then(|| "false".to_owned()));
            "/v1/charges".to_owned()
        }
        "payment.capture" => {
            let (place, amount) = match word(facts, "of") {
                "payment_intent" => ("payment_intents", "amount_to_capture"),
                _ => ("charges", "amount"),
            };
            let path = format!("/v1/{place}/{}/capture", escaped(word(facts, "id")));
            let part = text(step, "amount").map(|part| (amount.to_owned(), part));
            return Ok(ToolRequest::new("payment", "POST", path, Content::Form(part.into_iter().collect())));
        }
        "payment.refund" => {
            set(word(facts, "of"), Some(word(facts, "id").to_owned()));
            set("amount", text(step, "amount"));
            set("reason", text(step, "reason"));
            "/v1/refunds".to_owned()
        }
        "payment.subscribe" => {
            set("customer", Some(required(step, "customer")?));
            set("items[0][price]", Some(required(step, "price")?));
            set("items[0][quantity]", text(step, "quantity"));
            "/v1/subscriptions".to_owned()
        }
        "payment.upgrade" => {
            set("items[0][id]", Some(word(facts, "item").to_owned()));
            set("items[0][price]", text(step, "price"));
            set("items[0][quantity]", text(step, "quantity"));
            format!("/v1/subscriptions/{}", escaped(word(facts, "id")))
        }
        "payment.unsubscribe" => {
            let path = format!("/v1/subscriptions/{}", escaped(word(facts, "id")));
            return Ok(ToolRequest::new("payment", "DELETE", path, Content::Nothing));
        }
        "payment.list" => {
            return Ok(ToolRequest::new("payment", "GET", charges_path(step), Content::Nothing));
        }
        "payment.product" | "payment.price" => return products::write(step),
        _ => return Err(super::unknown(step)),
    };
    form.extend(metadata(step, &PARAMETERS).map(|(name, value)| (format!("metadata[{name}]"), value)));
    Ok(ToolRequest::new("payment", "POST", path, Content::Form(form)))
}

fn observe(wire: &Wire<'_>, step: &Step, facts: &Value) -> Result<Observation, ToolError> {
    let is_there = match step.operation.as_str() {
        "payment.charge" | "payment.hold" => return Ok(charged(&charges(wire, step)?, step)),
        "payment.refund" => {
            let path = format!("/v1/refunds?limit=100&{}={}", word(facts, "of"), escaped(word(facts, "id")));
            let refunds = rows(read(wire, "payment", &path)?, "data");
            refunds.iter().any(|refund| {
                fits(refund, "amount", text(step, "amount")) && has_metadata(refund, step, &PARAMETERS)
            })
        }
        "payment.capture" => {
            let place = if word(facts, "of") == "payment_intent" { "payment_intents" } else { "charges" };
            let held = read(wire, "payment", &format!("/v1/{place}/{}", escaped(word(facts, "id"))))?
                .unwrap_or_default();
            // An intent has succeeded when its money was taken; a charge says so itself.
            if place == "charges" {
                held.get("captured") == Some(&Value::Bool(true))
            } else {
                word(&held, "status") == "succeeded"
            }
        }
        "payment.subscribe" => subscriptions(wire, step, "")?.iter().any(|one| has_item(one, step)),
        "payment.upgrade" => {
            let path = format!("/v1/subscriptions/{}", escaped(word(facts, "id")));
            read(wire, "payment", &path)?.is_some_and(|one| has_item(&one, step))
        }
        "payment.unsubscribe" => {
            let path = format!("/v1/subscriptions/{}", escaped(word(facts, "id")));
            read(wire, "payment", &path)?.is_none_or(|one| word(&one, "status") == "canceled")
        }
        "payment.list" => true,
        "payment.product" | "payment.price" => return products::observe(wire, step),
        _ => return Err(super::unknown(step)),
    };
    Ok(if is_there { Observation::Done } else { Observation::Absent })
}

/// What the charges show, the newest first. Of several for one intent the oldest is the one that was due.
fn charged(charges: &[Value], step: &Step) -> Observation {
    let standing =
        |charge: &&Value| is_this_charge(charge, step) && charge.get("refunded") != Some(&Value::Bool(true));
    let mut surplus: Vec<&str> = charges.iter().filter(standing).map(|charge| word(charge, "id")).collect();
    match surplus.pop() {
        // One that was given back had been taken.
        None if charges.iter().any(|charge| is_this_charge(charge, step)) => Observation::Done,
        None => Observation::Absent,
        Some(_) if surplus.is_empty() => Observation::Done,
        Some(_) => Observation::Surplus(surplus.into_iter().map(refund_of).collect()),
    }
}

/// The refund of everything that a charge took.
pub(super) fn undo(step: &Step) -> Option<Step> {
    let order = text(step, "order").filter(|_| step.operation == "payment.charge")?;
    Some(Step { operation: "payment.refund".to_owned(), with: Fields::new().with("order", order) })
}

fn refund_of(charge: &str) -> Step {
    let with = Fields::new().with("charge", charge).with("reason", "duplicate");
    Step { operation: "payment.refund".to_owned(), with }
}

fn charges_path(step: &Step) -> String {
    let customer = text(step, "customer").map(|customer| format!("&customer={}", escaped(&customer)));
    format!("/v1/charges?limit=100{}", customer.unwrap_or_default())
}

fn charges(wire: &Wire<'_>, step: &Step) -> Result<Vec<Value>, ToolError> {
    Ok(rows(read(wire, "payment", &charges_path(step))?, "data"))
}

fn subscriptions(wire: &Wire<'_>, step: &Step, more: &str) -> Result<Vec<Value>, ToolError> {
    let path =
        format!("/v1/subscriptions?limit=100&customer={}{more}", escaped(&required(step, "customer")?));
    Ok(rows(read(wire, "payment", &path)?, "data"))
}

/// What a step says that has no parameter of its own.
pub(super) fn metadata(step: &Step, parameters: &[&str]) -> impl Iterator<Item = (String, String)> {
    let others = step.with.iter().filter(|(name, _)| !parameters.contains(name));
    others.map(|(name, value)| (name.strip_prefix("metadata.").unwrap_or(name).to_owned(), value.to_string()))
}

/// Whether the money is only held, to be taken later.
fn is_held(step: &Step) -> bool {
    step.operation == "payment.hold"
}

fn is_this_charge(charge: &Value, step: &Step) -> bool {
    let currency = text(step, "currency").map(|currency| currency.to_lowercase());
    fits(charge, "amount", text(step, "amount"))
        && fits(charge, "currency", currency)
        && (is_held(step) || charge.get("captured") == Some(&Value::Bool(true)))
        && has_metadata(charge, step, &PARAMETERS)
}

pub(super) fn has_metadata(object: &Value, step: &Step, parameters: &[&str]) -> bool {
    metadata(step, parameters).all(|(name, value)| is_named(object, &name, &value))
}

fn has_item(subscription: &Value, step: &Step) -> bool {
    let items = subscription.pointer("/items/data").and_then(Value::as_array);
    let fitting = |item: &Value| {
        let price = item.pointer("/price/id").and_then(Value::as_str);
        text(step, "price").is_none_or(|wanted| price == Some(&wanted))
            && fits(item, "quantity", text(step, "quantity"))
    };
    items.is_some_and(|items| items.iter().any(fitting))
}

fn is_named(object: &Value, name: &str, value: &str) -> bool {
    object.get("metadata").is_some_and(|metadata| word(metadata, name) == value)
}

/// Whether a member has the wanted value; any value if none is wanted.
pub(super) fn fits(object: &Value, name: &str, wanted: Option<String>) -> bool {
    let actual =
        object.get(name).map(|actual| actual.as_str().map_or_else(|| actual.to_string(), str::to_owned));
    wanted.is_none_or(|wanted| actual == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> Step {
        let with = Fields::new()
            .with("customer", "cus_42")
            .with("amount", 4999)
            .with("order", "ord_1")
            .with("currency", "USD");
        Step { operation: "payment.charge".to_owned(), with }
    }

    fn charge(id: &str, order: &str, amount: i64, refunded: bool) -> Value {
        json!({
            "id": id, "amount": amount, "currency": "usd", "captured": true, "refunded": refunded,
            "metadata": {"order": order}
        })
    }

    #[test]
    fn a_charge_is_this_one_when_order_and_amount_are_its_own() {
        assert_eq!(charged(&[charge("ch_1", "ord_1", 4999, false)], &step()), Observation::Done);
        assert_eq!(charged(&[charge("ch_1", "ord_1", 4999, true)], &step()), Observation::Done);
        for other in [charge("ch_1", "ord_2", 4999, false), charge("ch_1", "ord_1", 5000, false)] {
            assert_eq!(charged(&[other], &step()), Observation::Absent);
        }
    }

    #[test]
    fn of_several_the_oldest_was_due_and_the_others_are_given_back() {
        let both = [charge("ch_2", "ord_1", 4999, false), charge("ch_1", "ord_1", 4999, false)];
        assert_eq!(charged(&both, &step()), Observation::Surplus(vec![refund_of("ch_2")]));
        let compensate = [charge("ch_2", "ord_1", 4999, true), charge("ch_1", "ord_1", 4999, false)];
        assert_eq!(charged(&compensate, &step()), Observation::Done);
    }

    #[test]
    fn fields_without_a_parameter_become_metadata() {
        let request = write(&step(), &Value::Null).unwrap();
        let Content::Form(form) = request.content else { panic!("a form") };
        let form: Vec<String> = form.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(form, ["amount=4999", "currency=USD", "customer=cus_42", "metadata[order]=ord_1"]);
    }

    #[test]
    fn money_that_is_held_is_taken_where_it_is_held() {
        let held = Step { operation: "payment.hold".to_owned(), ..step() };
        let Content::Form(form) = write(&held, &Value::Null).unwrap().content else { panic!("a form") };
        assert!(form.contains(&("capture".to_owned(), "false".to_owned())), "{form:?}");
        let metadata = json!({"order": "ord_1"});
        let waiting = json!({
            "id": "ch_1", "amount": 4999, "currency": "usd", "captured": false, "metadata": metadata
        });
        assert_eq!(
            [charged(std::slice::from_ref(&waiting), &held), charged(&[waiting], &step())],
            [Observation::Done, Observation::Absent]
        );
        let taken = Step {
            operation: "payment.capture".to_owned(),
            with: Fields::new().with("order", "ord_1").with("amount", 10),
        };
        for (of, path, amount) in [
            ("charge", "/v1/charges/x_1/capture", "amount"),
            ("payment_intent", "/v1/payment_intents/x_1/capture", "amount_to_capture"),
        ] {
            let request = write(&taken, &json!({"of": of, "id": "x_1"})).unwrap();
            assert_eq!(
                (request.path.as_str(), request.content),
                (path, Content::Form(vec![(amount.to_owned(), "10".to_owned())]))
            );
        }
    }

    #[test]
    fn a_step_without_what_it_needs_cannot_be_done() {
        let empty = Step { operation: "payment.charge".to_owned(), with: Fields::new() };
        assert_eq!(
            write(&empty, &Value::Null),
            Err(ToolError::Impossible("payment.charge needs the field `amount`".to_owned()))
        );
    }
}
