//! Text for findings: counts, money, times, keys, and what a caller saw.

pub(super) use mock_services::catalog::nouns;
use mock_services::catalog::{self, FieldRole, PhrasePart};
use mock_services::money;
use mock_services::service::{Fields, Value};
use yaml_reader::shown;

use crate::domain::InterruptKind;
use crate::fit::FieldNames;
use crate::scenario::Intent;
use crate::score::history::Attempt;
use crate::score::history::Effect;

/// The maximum number of parts of the short description of an effect.
const MAX_PARTS: usize = 3;

/// A number of effects: `2 charges`.
pub(super) fn count(number: usize, effect: &str) -> String {
    let (one, many) = nouns(effect);
    match number {
        0 => format!("no {one}"),
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

/// The identity of an intent: ` for ord_1001`; empty if it has none.
pub(super) fn label(intent: &Intent) -> String {
    let fields = if intent.selector.is_empty() { &intent.expected } else { &intent.selector };
    let is_clear = !intent.selector.is_empty() && fields.len() == 1;
    let words: Vec<String> = fields
        .iter()
        .take(3)
        .map(|(name, wanted)| {
            if is_clear {
                shown(&wanted.to_string())
            } else {
                format!("{} {}", shown(name), value(&intent.effect, name, wanted, fields))
            }
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" for {}", words.join(", ")) }
}

/// A value of an effect as text: amounts as money if another field names a currency.
pub(super) fn value(effect: &str, name: &str, value: &Value, beside: &Fields) -> String {
    let currency = catalog::field(effect, name).currency.and_then(|currency| beside.get(currency));
    match (value, currency) {
        (Value::Number(amount), Some(Value::Text(currency))) => money(*amount, currency),
        _ => shown(&value.to_string()),
    }
}

/// A short description of an effect: its money, or its most important fields.
pub(super) fn short_description(effect: &Effect<'_>, names: FieldNames<'_>) -> String {
    let field_value = |name: &str, is_own: bool| {
        let found = if is_own { effect.fields.get(name) } else { names.value(effect.fields, name) };
        found.map(|found| value(effect.name, name, found, effect.fields))
    };
    let words = |part: &PhrasePart| {
        // A subject's own name for an amount is not used: its currency can have another name, too.
        let is_own = |name: &str| part.only_alone || catalog::field(effect.name, name).currency.is_some();
        let values: Vec<String> =
            part.fields.iter().filter_map(|name| field_value(name, is_own(name))).collect();
        (!values.is_empty()).then(|| format!(" {} {}", part.before, values.concat()))
    };
    let (alone, parts): (Vec<&PhrasePart>, Vec<_>) =
        catalog::phrase(effect.name).iter().partition(|part| part.only_alone);
    let together: String = parts.into_iter().filter_map(words).take(MAX_PARTS).collect();
    if together.is_empty() { alone.into_iter().find_map(words).unwrap_or_default() } else { together }
}

/// A duration: `0.51 s`, `3 ms`.
pub(in crate::score) fn duration_text(microseconds: u64) -> String {
    let milliseconds = microseconds.div_ceil(1_000);
    match milliseconds {
        0..100 => format!("{milliseconds} ms"),
        100..60_000 => format!("{}.{:02} s", milliseconds / 1_000, milliseconds % 1_000 / 10),
        _ => format!("{} s", milliseconds / 1_000),
    }
}

/// How two keys differ, shortened: `a1b2… → 7c9d…`; if they start alike, their ends are shown.
pub(super) fn keys(one: &str, other: &str) -> String {
    if short(one) == short(other) {
        format!("{} → {}", tail(one), tail(other))
    } else {
        format!("{} → {}", short(one), short(other))
    }
}

/// The beginning of a key.
pub(super) fn short(key: &str) -> String {
    const LENGTH: usize = 4;
    let begin: String = key.chars().take(LENGTH).collect();
    if key.chars().nth(LENGTH).is_some() { format!("{}…", shown(&begin)) } else { shown(&begin) }
}

fn tail(key: &str) -> String {
    let count = key.chars().count();
    let end: String = key.chars().skip(count.saturating_sub(6)).collect();
    if count > 6 { format!("…{}", shown(&end)) } else { shown(&end) }
}

/// What the caller saw of an attempt, as a clause: `the connection was dropped`.
pub(super) fn seen(attempt: &Attempt<'_>) -> String {
    if let Some(interruption) = attempt.interruption {
        let action = match interruption.action {
            InterruptKind::Kill => "killed",
            InterruptKind::Stop => "terminated",
            InterruptKind::Cancel => "canceled",
            InterruptKind::Freeze => "frozen",
        };
        return format!("the subject was {action}");
    }
    if attempt.unsent.is_some() {
        return "the caller disconnected before the reply".to_owned();
    }
    let Some(answer) = &attempt.answer else { return "no reply was sent".to_owned() };
    match ((answer.reply.facts().words)(answer.as_sent()), answer.status.filter(|_| answer.whole)) {
        (Some(words), _) => words.finding,
        (None, Some(status)) => format!("the reply was {status}"),
        (None, None) => "the reply was incomplete".to_owned(),
    }
}

/// The field that identifies an intent, for fixes: `order`, `recipient`; `task` if there is none.
pub(super) fn handle(intent: &Intent) -> String {
    let fields = intent.selector.iter().map(|(name, _)| (name, catalog::field(&intent.effect, name)));
    let telling = fields.into_iter().find(|(_, field)| field.role != FieldRole::Place);
    let Some((name, field)) = telling else { return "task".to_owned() };
    // `body.order` is an order.
    let last = name.rsplit('.').next().unwrap_or(name);
    field.advice.map_or_else(|| shown(last), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(
            [duration_text(0), duration_text(2_400), duration_text(512_000), duration_text(61_000_000)],
            ["0 ms", "3 ms", "0.51 s", "61 s"]
        );
    }

    #[test]
    fn keys_are_shortened_to_where_they_differ() {
        assert_eq!(keys("a1b2c3d4", "7c9d0000"), "a1b2… → 7c9d…");
        assert_eq!(keys("order-1001-try-1", "order-1001-try-2"), "…-try-1 → …-try-2");
        assert_eq!(short("k"), "k");
        assert_eq!(short("\u{1b}[31m"), "\\u{1b}[31…");
    }

    #[test]
    fn an_intent_is_named_by_the_field_that_identifies_it() {
        let intent = |selector: Fields, expected: Fields| Intent {
            effect: "payment.charge".to_owned(),
            selector,
            expected,
            defaults: Fields::new(),
            times: 1,
            at_least: None,
        };
        let asked = Fields::new().with("amount", 4999).with("currency", "usd");
        assert_eq!(label(&intent(Fields::new().with("order", "o1"), asked.clone())), " for o1");
        assert_eq!(
            label(&intent(Fields::new().with("order", "o1").with("customer", "c"), Fields::new())),
            " for order o1, customer c"
        );
        assert_eq!(label(&intent(Fields::new(), asked)), " for amount $49.99, currency usd");
        assert_eq!(label(&intent(Fields::new(), Fields::new())), "");
    }

    #[test]
    fn fixes_name_the_field_that_identifies_an_intent() {
        let intent = |name: &'static str| Intent {
            effect: "email.send".to_owned(),
            selector: mock_services::service::Fields::new().with(name, "x"),
            expected: mock_services::service::Fields::new(),
            defaults: mock_services::service::Fields::new(),
            times: 1,
            at_least: None,
        };
        assert_eq!(handle(&intent("order")), "order");
        assert_eq!(handle(&intent("to")), "recipient and the subject");
        let at_an_api = |selector: Fields| Intent { effect: "web.post".to_owned(), selector, ..intent("x") };
        let place = Fields::new().with("host", "api.supplier.example").with("path", "/v1/orders");
        assert_eq!(handle(&at_an_api(place.clone().with("body.order", "ord_1001"))), "order");
        assert_eq!(handle(&at_an_api(place)), "task");
    }

    #[test]
    fn an_effect_on_any_host_is_named_by_host_and_path() {
        let described = |fields: &Fields| {
            let effect = Effect { name: "web.post", n: 18, attempt: 4, id: "", fields, timing: None };
            short_description(&effect, FieldNames(&[]))
        };
        let fields = Fields::new().with("host", "api.example.com").with("path", "/v1/orders");
        assert_eq!(described(&fields), " to api.example.com/v1/orders");
        assert_eq!(described(&Fields::new().with("path", "/v1/orders")), " to /v1/orders");
    }
}
