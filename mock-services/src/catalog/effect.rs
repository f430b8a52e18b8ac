//! What is known of one effect of a service: the fields that it carries, the words for it, and how it relates
//! to other effects.

use crate::service::{Fields, Value};

/// What is known of one effect of a service.
#[derive(Debug, Clone, Default)]
pub struct EffectDescription {
    /// The name of the effect: `payment.charge`.
    pub name: String,
    /// The fields that every such effect has: where an intent names one of them, an effect without it is not
    /// as asked.
    pub natural: Vec<String>,
    /// All fields that it can carry. A name that ends in `.*` stands for all that begin so.
    pub carried: Vec<String>,
    /// The fields with a usual value.
    pub usual: &'static [UsualValue],
    /// One of it and several of it, in findings and reports: `("charge", "charges")`.
    pub noun: Option<(&'static str, &'static str)>,
    /// What was done, in the past tense: `charged`.
    pub past_tense: Option<&'static str>,
    /// Operations with another name that make this effect: a capture makes a charge.
    pub made_by: &'static [&'static str],
    /// The effect that must exist before this one is possible: an upgrade changes a subscription.
    pub needs: Option<String>,
    /// The effect that this one undoes.
    pub undoes: Option<Undoes>,
    /// How it changes a record or a counter.
    pub store: Option<StoreChange>,
    /// How to fix a subject that made this effect although nothing asked for it, as a sentence.
    pub fix_unintended: Option<&'static str>,
}

/// The value that a field of an effect has unless the request asks for another one. An intent that does not
/// name the field means this value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualValue {
    /// The field.
    pub field: &'static str,
    /// Its usual value.
    pub value: &'static str,
    /// Another field by which an intent can say the same.
    pub also_named_by: Option<&'static str>,
}

/// Which effect is undone by another one of the whole amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undoes {
    /// The effect that is undone.
    pub effect: &'static str,
    /// The fields that say which one, in both effects; the first is also the id of the effect that is undone.
    pub by: &'static [&'static str],
}

/// How an effect changes a record or a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreChange {
    /// What it changes.
    pub kind: StoreKind,
    /// The field with the key of the record or the name of the counter.
    pub key: &'static str,
    /// What it is changed to.
    pub value: StoredValue,
}

/// What a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// A value under a key.
    Record,
    /// A number that is moved.
    Counter,
}

/// What a record or a counter is changed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredValue {
    /// The value of the field `value`.
    Set,
    /// Nothing: it is removed.
    Removed,
    /// The sum of what it was and of the field `by`; the order of such changes makes no difference.
    Added,
}

impl UsualValue {
    /// A field and its usual value.
    #[must_use]
    pub const fn new(field: &'static str, value: &'static str) -> Self {
        UsualValue { field, value, also_named_by: None }
    }

    /// The same, where an intent can name another field instead.
    #[must_use]
    pub const fn or_named_by(mut self, other: &'static str) -> Self {
        self.also_named_by = Some(other);
        self
    }
}

impl StoreChange {
    /// What the record or the counter holds after an effect with these fields.
    #[must_use]
    pub fn after(&self, before: Option<Value>, fields: &Fields) -> Option<Value> {
        match (self.value, before, fields.get("by")) {
            (StoredValue::Removed, ..) => None,
            (StoredValue::Added, None, Some(Value::Number(by))) => Some(Value::Number(*by)),
            (StoredValue::Added, Some(Value::Number(sum)), Some(Value::Number(by))) => {
                Some(Value::Number(sum.saturating_add(*by)))
            }
            (StoredValue::Set | StoredValue::Added, ..) => fields.get("value").cloned(),
        }
    }
}

impl EffectDescription {
    /// An effect, and the fields that every such effect has.
    #[must_use]
    pub fn new(name: &str, natural: &[&str]) -> Self {
        let natural: Vec<String> = natural.iter().map(|name| (*name).to_owned()).collect();
        EffectDescription {
            name: name.to_owned(),
            carried: natural.clone(),
            natural,
            ..EffectDescription::default()
        }
    }

    /// Adds fields with a usual value.
    #[must_use]
    pub fn usual(mut self, usual: &'static [UsualValue]) -> Self {
        for UsualValue { field, .. } in usual {
            for names in [&mut self.natural, &mut self.carried] {
                if !names.iter().any(|have| have == field) {
                    names.push((*field).to_owned());
                }
            }
        }
        self.usual = usual;
        self
    }

    /// Adds free-form fields that the effect can carry and may leave out.
    #[must_use]
    pub fn labels(mut self, labels: &[&str]) -> Self {
        self.carried.extend(labels.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Says what one of it and several of it are called.
    #[must_use]
    pub fn noun(mut self, one: &'static str, several: &'static str) -> Self {
        self.noun = Some((one, several));
        self
    }

    /// Whether it can carry the field.
    #[must_use]
    pub fn carries(&self, field: &str) -> bool {
        self.carried.iter().any(|have| match have.strip_suffix('*') {
            Some(stem) => field.starts_with(stem),
            None => have == field,
        })
    }
}
