//! Effects as the ledger has them.

use mock_services::ledger::CommitTiming;
use mock_services::service::Fields;

pub(super) use crate::fit::Names;

/// A change that a service committed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effect<'a> {
    /// The entry that tells of it.
    pub(super) n: u64,
    /// The attempt that caused it.
    pub(super) attempt: u64,
    /// Its name.
    pub(super) name: &'a str,
    /// The id that the service gave it.
    pub(super) id: &'a str,
    /// What was done.
    pub(super) fields: &'a Fields,
    /// Why it was committed at that moment; `None` where a fault kept it back.
    pub(super) timing: Option<CommitTiming>,
}
