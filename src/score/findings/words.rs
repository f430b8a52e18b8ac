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
use crate::score::history::{Effect, service_of};

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

/// What identifies the work of an intent, for fixes: `order`, `recipient and the subject`, `environment and the
/// version`. A key that is derived from it is the same in every attempt at this work and differs from that of all
/// other work, so no effect that is meant is taken for a repetition. Values that an agent can compute again in
/// another way (amounts, words) are no part of it, and neither is the place of the effect.
pub(super) fn identity(intent: &Intent, all: &[Intent]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let own = intent.selector.iter().chain(intent.expected.iter()).map(|(name, _)| name);
    let described = catalog::describe_effect(&intent.effect).map(|effect| effect.told_apart_by);
    let by_nature = described.unwrap_or_default().iter().copied();
    for name in own.chain(by_nature) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let has_purpose = names.iter().any(|name| role(intent, name) == FieldRole::Purpose);
    names.retain(|name| is_identifying(intent, name, has_purpose));
    let others: Vec<&Intent> = all
        .iter()
        .filter(|other| service_of(&other.effect) == service_of(&intent.effect))
        .filter(|other| names.iter().all(|name| stated(other, name) == stated(intent, name)))
        .collect();
    let is_another_operation = |other: &&Intent| other.effect != intent.effect;
    for other in others.iter().filter(|other| !is_another_operation(other)) {
        let differs = |name: &str| stated(other, name) != stated(intent, name);
        let own = intent.selector.iter().chain(intent.expected.iter()).map(|(name, _)| name);
        names.extend(own.filter(|name| differs(name)).collect::<Vec<_>>());
    }
    let mut words: Vec<String> = Vec::new();
    if !names.is_empty() && others.iter().any(is_another_operation) {
        words.push("operation".to_owned());
    }
    for word in names.iter().map(|name| field_word(intent, name)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // The same change of a record, and the same payment, can be asked for again.
    let is_repeatable = catalog::store_change(&intent.effect).is_some()
        || intent.expected.iter().any(|(name, _)| catalog::field(&intent.effect, name).currency.is_some());
    if words.is_empty() || is_repeatable && !has_purpose {
        words.push("task".to_owned());
    }
    if intent.times > 1 {
        words.push(format!("number of the {} in the task", nouns(&intent.effect).0));
    }
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and the {last}", before.join(", the ")),
        None => String::new(),
    }
}

/// The value of a field that an intent states.
fn stated<'i>(intent: &'i Intent, name: &str) -> Option<&'i Value> {
    intent.selector.get(name).or_else(|| intent.expected.get(name))
}

fn role(intent: &Intent, name: &str) -> FieldRole {
    let own = catalog::field(&intent.effect, name).role;
    // `body.order` is an order.
    match (own, name.rsplit_once('.')) {
        (FieldRole::Plain, Some((_, last))) => catalog::field(&intent.effect, last).role,
        _ => own,
    }
}

/// Whether a key is derived from this field. If the effect has a purpose (an order), the purpose stands for
/// whose it is.
fn is_identifying(intent: &Intent, name: &str, has_purpose: bool) -> bool {
    let is_number = matches!(stated(intent, name), Some(Value::Number(_)));
    let is_currency = catalog::fields(&intent.effect).any(|field| field.currency == Some(name));
    let is_computed = is_number || is_currency || catalog::field(&intent.effect, name).is_number;
    match role(intent, name) {
        FieldRole::Purpose | FieldRole::Object | FieldRole::Identifies => true,
        FieldRole::Owner => !has_purpose,
        FieldRole::Plain | FieldRole::Describes => !is_computed,
        FieldRole::Place | FieldRole::Generated | FieldRole::DescribesInWords | FieldRole::Words => false,
    }
}

/// The name of a field in a fix: `body.order` is an `order`.
fn field_word(intent: &Intent, name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    catalog::field(&intent.effect, name).advice.map_or_else(|| shown(last), str::to_owned)
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
            approval: false,
            stands: false,
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
    fn fixes_name_all_that_tells_one_piece_of_work_from_another() {
        let intent = |effect: &str, selector: Fields, expected: Fields| Intent {
            effect: effect.to_owned(),
            selector,
            expected,
            defaults: Fields::new(),
            times: 1,
            at_least: None,
            approval: false,
            stands: false,
        };
        let alone = |intent: &Intent| identity(intent, std::slice::from_ref(intent));
        let order = || Fields::new().with("order", "ord_1001");
        let money = || Fields::new().with("customer", "cus_42").with("amount", 4999).with("currency", "usd");
        let charge = intent("payment.charge", order(), money());
        assert_eq!(alone(&charge), "order");
        let refund = intent("payment.refund", order(), Fields::new().with("amount", 1000));
        assert_eq!(identity(&charge, &[charge.clone(), refund]), "operation and the order");
        assert_eq!(alone(&intent("payment.charge", Fields::new(), money())), "customer and the task");
        let customer = || Fields::new().with("customer", "cus_42");
        let price = Fields::new().with("price", "price_pro");
        assert_eq!(alone(&intent("payment.subscribe", customer(), price)), "customer and the price");
        assert_eq!(alone(&intent("payment.upgrade", customer(), Fields::new())), "customer and the price");
        let to = || Fields::new().with("to", "ann@example.com");
        assert_eq!(alone(&intent("email.send", to(), Fields::new())), "recipient and the subject");
        assert_eq!(
            alone(&intent("email.send", order(), to().with("text", "Thank you."))),
            "order, the recipient and the subject"
        );
        let place = || Fields::new().with("environment", "production");
        let release = Fields::new().with("repo", "acme/shop").with("version", "v1.4.2");
        assert_eq!(
            alone(&intent("deploy.deploy", place(), release)),
            "environment, the repository and the version"
        );
        assert_eq!(alone(&intent("deploy.deploy", place(), Fields::new())), "environment and the version");
        let counter = Fields::new().with("counter", "visits");
        assert_eq!(
            alone(&intent("records.increment", counter, Fields::new().with("by", 1))),
            "counter and the task"
        );
        let key = Fields::new().with("key", "price");
        assert_eq!(alone(&intent("records.put", key, Fields::new().with("value", 20))), "key and the task");
        let api = || Fields::new().with("host", "api.supplier.example").with("path", "/v1/orders");
        assert_eq!(
            alone(&intent("web.post", api().with("body.order", "o"), Fields::new().with("body.sku", "s"))),
            "order and the sku"
        );
        assert_eq!(alone(&intent("web.post", api(), Fields::new())), "task");
        let twice = Intent { times: 2, ..intent("web.post", api(), Fields::new()) };
        assert!(alone(&twice).starts_with("task and the number of the "), "{}", alone(&twice));
        assert_eq!(alone(&intent("deploy.lock", Fields::new(), Fields::new())), "task");
    }

    #[test]
    fn an_effect_on_any_host_is_named_by_host_and_path() {
        let described = |fields: &Fields| {
            let effect = Effect::new(18, 4, "web.post", "", fields);
            short_description(&effect, FieldNames(&[]))
        };
        let fields = Fields::new().with("host", "api.example.com").with("path", "/v1/orders");
        assert_eq!(described(&fields), " to api.example.com/v1/orders");
        assert_eq!(described(&Fields::new().with("path", "/v1/orders")), " to /v1/orders");
    }
}
