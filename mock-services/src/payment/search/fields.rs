//! The searchable fields of each type of object.

use crate::payment::metadata::Metadata;
use crate::payment::objects::{Charge, Customer, Intent, Object, Price, Product, Subscription};

/// The type of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchFieldKind {
    /// Text that is compared whole.
    Token,
    /// Text that can also be searched for a substring.
    Text,
    /// A number.
    Number,
}

/// The value of a field of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValue<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(i64),
    /// Nothing.
    Nothing,
}

impl<'a> From<Option<&'a str>> for FieldValue<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(FieldValue::Nothing, FieldValue::Text)
    }
}

impl From<bool> for FieldValue<'static> {
    fn from(flag: bool) -> Self {
        FieldValue::Text(if flag { "true" } else { "false" })
    }
}

/// An object that can be searched.
pub(crate) trait Searchable: Object {
    /// Its field names and their types.
    const FIELDS: &'static [(&'static str, SearchFieldKind)];

    /// The value of a field.
    fn value(&self, field: &str) -> FieldValue<'_>;

    /// Its metadata.
    fn metadata(&self) -> &Metadata;
}

impl Searchable for Charge {
    const FIELDS: &'static [(&'static str, SearchFieldKind)] = &[
        ("amount", SearchFieldKind::Number),
        ("billing_details.address.postal_code", SearchFieldKind::Token),
        ("created", SearchFieldKind::Number),
        ("currency", SearchFieldKind::Token),
        ("customer", SearchFieldKind::Token),
        ("disputed", SearchFieldKind::Token),
        ("payment_method_details.card.brand", SearchFieldKind::Token),
        ("payment_method_details.card.exp_month", SearchFieldKind::Token),
        ("payment_method_details.card.exp_year", SearchFieldKind::Token),
        ("payment_method_details.card.fingerprint", SearchFieldKind::Token),
        ("payment_method_details.card.last4", SearchFieldKind::Token),
        ("refunded", SearchFieldKind::Token),
        ("status", SearchFieldKind::Token),
    ];

    fn value(&self, field: &str) -> FieldValue<'_> {
        match field {
            "amount" => FieldValue::Number(self.amount),
            "created" => FieldValue::Number(self.created),
            "currency" => FieldValue::Text(self.currency),
            "customer" => self.customer().into(),
            "disputed" => self.disputed.into(),
            "payment_method_details.card.brand" => FieldValue::Text(self.payment_method_details.card.brand),
            "payment_method_details.card.last4" => FieldValue::Text(self.payment_method_details.card.last4()),
            "refunded" => self.refunded.into(),
            "status" => FieldValue::Text(self.status),
            _ => FieldValue::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Intent {
    const FIELDS: &'static [(&'static str, SearchFieldKind)] = &[
        ("amount", SearchFieldKind::Number),
        ("created", SearchFieldKind::Number),
        ("currency", SearchFieldKind::Token),
        ("customer", SearchFieldKind::Token),
        ("status", SearchFieldKind::Token),
    ];

    fn value(&self, field: &str) -> FieldValue<'_> {
        match field {
            "amount" => FieldValue::Number(self.amount),
            "created" => FieldValue::Number(self.created),
            "currency" => FieldValue::Text(self.currency),
            "customer" => self.customer().into(),
            "status" => FieldValue::Text(self.status.as_str()),
            _ => FieldValue::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Customer {
    const FIELDS: &'static [(&'static str, SearchFieldKind)] = &[
        ("created", SearchFieldKind::Number),
        ("email", SearchFieldKind::Text),
        ("name", SearchFieldKind::Text),
        ("phone", SearchFieldKind::Text),
    ];

    fn value(&self, field: &str) -> FieldValue<'_> {
        match field {
            "created" => FieldValue::Number(self.created),
            "email" => self.email.as_deref().into(),
            "name" => self.name.as_deref().into(),
            "phone" => self.phone.as_deref().into(),
            _ => FieldValue::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Subscription {
    const FIELDS: &'static [(&'static str, SearchFieldKind)] = &[
        ("canceled_at", SearchFieldKind::Number),
        ("created", SearchFieldKind::Number),
        ("status", SearchFieldKind::Token),
    ];

    fn value(&self, field: &str) -> FieldValue<'_> {
        match field {
            "canceled_at" => self.canceled_at.map_or(FieldValue::Nothing, FieldValue::Number),
            "created" => FieldValue::Number(self.created),
            "status" => FieldValue::Text(self.status),
            _ => FieldValue::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Product {
    const FIELDS: &'static [(&'static str, SearchFieldKind)] = &[
        ("active", SearchFieldKind::Token),
        ("description", SearchFieldKind::Text),
        ("name", SearchFieldKind::Text),
        ("shippable", SearchFieldKind::Token),
        ("url", SearchFieldKind::Text),
    ];

    fn value(&self, field: &str) -> FieldValue<'_> {
        match field {
            "active" => self.active.into(),
            "description" => self.description.as_deref().into(),
            "name" => FieldValue::Text(&self.name),
            "shippable" => self.shippable.map_or(FieldValue::Nothing, FieldValue::from),
            "url" => self.url.as_deref().into(),
            _ => FieldValue::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Price {
    const FIELDS: &'static [(&'static str, SearchFieldKind)] = &[
        ("active", SearchFieldKind::Token),
        ("currency", SearchFieldKind::Token),
        ("lookup_key", SearchFieldKind::Token),
        ("product", SearchFieldKind::Token),
        ("type", SearchFieldKind::Token),
    ];

    fn value(&self, field: &str) -> FieldValue<'_> {
        match field {
            "active" => self.active.into(),
            "currency" => FieldValue::Text(self.currency),
            "lookup_key" => self.lookup_key.as_deref().into(),
            "product" => FieldValue::Text(self.product.id()),
            "type" => FieldValue::Text(self.r#type),
            _ => FieldValue::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
