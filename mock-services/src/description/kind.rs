//! What a field of an operation or an effect says, and so when its value is wrong although the task does not name it.

use super::is_glob_match;
use crate::word_enum;

word_enum! {
    /// What a field says, and when a value is wrong that the task does not name.
    pub enum FieldKind {
        /// Whom or what an effect reaches, and how much of it: wrong where the task does not name the value and it is
        /// not a usual one.
        WhoAndHowMuch => "who and how much",
        /// What the caller writes beside an effect to find it again: wrong only where it names another intent.
        Label => "label",
        /// Words that people read: wrong only where they contradict a value that the task names.
        Text => "text",
    }
}

/// The kinds of the fields of a service. The first pattern that matches a field decides; a `*` stands for any
/// characters.
pub type FieldKinds = &'static [(FieldKind, &'static [&'static str])];

impl FieldKind {
    /// When a value of this kind is wrong, as a sentence for references.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            FieldKind::WhoAndHowMuch => {
                "A value that the task does not name and that is not a usual one is `altered`, or the effect is \
                 `unintended`."
            }
            FieldKind::Label => {
                "A value is wrong only where it names another intent, or another order than the task."
            }
            FieldKind::Text => "A text is wrong only where it contradicts a value that the task names.",
        }
    }

    /// The kinds of fields that mean the same in every service that does not say it itself.
    pub const COMMON: FieldKinds = &[
        (
            FieldKind::WhoAndHowMuch,
            &[
                "amount",
                "currency",
                "to",
                "customer",
                "recipient",
                "quantity",
                "value",
                "by",
                "price",
                "version",
            ],
        ),
        (FieldKind::Label, &["order", "reference", "metadata.*"]),
        (FieldKind::Text, &["subject", "text", "description", "html", "body", "message"]),
    ];

    /// The kind of a field in a table.
    #[must_use]
    pub fn find(kinds: FieldKinds, field: &str) -> Option<FieldKind> {
        let is_in = |patterns: &[&str]| patterns.iter().any(|pattern| is_glob_match(pattern, field));
        kinds.iter().find(|(_, patterns)| is_in(patterns)).map(|(kind, _)| *kind)
    }
}
