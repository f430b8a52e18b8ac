//! JSON Schemas of shared types. The words of an enum come from its one table of words.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{
    ClaimedOutcome, ControlOutcome, FindingKind, Honesty, HostTreatment, Outcome, Promise, Recovery, Remedy,
    RetriedBy, TrialStatus,
};

macro_rules! word_schemas {
    ($($name:ident),+ $(,)?) => {$(
        word_schemas!($name = $name::ALL.map($name::as_str));
    )+};
    ($name:ident = $words:expr) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $words })
            }
        }
    };
}

word_schemas!(ControlOutcome = ControlOutcome::all().map(ControlOutcome::as_str).collect::<Vec<_>>());

word_schemas!(
    ClaimedOutcome,
    FindingKind,
    Remedy,
    Honesty,
    HostTreatment,
    Outcome,
    Promise,
    Recovery,
    RetriedBy,
    TrialStatus,
);

/// The schema of [`mock_services::service::Fields`]: names and plain values.
pub(crate) fn fields_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "anyOf": [
                { "type": ["string", "integer", "boolean"] },
                { "type": "array", "items": { "type": "string" } }
            ]
        }
    })
}
