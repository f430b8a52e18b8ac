//! The options of services: their types for the JSON Schema, and readers that several services use.

use yaml_reader::{Node, NodeKind, Reader};

use crate::service::After;

/// The type of an option. Any value, except a text of `OneOf`, can be a placeholder of the scenario's matrix.
#[derive(Debug, Clone)]
pub enum OptionType {
    /// Any value.
    Any,
    /// A text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number, with a minimum if there is one.
    Whole(Option<u32>),
    /// One of these words.
    Word(&'static [&'static str]),
    /// When something happens: `{requests: 2}`, `2s` or `settle`.
    After,
    /// A list.
    List(Box<OptionType>),
    /// A map of names to values.
    MapOf(Box<OptionType>),
    /// A map of operations to values.
    ByOperation(Box<OptionType>),
    /// A map with these keys and no others.
    Object {
        /// The keys and their types.
        keys: Vec<(&'static str, OptionType)>,
        /// The keys that are required.
        required: &'static [&'static str],
    },
    /// One of these types.
    OneOf(Vec<OptionType>),
}

impl OptionType {
    /// A list of texts.
    #[must_use]
    pub fn texts() -> Self {
        OptionType::List(Box::new(OptionType::Text))
    }
}

/// Reads when a deferred change happens; problems are reported to the reader.
pub fn read_after(reader: &Reader, node: &Node) -> Option<After> {
    match &node.kind {
        NodeKind::Text(text) if text == "settle" => Some(After::Settled),
        NodeKind::Map(_) => {
            let mut map = reader.map(node, "a time that is counted in requests")?;
            let requests = map.required("requests");
            map.finish();
            Some(After::Requests(reader.integer(requests?, 0..=u32::MAX)?))
        }
        NodeKind::Text(_) => reader.duration(node).map(After::Time),
        _ => {
            let help = "write {requests: 2}, a duration as 2s, or `settle` for the end of the trial";
            reader.report_with_help(node.span, format!("expected a time, found {}", node.describe()), help);
            None
        }
    }
}

/// Reads a list of texts; problems are reported to the reader.
pub fn read_texts(reader: &Reader, node: &Node) -> Vec<String> {
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| reader.text(item)).map(str::to_owned).collect()
}
