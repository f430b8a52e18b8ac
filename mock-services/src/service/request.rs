//! One request as a service sees it: complete, decoded, and independent of its socket.

use std::borrow::Cow;
use std::ops::Range;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use percent_encoding::percent_decode_str;

/// A complete request. Its head is UTF-8, because any other head is refused before it becomes a request; the
/// body is bytes.
#[derive(Debug, Clone)]
pub struct Request {
    head: String,
    method: Range<usize>,
    path: Range<usize>,
    query: Range<usize>,
    headers: Vec<(Range<usize>, Range<usize>)>,
    body: Vec<u8>,
    envelope: Option<Envelope>,
}

/// What an SMTP client sent before the message: `MAIL FROM` and `RCPT TO`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The return path; empty for a bounce.
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
}

impl Request {
    /// The method of a message over SMTP.
    pub(crate) const SMTP: &'static str = "DATA";

    /// A request with no headers and no body: `target` is the path with its query.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Request::with_capacity(method, target, 0, 0)
    }

    /// The same with capacity for `headers` headers of `bytes` bytes in total.
    pub(crate) fn with_capacity(method: &str, target: &str, headers: usize, bytes: usize) -> Self {
        let mut head = String::with_capacity(method.len() + target.len() + bytes);
        head.push_str(method);
        head.push_str(target);
        let target_at = method.len();
        let path_end = target.find('?').map_or(head.len(), |at| target_at + at);
        Request {
            method: 0..target_at,
            path: target_at..path_end,
            query: (path_end + 1).min(head.len())..head.len(),
            headers: Vec::with_capacity(headers),
            body: Vec::new(),
            envelope: None,
            head,
        }
    }

    /// A message that came over SMTP.
    #[must_use]
    pub fn smtp(envelope: Envelope, message: Vec<u8>) -> Self {
        Request { envelope: Some(envelope), body: message, ..Request::new(Request::SMTP, "smtp:") }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.push_header(name, value);
        self
    }

    /// Adds a header in place.
    pub fn push_header(&mut self, name: &str, value: &str) {
        let start = self.head.len();
        self.head.push_str(name);
        self.head.push_str(value);
        let middle = start + name.len();
        self.headers.push((start..middle, middle..self.head.len()));
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// `GET`, `POST`, … as sent; `DATA` over SMTP.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.head[self.method.clone()]
    }

    /// The path as sent, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.head[self.path.clone()]
    }

    /// The parts of the path between its slashes, percent-decoded: `/v1/charges/ch_1` is `["v1", "charges",
    /// "ch_1"]`.
    #[must_use]
    pub fn segments(&self) -> Vec<String> {
        self.path().split('/').filter(|part| !part.is_empty()).map(percent_decoded).collect()
    }

    /// The query as sent, without the question mark.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.head[self.query.clone()]
    }

    /// The decoded pairs of the query.
    #[must_use]
    pub fn query_pairs(&self) -> Vec<(String, String)> {
        form_urlencoded::parse(self.query().as_bytes()).into_owned().collect()
    }

    /// The value of one name of the query.
    #[must_use]
    pub fn query_value(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(self.query().as_bytes())
            .find(|(have, _)| have == name)
            .map(|(_, value)| value.into_owned())
    }

    /// The first value of a header. The case of its name does not matter.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        let head = self.head.as_bytes();
        let same = |have: &Range<usize>| {
            have.len() == name.len() && head[have.clone()].eq_ignore_ascii_case(name.as_bytes())
        };
        self.headers.iter().find(|(have, _)| same(have)).map(|(_, value)| &self.head[value.clone()])
    }

    /// All headers, in the order in which they were sent.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (&self.head[name.clone()], &self.head[value.clone()]))
    }

    /// The body.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The envelope, if the request came over SMTP.
    #[must_use]
    pub fn envelope(&self) -> Option<&Envelope> {
        self.envelope.as_ref()
    }

    /// The secret that the caller sent: a bearer token, `x-api-key`, or the user of basic authentication.
    #[must_use]
    pub fn credential(&self) -> Option<Cow<'_, str>> {
        if let Some(value) = self.header_value("authorization") {
            let (scheme, secret) = value.split_once(' ')?;
            let is = |name: &str| scheme.eq_ignore_ascii_case(name);
            return if is("bearer") || is("token") {
                Some(Cow::Borrowed(secret.trim()))
            } else if is("basic") {
                basic_secret(secret.trim()).map(Cow::Owned)
            } else {
                None
            };
        }
        self.header_value("x-api-key").map(Cow::Borrowed)
    }

    /// The base URL that the caller used, for links in answers.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.header_value("host").unwrap_or("localhost"))
    }
}

/// The user of basic authentication, or its password if the user is empty.
fn basic_secret(encoded: &str) -> Option<String> {
    let decoded = String::from_utf8(base64_decoded(encoded)?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some(if user.is_empty() { password } else { user }.to_owned())
}

/// Standard base64, with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes standard base64; `None` if the text is not base64.
#[must_use]
pub fn base64_decoded(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// `%40` is `@`; a `%` without two hexadecimal digits after it stays as it is.
#[must_use]
pub fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_split_into_path_and_query() {
        let request = Request::new("GET", "/v1/charges/ch%5F1?limit=2&a%5B%5D=x+y");
        assert_eq!(
            (request.method(), request.path(), request.query()),
            ("GET", "/v1/charges/ch%5F1", "limit=2&a%5B%5D=x+y")
        );
        assert_eq!(request.segments(), ["v1", "charges", "ch_1"]);
        assert_eq!(request.query_value("a[]").as_deref(), Some("x y"));
        assert_eq!(Request::new("GET", "/x").query(), "");
        assert_eq!(Request::new("GET", "/x?").query(), "");
    }

    #[test]
    fn the_case_of_a_header_name_does_not_matter() {
        let request = Request::new("GET", "/").header("Idempotency-Key", "k1").header("X", "");
        assert_eq!(request.header_value("idempotency-key"), Some("k1"));
        assert_eq!(request.header_value("x"), Some(""));
        assert_eq!(request.header_value("y"), None);
    }

    #[test]
    fn the_secret_is_read_from_each_place_where_clients_put_it() {
        let with =
            |name, value| Request::new("GET", "/").header(name, value).credential().map(Cow::into_owned);
        assert_eq!(with("Authorization", "Bearer sk_1").as_deref(), Some("sk_1"));
        assert_eq!(with("Authorization", "token ghp_1").as_deref(), Some("ghp_1"));
        assert_eq!(with("authorization", "Basic c2tfMTo=").as_deref(), Some("sk_1"));
        assert_eq!(with("x-api-key", "k").as_deref(), Some("k"));
        assert_eq!(with("Authorization", "Basic %%%"), None);
        assert_eq!(with("Authorization", "nonsense"), None);
    }

    #[test]
    fn base64_of_every_length_is_read() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")]
        {
            assert_eq!(base64_decoded(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(base64_decoded("A"), None);
        assert_eq!(base64_decoded("A*=="), None);
    }
}
