//! Scenario files and the cases that they stand for. It reads and checks; it starts nothing and knows no
//! subject and no verdict.

mod addresses;
mod after;
mod callers;
mod can;
mod case;
mod check;
mod controls;
mod defaults;
mod each;
mod expect;
mod files;
mod find;
mod interrupts;
mod known;
mod load;
mod matrix;
mod names;
mod promise;
mod quick;
mod quick_expect;
mod read;
mod read_case;
mod recovery;
mod schema;
mod schema_faults;
mod schema_services;
mod services;
mod setup;
mod table;
mod tasks;
mod terms;
mod times;
mod via;
mod words;
mod work;

pub(crate) use can::{beyond, line as can_line, split as split_can};
pub use case::{
    CONTROLS, Case, ControlTerm, Interrupt, InterruptAction, InterruptMoment, Reached, ServiceKind,
    ServiceSetup, Step, Then, Work,
};
pub(crate) use files::read_text;
pub use load::{LoadError, Loaded, Unmatched, load, load_in, shipped};
pub use promise::Promise;
pub use quick::Quick;
pub use read::read_scenario;
pub use recovery::Recovery;
pub use schema::{schema, schema_text};
pub use table::table_md;
pub use terms::{
    Budget, ClaimedOutcome, ControlOutcome, Intent, IntentList, OperationTerm, Planned, RecordDue, TaskTerm,
    Terms, ViaDue,
};
pub(crate) use via::unknown_api;
