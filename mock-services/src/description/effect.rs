//! The description of one effect of a service: its fields, the words for it, and how it relates to other
//! effects.

use super::is_match;
use crate::service::{Fields, Value};

/// The description of one effect of a service.
#[derive(Debug, Clone, Default)]
pub struct EffectDescription {
    /// The name of the effect: `payment.charge`.
    pub name: String,
    /// The fields that every such effect has. If an intent names one of them, an effect without it does not
    /// match the intent. A name that ends in `.*` includes all fields with that prefix.
    pub natural: Vec<String>,
    /// All fields that it can have. A name that ends in `.*` includes all fields with that prefix.
    pub carried: Vec<String>,
    /// The fields with a usual value.
    pub usual: &'static [UsualValue],
    /// Its nouns in findings and reports, singular and plural: `("charge", "charges")`.
    pub noun: Option<(&'static str, &'static str)>,
    /// What happens to the people that the effect is about, for the first sentence of a report.
    pub impact: Option<EffectImpact>,
    /// Its verb in the past tense: `charged`.
    pub past_tense: Option<&'static str>,
    /// Operations with another name that have this effect: a capture has the effect of a charge.
    pub made_by: &'static [&'static str],
    /// The operation that has this effect, if no operation is named after it: a charge that is declined.
    pub of: Option<&'static str>,
    /// The effect that must exist before this one: an upgrade needs a subscription.
    pub needs: Option<String>,
    /// The effect that this one undoes.
    pub undoes: Option<Undoes>,
    /// How it changes a record or a counter.
    pub store: Option<StoreChange>,
    /// How it changes what is live.
    pub live: Option<LiveChange>,
    /// Whether it is only a cost, or a step of another task: any number of them is accepted, unless a scenario
    /// names it, and the report counts them.
    pub is_cost: bool,
    /// Another effect with which a cost counts: if a scenario names that effect, this one counts as well.
    pub counts_with: Option<&'static str>,
    /// The fields that say whom it is about. An effect that no intent names is accepted if it is about the
    /// people of the task: a hold of its customer, the card of its customer. None if it is never accepted.
    pub own: &'static [&'static str],
    /// The effects of which it can be a step: it is accepted without an intent only beside an intent with one of
    /// them. Empty if it can be a step of any task.
    pub step_of: &'static [&'static str],
    /// The fields that a task need not name, and that must be the same in all attempts at one effect.
    pub steady: &'static [&'static str],
    /// The fields that together tell one such effect from the others that can be meant, whether or not a scenario
    /// names them: a key that is derived from fewer of them makes the next effect a repetition.
    pub told_apart_by: &'static [&'static str],
    /// What it is for an approval, if it is a part of one.
    pub approval: Option<ApprovalPart>,
    /// How to fix a subject that had this effect although the task did not ask for it, as a sentence.
    pub fix_unintended: Option<&'static str>,
}

/// What an effect is for an approval. Its id is that of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalPart {
    /// A question about the operation in the field [`ApprovalPart::OPERATION`], with its other fields.
    Question,
    /// The answer of a person, in the field [`ApprovalPart::DECISION`].
    Answer,
    /// The end of a question without an answer.
    Withdrawal,
}

impl ApprovalPart {
    /// The field with the operation that a question is about.
    pub const OPERATION: &str = "operation";
    /// The field with the answer.
    pub const DECISION: &str = "decision";
}

/// What an effect means to the people that it is about, without its number: a report adds `twice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectImpact {
    /// If it happens: `the customer paid`.
    pub happened: &'static str,
    /// If it does not happen although it is due: `the customer did not pay`.
    pub missing: &'static str,
}

/// The value that a field of an effect has if the request does not set it. An intent that does not name the
/// field means this value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualValue {
    /// The field. A name that ends in `.*` is all fields with that prefix.
    pub field: &'static str,
    /// Its usual value.
    pub value: &'static str,
    /// Another field with which an intent can say the same.
    pub also_named_by: Option<&'static str>,
    /// Other values that are as usual.
    pub also: &'static [&'static str],
    /// Whether a value that the task itself names is usual, too: the address of its recipient.
    pub or_named: bool,
    /// Whether any value is usual if the task names the field: a card has several names.
    pub or_any_if_named: bool,
}

/// The effect that another effect with the whole amount undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undoes {
    /// The effect that is undone.
    pub effect: &'static str,
    /// The fields that identify the undone effect, in both effects; the first is also the id of the undone
    /// one.
    pub by: &'static [&'static str],
    /// The field with the amount, in both effects.
    pub amount: &'static str,
}

/// How an effect changes what is live at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveChange {
    /// The field with the place: the environment of a deployment.
    pub place: &'static str,
    /// The field with the part of the place that it changes, if it does not change all of it.
    pub part: &'static str,
    /// The field with what is live afterwards; `None` if it takes away what an earlier effect made live.
    pub value: Option<&'static str>,
    /// The field with the id of the effect that made live what is taken away.
    pub id: &'static str,
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
    /// A number that is incremented.
    Counter,
}

