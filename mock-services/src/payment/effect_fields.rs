//! The ledger's fields of subscriptions, customers, products, prices and labels. They are complete, so that every change of
//! what a customer owes, receives or sees is visible. The identity of an effect comes from the object it
//! changes, never only from what the caller wrote on it.

use std::sync::Arc;

use super::calls::CallContext;
use super::calls::charge::steps::shipping_text;
use super::effects::{EffectFields, PaymentChange};
use super::metadata::Metadata;
use super::objects::{
    Customer, Expandable, PaymentMethod, Price, Product, ShippingDetails, Subscription, SubscriptionItem,
};
use crate::service::{Fields, Value};

/// A subscription with all its items. `before` are the labels that it had before the call.
pub(crate) fn subscription(subscription: &Subscription, before: &Metadata) -> Fields {
    let mut fields = Fields::new().with("customer", subscription.customer.id());
    match subscription.items.as_slice() {
        [item] => {
            fields.set("price", item.price.id.as_str());
            fields.set("quantity", item.quantity);
        }
        // The price of one item would hide the others.
        items => {
            fields.set("price", items.iter().map(|item| item.price.id.clone()).collect::<Vec<_>>());
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
fn shown(item: &SubscriptionItem) -> String {
    format!("{} x {}", item.price.id, item.quantity)
}

/// The labels of an object before and after an update.
pub(crate) struct LabelUpdate<'a> {
    /// The type of the object: `charge`, `refund`, …
    pub(crate) object: &'static str,
    /// The id of the object.
    pub(crate) id: &'a str,
    /// The customer of the object.
    pub(crate) customer: Option<&'a str>,
    /// The labels before.
    pub(crate) old: &'a Metadata,
    /// The labels after.
    pub(crate) new: &'a Metadata,
    /// Other changed fields that the customer sees: name and value.
    pub(crate) seen: Vec<(&'static str, Option<String>)>,
}

impl LabelUpdate<'_> {
    /// The change, if a label or a visible field differs.
    pub(crate) fn change(self) -> Option<PaymentChange> {
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
        Some(PaymentChange::Relabeled(Arc::new(EffectFields { id: self.id.to_owned(), fields })))
    }
}

/// The value of a removed field in an effect.
const NONE: &str = "none";

/// Adds a text that differs, under this name.
pub(crate) fn differs(
    name: &'static str,
    old: Option<&String>,
    new: Option<&String>,
) -> Option<(&'static str, Option<String>)> {
    (old != new).then(|| (name, new.cloned()))
}

/// The changed fields of what a customer owes, receives or sees. Notes and labels on a customer are only seen
/// by the seller.
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
    let method = |customer: &Customer| {
        Value::from(customer.invoice_settings.default_payment_method.as_ref().map_or(NONE, Expandable::id))
    };
    compare("default_payment_method", method(old), method(new));
    (fields.len() > 1).then_some(fields)
}

/// A new customer.
pub(crate) fn new_customer(customer: &Customer) -> Fields {
    Fields::new()
        .with("customer", customer.id.as_str())
        .with_some("email", customer.email.as_deref())
        .with_some("name", customer.name.as_deref())
        .with_some("phone", customer.phone.as_deref())
}

/// A payment method that is attached to a customer.
pub(crate) fn attached_method(method: &PaymentMethod) -> Fields {
    Fields::new()
        .with("payment_method", method.id.as_str())
        .with_some("customer", method.customer.as_ref().map(Expandable::id))
        .with_some("card", method.card.unusual_name())
}

/// What the payer of a charge notices besides the money, as far as it is not what the customer has anyway: where
/// the receipt and the goods go, and whether the card is kept for later charges.
pub(crate) fn noticed(
    context: &CallContext<'_>,
    customer: Option<&str>,
    (receipt_email, shipping): (Option<&str>, &Option<Box<ShippingDetails>>),
    setup_future_usage: Option<&'static str>,
) -> Option<Box<Fields>> {
    if receipt_email.is_none() && shipping.is_none() && setup_future_usage.is_none() {
        return None;
    }
    let customer = customer.and_then(|id| context.state.customer(context.options, id));
    let fields = Fields::new()
        .with_some("receipt_email", receipt_email.filter(|to| !is_own_address(customer.as_deref(), to)))
        .with_some(
            "shipping",
            shipping_text(shipping).filter(|to| {
                customer.as_ref().is_none_or(|own| shipping_text(&own.shipping).as_ref() != Some(to))
            }),
        )
        .with_some("setup_future_usage", setup_future_usage);
    (!fields.is_empty()).then(|| Box::new(fields))
}

/// Whether a mail address is that of the customer.
pub(crate) fn is_own_address(customer: Option<&Customer>, address: &str) -> bool {
    customer.and_then(|own| own.email.as_deref()).is_some_and(|own| own.eq_ignore_ascii_case(address))
}

/// A new product.
pub(crate) fn new_product(product: &Product) -> Fields {
    let mut fields = Fields::new()
        .with("product", product.id.as_str())
        .with("name", product.name.as_str())
        .with("active", flag(product.active))
        .with_some("description", product.description.as_deref());
    product.metadata.describe(&mut fields);
    fields
}

/// A new price.
pub(crate) fn new_price(price: &Price) -> Fields {
    let recurring = price.recurring.as_ref();
    let mut fields = Fields::new()
        .with("price", price.id.as_str())
        .with("product", price.product.id())
        .with("currency", price.currency)
        .with("active", flag(price.active))
        .with("unit_amount", amount(price))
        .with_some("interval", recurring.map(|recurring| recurring.interval))
        .with_some("interval_count", recurring.map(|recurring| recurring.interval_count))
        .with_some("lookup_key", price.lookup_key.as_deref())
        .with_some("nickname", price.nickname.as_deref());
    price.metadata.describe(&mut fields);
    fields
}

/// The amount of one unit; as text where it has a fraction.
fn amount(price: &Price) -> Value {
    price.unit_amount.map_or_else(|| price.unit_amount_decimal.as_str().into(), Value::from)
}

fn flag(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}

/// The changed fields of what the buyers of a product see.
pub(crate) fn product(old: &Product, new: &Product) -> Option<Fields> {
    let mut fields = Fields::new().with("product", new.id.as_str());
    let mut compare = |name: &'static str, old: Value, new: Value| {
        if old != new {
            fields.set(name, new);
        }
    };
    let text = |text: &Option<String>| Value::from(text.as_deref().unwrap_or(NONE));
    let price = |product: &Product| Value::from(product.default_price.as_ref().map_or(NONE, Expandable::id));
    let features = |product: &Product| -> Value {
        product.marketing_features.iter().map(|feature| feature.name.clone()).collect::<Vec<_>>().into()
    };
    compare("name", old.name.as_str().into(), new.name.as_str().into());
    compare("active", flag(old.active).into(), flag(new.active).into());
    compare("description", text(&old.description), text(&new.description));
    compare("default_price", price(old), price(new));
    compare("images", old.images.clone().into(), new.images.clone().into());
    compare("marketing_features", features(old), features(new));
    compare("shippable", json(&old.shippable), json(&new.shippable));
    compare("statement_descriptor", text(&old.statement_descriptor), text(&new.statement_descriptor));
    compare("tax_code", text(&old.tax_code), text(&new.tax_code));
    compare("unit_label", text(&old.unit_label), text(&new.unit_label));
    compare("url", text(&old.url), text(&new.url));
    (fields.len() > 1).then_some(fields)
}

/// The changed fields of whether and how a price can be bought.
pub(crate) fn price(old: &Price, new: &Price) -> Option<Fields> {
    let mut fields = Fields::new().with("price", new.id.as_str());
    let text = |text: &Option<String>| text.as_deref().unwrap_or(NONE).to_owned();
    for (name, old, new) in [
        ("active", flag(old.active).to_owned(), flag(new.active).to_owned()),
        ("lookup_key", text(&old.lookup_key), text(&new.lookup_key)),
        ("tax_behavior", old.tax_behavior.to_owned(), new.tax_behavior.to_owned()),
    ] {
        if old != new {
            fields.set(name, new);
        }
    }
    (fields.len() > 1).then_some(fields)
}

fn json(value: &Option<impl serde::Serialize>) -> Value {
    let shown = value.as_ref().and_then(|value| serde_json::to_string(value).ok());
    shown.map_or_else(|| Value::from(NONE), Value::from)
}
