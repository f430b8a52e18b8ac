//! JSON Schemas of shared types. The words of an enum come from its one table of words.

use std::borrow::Cow;

use mock_services::fault::{CommitKind, ReplyKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{
    ClaimedOutcome, ControlOutcome, FindingKind, Honesty, HostTreatment, Outcome, Promise, Recovery, Remedy,
    RetriedBy, TrialStatus,
};

macro_rules! word_schemas {
    ($($name:ident),+ $(,)?) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $name::ALL.map($name::as_str) })
            }
        }
    )+};
}

word_schemas!(
    ClaimedOutcome,
    ControlOutcome,
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

/// The schema of [`CommitKind`].
pub(crate) fn commit_kind_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": CommitKind::ALL.map(CommitKind::as_str) })
}

/// The schema of [`ReplyKind`].
pub(crate) fn reply_kind_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ReplyKind::ALL.map(ReplyKind::as_str) })
}

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