/// What a record or a counter is changed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredValue {
    /// The value of a field.
    Set {
        /// The field.
        to: &'static str,
        /// The field of a step that reads the value, adds this number and writes the sum back.
        add: &'static str,
    },
    /// Nothing: it is removed.
    Removed,
    /// The sum of its value and the value of a field; the order of such changes does not matter.
    Added {
        /// The field with what is added.
        by: &'static str,
        /// The field with the sum.
        sum: &'static str,
    },
}

impl UsualValue {
    /// A field and its usual value.
    #[must_use]
    pub const fn new(field: &'static str, value: &'static str) -> Self {
        UsualValue { field, value, also_named_by: None, also: &[], or_named: false, or_any_if_named: false }
    }

    /// Adds other values that are as usual.
    #[must_use]
    pub const fn or(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }

    /// Makes a value that the task itself names a usual one.
    #[must_use]
    pub const fn or_named(mut self) -> Self {
        self.or_named = true;
        self
    }

    /// Makes any value a usual one if the task names the field.
    #[must_use]
    pub const fn or_any_if_named(mut self) -> Self {
        self.or_any_if_named = true;
        self
    }

    /// Adds another field that an intent can name instead.
    #[must_use]
    pub const fn or_named_by(mut self, other: &'static str) -> Self {
        self.also_named_by = Some(other);
        self
    }
}

impl StoreChange {
    /// The value of the record or the counter after an effect with these fields.
    #[must_use]
    pub fn after(&self, before: Option<Value>, fields: &Fields) -> Option<Value> {
        match self.value {
            StoredValue::Removed => None,
            StoredValue::Set { to, .. } => fields.get(to).cloned(),
            StoredValue::Added { by, sum } => match (before, fields.get(by)) {
                (None, Some(Value::Number(by))) => Some(Value::Number(*by)),
                (Some(Value::Number(before)), Some(Value::Number(by))) => {
                    Some(Value::Number(before.saturating_add(*by)))
                }
                _ => fields.get(sum).cloned(),
            },
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
            // Of the fields with a prefix, none is in every effect.
            let natural = (!field.ends_with(".*")).then_some(&mut self.natural);
            for names in natural.into_iter().chain([&mut self.carried]) {
                if !names.iter().any(|have| have == field) {
                    names.push((*field).to_owned());
                }
            }
        }
        self.usual = usual;
        self
    }

    /// Adds optional fields.
    #[must_use]
    pub fn labels(mut self, labels: &[&str]) -> Self {
        self.carried.extend(labels.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Sets its nouns, singular and plural.
    #[must_use]
    pub fn noun(mut self, one: &'static str, several: &'static str) -> Self {
        self.noun = Some((one, several));
        self
    }

    /// Sets what it means to the people that it is about, if it happens and if it is missing.
    #[must_use]
    pub fn impact(mut self, happened: &'static str, missing: &'static str) -> Self {
        self.impact = Some(EffectImpact { happened, missing });
        self
    }

    /// Accepts it without an intent if these fields say that it is about the people of the task.
    #[must_use]
    pub fn accepted_for_own(mut self, fields: &'static [&'static str]) -> Self {
        self.own = fields;
        self
    }

    /// Accepts it without an intent only in tasks that ask for one of these effects.
    #[must_use]
    pub fn step_of(mut self, effects: &'static [&'static str]) -> Self {
        self.step_of = effects;
        self
    }

    /// Adds optional fields that must be the same in all attempts at one effect.
    #[must_use]
    pub fn steady(mut self, fields: &'static [&'static str]) -> Self {
        self.carried.extend(
            fields
                .iter()
                .filter(|field| !self.natural.iter().any(|have| have == *field))
                .map(|field| (*field).to_owned()),
        );
        self.steady = fields;
        self
    }

    /// Sets the fields that together tell one such effect from the others that can be meant.
    #[must_use]
    pub fn told_apart_by(mut self, fields: &'static [&'static str]) -> Self {
        self.told_apart_by = fields;
        self
    }

    /// Makes it a cost.
    #[must_use]
    pub fn cost(mut self) -> Self {
        self.is_cost = true;
        self
    }

    /// Whether something says when a value of the field is wrong: every such effect has it, so that intents name it,
    /// or it has a usual value, or it must be about the people of the task.
    #[must_use]
    pub fn judges(&self, field: &str) -> bool {
        self.natural.iter().any(|have| have == field)
            || self.usual.iter().any(|usual| usual.field == field)
            || self.own.contains(&field)
    }

    /// Whether it can have the field.
    #[must_use]
    pub fn carries(&self, field: &str) -> bool {
        self.carried.iter().any(|have| is_match(have, field))
    }
}
