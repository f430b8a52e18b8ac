//! What must exist before a task with given effects: something to refund, something to delete.

use yaml_reader::{Key, Node, NodeKind};

/// An effect that a task asks for.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedEffect<'a> {
    /// The name of the effect.
    pub effect: &'a str,
    /// The fields that it must have.
    pub fields: &'a [(Key, Node)],
    /// How often it is expected.
    pub times: u32,
}

impl ExpectedEffect<'_> {
    /// A field as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let (_, node) = self.fields.iter().find(|(key, _)| key.name == name)?;
        match &node.kind {
            NodeKind::Integer(number) => Some(number.to_string()),
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
    pub options: Vec<(&'static str, NodeKind)>,
    /// Fields of the expected effects that are known because of the preparation: the index of the effect, the
    /// field and its value.
    pub certain: Vec<(usize, &'static str, NodeKind)>,
}
