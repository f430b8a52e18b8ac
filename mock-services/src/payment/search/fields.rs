//! What can be searched for in each kind of object.

use crate::payment::metadata::Metadata;
use crate::payment::objects::{Charge, Customer, Intent, Object, Subscription};

/// What kind of values a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text that is compared whole.
    Token,
    /// Text that can also be searched for a part.
    Text,
    /// A number.
    Number,
}

/// What an object has in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(i64),
    /// Nothing.
    Nothing,
}

impl<'a> From<Option<&'a str>> for Seen<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Seen::Nothing, Seen::Text)
    }
}

impl From<bool> for Seen<'static> {
    fn from(flag: bool) -> Self {
        Seen::Text(if flag { "true" } else { "false" })
    }
}

/// An object that can be searched for.
pub(crate) trait Searchable: Object {
    /// The names of its fields and what they are.
    const FIELDS: &'static [(&'static str, Kind)];

    /// What it has in one of them.
    fn value(&self, field: &str) -> Seen<'_>;

    /// Its metadata.
    fn metadata(&self) -> &Metadata;
}

impl Searchable for Charge {
    const FIELDS: &'static [(&'static str, Kind)] = &[
        ("amount", Kind::Number),
        ("billing_details.address.postal_code", Kind::Token),
        ("created", Kind::Number),
        ("currency", Kind::Token),
        ("customer", Kind::Token),
        ("disputed", Kind::Token),
        ("payment_method_details.card.brand", Kind::Token),
        ("payment_method_details.card.exp_month", Kind::Token),
        ("payment_method_details.card.exp_year", Kind::Token),
        ("payment_method_details.card.fingerprint", Kind::Token),
        ("payment_method_details.card.last4", Kind::Token),
        ("refunded", Kind::Token),
        ("status", Kind::Token),
    ];

    fn value(&self, field: &str) -> Seen<'_> {
        match field {
            "amount" => Seen::Number(self.amount),
            "created" => Seen::Number(self.created),
            "currency" => Seen::Text(self.currency),
            "customer" => self.customer().into(),
            "disputed" => self.disputed.into(),
            "payment_method_details.card.brand" => Seen::Text(self.payment_method_details.card.brand),
            "payment_method_details.card.last4" => Seen::Text(self.payment_method_details.card.last4()),
            "refunded" => self.refunded.into(),
            "status" => Seen::Text(self.status),
            _ => Seen::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Intent {
    const FIELDS: &'static [(&'static str, Kind)] = &[
        ("amount", Kind::Number),
        ("created", Kind::Number),
        ("currency", Kind::Token),
        ("customer", Kind::Token),
        ("status", Kind::Token),
    ];

    fn value(&self, field: &str) -> Seen<'_> {
        match field {
            "amount" => Seen::Number(self.amount),
            "created" => Seen::Number(self.created),
            "currency" => Seen::Text(self.currency),
            "customer" => self.customer().into(),
            "status" => Seen::Text(self.status.word()),
            _ => Seen::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Customer {
    const FIELDS: &'static [(&'static str, Kind)] =
        &[("created", Kind::Number), ("email", Kind::Text), ("name", Kind::Text), ("phone", Kind::Text)];

    fn value(&self, field: &str) -> Seen<'_> {
        match field {
            "created" => Seen::Number(self.created),
            "email" => self.email.as_deref().into(),
            "name" => self.name.as_deref().into(),
            "phone" => self.phone.as_deref().into(),
            _ => Seen::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Searchable for Subscription {
    const FIELDS: &'static [(&'static str, Kind)] =
        &[("canceled_at", Kind::Number), ("created", Kind::Number), ("status", Kind::Token)];

    fn value(&self, field: &str) -> Seen<'_> {
        match field {
            "canceled_at" => self.canceled_at.map_or(Seen::Nothing, Seen::Number),
            "created" => Seen::Number(self.created),
            "status" => Seen::Text(self.status),
            _ => Seen::Nothing,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
