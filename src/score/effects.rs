//! The effects of a ledger.

use mock_services::ledger::CommitTiming;
use mock_services::service::Fields;

pub(super) use crate::fit::FieldNames;

/// A change that a service committed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effect<'a> {
    /// Its entry.
    pub(super) n: u64,
    /// The attempt that caused it.
    pub(super) attempt: u64,
    /// Its name.
    pub(super) name: &'a str,
    /// The id that the service gave it.
    pub(super) id: &'a str,
    /// Its fields.
    pub(super) fields: &'a Fields,
    /// Why it was committed at that moment; `None` for an effect that a fault withheld.
    pub(super) timing: Option<CommitTiming>,
}
