//! `session-lost`: the server no longer knows the session of the caller, as one that was restarted or replaced. Over MCP
//! the specification asks the client for a new session; whether it also repeats the call is its own decision.

use std::sync::LazyLock;

use super::{Reply, StatusReply};
use crate::fault::reply::{PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyWords};

/// The server no longer knows the session of the caller.
pub(super) struct SessionLost;

/// The header by which an MCP server before the service knows that its session is lost, and its value.
pub const SESSION_HEADER: (&str, &str) = ("Mcp-Session", "lost");

/// What the SDKs of MCP answer for a session that they do not know.
static NOT_FOUND: LazyLock<StatusReply> = LazyLock::new(|| {
    let (name, value) = SESSION_HEADER;
    StatusReply::new(404)
        .header(name, value)
        .body(r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#)
});

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::Means(|| Reply::SessionLost),
    value: None,
    content: ReplyContent::Elsewhere,
    words: |_| {
        Some(ReplyWords {
            timeline: "answered 404: the session was lost".to_owned(),
            finding: "the session was lost".to_owned(),
            service: "answers that it does not know the session",
        })
    },
    title: "the session of the caller is lost",
    help: &[],
    docs: &[(
        "session-lost",
        "404 `Session not found`; over MCP the session ends, and the client has to begin another one",
    )],
    samples: &["session-lost"],
};

impl ReplyBehavior for SessionLost {
    fn status(&self) -> Option<&StatusReply> {
        Some(&NOT_FOUND)
    }
}

#[cfg(test)]
mod tests {
    use crate::fault::{ReplyKind, SentReply};

    #[test]
    fn it_says_nothing_about_the_request_although_all_of_it_arrives() {
        let sent = SentReply { status: Some(404), whole: true };
        assert!(!ReplyKind::SessionLost.is_usable(sent));
        assert!(ReplyKind::Status.is_usable(sent));
    }
}
