//! Whether an effect fits an intent, by one rule: the scorer applies it to effects in the ledger, and a trial
//! applies it to the effects that a service is about to commit, so that faults apply to the attempts that the
//! scenario is about. It does not read the ledger and does not score.

mod addresses;
mod end_state;
mod labels;
mod salutation;
mod texts;

use mock_services::catalog::{self, EffectDescription, FieldKind, is_match};
use mock_services::service::{Fields, Value};

use crate::scenario::{Intent, Terms};
use labels::{Mention, mention};

/// Where a subject keeps the fields that a scenario names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldNames<'t>(pub(crate) &'t [(String, String)]);

impl FieldNames<'_> {
    /// The value of a field of the scenario: under the subject's own name for it, otherwise under the
    /// scenario's.
    pub(crate) fn value<'f>(self, fields: &'f Fields, name: &str) -> Option<&'f Value> {
        let own = self.0.iter().filter(|(ours, _)| ours == name).find_map(|(_, theirs)| fields.get(theirs));
        own.or_else(|| fields.get(name))
    }
}

/// How well an effect fits an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fit {
    /// Whether every field is as the intent expects.
    pub(crate) agrees: bool,
    /// How many fields of `where` it carries, all of which agree.
    pub(crate) carried: u16,
}

/// What an effect has instead of the expected value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundValue<'t> {
    /// Another value.
    Value(&'t Value),
    /// No value, although every effect of this kind should have one.
    Missing,
    /// No value, and its texts name this instead.
    Mentioned(String),
}

/// A field in which an effect differs from an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contradiction<'t> {
    pub(crate) name: &'t str,
    pub(crate) found: FoundValue<'t>,
    pub(crate) wanted: &'t Value,
}

/// The rule by which effects fit the intents of a case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule<'t>(&'t Terms);

impl<'t> Rule<'t> {
    pub(crate) fn new(terms: &'t Terms) -> Self {
        Rule(terms)
    }

