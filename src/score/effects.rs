//! Effects as the ledger has them, and how a field of the scenario is found in one.

use mock_services::ledger::How;
use mock_services::service::{Fields, Value};

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
    /// Why it was committed at that moment.
    pub(super) how: How,
}

/// Where a subject keeps the fields that a scenario names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'t>(pub(super) &'t [(String, String)]);

impl Names<'_> {
    /// The value of a field of the scenario: under the subject's own name for it, otherwise under the scenario's.
    pub(super) fn value<'f>(self, fields: &'f Fields, name: &str) -> Option<&'f Value> {
        let own = self.0.iter().filter(|(ours, _)| ours == name).find_map(|(_, theirs)| fields.get(theirs));
        own.or_else(|| fields.get(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_under_the_subjects_name_and_under_the_scenarios() {
        let mapping = [("order".to_owned(), "metadata.ref".to_owned())];
        let names = Names(&mapping);
        let both = Fields::new().with("order", "a").with("metadata.ref", "b");
        assert_eq!(names.value(&both, "order"), Some(&Value::from("b")));
        assert_eq!(names.value(&Fields::new().with("order", "a"), "order"), Some(&Value::from("a")));
        assert_eq!(names.value(&Fields::new().with("ref", "a"), "order"), None);
    }
}
