//! The `reply` of a fault from YAML.

use crate::fault::words::{HEADERS, REPLY_WORDS, TRUNCATION_WORDS, UNTIL_TIMEOUT};
use crate::fault::{Lag, Reply, StatusReply};
use crate::yaml::{Node, NodeKind, Reader, listed, read_size, shown};

/// What the caller sees.
pub(super) fn read_reply(reader: &Reader, node: &Node) -> Option<Reply> {
    match &node.kind {
        NodeKind::Map(_) => read_map(reader, node),
        NodeKind::Text(text) if matches!(text.as_str(), "delay" | "status" | "stale" | "oversize") => {
            let example = match text.as_str() {
                "delay" => "{delay: 800ms}",
                "status" => "{status: 503}",
                "oversize" => "{oversize: 6MB}",
                _ => "{stale: {reads: 1}} or {stale: 2s}",
            };
            reader.report_with_help(node.span, format!("`{text}` needs a value"), format!("write {example}"));
            None
        }
        NodeKind::Integer(number) => {
            reader.report_with_help(
                node.span,
                "a status is not a reply by itself",
                format!("write {{status: {number}}}"),
            );
            None
        }
        _ => reader.one_of(node, &REPLY_WORDS),
    }
}

fn read_map(reader: &Reader, node: &Node) -> Option<Reply> {
    if node.get("status").is_some() {
        return read_status(reader, node);
    }
    let mut map = reader.map(node, "`reply`")?;
    let place = map.place();
    let delay = map.optional("delay").map(|node| ("delay", node));
    let hang = map.optional("hang").map(|node| ("hang", node));
    let truncate = map.optional("truncate").map(|node| ("truncate", node));
    let drip = map.optional("drip").map(|node| ("drip", node));
    let stale = map.optional("stale").map(|node| ("stale", node));
    let oversize = map.optional("oversize").map(|node| ("oversize", node));
    map.optional("status");
    let before = reader.count();
    let given: Vec<(&str, &Node)> =
        [delay, hang, truncate, drip, stale, oversize].into_iter().flatten().collect();
    map.finish();
    match given.as_slice() {
        [] if reader.count() == before => {
            reader.report_with_help(
                place,
                "`reply` is empty",
                "for example `drop`, {delay: 800ms} or {status: 503}",
            );
            None
        }
        [] => None,
        [(name, node)] => match *name {
            "delay" => read_delay(reader, node),
            "hang" => read_hang(reader, node),
            "truncate" => reader.one_of(node, &TRUNCATION_WORDS).map(Reply::Truncate),
            "drip" => reader.duration(node).map(Reply::Drip),
            "oversize" => read_oversize(reader, node),
            _ => read_stale(reader, node),
        },
        several => {
            let names = several.iter().map(|(name, _)| *name);
            reader.report(
                place,
                format!(
                    "a reply is one thing, and this is several: {}",
                    listed(names).replace(" or ", " and ")
                ),
            );
            None
        }
    }
}

/// A time, or a time after the headers.
fn read_delay(reader: &Reader, node: &Node) -> Option<Reply> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        return reader.duration(node).map(Reply::Delay);
    }
    let mut map = reader.map(node, "`delay`")?;
    let (time, after) = (map.required("time"), map.required("after"));
    map.finish();
    reader.one_of(after?, &[(HEADERS, ())])?;
    reader.duration(time?).map(Reply::DelayBody)
}

fn read_hang(reader: &Reader, node: &Node) -> Option<Reply> {
    if node.as_text() == Some(UNTIL_TIMEOUT) {
        return Some(Reply::Hang { release: None });
    }
    if !matches!(node.kind, NodeKind::Map(_)) {
        let message = format!("expected {{release: …}} or `{UNTIL_TIMEOUT}`, found {}", node.describe());
        let help = "write {hang: {release: 5s}} to close the connection after that time, or {hang: \
            until-timeout} to wait until the \
                    client's own timeout closes it";
        reader.report_with_help(node.span, message, help);
        return None;
    }
    let mut map = reader.map(node, "`hang`")?;
    let release = map.required("release");
    map.finish();
    reader.duration(release?).map(|release| Reply::Hang { release: Some(release) })
}

fn read_oversize(reader: &Reader, node: &Node) -> Option<Reply> {
    let size = node.as_text().and_then(read_size);
    if size.is_none() {
        let help = "write it as a whole number with the unit KB, MB, KiB or MiB: {oversize: 6MB}";
        reader.report_with_help(node.span, format!("expected a size, found {}", node.describe()), help);
    }
    size.map(Reply::Oversize)
}

fn read_stale(reader: &Reader, node: &Node) -> Option<Reply> {
    let lag = match &node.kind {
        NodeKind::Map(_) => {
            let mut map = reader.map(node, "`stale`")?;
            let reads = map.required("reads");
            map.finish();
            Lag::Reads(reader.integer(reads?, 0..=u32::MAX)?)
        }
        NodeKind::Integer(number) => {
            let help = format!("write {{stale: {{reads: {number}}}}} or {{stale: {number}s}}");
            reader.report_with_help(
                node.span,
                "`stale` needs to know what is counted: reads or seconds",
                help,
            );
            return None;
        }
        _ => Lag::Time(reader.duration(node)?),
    };
    Some(Reply::Stale(lag))
}

fn read_status(reader: &Reader, node: &Node) -> Option<Reply> {
    let before = reader.count();
    let mut map = reader.map(node, "a `status` reply")?;
    let status = map.required("status");
    let headers = map.optional("headers");
    let body = map.optional("body");
    let retry_after = map.optional("retry_after");
    let kept = map.optional("kept");
    map.finish();
    let reply = StatusReply {
        status: status.and_then(|node| reader.integer(node, 0..=u16::MAX)).unwrap_or_default(),
        headers: headers.and_then(|node| read_headers(reader, node)).unwrap_or_default(),
        body: body.and_then(|node| read_body(reader, node)),
        retry_after: retry_after.and_then(|node| read_seconds(reader, node)),
        kept: kept.and_then(|node| reader.boolean(node)).unwrap_or_default(),
    };
    (reader.count() == before).then_some(Reply::Status(reply))
}

fn read_headers(reader: &Reader, node: &Node) -> Option<Vec<(String, String)>> {
    let entries = reader.entries(node)?;
    let headers = entries.iter().map(|(key, node)| {
        let value = match &node.kind {
            NodeKind::Text(text) => text.clone(),
            NodeKind::Integer(number) => number.to_string(),
            NodeKind::Bool(value) => value.to_string(),
            _ => {
                reader.report(
                    node.span,
                    format!("expected a text for `{}`, found {}", shown(&key.name), node.describe()),
                );
                return None;
            }
        };
        Some((key.name.clone(), value))
    });
    headers.collect()
}

/// A text is sent as it is; anything else is sent as JSON.
fn read_body(reader: &Reader, node: &Node) -> Option<String> {
    match &node.kind {
        NodeKind::Null => {
            reader.report_with_help(
                node.span,
                "expected a body, found nothing",
                "write \"\" for an empty one, or leave it out",
            );
            None
        }
        NodeKind::Text(text) => Some(text.clone()),
        _ => serde_json::to_string(node).ok(),
    }
}

fn read_seconds(reader: &Reader, node: &Node) -> Option<u64> {
    if let NodeKind::Integer(_) = node.kind {
        return reader.integer(node, 0..=u64::from(u32::MAX));
    }
    let duration = reader.duration(node)?;
    if duration.subsec_nanos() != 0 {
        reader.report(node.span, "`Retry-After` is sent in whole seconds");
        return None;
    }
    Some(duration.as_secs())
}
