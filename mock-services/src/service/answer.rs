//! The answer of a service to one request, before a fault changes how it is sent.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use compact_str::CompactString;
use serde::Serialize;

/// A status, headers and a body. `Date`, `Content-Length` and `Connection` belong to the wire and are added
/// there. Over SMTP the status is the reply code and the body is its text.
#[derive(Clone)]
pub struct Answer {
    /// The status, or the SMTP reply code.
    pub status: u16,
    /// The headers in the order in which they are sent.
    pub headers: Vec<(Cow<'static, str>, CompactString)>,
    /// The body; empty while it is not written yet.
    pub body: Vec<u8>,
    deferred_body: Option<Arc<dyn WriteBody>>,
    unsupported: Option<Arc<str>>,
    undecided: Option<Arc<str>>,
}

/// A value that can be written as a body, with the same bytes every time.
pub trait WriteBody: Send + Sync + 'static {
    /// Writes the body.
    fn write(&self, body: &mut Vec<u8>);
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        let same_body = || self.clone().written().body == other.clone().written().body;
        self.status == other.status && self.headers == other.headers && same_body()
    }
}

impl Eq for Answer {}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.clone().written();
        let body = String::from_utf8_lossy(&written.body);
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("body", &body)
            .finish()
    }
}

impl Answer {
    /// An answer with no body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            deferred_body: None,
            unsupported: None,
            undecided: None,
        }
    }

    /// A body without headers: a reply over SMTP.
    #[must_use]
    pub fn bare(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Answer { body: body.into(), ..Answer::empty(status) }
    }

    /// An answer whose body is JSON.
    #[must_use]
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        let mut bytes = Vec::with_capacity(1024);
        // Writing plain data into memory cannot fail. If it did, the body would be cut, and the test of the
        // answer would fail.
        let _ = serde_json::to_writer(&mut bytes, body);
        Answer::text(status, "application/json", bytes)
    }

    /// An answer whose body has the given content type.
    #[must_use]
    pub fn text(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Answer {
            headers: vec![("Content-Type".into(), CompactString::const_new(kind))],
            body: body.into(),
            ..Answer::empty(status)
        }
    }

    /// An answer whose body is written only when it is sent: other requests wait while one is decided, and
    /// answers are stored under their keys for a long time.
    #[must_use]
    pub fn deferred(status: u16, kind: &'static str, body: Arc<dyn WriteBody>) -> Self {
        Answer { deferred_body: Some(body), ..Answer::text(status, kind, Vec::new()) }
    }

    /// The answer with its body written.
    #[must_use]
    pub fn written(mut self) -> Self {
        if let Some(body) = self.deferred_body.take() {
            body.write(&mut self.body);
        }
        self
    }

    /// Appends the body to `out`, whether it is written already or not.
    pub(crate) fn write_body(&self, out: &mut Vec<u8>) {
        match &self.deferred_body {
            Some(body) => body.write(out),
            None => out.extend_from_slice(&self.body),
        }
    }

    /// A copy with capacity for one more header: most stored answers get exactly one.
    pub(crate) fn clone_with_capacity(&self) -> Self {
        let mut headers = Vec::with_capacity(self.headers.len() + 1);
        headers.extend_from_slice(&self.headers);
        Answer {
            status: self.status,
            headers,
            body: self.body.clone(),
            deferred_body: self.deferred_body.clone(),
            unsupported: self.unsupported.clone(),
            undecided: self.undecided.clone(),
        }
    }

    /// Replaces the body.
    pub fn set_body(&mut self, body: Vec<u8>) {
        self.deferred_body = None;
        self.body = body;
    }

    /// Marks the answer as given because the mock does not have what the real service has: `POST
    /// /v1/invoices`.
    #[must_use]
    pub fn unsupported(mut self, what: &str) -> Self {
        self.unsupported = Some(what.into());
        self
    }

    /// What the real service has and the mock does not, if that is the reason for this answer.
    #[must_use]
    pub fn missing_feature(&self) -> Option<&str> {
        self.unsupported.as_deref()
    }

    /// Marks the answer as given because the service cannot decide what the scenario wants: why, and what to
    /// write into the scenario, as sentences.
    #[must_use]
    pub fn undecided(mut self, why: &str) -> Self {
        self.undecided = Some(why.into());
        self
    }

    /// Why the service cannot decide what the scenario wants, if that is the reason for this answer.
    #[must_use]
    pub fn undecided_because(&self) -> Option<&str> {
        self.undecided.as_deref()
    }

    /// Adds a header after the others.
    #[must_use]
    pub fn with_header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<CompactString>,
    ) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets a header. An existing header of that name is replaced in its place.
    pub fn set_header(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<CompactString>) {
        let (name, value) = (name.into(), value.into());
        match self.headers.iter_mut().find(|(have, _)| have.eq_ignore_ascii_case(&name)) {
            Some(slot) => slot.1 = value,
            None => self.headers.push((name, value)),
        }
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}
