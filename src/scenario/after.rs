//! When something that was put off happens, as scenarios write it: `{requests: 2}`, `2s` or `settle`.

use mock_services::service::After;
use mock_services::yaml::{Kind, Node, Reader};

/// Reads it; what is wrong is reported.
pub(super) fn read_after(reader: &Reader, node: &Node) -> Option<After> {
    match &node.kind {
        Kind::Text(text) if text == "settle" => Some(After::Settled),
        Kind::Map(_) => {
            let mut map = reader.map(node, "a time that is counted in requests")?;
            let requests = map.required("requests");
            map.finish();
            Some(After::Requests(reader.integer(requests?, 0..=u32::MAX)?))
        }
        Kind::Text(_) => reader.duration(node).map(After::Time),
        _ => {
            let help = "write {requests: 2}, a duration as 2s, or `settle` for the end of the trial";
            reader.report_with_help(node.span, format!("expected a time, found {}", node.describe()), help);
            None
        }
    }
}
