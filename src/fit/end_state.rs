//! Whether an effect changes something whose state at the end the case expects.

use mock_services::catalog::{self, LiveChange, StoreKind};
use mock_services::service::Fields;

use crate::scenario::{Invariant, LiveDue, RecordDue};

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

impl Invariant {
    /// The record or counter of the invariant that an effect changes.
    pub(crate) fn key_of(&self, effect: &str, fields: &Fields) -> Option<&str> {
        let change = catalog::store_change(effect)?;
        let is_counter = change.kind == StoreKind::Counter;
        let key = fields.get(change.key).filter(|_| is_counter == self.counter)?.to_string();
        self.keys.iter().map(String::as_str).find(|own| *own == key)
    }
}

impl LiveDue {
    /// The change of what is live at the place, if an effect is one.
    pub(crate) fn change_of(&self, effect: &str, fields: &Fields) -> Option<LiveChange> {
        let change = catalog::live_change(effect)?;
        let text = |name: &str| fields.get(name).map(ToString::to_string);
        let place = match text(change.part) {
            Some(part) => format!("{}/{part}", text(change.place)?),
            None => text(change.place)?,
        };
        (place == self.place).then_some(change)
    }
}
