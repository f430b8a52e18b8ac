//! Whether two requests are the same: their parameters are compared, not their encoding or order.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::service::Request;

const FORM: &str = "application/x-www-form-urlencoded";

/// A hash of the parameters of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Fingerprint([u8; 16]);

/// As hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&hex::encode(self.0))
    }
}

/// The parameters of a request, in one buffer that is hashed at once.
type RequestContent = SmallVec<[u8; 256]>;

/// The fingerprint of a request's query and body, and of those headers in which the service looks for
/// parameters.
pub(in crate::engine) fn fingerprint<'a>(
    request: &Request,
    headers: impl IntoIterator<Item = &'a str>,
) -> Fingerprint {
    let mut said = RequestContent::new();
    add_form(&mut said, request.query().as_bytes());
    let (kind, body) = (request.header_value("content-type"), request.bytes());
    if kind.is_some_and(|kind| kind.get(..FORM.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(FORM))) {
        add_form(&mut said, body);
    } else if let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) {
        // Maps are ordered by name, so the same content is the same text.
        add(&mut said, value.to_string().as_bytes());
    } else if kind.is_none() {
        // A body without a content type is read as a form.
        add_form(&mut said, body);
    } else {
        add(&mut said, body);
    }
    for name in headers {
        match request.header_value(name) {
            Some(value) => add(&mut said, value.as_bytes()),
            None => add_number(&mut said, usize::MAX),
        }
    }
    let digest: [u8; 32] = Sha256::digest(&said).into();
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    Fingerprint(short)
}

/// Adds the pairs of a form, sorted by name. Pairs with the same name keep their order, because it can
/// matter.
fn add_form(said: &mut RequestContent, form: &[u8]) {
    let mut pairs = pairs(form);
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    add_number(said, pairs.len());
    for (name, value) in &pairs {
        add(said, name);
        add(said, value);
    }
}

type ParameterPair<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

/// The decoded names and values of a form.
fn pairs(form: &[u8]) -> SmallVec<[ParameterPair<'_>; 8]> {
    let bytes = |text: Cow<'_, str>| Cow::Owned(text.into_owned().into_bytes());
    if memchr::memchr2(b'%', b'+', form).is_some() {
        return form_urlencoded::parse(form).map(|(name, value)| (bytes(name), bytes(value))).collect();
    }
    // A form without escapes only has to be split.
    let written = form.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    let cut = written.map(|pair| match memchr::memchr(b'=', pair) {
        Some(at) => (&pair[..at], &pair[at + 1..]),
        None => (pair, &[][..]),
    });
    cut.map(|(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value))).collect()
}

/// Adds a text with its length, so that two texts cannot be confused with another two.
fn add(said: &mut RequestContent, text: &[u8]) {
    add_number(said, text.len());
    said.extend_from_slice(text);
}

/// Adds a number. Requests are shorter than `u32::MAX`.
fn add_number(said: &mut RequestContent, number: usize) {
    said.extend_from_slice(&(number as u32).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(body: &str) -> Fingerprint {
        fingerprint(&Request::new("POST", "/x").header("Content-Type", FORM).body(body), [])
    }

    fn json(body: &str) -> Fingerprint {
        fingerprint(&Request::new("POST", "/x").header("Content-Type", "application/json").body(body), [])
    }

    #[test]
    fn the_order_of_parameters_does_not_matter_their_values_do() {
        assert_eq!(form("a=1&b=2"), form("b=2&a=1"));
        assert_ne!(form("a=1&b=2"), form("a=1&b=3"));
        assert_ne!(form("a=1&b=2"), form("a=1&b=2&b=2"));
        let many: Vec<String> = (0..40).map(|number| format!("p{number}={number}")).collect();
        let turned: Vec<String> = many.iter().rev().cloned().collect();
        assert_eq!(form(&many.join("&")), form(&turned.join("&")));
        assert_ne!(form(&many.join("&")), form(&many[1..].join("&")));
        assert_eq!(json(r#"{"a":1,"b":[1,2]}"#), json(r#"{ "b": [1, 2], "a": 1 }"#));
        assert_ne!(json(r#"{"a":1,"b":[1,2]}"#), json(r#"{"a":1,"b":[2,1]}"#));
    }

    #[test]
    fn how_a_parameter_is_written_does_not_matter() {
        assert_eq!(form("metadata[order]=a%20b"), form("metadata%5Border%5D=a+b"));
        assert_eq!(form("a=1&b=2"), form("&a=1&&b=2&"));
        assert_eq!(form("a=%c3%a4"), form("a=\u{e4}"));
        assert_ne!(form("a=1%26b=2"), form("a=1&b=2"), "an escaped sign separates nothing");
        assert_ne!(form("ab=c"), form("a=bc"));
        assert_eq!(form("a&b=1=2&=3"), form("a=&b=1%3D2&=%33"), "whether it is only cut or read");
        let target = |target: &str| fingerprint(&Request::new("POST", target), []);
        assert_eq!(target("/x?a=1%32&b=2"), target("/x?b=2&a=12"));
        assert_ne!(target("/x?a=1"), target("/x?a=2"));
        let bare = |body: &str| fingerprint(&Request::new("POST", "/x").body(body), []);
        assert_eq!(bare("a=1&b=%32"), bare("b=2&a=1"));
        let charset = Request::new("POST", "/x")
            .header("content-type", "Application/X-WWW-Form-Urlencoded; charset=utf-8");
        assert_eq!(fingerprint(&charset.body("b=2&a=1"), []), form("a=1&b=2"));
    }

    #[test]
    fn of_one_name_the_order_matters() {
        assert_ne!(form("a=1&a=2"), form("a=2&a=1"));
    }

    #[test]
    fn headers_matter_where_the_service_looks_for_parameters_in_them() {
        let who = |who: &str| Request::new("POST", "/x").header("X-Who", who).body("{}");
        assert_eq!(fingerprint(&who("ann"), []), fingerprint(&who("bob"), []));
        assert_ne!(fingerprint(&who("ann"), ["x-who"]), fingerprint(&who("bob"), ["x-who"]));
        assert_eq!(fingerprint(&who("ann"), ["x-who"]), fingerprint(&who("ann"), ["X-Who"]));
        assert_ne!(
            fingerprint(&who(""), ["x-who"]),
            fingerprint(&Request::new("POST", "/x").body("{}"), ["x-who"])
        );
    }
}
