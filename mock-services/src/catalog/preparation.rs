//! What must exist before a task that is to make given effects: something to refund, something to delete.

use crate::yaml::{Key, Kind, Node};

/// An effect that a task is to make.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedEffect<'a> {
    /// The name of the effect.
    pub effect: &'a str,
    /// What it is to be like.
    pub fields: &'a [(Key, Node)],
    /// How often it is due.
    pub times: u32,
}

impl ExpectedEffect<'_> {
    /// A field as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let (_, node) = self.fields.iter().find(|(key, _)| key.name == name)?;
        match &node.kind {
            Kind::Integer(number) => Some(number.to_string()),
            _ => node.as_text().map(str::to_owned),
        }
    }

    /// A field as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }
}

/// What must exist before the task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preparation {
    /// Options of the service.
    pub options: Vec<(&'static str, Kind)>,
    /// What this makes certain of an effect that is due: its place among the effects, a field and its value.
    pub certain: Vec<(usize, &'static str, Kind)>,
}
