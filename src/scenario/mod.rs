//! Scenario files and their cases. It reads and checks; it starts nothing and knows no subject and no
//! verdict.

mod can;
mod case;
mod draft;
mod end_state;
mod events;
mod expect;
mod field_values;
mod files;
mod filter;
mod known;
mod load;
mod matrix;
mod mcp;
mod quick;
mod read;
mod schema;
mod services;
mod table;
mod terms;
mod via;
mod work;

pub use crate::domain::{ClaimedOutcome, ControlOutcome, InterruptAction, Promise, Recovery};
pub(crate) use can::{line as can_line, not_covered, split as split_can};
pub use case::{
    AnswerDelay, Approval, Case, ControlTerm, Found, Interrupt, InterruptMoment, Overlap, PlannedAnswer,
    Reached, ServiceSetup, Step, Then, Work,
};
pub use draft::{Additions, Draft};
pub use end_state::{Invariant, LiveDue, NumberRange};
pub use events::{AnswerFate, Arrival, EventSource, GivenSender, PlannedCopy, PlannedEvent};
pub(crate) use files::{BUILT_IN, own_file, read_text};
pub use filter::FilterExpression;
#[cfg(feature = "mcp")]
pub(crate) use filter::is_named;
pub use load::{LoadError, Loaded, Unmatched, load, load_in, load_matching, scenario_text, select, shipped};
pub(crate) use matrix::words::words_of;
pub(crate) use mcp::{has_tools, not_offered_as_tools};
pub use quick::{AssumedKeys, CountedEffect, Quick};
pub use read::read_scenario;
pub use schema::{schema, schema_text};
#[cfg(feature = "mcp")]
pub(crate) use services::any_host_service;
pub(crate) use services::{default_setup, read_shipped_service};
pub use table::table_md;
pub use terms::{
    ApprovalTerm, Budget, EventTerm, Intent, IntentList, OperationTerm, OrderStep, OwnKey, Planned,
    PlannedFault, RecordDue, TaskTerm, Terms, ViaDue,
};
pub(crate) use via::unknown_api;
