//! The JSON Schema of the scenario format, for editors, built from the shapes that stand beside the readers. Rules
//! that need more than one value (which fields an operation has, which faults exclude each other) are left to
//! `hapax lint`; `schema_agreement.txt` lists them.

use mock_services::catalog::{self, AFTER_DEFINITION};
use mock_services::fault::FAULT_LIST;
use mock_services::idempotency::IDEMPOTENCY_DEFINITION;
use serde_json::{Value, json};
use yaml_reader::shape::{Count, Shape};

use super::matrix::NAME_PATTERN;
use super::read::case::SCENARIO;
use super::read::controls::CONTROL;
use super::work::{STEPS, WORK};

/// An operation or an effect of a service that a file declares.
const DECLARED: Shape = Shape::Pattern("^[a-z][a-z0-9_]*\\.[A-Za-z0-9_]+$");
const OPERATION_NAME: Shape = Shape::OneOf(&[Shape::Words(operations), DECLARED]);
const EFFECT: Shape = Shape::OneOf(&[Shape::Words(effects), DECLARED]);
const FIELDS: Shape =
    Shape::MapOf(&Shape::Any, &Shape::OneOf(&[PLAIN, Shape::List(&PLAIN, Count::ANY)]), Count::ANY);
const PLAIN: Shape = Shape::Types(&["string", "integer", "boolean"]);

/// The schema as `hapax schema` prints it: indented, with a line break at the end.
#[must_use]
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// The schema (draft 2020-12).
#[must_use]
pub fn schema() -> Value {
    let definitions = json!({
        "name": { "description": "A matrix name.", "type": "string", "pattern": NAME_PATTERN },
        "operation_name": OPERATION_NAME.schema(false),
        "operation": OPERATION_NAME.schema(true),
        "effect": EFFECT.schema(true),
        "duration": Shape::Pattern("^[0-9]+(\\.[0-9]+)?(ms|s|m)$").schema(true),
        "after": AFTER_DEFINITION.schema(true),
        "idempotency": IDEMPOTENCY_DEFINITION.schema(true),
        "fields": FIELDS.schema(true),
        "steps": STEPS.schema(true),
        "work": WORK.shape().schema(true),
        "faults": FAULT_LIST.schema(true),
        "control": CONTROL.schema(false),
    });
    let about = "A task, the services, the faults, and what must be true at the end.";
    SCENARIO.document("hapax scenario", about, definitions, true)
}

fn operations() -> Vec<&'static str> {
    catalog::services()
        .iter()
        .flat_map(|service| &service.operations)
        .map(|operation| &*operation.name)
        .collect()
}

fn effects() -> Vec<&'static str> {
    catalog::services().iter().flat_map(|service| &service.effects).map(|effect| &*effect.name).collect()
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
