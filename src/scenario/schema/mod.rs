//! The JSON Schema of the scenario format, for editors. Built from the same tables as the reader, so that the
//! words agree; what only the reader can know (which fields an operation has, what contradicts what) is left
//! to `hapax lint`.

mod faults;

use serde_json::{Map, Value, json};

use self::faults::faults;
use crate::scenario::known::Known;
use crate::scenario::read::callers::{HOW, MOST_CALLERS, NOWHERE};
use crate::scenario::read::interrupts::{BLOWS, MOMENTS};
use crate::scenario::schema_services::services;
use crate::scenario::{CONTROLS, ClaimedOutcome, ControlOutcome, Recovery};

/// The schema as it is printed and kept: indented, with a line break at its end.
#[must_use]
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// The schema (draft 2020-12).
#[must_use]
pub fn schema() -> Value {
    let one_for_each = list(reference("work"));
    let properties = [
        ("about", said("What the scenario is about, in a sentence.", text())),
        (
            "tags",
            said("Words to choose scenarios by; `clean` for those that nothing goes wrong in.", list(tag())),
        ),
        ("task", said("What is to be done, in words.", text())),
        ("steps", said("The same for a machine; controls follow it, agents may.", reference("steps"))),
        ("matrix", said("Names and the values that each takes: one case for every combination.", matrix())),
        ("services", said("How services are set up; one that is only used need not be named.", services())),
        ("faults", said("What becomes of which attempt.", faults())),
        ("callers", said("How many copies of the subject run at once, and where they meet.", callers())),
        ("each", said("What each caller is to do, where they differ.", one_for_each.clone())),
        ("deliver", said("The same task comes more than once, as from an at-least-once queue.", deliver())),
        ("interrupts", said("What strikes the subject, and when.", list(interrupt()))),
        (
            "turns",
            said("What comes after the first task, each in a new start on the same directory.", one_for_each),
        ),
        ("expect", said("What should be true afterwards.", expect())),
        (
            "controls",
            said(
                "The controls that the scenario tells apart, and what each comes to.",
                object(CONTROLS.map(|control| (control, reference("control"))), &[]),
            ),
        ),
        (
            "via",
            said(
                "The API, or the list of APIs, through which an operation must be done for a case to prove something.",
                via(),
            ),
        ),
        (
            "timeout",
            said(
                "How long one start of the subject may take; 30s where nothing is said.",
                reference("duration"),
            ),
        ),
    ];
    let mut schema = object(properties, &["about", "expect"]);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hapax scenario",
        "description": "A task, the services, the faults, and what should be true afterwards.",
        "anyOf": [{ "required": ["task"] }, { "required": ["each"] }],
        "$defs": definitions(),
    });
    if let (Value::Object(all), Value::Object(head)) = (&mut schema, head) {
        all.extend(head);
    }
    schema
}

fn definitions() -> Value {
    let known = Known::default();
    let shipped: Vec<&str> = known.operations().map(|operation| operation.name.as_ref()).collect();
    let effects: Vec<&str> = known
        .services
        .iter()
        .flat_map(|service| &service.effects)
        .map(|effect| effect.name.as_str())
        .collect();
    // A service of one's own has operations that no table knows.
    let own = json!({ "type": "string", "pattern": "^[a-z][a-z0-9_]*\\.[A-Za-z0-9_]+$" });
    let plain = json!({ "type": ["string", "integer", "boolean"] });
    let work = object([("task", text()), ("steps", reference("steps"))], &["task"]);
    let step = object([("do", reference("operation")), ("with", reference("fields"))], &["do"]);
    json!({
        "name": { "description": "A name of the matrix.", "type": "string", "pattern": "^\\$\\{[a-z][a-z0-9_-]*\\}$" },
        "operation": { "anyOf": [{ "enum": shipped }, own, reference("name")] },
        "effect": { "anyOf": [{ "enum": effects }, own, reference("name")] },
        "duration": or_name(json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m)$" })),
        "after": or_name(json!({ "anyOf": [
            { "const": "settle" },
            reference("duration"),
            object([("requests", whole(0))], &["requests"]),
        ] })),
        "fields": or_name(json!({
            "type": "object",
            "additionalProperties": { "anyOf": [plain.clone(), { "type": "array", "items": plain }] },
        })),
        "steps": list(step),
        "work": work,
        "control": control(),
    })
}

fn via() -> Value {
    let known = Known::default();
    let names: Vec<&str> = known
        .services
        .iter()
        .flat_map(|service| mock_services::apis(&service.name))
        .map(|api| api.name)
        .collect();
    let api = or_name(json!({ "enum": names }));
    json!({ "type": "object", "additionalProperties": { "anyOf": [api, { "type": "array", "items": api, "minItems": 1 }] } })
}

fn matrix() -> Value {
    json!({
        "type": "object",
        "propertyNames": { "pattern": "^[a-z][a-z0-9_-]*$" },
        "additionalProperties": { "type": "array", "minItems": 1 },
    })
}

fn tag() -> Value {
    or_name(json!({ "type": "string", "pattern": "^[a-z0-9-]+$" }))
}

fn callers() -> Value {
    let count = || json!({ "type": "integer", "minimum": 1, "maximum": MOST_CALLERS });
    let keys = [
        ("count", or_name(count())),
        ("meet", json!({ "anyOf": [reference("operation"), { "const": NOWHERE }] })),
        ("within", reference("duration")),
    ];
    or_name(json!({ "anyOf": [count(), object(keys, &["count"])] }))
}

