//! Scenario files and the cases that they stand for. It reads and checks; it starts nothing and knows no subject and no verdict.

mod case;
mod terms;

pub use case::{Blow, Case, ControlTerm, Interrupt, InterruptMoment, Reached, ServiceKind, ServiceSetup, Step, Then, Work};
pub use terms::{Budget, Come, Intent, OperationTerm, Planned, RecordDue, Said, Terms};
