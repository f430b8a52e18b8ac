//! What the ledger says of subscriptions, customers and labels: the whole of it, so that nothing that changes
//! what a customer owes, gets or can see goes unseen. Identity comes from the thing that was acted on, never
//! from what the caller wrote on it alone.

use std::sync::Arc;

use super::effects::{Change, Described};
use super::metadata::Metadata;
use super::objects::{Customer, Item, Subscription};
use crate::service::{Fields, Value};

/// A subscription with all of its items. `before` has the labels that it had when it was acted on.
pub(crate) fn subscription(subscription: &Subscription, before: &Metadata) -> Fields {
    let mut fields = Fields::new().with("customer", subscription.customer.id());
    match subscription.items.as_slice() {
        [item] => {
            fields.set("price", item.price.as_str());
            fields.set("quantity", item.quantity);
        }
        // The price of one item would tell nothing of the others.
        items => {
            fields.set("price", items.iter().map(|item| item.price.clone()).collect::<Vec<_>>());
            fields.set("quantity", items.iter().map(|item| item.quantity.to_string()).collect::<Vec<_>>());
        }
    }
    fields.set("items", subscription.items.iter().map(shown).collect::<Vec<_>>());
    fields.set("currency", subscription.currency);
    fields.set("subscription", subscription.id.as_str());
    before.describe_with_own(&subscription.metadata, &mut fields);
    fields
}

/// An item: `price_pro x 2`.
fn shown(item: &Item) -> String {
    format!("{} x {}", item.price, item.quantity)
}

/// Labels of something that happened, before and after a change.
pub(crate) struct Labels<'a> {
    /// What it is: `charge`, `refund`, …
    pub(crate) object: &'static str,
    /// Which one.
    pub(crate) id: &'a str,
    /// Whose.
    pub(crate) customer: Option<&'a str>,
    /// The labels as they were.
    pub(crate) old: &'a Metadata,
    /// The labels as they are.
    pub(crate) new: &'a Metadata,
    /// What else a customer can see of it and is another now: name and value.
    pub(crate) seen: Vec<(&'static str, Option<String>)>,
}

impl Labels<'_> {
    /// The change, where it says something else of what happened.
    pub(crate) fn relabelled(self) -> Option<Change> {
        if self.seen.is_empty() && !self.new.relabels(self.old) {
            return None;
        }
        let mut fields = Fields::new()
            .with("object", self.object)
            .with(self.object, self.id)
            .with_some("customer", self.customer);
        self.old.describe_with_own(self.new, &mut fields);
        for name in self.old.names().filter(|name| self.new.get(name).is_none()) {
            fields.set(format!("own_metadata.{name}"), NONE);
        }
        for (name, value) in self.seen {
            fields.set(name, value.unwrap_or_else(|| NONE.to_owned()));
        }
        Some(Change::Relabelled(Arc::new(Described { id: self.id.to_owned(), fields })))
    }
}

/// What stands in an effect for something that was taken away.
const NONE: &str = "none";

/// A text that is another now, under this name.
pub(crate) fn differs(
    name: &'static str,
    old: Option<&String>,
    new: Option<&String>,
) -> Option<(&'static str, Option<String>)> {
    (old != new).then(|| (name, new.cloned()))
}

/// What is another now of all that a customer owes, gets or can see. Notes and labels on a customer are for
/// those who sell alone.
pub(crate) fn customer(old: &Customer, new: &Customer) -> Option<Fields> {
    let mut fields = Fields::new().with("customer", new.id.as_str());
    let mut compare = |name: &'static str, old: Value, new: Value| {
        if old != new {
            fields.set(name, new);
        }
    };
    let text = |text: &Option<String>| Value::from(text.as_deref().unwrap_or(NONE));
    compare("balance", old.balance.into(), new.balance.into());
    compare("email", text(&old.email), text(&new.email));
    compare("name", text(&old.name), text(&new.name));
    compare("phone", text(&old.phone), text(&new.phone));
    compare("address", json(&old.address), json(&new.address));
    compare("shipping", json(&old.shipping), json(&new.shipping));
    compare("preferred_locales", old.preferred_locales.clone().into(), new.preferred_locales.clone().into());
    compare("tax_exempt", old.tax_exempt.into(), new.tax_exempt.into());
    compare("default_source", text(&old.default_source), text(&new.default_source));
    let method = |customer: &Customer| text(&customer.invoice_settings.default_payment_method);
    compare("default_payment_method", method(old), method(new));
    (fields.len() > 1).then_some(fields)
}

fn json(value: &Option<impl serde::Serialize>) -> Value {
    let shown = value.as_ref().and_then(|value| serde_json::to_string(value).ok());
    shown.map_or_else(|| Value::from(NONE), Value::from)
}
