//! The JSON Schema of the scenario format, for editors. It is built from the tables of the reader (words,
//! keys, limits), so that the two agree. Rules that need more than one value (which fields an operation has,
//! which faults exclude each other) are left to `hapax lint`; `tests/agreement.rs` lists them.

mod build;
mod faults;

use serde_json::{Value, json};

use self::build::{described, integer, list_of, plain_word, sentence, words_of};
pub(super) use self::build::{flag, list, map_of, object, or_name, reference, text, whole, word};
use self::faults::{fault_list, faults};
use crate::domain::ControlName;
use crate::scenario::expect::{ALLOW_WORDS, MAX_ATTEMPTS, MAX_INTENTS};
use crate::scenario::known::KnownServices;
use crate::scenario::matrix::{MAX_CASES, MAX_NAMES};
use crate::scenario::mcp::{HINT_WORDS, KEY_WORDS};
use crate::scenario::read::callers::{DELIVERY_WORDS, MAX_CALLERS, MEET_NONE};
use crate::scenario::read::case::MAX_TAGS;
use crate::scenario::read::interrupts::{ACTION_WORDS, MAX_INTERRUPTS, MOMENT_KEYS, THEN_WORDS};
use crate::scenario::requires::optional_services;
use crate::scenario::schema_services::services;
use crate::scenario::work::MAX_STEPS;
use crate::scenario::{ClaimedOutcome, ControlOutcome, Recovery};

/// The pattern of a matrix name.
const NAME: &str = "[a-z][a-z0-9_-]*";
/// The pattern of an operation of a service that a file declares.
const DECLARED_OPERATION: &str = "^[a-z][a-z0-9_]*\\.[A-Za-z0-9_]+$";

/// The schema as `hapax schema` prints it: indented, with a line break at the end.
#[must_use]
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// The schema (draft 2020-12).
#[must_use]
pub fn schema() -> Value {
    let work = || or_name(reference("work"));
    let properties = [
        ("about", described("What the scenario is about, in one sentence.", sentence())),
        (
            "tags",
            described("Words to select scenarios by; `clean` for scenarios in which nothing fails.", tags()),
        ),
        ("task", described("The task in words.", sentence())),
        (
            "steps",
            described("The task for a machine: controls execute it, agents can read it.", reference("steps")),
        ),
        ("matrix", described("Names and their values: one case for each combination.", matrix())),
        (
            "services",
            described(
                "How services are set up; a service with default options need not be listed.",
                services(),
            ),
        ),
        ("faults", described("What happens to which attempt.", faults())),
        (
            "callers",
            described(
                "How many copies of the subject run at once, and where they wait for each other.",
                callers(),
            ),
        ),
        (
            "each",
            described(
                "The task of each caller, where they differ.",
                list_of(work(), 1..=MAX_CALLERS as usize),
            ),
        ),
        (
            "deliver",
            described(
                "The same task is delivered more than once, as from an at-least-once queue.",
                deliver(),
            ),
        ),
        (
            "interrupts",
            described("What happens to the subject, and when.", list_of(interrupt(), 0..=MAX_INTERRUPTS)),
        ),
        (
            "turns",
            described(
                "Tasks after the first one, each in a new start with the same state directory.",
                list_of(work(), 0..=MAX_STEPS),
            ),
        ),
        ("expect", described("What must be true at the end.", expect())),
        (
            "controls",
            described(
                "The expected outcome of each control.",
                object(ControlName::ALL.map(|control| (control.as_str(), reference("control"))), &[]),
            ),
        ),
        (
            "via",
            described(
                "The API, or the APIs, through which an operation must be called for the case to count.",
                via(),
            ),
        ),
        (
            "requires",
            described(
                "The services that the subject itself must use. Subjects that do not use them skip the cases.",
                requires(),
            ),
        ),
        ("mcp", described("How the tools are described to agents that get them over MCP.", mcp())),
        ("timeout", described("The time limit of one start of the subject; the default is 30s.", timeout())),
    ];
    let mut schema = object(properties, &["about", "expect"]);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hapax scenario",
        "description": "A task, the services, the faults, and what must be true at the end.",
        "anyOf": [{ "required": ["task"] }, { "required": ["each"] }],
        "$defs": definitions(),
    });
    if let (Value::Object(all), Value::Object(head)) = (&mut schema, head) {
        all.extend(head);
    }
    schema
}

