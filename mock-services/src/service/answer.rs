//! One answer as a service gives it, before anything befalls it on the way to the caller.

use std::borrow::Cow;

use serde::Serialize;

/// A status, headers and a body. `Date`, `Content-Length` and `Connection` belong to the wire and are added there.
/// Over SMTP the status is the reply code and the body the text behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status, or the SMTP reply code.
    pub status: u16,
    /// The headers in the order in which they are sent.
    pub headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer with no body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    /// An answer whose body is JSON.
    #[must_use]
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        let mut bytes = Vec::with_capacity(1024);
        // Writing plain data into memory cannot fail; were it to, the caller would see an empty body and the test of that answer fail.
        let _ = serde_json::to_writer(&mut bytes, body);
        Answer::text(status, "application/json", bytes)
    }

    /// An answer whose body is of the given kind.
    #[must_use]
    pub fn text(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Answer { status, headers: vec![("Content-Type".into(), kind.into())], body: body.into() }
    }

    /// Adds a header behind the others.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets a header, in its place where there is one.
    pub fn set_header(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) {
        let (name, value) = (name.into(), value.into());
        match self.headers.iter_mut().find(|(have, _)| have.eq_ignore_ascii_case(&name)) {
            Some(slot) => slot.1 = value,
            None => self.headers.push((name, value)),
        }
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    }
}
