//! Whether an effect changes a record of which a case says how it must stand at the end.

use mock_services::service::Fields;

use crate::scenario::RecordDue;

impl RecordDue {
    /// Whether the effect changes this record.
    pub(crate) fn concerns(&self, effect: &str, fields: &Fields) -> bool {
        let names = |name: &str| fields.get(name).is_some_and(|value| value.to_string() == self.key);
        match effect {
            "records.increment" => self.counter && names("counter"),
            "records.put" | "records.delete" => !self.counter && names("key"),
            _ => false,
        }
    }
}