fn definitions() -> Value {
    let known = KnownServices::default();
    let operations: Vec<&str> = known.operations().map(|operation| operation.name.as_ref()).collect();
    let effects: Vec<&str> = known
        .services
        .iter()
        .flat_map(|service| &service.effects)
        .map(|effect| effect.name.as_str())
        .collect();
    let declared = json!({ "type": "string", "pattern": DECLARED_OPERATION });
    let plain = json!({ "type": ["string", "integer", "boolean"] });
    let work = object([("task", sentence()), ("steps", reference("steps"))], &["task"]);
    let step = object([("do", reference("operation")), ("with", reference("fields"))], &["do"]);
    json!({
        "name": {
            "description": "A matrix name.",
            "type": "string",
            "pattern": format!("^\\$\\{{{NAME}\\}}$"),
        },
        "operation_name": { "anyOf": [{ "enum": operations }, declared.clone()] },
        "operation": or_name(reference("operation_name")),
        "effect": { "anyOf": [{ "enum": effects }, declared, reference("name")] },
        "duration": or_name(json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m)$" })),
        "after": or_name(json!({ "anyOf": [
            { "const": "settle" },
            reference("duration"),
            object([("requests", integer(0..=u32::MAX))], &["requests"]),
        ] })),
        "fields": or_name(json!({
            "type": "object",
            "additionalProperties": { "anyOf": [plain.clone(), { "type": "array", "items": plain }] },
        })),
        "steps": list_of(or_name(step), 0..=MAX_STEPS),
        "work": work,
        "faults": fault_list(),
        "control": control(),
    })
}

fn mcp() -> Value {
    let words = |words: &[&str]| or_name(json!({ "enum": words }));
    or_name(object([("hints", words(&HINT_WORDS)), ("key_description", words(&KEY_WORDS))], &[]))
}

fn via() -> Value {
    let known = KnownServices::default();
    let names: Vec<&str> = known
        .services
        .iter()
        .flat_map(|service| mock_services::catalog::apis(&service.name))
        .map(|api| api.name)
        .collect();
    let api = or_name(json!({ "enum": names }));
    let mut via = map_of(json!({ "anyOf": [api, { "type": "array", "items": api, "minItems": 1 }] }));
    via["anyOf"][0]["propertyNames"] = reference("operation_name");
    via
}

fn requires() -> Value {
    let service = or_name(json!({ "enum": optional_services().collect::<Vec<_>>() }));
    json!({ "anyOf": [service.clone(), { "type": "array", "items": service, "minItems": 1 }] })
}

fn matrix() -> Value {
    json!({
        "type": "object",
        "propertyNames": { "pattern": format!("^{NAME}$") },
        "maxProperties": MAX_NAMES,
        "additionalProperties": {
            "type": "array", "minItems": 1, "maxItems": MAX_CASES, "uniqueItems": true
        },
    })
}

fn tags() -> Value {
    let tag = or_name(json!({ "type": "string", "pattern": "^[a-z0-9-]+$" }));
    let mut tags = list_of(tag, 0..=MAX_TAGS);
    tags["anyOf"][0]["uniqueItems"] = true.into();
    tags
}

/// A duration that is not zero.
fn timeout() -> Value {
    or_name(json!({ "type": "string", "pattern": "^(?=.*[1-9])[0-9]+(\\.[0-9]+)?(ms|s|m)$" }))
}

fn callers() -> Value {
    let keys = [
        ("count", integer(1..=MAX_CALLERS)),
        ("meet", json!({ "anyOf": [reference("operation"), { "const": MEET_NONE }] })),
        ("within", reference("duration")),
    ];
    json!({ "anyOf": [integer(1..=MAX_CALLERS), object(keys, &["count"])] })
}

fn deliver() -> Value {
    let keys = [("times", integer(2..=MAX_CALLERS)), ("how", word(words_of(&DELIVERY_WORDS)))];
    or_name(object(keys, &["times", "how"]))
}

