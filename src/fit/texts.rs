//! Labels and texts that contradict a value that the task names: a tag with another order, HTML that greets another
//! person than the recipient.

use mock_services::catalog::{self, FieldKind, FieldRole};
use mock_services::service::{Fields, Value};

use super::addresses::other_address;
use super::labels::{Mention, has_word, mention};
use super::salutation::{bare, greeted};
use super::{Contradiction, FoundValue, Rule};
use crate::scenario::Intent;

/// The labels and texts of an effect that contradict a value that the intent names.
pub(super) fn misnamed<'t>(
    rule: Rule<'t>,
    intent: &'t Intent,
    fields: &'t Fields,
) -> impl Iterator<Item = Contradiction<'t>> {
    let named = intent.selector.iter().chain(intent.expected.iter());
    named.filter(|(name, wanted)| is_telling(&intent.effect, name, wanted)).flat_map(move |(name, wanted)| {
        let others = fields.iter().filter(move |(field, _)| *field != name && !rule.is_name_of(name, field));
        others.filter_map(move |(field, value)| {
            let kind = catalog::field_kind(&intent.effect, field)?;
            let other = other_name(rule, intent, (name, wanted), fields, (kind, field, value))?;
            Some(Contradiction { name: field, found: FoundValue::Mentioned(other), wanted })
        })
    })
}

/// Whether another value in a label or a text shows that the effect is not meant for the intent: an order, a customer,
/// an address. A text about one environment can name another.
fn is_telling(effect: &str, name: &str, wanted: &Value) -> bool {
    let role = catalog::field(effect, name).role;
    matches!(role, FieldRole::Purpose | FieldRole::Owner) || address(wanted).is_some()
}

/// The address that a value is.
fn address(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text.as_str()).filter(|text| text.contains('@')),
        _ => None,
    }
}

/// What a label or a text names instead of the wanted value.
fn other_name(
    rule: Rule<'_>,
    intent: &Intent,
    (name, wanted): (&str, &Value),
    fields: &Fields,
    (kind, field, value): (FieldKind, &str, &Value),
) -> Option<String> {
    let only = || Fields::new().with(field.to_owned(), value.clone());
    match kind {
        FieldKind::WhoAndHowMuch => None,
        FieldKind::Label | FieldKind::Text => match mention(wanted, rule.other_values(intent, name), &only())
        {
            Mention::Own => None,
            Mention::Other(other) => Some(other),
            Mention::Nothing if kind == FieldKind::Text => {
                let (recipient, text) = (address(wanted)?, value.to_string());
                other_address(rule, recipient, &sender(intent, fields), &text)
                    .or_else(|| other_person(rule, recipient, &text))
            }
            Mention::Nothing => None,
        },
    }
}

/// What says who sends an effect, as one text: the task need not name it, and it is the same in all attempts.
fn sender(intent: &Intent, fields: &Fields) -> String {
    let steady = catalog::describe_effect(&intent.effect).map(|effect| effect.steady).unwrap_or_default();
    let values = steady.iter().filter_map(|name| fields.get(name)).map(ToString::to_string);
    values.collect::<Vec<String>>().join(" ").to_lowercase()
}

/// The person whom a text greets, if neither the address of the recipient nor the task names the person.
fn other_person(rule: Rule<'_>, recipient: &str, text: &str) -> Option<String> {
    let local = recipient.split('@').next().unwrap_or_default().to_lowercase();
    let is_known = |word: &str| {
        let word = bare(word);
        // `Ann` and `Annie`, and the `j` of `j.doe`.
        local.split(|c: char| !c.is_alphabetic()).filter(|part| !part.is_empty()).any(|part| {
            part.starts_with(word.as_str()) || word.starts_with(part) || part.ends_with(word.as_str())
        }) || rule.0.named.iter().any(|(_, own)| has_word(&own.to_lowercase(), &word))
    };
    let is_other = |name: &&str| !name.split_whitespace().any(is_known);
    greeted(text).into_iter().find(is_other).map(str::to_owned)
}
