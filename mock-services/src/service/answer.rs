//! One answer as a service gives it, before anything befalls it on the way to the caller.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use compact_str::CompactString;
use serde::Serialize;

/// A status, headers and a body. `Date`, `Content-Length` and `Connection` belong to the wire and are added
/// there. Over SMTP the status is the reply code and the body the text behind it.
#[derive(Clone)]
pub struct Answer {
    /// The status, or the SMTP reply code.
    pub status: u16,
    /// The headers in the order in which they are sent.
    pub headers: Vec<(Cow<'static, str>, CompactString)>,
    /// The body; empty while it is put off.
    pub body: Vec<u8>,
    put_off: Option<Arc<dyn Write>>,
    unsupported: Option<Arc<str>>,
}

/// Something that can write itself as a body, the same every time.
pub trait Write: Send + Sync + 'static {
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
        Answer { status, headers: Vec::new(), body: Vec::new(), put_off: None, unsupported: None }
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
        // Writing plain data into memory cannot fail; were it to, the caller would see an empty body and the
        // test of that answer fail.
        let _ = serde_json::to_writer(&mut bytes, body);
        Answer::text(status, "application/json", bytes)
    }

    /// An answer whose body is of the given kind.
    #[must_use]
    pub fn text(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Answer {
            headers: vec![("Content-Type".into(), CompactString::const_new(kind))],
            body: body.into(),
            ..Answer::empty(status)
        }
    }

    /// An answer whose body is written only when it is sent: what is decided holds up others, and keys keep
    /// answers for long.
    #[must_use]
    pub fn put_off(status: u16, kind: &'static str, body: Arc<dyn Write>) -> Self {
        Answer { put_off: Some(body), ..Answer::text(status, kind, Vec::new()) }
    }

    /// The answer with its body written.
    #[must_use]
    pub fn written(mut self) -> Self {
        if let Some(body) = self.put_off.take() {
            body.write(&mut self.body);
        }
        self
    }

    /// Writes the body behind what is there, whether it was put off or not.
    pub(crate) fn write_body(&self, out: &mut Vec<u8>) {
        match &self.put_off {
            Some(body) => body.write(out),
            None => out.extend_from_slice(&self.body),
        }
    }

    /// The same answer with room for one more header: most are kept for long with just that one.
    pub(crate) fn with_room(&self) -> Self {
        let mut headers = Vec::with_capacity(self.headers.len() + 1);
        headers.extend_from_slice(&self.headers);
        let (put_off, unsupported) = (self.put_off.clone(), self.unsupported.clone());
        Answer { status: self.status, headers, body: self.body.clone(), put_off, unsupported }
    }

    /// Gives it another body.
    pub fn set_body(&mut self, body: Vec<u8>) {
        self.put_off = None;
        self.body = body;
    }

    /// The same answer, given because the real service has this and the one here does not: `POST
    /// /v1/invoices`.
    #[must_use]
    pub fn unsupported(mut self, what: &str) -> Self {
        self.unsupported = Some(what.into());
        self
    }

    /// What the real service has and the one here does not, where that is why it is given.
    #[must_use]
    pub fn lacks(&self) -> Option<&str> {
        self.unsupported.as_deref()
    }

    /// Adds a header behind the others.
    #[must_use]
    pub fn with_header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<CompactString>,
    ) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets a header, in its place where there is one.
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
