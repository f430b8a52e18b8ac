//! A command in a YAML file: one text, which is split as a shell would, or a list of words.

use mock_services::yaml::{Node, NodeKind, Reader};

use crate::subject::split_command;

/// The words of a command.
pub(super) fn read_words(reader: &Reader, node: &Node) -> Option<Vec<String>> {
    match &node.kind {
        NodeKind::Text(text) => match split_command(text) {
            Ok(words) => Some(words),
            Err((message, help)) => {
                reader.report_with_help(node.span, message, help);
                None
            }
        },
        NodeKind::List(items) if !items.is_empty() => {
            items.iter().map(|item| reader.text(item).map(str::to_owned)).collect()
        }
        _ => reader.unexpected(node, "a command: [./tool, add] or \"./tool add\""),
    }
}
