//! Finds the idempotency key of a request.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::idempotency::{Idempotency, KeyPlace};
use crate::service::{Request, Service};

/// The method and the path.
pub(super) fn endpoint(request: &Request) -> Arc<str> {
    [request.method(), " ", request.path()].concat().into()
}

/// The key that the client sent: where the rules say, or where the API of the service has it.
pub(in crate::engine) fn sent_key<'r, S: Service>(
    service: &S,
    request: &'r Request,
    rules: &Idempotency,
) -> Option<Cow<'r, str>> {
    let rules = rules.rules();
    let place = rules.key.as_ref();
    let at_place = || place.and_then(|place| value(place, request)).map(Cow::Owned);
    let is_elsewhere = matches!(place, Some(KeyPlace::Id | KeyPlace::Content | KeyPlace::Mime(_)));
    if request.envelope().is_some() || is_elsewhere || (rules.only_there && place.is_some()) {
        return at_place();
    }
    let own = service.key_of(request);
    if service.has_own_key_place() { own } else { own.or_else(at_place) }
}

/// The text at a place of a request.
pub(super) fn value(place: &KeyPlace, request: &Request) -> Option<String> {
    match place {
        KeyPlace::Header(name) => request.header_value(name).map(str::to_owned),
        KeyPlace::Query(name) => request.query_value(name),
        KeyPlace::Mime(name) => mime_header(request, name),
        KeyPlace::Body(names) => in_body(request, names),
        KeyPlace::Id if request.method() == "PUT" => Some(request.path().to_owned()),
        KeyPlace::Id => in_body(request, &["id".to_owned()]),
        KeyPlace::Content => None,
    }
}

/// A header of a message that came over SMTP.
fn mime_header(request: &Request, name: &str) -> Option<String> {
    request.envelope()?;
    let message = String::from_utf8_lossy(request.bytes());
    let head = message.lines().take_while(|line| !line.is_empty());
    head.filter_map(|line| line.split_once(':'))
        .find(|(have, _)| have.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
}

/// A text, a number or a truth value in a JSON body or in a form, in which `a.b` is `a[b]`.
fn in_body(request: &Request, names: &[String]) -> Option<String> {
    if request.envelope().is_some() {
        return None;
    }
    let bytes = request.bytes();
    if let Ok(body) = serde_json::from_slice::<Value>(bytes) {
        return match names.iter().try_fold(&body, |value, name| value.get(name))? {
            Value::String(text) => Some(text.clone()),
            value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
    }
    let (first, rest) = names.split_first()?;
    let name = rest.iter().fold(first.clone(), |name, part| format!("{name}[{part}]"));
    form_urlencoded::parse(bytes).find(|(have, _)| *have == name).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Envelope;

    fn key(request: &Request, place: &str) -> Option<String> {
        value(&KeyPlace::parse(place).unwrap(), request)
    }

    #[test]
    fn a_key_is_found_at_every_place() {
        let request = Request::new("POST", "/a/1?once=q1")
            .header("X-Once", "h1")
            .body(r#"{"a": {"nonce": "b1"}, "n": 7, "l": [], "id": "i1"}"#);
        for (place, expected) in [
            ("header.x-once", Some("h1")),
            ("query.once", Some("q1")),
            ("body.a.nonce", Some("b1")),
            ("body.n", Some("7")),
            ("body.l", None),
            ("body.gone", None),
            ("id", Some("i1")),
            ("mime.X-Once", None),
            ("content", None),
        ] {
            assert_eq!(key(&request, place).as_deref(), expected, "{place}");
        }
        assert_eq!(key(&Request::new("PUT", "/a/1").body("x"), "id").as_deref(), Some("/a/1"));
        let form = Request::new("POST", "/").body("a[nonce]=f1");
        assert_eq!(key(&form, "body.a.nonce").as_deref(), Some("f1"));
    }

    #[test]
    fn the_key_of_a_message_is_one_of_its_headers() {
        let envelope = Envelope { from: String::new(), to: Vec::new() };
        let message = b"Subject: a\r\nX-Once:  m1\r\n\r\nX-Twice: m2\r\n".to_vec();
        let request = Request::smtp(envelope, message);
        assert_eq!(key(&request, "mime.x-once").as_deref(), Some("m1"));
        assert_eq!(key(&request, "mime.x-twice"), None, "this is the text of the message");
        assert_eq!(key(&request, "body.x"), None);
    }
}
