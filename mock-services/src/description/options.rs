//! Shapes and readers of options that several services use.

use yaml_reader::{Node, Reader};

pub use crate::after::{AFTER, AFTER_DEFINITION, read_after};

/// Reads a list of texts; problems are reported to the reader.
pub fn read_texts(reader: &Reader, node: &Node) -> Vec<String> {
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| reader.text(item)).map(str::to_owned).collect()
}
