//! `status`: a status other than the true one, with the body that the real service sends with it or with
//! another one.

use std::ops::RangeInclusive;

use yaml_reader::shape::{Count, MapShape, Shape, optional, required};
use yaml_reader::{Node, NodeKind, Reader, shown};

use super::Reply;
use crate::fault::Commit;
use crate::fault::reply::{PlainWord, ReplyBehavior, ReplyCheck, ReplyContent, ReplyFacts, ReplyValue};
use crate::fault::write::{flag, map, named, number, text};
use crate::service::OperationKind;

/// A status in place of the true one, with the body that the real service sends with it or with another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusReply {
    /// The status.
    pub status: u16,
    /// Headers in addition to those that the service sends.
    pub headers: Vec<(String, String)>,
    /// A body in place of the service's own.
    pub body: Option<String>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Whether the service stores it under the idempotency key and replays it.
    pub kept: bool,
}

/// The statuses that a reply can have.
const STATUSES: RangeInclusive<u16> = 200..=599;
/// Headers that the wire sends itself; others would break the answer's framing.
const RESERVED_HEADERS: [&str; 3] = ["Content-Length", "Transfer-Encoding", "Connection"];

impl Reply {
    /// Another status than the true one, with the body that the real service sends with it.
    #[must_use]
    pub fn status(status: u16) -> Self {
        StatusReply::new(status).into()
    }
}

impl StatusReply {
    /// This status, with the body that the real service sends with it.
    ///
    /// ```
    /// use mock_services::fault::{Commit, Fault, StatusReply};
    ///
    /// let rate_limit = StatusReply::new(429).retry_after(2);
    /// let fault = Fault::on("email.send").commit(Commit::Never).reply(rate_limit);
    /// assert_eq!(fault.to_string(), "email.send#1 commit=never reply={status: 429, retry_after: 2}");
    /// ```
    #[must_use]
    pub fn new(status: u16) -> Self {
        StatusReply { status, ..StatusReply::default() }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends this body in place of the service's own.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Adds `Retry-After` with this number of seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Stores this reply under the idempotency key, so that a request with the same key gets it again.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.kept = true;
        self
    }
}

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::NeedsValue("{status: 503}"),
    value: Some(ReplyValue { read, shape: SHAPE.shape(), is_whole_map: true }),
    content: ReplyContent::Complete,
    words: |_| None,
    title: "an HTTP status",
    help: &["{status: 503, retry_after: 2}"],
    docs: &[(
        "{status: 503}",
        "that status with the body of the real service; also `headers`, `body`, `retry_after`, and `kept: \
         true`: the reply of the service itself, stored for the key and replayed",
    )],
    samples: &[
        "{status: 202}",
        "{status: 409, headers: {X-Extra: a}, body: {error: busy}}",
        "{status: 429}",
        "{status: 500}",
        "{status: 500, kept: true}",
        "{status: 502}",
        "{status: 503, retry_after: 2}",
        "{status: 504}",
    ],
};

static SHAPE: MapShape<5> = MapShape::new([
    required("status", Shape::Integer(*STATUSES.start() as i64, *STATUSES.end() as i64)),
    optional(
        "headers",
        Shape::MapOf(
            &Shape::Pattern("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"),
            &Shape::Types(&["string", "integer", "boolean"]),
            Count::ANY,
        ),
    ),
    optional("body", Shape::Something),
    optional("retry_after", Shape::OneOf(&[Shape::Integer(0, u32::MAX as i64), Shape::DURATION])),
    optional("kept", Shape::Flag),
]);

fn read(reader: &Reader, node: &Node) -> Option<Reply> {
    let before = reader.count();
    let [status, headers, body, retry_after, kept] = reader.fields(node, "a `status` reply", &SHAPE)?;
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

impl ReplyBehavior for StatusReply {
    fn value(&self) -> Option<Node> {
        let mut entries = vec![("status", number(self.status))];
        if !self.headers.is_empty() {
            let headers = self.headers.iter().map(|(name, value)| (name.clone(), text(&**value)));
            entries.push(("headers", named(headers)));
        }
        entries.extend(self.body.as_ref().map(|body| ("body", text(&**body))));
        let seconds = self.retry_after.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        entries.extend(seconds.map(|seconds| ("retry_after", number(seconds))));
        if self.kept {
            entries.push(("kept", flag(true)));
        }
        Some(map(entries))
    }

    fn check(&self, check: &mut ReplyCheck<'_>) {
        let status = self.status;
        if let Some(operation) = check.operation.filter(|one| self.kept && one.kind == OperationKind::Read) {
            let name = &operation.name;
            check.object(
                format!("{name} is a read: its answer is kept under no key, so `kept` cannot apply"),
                "leave `kept` out",
            );
        }
        if !STATUSES.contains(&status) {
            let help = "choose one from 200 to 599; for no answer at all write `drop`, `reset` or `hang`";
            check.object(format!("{status} is not a final status"), help);
        }
        if matches!(status, 204 | 304) && self.body.as_ref().is_some_and(|body| !body.is_empty()) {
            check.object(format!("an answer with the status {status} has no body"), "leave `body` out");
        }
        if self.kept && matches!(check.fault.commit, Commit::Later(_) | Commit::LaterWithin(..)) {
            check.object(
                "`kept` and `later` contradict each other: kept, the service has finished with this answer; \
                 later, it has not",
                "leave `kept` out, or choose another `commit`",
            );
        }
        for (name, value) in &self.headers {
            check_header(check, name, value);
        }
    }

    fn status(&self) -> Option<&StatusReply> {
        Some(self)
    }
}

fn check_header(check: &mut ReplyCheck<'_>, name: &str, value: &str) {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(allowed) {
        let help = "letters, digits and dashes, as in `Retry-After`";
        check.object(format!("`{}` cannot be the name of a header", shown(name)), help);
    } else if RESERVED_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        let help = "leave it out; to cut an answer short write `reply: truncate`";
        check.object(format!("`{name}` is set by the wire and cannot be chosen"), help);
    }
    if value.chars().any(|character| character.is_control() && character != '\t') {
        let name = shown(name);
        check.object(
            format!("the header `{name}` has a value with a line break or another control character"),
            "write it on one line",
        );
    }
}

#[cfg(test)]
pub(super) fn strategy() -> proptest::strategy::BoxedStrategy<Reply> {
    use proptest::collection::btree_map;
    use proptest::prelude::*;
    let headers = btree_map("[A-Za-z-]{1,8}", any::<String>(), 0..3);
    let rest = (proptest::option::of(any::<String>()), proptest::option::of(any::<u32>()), any::<bool>());
    let reply = |(status, headers, (body, retry_after, kept)): (_, std::collections::BTreeMap<_, _>, _)| {
        let (headers, retry_after): (_, Option<u32>) = (headers.into_iter().collect(), retry_after);
        Reply::Status(StatusReply { status, headers, body, retry_after: retry_after.map(u64::from), kept })
    };
    (any::<u16>(), headers, rest).prop_map(reply).boxed()
}
