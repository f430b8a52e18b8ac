//! The sessions of MCP clients. The endpoint keeps nothing in them; a client has one because real servers give one, and
//! can lose it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// The header with the id of a session.
const ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// What is answered, with the status 404, to a request in a session that does not exist.
pub(super) const NOT_FOUND: &str =
    r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#;

/// The sessions that exist.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<KnownSessions>);

#[derive(Debug, Default)]
struct KnownSessions {
    begun: u64,
    open: HashSet<HeaderValue>,
}

impl Sessions {
    /// Begins one, and names it in the headers of the reply to `initialize`.
    pub(super) fn begin(&self, reply: &mut HeaderMap) {
        let mut known = self.known();
        known.begun += 1;
        let id = HeaderValue::from(known.begun);
        known.open.insert(id.clone());
        reply.insert(ID, id);
    }

    /// Whether a request can be answered: it names an open session, or none.
    pub(super) fn accept(&self, request: &HeaderMap) -> bool {
        request.get(ID).is_none_or(|id| self.known().open.contains(id))
    }

    /// Ends the session of a request.
    pub(super) fn end(&self, request: &HeaderMap) {
        if let Some(id) = request.get(ID) {
            self.known().open.remove(id);
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownSessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
