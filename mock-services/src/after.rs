//! When a deferred change happens: late commits, deliveries, the end of a key's lifetime.

use std::time::Duration;

use serde::Serialize;
use yaml_reader::shape::{MapShape, Shape, required};
use yaml_reader::{Node, NodeKind, Reader};

/// When a deferred change happens; at the latest when the service settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum After {
    /// After this many more requests to the service. These requests do not see the change, the next one does.
    Requests(u32),
    /// After this time.
    Time(Duration),
    /// Only when the service settles.
    Settled,
}

/// When something happens: `{requests: 2}`, `2s` or `settle`.
pub const AFTER: Shape = Shape::Ref("after");
/// The definition `after` of the schema of scenarios.
pub const AFTER_DEFINITION: Shape =
    Shape::OneOf(&[Shape::Word(SETTLE), Shape::DURATION, AFTER_REQUESTS.shape()]);
pub(crate) static AFTER_REQUESTS: MapShape<1> =
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
