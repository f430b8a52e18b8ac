//! The headers that Stripe sends with every response, in its order.

use compact_str::CompactString;

use super::errors::request_id;
use crate::service::{Answer, Context, Request};

/// The headers after the content type, before those that depend on the request.
const FIRST_HEADERS: [(&str, &str); 6] = [
    ("Access-Control-Allow-Credentials", "true"),
    ("Access-Control-Allow-Methods", "GET, HEAD, PUT, PATCH, POST, DELETE"),
    ("Access-Control-Allow-Origin", "*"),
    (
        "Access-Control-Expose-Headers",
        "Request-Id, Stripe-Manage-Version, Stripe-Should-Retry, X-Stripe-External-Auth-Required, \
         X-Stripe-Privileged-Session-Required",
    ),
    ("Access-Control-Max-Age", "300"),
    ("Cache-Control", "no-cache, no-store"),
];

/// The headers after those.
const LAST_HEADERS: [(&str, &str); 2] =
    [("Vary", "Origin"), ("Strict-Transport-Security", "max-age=63072000; includeSubDomains; preload")];

/// Adds the headers. A page of the gateway only has the server's name.
pub(crate) fn add_standard_headers(
    answer: &mut Answer,
    request: &Request,
    context: &Context,
    api_version: &str,
) {
    let mut headers = Vec::with_capacity(answer.headers.len() + 16);
    headers.push(("Server".into(), CompactString::const_new("nginx")));
    let is_page = answer.header("content-type") == Some("text/html");
    headers.append(&mut answer.headers);
    answer.headers = headers;
    if is_page {
        return;
    }
    answer.headers.extend(FIRST_HEADERS.map(|(name, value)| (name.into(), CompactString::const_new(value))));
    let id = request_id(context);
    let key = request.header_value("idempotency-key").filter(|_| request.method() == "POST");
    if let Some(key) = key {
        answer.headers.push(("Idempotency-Key".into(), key.into()));
        // A replay names the first request; its id was added when the response was stored.
        if answer.header("original-request").is_none() {
            answer.headers.push(("Original-Request".into(), id.clone()));
        }
    }
    answer.headers.push(("Request-Id".into(), id));
    let version =
        request.header_value("stripe-version").filter(|version| is_version(version)).unwrap_or(api_version);
    answer.headers.push(("Stripe-Version".into(), version.into()));
    answer.headers.extend(LAST_HEADERS.map(|(name, value)| (name.into(), CompactString::const_new(value))));
}

/// A date, and optionally the name of a release: `2026-10-28.endive`.
fn is_version(text: &str) -> bool {
    let (date, name) = text.split_once('.').unwrap_or((text, "a"));
    date.len() == 10
        && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && (1..=40).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Ids;

    fn with_headers(request: &Request, mut answer: Answer) -> Answer {
        let now = jiff::Timestamp::from_second(1_800_000_000).unwrap();
        add_standard_headers(
            &mut answer,
            request,
            &Context { now, ids: Ids::new(1, "payment", 1, 1, 0) },
            "2026-10-28.endive",
        );
        answer
    }

    #[test]
    fn only_a_post_gets_its_idempotency_key_back() {
        let post = Request::new("POST", "/v1/charges").header("Idempotency-Key", "k1");
        let answer = with_headers(&post, Answer::text(200, "application/json", ""));
        assert_eq!(answer.header("idempotency-key"), Some("k1"));
        assert_eq!(answer.header("original-request"), answer.header("request-id"));
        assert!(answer.header("request-id").unwrap().starts_with("req_"));
        let get = Request::new("GET", "/v1/charges").header("Idempotency-Key", "k1");
        assert_eq!(
            with_headers(&get, Answer::text(200, "application/json", "")).header("idempotency-key"),
            None
        );
    }

    #[test]
    fn a_valid_version_of_the_client_is_kept() {
        let version = |sent: &str| {
            let request = Request::new("GET", "/v1/charges").header("Stripe-Version", sent);
            with_headers(&request, Answer::text(200, "application/json", ""))
                .header("stripe-version")
                .map(str::to_owned)
        };
        assert_eq!(version("2020-08-27").as_deref(), Some("2020-08-27"));
        assert_eq!(version("2025-03-31.basil").as_deref(), Some("2025-03-31.basil"));
        assert_eq!(version("x").as_deref(), Some("2026-10-28.endive"));
    }

    #[test]
    fn a_page_of_the_gateway_has_no_headers_of_the_api() {
        let answer = with_headers(&Request::new("GET", "/v1/charges"), Answer::text(502, "text/html", ""));
        assert_eq!(answer.headers.len(), 2);
        assert_eq!(answer.header("server"), Some("nginx"));
    }
}
