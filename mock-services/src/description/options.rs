//! Shapes and readers of options that several services use.

use yaml_reader::shape::{MapShape, Shape, required};
use yaml_reader::{Node, NodeKind, Reader};

use crate::service::After;

/// When something happens: `{requests: 2}`, `2s` or `settle`.
pub const AFTER: Shape = Shape::Ref("after");
/// The definition `after` of the schema of scenarios.
pub const AFTER_DEFINITION: Shape =
    Shape::OneOf(&[Shape::Word(SETTLE), Shape::DURATION, AFTER_REQUESTS.shape()]);
static AFTER_REQUESTS: MapShape<1> =
    MapShape::new([required("requests", Shape::Integer(0, u32::MAX as i64))]);
const SETTLE: &str = "settle";

/// Reads when a deferred change happens; problems are reported to the reader.
pub fn read_after(reader: &Reader, node: &Node) -> Option<After> {
    match &node.kind {
        NodeKind::Text(text) if text == SETTLE => Some(After::Settled),
        NodeKind::Map(_) => {
            let [requests] = reader.fields(node, "a time that is counted in requests", &AFTER_REQUESTS)?;
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