fn deliver() -> Value {
    let times = or_name(json!({ "type": "integer", "minimum": 2, "maximum": MOST_CALLERS }));
    or_name(object([("times", times), ("how", word(HOW))], &["times", "how"]))
}

fn interrupt() -> Value {
    let mut when: Vec<(&str, Value)> =
        MOMENTS.iter().map(|(moment, _)| (*moment, reference("operation"))).collect();
    when.extend([("attempt", whole(1)), ("caller", whole(1))]);
    let mut when = object(when, &[]);
    when["oneOf"] = MOMENTS.iter().map(|(moment, _)| json!({ "required": [moment] })).collect();
    let pause = object([("after", reference("duration"))], &["after"]);
    let freeze = object([("freeze", reference("duration"))], &["freeze"]);
    let blow = json!({ "anyOf": [word(BLOWS.map(|(word, _)| word)), freeze] });
    let keys = [
        ("when", or_name(when)),
        ("do", blow),
        ("then", json!({ "anyOf": [word(["restart", "end"]), object([("restart", pause)], &["restart"])] })),
        ("task", text()),
        ("steps", reference("steps")),
        ("optional", flag()),
    ];
    or_name(object(keys, &["when", "do"]))
}

fn expect() -> Value {
    let intent = [
        ("effect", reference("effect")),
        ("where", reference("fields")),
        ("with", reference("fields")),
        ("each", said("One effect for every value of one field.", each())),
        ("times", said("How often: 1, 0..1 for at most once, 0 where it must not happen.", times())),
    ];
    let claim = || word(ClaimedOutcome::ALL.map(ClaimedOutcome::word));
    let recovery = || word(Recovery::PERMITTED.map(Recovery::word));
    let counter = or_name(json!({ "type": ["integer", "null"] }));
    let keys = [
        (
            "effects",
            said(
                "All effects that are due; any other is unintended.",
                list(or_name(object(intent, &["effect"]))),
            ),
        ),
        ("claim", said("The claims that are accepted.", json!({ "anyOf": [claim(), list(claim())] }))),
        (
            "attempts",
            said(
                "How many attempts of an operation there may be: 3 at most, 1..3 from 1 to 3, 1.. at least 1.",
                map_of(bounds()),
            ),
        ),
        (
            "recovery",
            said(
                "What may be done after an ambiguous answer.",
                json!({ "anyOf": [recovery(), list(recovery())] }),
            ),
        ),
        (
            "respect_retry_after",
            said("Whether a retry before the time that Retry-After asks for fails.", flag()),
        ),
        ("allow", said("What may pass all the same.", list(word(["compensation"])))),
        ("records", said("What must stand in the record store; null for nothing.", map_of(json!(true)))),
        ("counters", said("Where counters must stand; null for nowhere.", map_of(counter))),
    ];
    or_name(object(keys, &[]))
}

/// One field, and its values: a list, or a template with a range.
fn each() -> Value {
    let value = json!({ "type": ["string", "integer"] });
    let range = json!({ "type": "string", "pattern": "\\{[0-9]+\\.\\.[0-9]+\\}" });
    let values = or_name(json!({ "anyOf": [{ "type": "array", "items": value, "minItems": 1 }, range] }));
    or_name(
        json!({ "type": "object", "additionalProperties": values, "minProperties": 1, "maxProperties": 1 }),
    )
}

/// How often an effect is due.
fn times() -> Value {
    let range = json!({ "type": "string", "pattern": "^[0-9]+\\.\\.[0-9]+$" });
    or_name(json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, range] }))
}

/// How many attempts there must and may be.
fn bounds() -> Value {
    let range = json!({ "type": "string", "pattern": "^[0-9]+\\.\\.[0-9]*$" });
    or_name(json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, range] }))
}

/// What a control comes to: everywhere the same, or case by case.
fn control() -> Value {
    let control_outcome = || word(ControlOutcome::ALL.map(ControlOutcome::word));
    let when = json!({ "type": "object", "additionalProperties": true });
    let entry = object([("when", when), ("is", control_outcome())], &["is"]);
    json!({ "anyOf": [control_outcome(), list(entry)] })
}

/// A map with these keys and no others.
pub(super) fn object<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>, required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        keys.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A map of any names.
pub(super) fn map_of(values: Value) -> Value {
    or_name(json!({ "type": "object", "additionalProperties": values }))
}

pub(super) fn list(items: Value) -> Value {
    or_name(json!({ "type": "array", "items": items }))
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The value, or a name of the matrix that stands for it.
pub(super) fn or_name(value: Value) -> Value {
    json!({ "anyOf": [value, reference("name")] })
}

pub(super) fn word<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    let words: Vec<&str> = words.into_iter().collect();
    or_name(json!({ "enum": words }))
}

pub(super) fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

pub(super) fn flag() -> Value {
    or_name(json!({ "type": "boolean" }))
}

pub(super) fn whole(least: u32) -> Value {
    or_name(json!({ "type": "integer", "minimum": least }))
}

fn said(what: &str, mut schema: Value) -> Value {
    schema["description"] = what.into();
    schema
}

#[cfg(test)]
mod tests;