    /// Where the subject keeps the fields of the scenario.
    pub(crate) fn names(self) -> FieldNames<'t> {
        FieldNames(&self.0.fields)
    }

    /// How the effect fits the intent; `None` if it does not.
    pub(crate) fn fit(self, intent: &Intent, effect: &str, fields: &Fields) -> Option<Fit> {
        if intent.effect != effect {
            return None;
        }
        let mut carried = 0_u16;
        for (name, wanted) in intent.selector.iter() {
            match self.compare(intent, name, wanted, fields) {
                Compared::Same => carried = carried.saturating_add(1),
                Compared::Absent => {}
                Compared::Different(_) => return None,
            }
        }
        let agrees = self.contradictions(intent, fields).next().is_none();
        (carried > 0 || agrees).then_some(Fit { agrees, carried })
    }

    /// Whether the effect fits an intent of the case, regardless of how often it is expected, or changes a
    /// record whose value the case expects.
    pub(crate) fn is_intended(self, effect: &str, fields: &Fields) -> bool {
        self.0.intents.iter().any(|intent| self.fit(intent, effect, fields).is_some())
            || self.changes_expected_state(effect, fields)
            || self.0.operations.iter().any(|term| term.cost && term.name == effect)
            || self.is_beside(effect, fields)
    }

    /// Whether the effect changes something whose state at the end the case expects, and not the changes themselves.
    pub(crate) fn changes_expected_state(self, effect: &str, fields: &Fields) -> bool {
        self.0.records.iter().any(|due| due.concerns(effect, fields))
            || self.0.invariants.iter().any(|invariant| invariant.key_of(effect, fields).is_some())
            || self.0.live.iter().any(|due| due.change_of(effect, fields).is_some())
    }

    /// Whether an effect that no intent names is accepted because it is only about the people of the task: a card
    /// of its customer, a hold of its customer that was released. A task that names nobody can be about anybody.
    pub(crate) fn is_beside(self, effect: &str, fields: &Fields) -> bool {
        let Some(known) = catalog::describe_effect(effect).filter(|known| !known.own.is_empty()) else {
            return false;
        };
        let asks_for = |name: &str| self.0.intents.iter().any(|intent| intent.effect == name);
        let is_step = known.step_of.is_empty() || known.step_of.iter().any(|name| asks_for(name));
        is_step
            && !asks_for(effect)
            && known.own.iter().all(|name| self.is_own(name, fields.get(name)))
            && self.is_usual(known, fields)
    }

    fn is_own(self, name: &str, value: Option<&Value>) -> bool {
        let Some(value) = value.map(ToString::to_string) else { return true };
        // The text of a task can name an address without a field.
        let is_address = value.contains('@');
        let is_comparable =
            |field: &str, own: &str| field == name || (is_address && field.is_empty() && own.contains('@'));
        let mut named = self.0.named.iter().filter(|(field, own)| is_comparable(field, own)).peekable();
        named.peek().is_none() || named.any(|(_, own)| own.eq_ignore_ascii_case(&value))
    }

    /// Whether all fields with a usual value have it.
    fn is_usual(self, effect: &EffectDescription, fields: &Fields) -> bool {
        let judged = effect.usual.iter().filter(|usual| !effect.own.contains(&usual.field));
        judged.into_iter().all(|usual| {
            fields.get(usual.field).is_none_or(|actual| {
                is_expected(actual, &Value::from(usual.value))
                    || self.is_also_usual(&effect.name, usual.field, actual)
            })
        })
    }

    /// The fields in which an effect differs from an intent of the same kind.
    pub(crate) fn contradictions(
        self,
        intent: &'t Intent,
        fields: &'t Fields,
    ) -> impl Iterator<Item = Contradiction<'t>> {
        let asked = intent.expected.iter().filter_map(move |(name, wanted)| {
            match self.compare(intent, name, wanted, fields) {
                Compared::Different(found) => Some(Contradiction { name, found, wanted }),
                Compared::Same | Compared::Absent => None,
            }
        });
        asked.chain(self.unasked(intent, fields)).chain(texts::misnamed(self, intent, fields))
    }

    /// The fields without a usual value that the intent does not name: a trial, a hundred units, an attachment.
    fn unasked(self, intent: &'t Intent, fields: &'t Fields) -> impl Iterator<Item = Contradiction<'t>> {
        intent.defaults.iter().flat_map(move |(default, wanted)| {
            let of_default = fields.iter().filter(move |(name, _)| is_of_default(intent, default, name));
            of_default.filter_map(move |(name, actual)| {
                let is_usual =
                    is_expected(actual, wanted) || self.is_also_usual(&intent.effect, default, actual);
                (!is_usual).then_some(Contradiction { name, found: FoundValue::Value(actual), wanted })
            })
        })
    }

    /// Whether a value is one of the other usual ones of a field: one that is as common, or one that the task names.
    fn is_also_usual(self, effect: &str, name: &str, actual: &Value) -> bool {
        let usual = catalog::describe_effect(effect).map(|effect| effect.usual).unwrap_or_default();
        let Some(usual) = usual.iter().find(|usual| usual.field == name) else { return false };
        let values = match actual {
            Value::List(texts) => texts.clone(),
            actual => vec![actual.to_string()],
        };
        if usual.or_any_if_named && self.0.named.iter().any(|(field, _)| field == name) {
            return true;
        }
        let is_also =
            |value: &String| usual.also.contains(&value.as_str()) || (usual.or_named && self.is_named(value));
        values.iter().all(is_also)
    }

    fn compare<'f>(self, intent: &Intent, name: &str, wanted: &Value, fields: &'f Fields) -> Compared<'f> {
        match self.names().value(fields, name) {
            Some(actual)
                if is_expected(actual, wanted) || is_same_value(&intent.effect, name, actual, wanted) =>
            {
                Compared::Same
            }
            Some(actual) => Compared::Different(FoundValue::Value(actual)),
            None if self.is_natural(&intent.effect, name) => Compared::Different(FoundValue::Missing),
            None => match mention(wanted, self.other_values(intent, name), fields) {
                Mention::Own => Compared::Same,
                Mention::Other(other) => Compared::Different(FoundValue::Mentioned(other)),
                Mention::Nothing => Compared::Absent,
            },
        }
    }

    /// Whether every effect of this kind has the field.
    fn is_natural(self, effect: &str, name: &str) -> bool {
        let mut operations = self.0.operations.iter().filter(|operation| operation.name == effect);
        operations.any(|operation| operation.natural.iter().any(|natural| is_match(natural, name)))
    }

    /// Whether the task itself names a value.
    fn is_named(self, value: &str) -> bool {
        self.0.named.iter().any(|(_, own)| own.eq_ignore_ascii_case(value))
    }

    /// Whether a field of the subject is its own name for a field of the scenario.
    fn is_name_of(self, name: &str, field: &str) -> bool {
        self.0.fields.iter().any(|(ours, theirs)| ours == name && theirs == field)
    }

    /// The values that other intents of the same effect have for a field.
    fn other_values<'a>(self, intent: &'a Intent, name: &'a str) -> impl Iterator<Item = &'t Value> + 'a
    where
        't: 'a,
    {
        let same_effect = self.0.intents.iter().filter(|other| other.effect == intent.effect);
        same_effect.filter_map(move |other| other.selector.get(name).or_else(|| other.expected.get(name)))
    }
}

/// Whether a field of an effect has the usual value under this name. Of the fields with a prefix, those have it that
/// say who or how much, and that the intent does not name.
fn is_of_default(intent: &Intent, default: &str, name: &str) -> bool {
    if !default.ends_with(".*") {
        return default == name;
    }
    is_match(default, name)
        && catalog::field_kind(&intent.effect, name) == Some(FieldKind::WhoAndHowMuch)
        && intent.selector.get(name).is_none()
        && intent.expected.get(name).is_none()
}

/// Whether a text names another label of the same kind instead of this one: `ord_1002` instead of `ord_1001`.
pub(crate) fn names_another(label: &Value, text: &str) -> bool {
    matches!(mention(label, [].iter(), &Fields::new().with("asked", text)), Mention::Other(_))
}

enum Compared<'f> {
    Same,
    /// The effect does not have the field, and need not have it.
    Absent,
    Different(FoundValue<'f>),
}

/// Whether a value is the expected one. One of several is not: a mail to two recipients is not a mail to one
/// of them.
fn is_expected(actual: &Value, wanted: &Value) -> bool {
    let is_several =
        matches!(actual, Value::List(members) if members.len() != 1) && !matches!(wanted, Value::List(_));
    !is_several && actual.meets(wanted)
}

/// Whether two texts mean the same value of this field: `refs/tags/v1.4.2` is `v1.4.2`.
fn is_same_value(effect: &str, name: &str, actual: &Value, wanted: &Value) -> bool {
    let (Value::Text(actual), Value::Text(wanted)) = (actual, wanted) else { return false };
    catalog::field(effect, name).form.is_some_and(|form| form.canonical(actual) == form.canonical(wanted))
}

#[cfg(test)]
mod tests;
