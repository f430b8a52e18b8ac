//! The plain types that all other modules share: claims, events of a subject, results of trials, findings.
//! Each enum whose words appear in files or messages has one table of its words. This module imports none of
//! the others.

use std::borrow::Cow;

use mock_services::fault::{CommitKind, ReplyKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

mod approvals;
mod controls;
mod events;
mod excuses;
mod findings;
mod hosts;
mod order_miss;
mod remedy;
mod subject_events;
mod subject_notes;
mod tool_cards;
mod verdicts;

pub use approvals::{APPROVALS, Answer, AnswerEvent, AskEvent, Decision, Question};
pub use controls::ControlName;
pub use events::{CLIENT, CopyAnswerEvent, CopyReason, CopySignature, EVENTS, SentCopyEvent};
pub use excuses::Excuse;
pub(crate) use excuses::ExcuseScope;
pub use findings::{ControlOutcome, FindingKind, HarmRank};
pub use hosts::{HostRequests, HostTreatment, Transport};
pub(crate) use hosts::{is_loopback, is_loopback_address, is_plain_host_name, real_host, real_hosts};
pub use order_miss::OrderMiss;
pub use remedy::Remedy;
pub use subject_events::{
    CancelSignal, CapturedOutput, ClaimEvent, ClaimedBeforeLimit, EndEvent, InterruptAction, InterruptEvent,
    InterruptKind, SecondCopy, StartEnd, StartEvent, SubjectEvent,
};
pub use subject_notes::SubjectEventError;
pub use tool_cards::{KeyDescription, MCP, ToolCards, ToolHints};
pub(crate) use verdicts::SHARED_KEY;
pub use verdicts::{
    ClaimOrigin, ClaimedOutcome, Honesty, Outcome, Promise, Recovery, RetriedBy, TrialStatus, VoidCause,
    VoidOwner,
};

/// The file in the directory of a caller that says that the announced request of its case has arrived.
pub(crate) const ARRIVAL_FILE: &str = "request-arrived";

/// Whether a value is the default one, which files leave out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// JSON Schemas of enums of words.
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
    Excuse,
    FindingKind,
    Remedy,
    Honesty,
    HostTreatment,
    Outcome,
    Promise,
    Recovery,
    RetriedBy,
    TrialStatus,
    VoidOwner,
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

/// The schema of [`CommitKind`].
pub(crate) fn commit_kind_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": CommitKind::ALL.map(CommitKind::as_str) })
}

/// The schema of [`ReplyKind`].
pub(crate) fn reply_kind_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ReplyKind::ALL.map(ReplyKind::as_str) })
}