fn interrupt() -> Value {
    let mut when: Vec<(&str, Value)> =
        words_of(&MOMENT_KEYS).map(|moment| (moment, reference("operation"))).collect();
    when.extend([("attempt", integer(1..=u32::MAX)), ("caller", integer(1..=u32::MAX))]);
    let mut when = object(when, &[]);
    when["oneOf"] = words_of(&MOMENT_KEYS).map(|moment| json!({ "required": [moment] })).collect();
    let pause = or_name(object([("after", reference("duration"))], &["after"]));
    let freeze = object([("freeze", reference("duration"))], &["freeze"]);
    let then = json!({ "anyOf": [word(words_of(&THEN_WORDS)), object([("restart", pause)], &["restart"])] });
    let keys = [
        ("when", or_name(when)),
        ("do", json!({ "anyOf": [word(words_of(&ACTION_WORDS)), freeze] })),
        ("then", then),
        ("task", sentence()),
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
        ("each", described("One effect for each value of one field.", each())),
        ("times", described("How many times: 1, 0..1 for at most once, 0 for never.", times())),
    ];
    let claim = || word(ClaimedOutcome::ALL.map(ClaimedOutcome::as_str));
    let recovery = || word(Recovery::PERMITTED.map(Recovery::as_str));
    let one_or_more = |value: Value| {
        let values = json!({ "type": "array", "items": value, "minItems": 1 });
        json!({ "anyOf": [value, values] })
    };
    let counter = or_name(json!({ "type": ["integer", "null"] }));
    let mut attempts = map_of(attempts());
    attempts["anyOf"][0]["propertyNames"] = reference("operation_name");
    attempts["anyOf"][0]["maxProperties"] = MAX_INTENTS.into();
    let keys = [
        (
            "effects",
            described(
                "All expected effects; any other effect is unintended.",
                list_of(or_name(object(intent, &["effect"])), 0..=MAX_INTENTS),
            ),
        ),
        ("claim", described("The accepted claims.", one_or_more(claim()))),
        (
            "attempts",
            described(
                "The number of attempts of an operation: 3 is at most 3, 1..3 is 1 to 3, 1.. is at least 1.",
                attempts,
            ),
        ),
        (
            "recovery",
            described("What the subject may do after an ambiguous answer.", one_or_more(recovery())),
        ),
        ("respect_retry_after", described("Whether a retry before the time in Retry-After fails.", flag())),
        ("allow", described("What is allowed besides.", list(word(words_of(&ALLOW_WORDS))))),
        ("records", described("The records at the end; null for none.", map_of(json!(true)))),
        ("counters", described("The counters at the end; null for none.", map_of(counter))),
    ];
    let mut expect = object(keys, &[]);
    // Without records and counters, the effects are required.
    expect["anyOf"] =
        ["effects", "records", "counters"].iter().map(|key| json!({ "required": [key] })).collect();
    or_name(expect)
}

/// One field and its values: a list, or a text with a range.
fn each() -> Value {
    let value = json!({ "type": ["string", "integer"] });
    let range = json!({ "type": "string", "pattern": "^[^{}]*\\{[0-9]{1,9}\\.\\.[0-9]{1,9}\\}" });
    let values = json!({ "anyOf": [list_of(value, 1..=MAX_INTENTS), range] });
    or_name(json!({
        "type": "object",
        "additionalProperties": values,
        "minProperties": 1,
        "maxProperties": 1,
    }))
}

/// How many times an effect is expected.
fn times() -> Value {
    let range = json!({ "type": "string", "pattern": "^[0-9]+\\.\\.[0-9]+$" });
    json!({ "anyOf": [integer(0..=MAX_ATTEMPTS), range] })
}

/// The minimum and maximum number of attempts.
fn attempts() -> Value {
    let range = json!({ "type": "string", "pattern": "^[0-9]+\\.\\.[0-9]*$" });
    json!({ "anyOf": [integer(0..=MAX_ATTEMPTS), range] })
}

/// The expected outcome of a control: the same in every case, or by case. Matrix names are not replaced here.
fn control() -> Value {
    let outcome = || plain_word(ControlOutcome::all().map(ControlOutcome::as_str));
    let entry = object([("when", json!({ "type": "object" })), ("is", outcome())], &["is"]);
    json!({ "anyOf": [outcome(), { "type": "array", "items": entry }] })
}

#[cfg(test)]
mod tests;
