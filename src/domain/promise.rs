//! What a subject promises about its effects.

use mock_services::word_enum;

word_enum! {
    /// What a subject promises about each effect that is due.
    #[derive(Default)]
    pub enum Promise {
        /// It happens exactly once.
        #[default]
        ExactlyOnce => "exactly-once",
        /// It never happens twice, and may be lost if the subject says so.
        AtMostOnce => "at-most-once",
    }
}

impl Promise {
    /// Whether it is the promise of a subject that names none.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Promise::default()
    }
}
