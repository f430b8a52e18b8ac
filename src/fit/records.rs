//! Whether an effect changes a record whose value at the end the case expects.

use mock_services::catalog::{self, StoreKind};
use mock_services::service::Fields;

use crate::scenario::RecordDue;

impl RecordDue {
    /// Whether the effect changes this record.
    pub(crate) fn concerns(&self, effect: &str, fields: &Fields) -> bool {
        catalog::store_change(effect).is_some_and(|change| {
            let is_counter = change.kind == StoreKind::Counter;
            is_counter == self.counter
                && fields.get(change.key).is_some_and(|value| value.to_string() == self.key)
        })
    }
}
