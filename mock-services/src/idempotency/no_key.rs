//! The headers that identify no request: a client sends the same value with every one. A key in such a header would
//! make every write a repetition of the first, so that no duplicate could be seen.

use super::place::KeyPlace;

/// Their names, in lower case.
const NAMES: [&str; 38] = [
    "age",
    "alt-used",
    "authentication",
    "authorization",
    "cache-control",
    "connection",
    "cookie",
    "cookie2",
    "date",
    "dnt",
    "expect",
    "forwarded",
    "from",
    "host",
    "keep-alive",
    "max-forwards",
    "mime-version",
    "origin",
    "pragma",
    "prefer",
    "priority",
    "range",
    "referer",
    "reply-to",
    "return-path",
    "save-data",
    "sender",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "x-mailer",
    "x-real-ip",
    "x-requested-with",
];

/// How the names of the others begin.
const BEGINNINGS: [&str; 6] = ["accept-", "content-", "proxy-", "sec-", "x-forwarded-", "x-stainless-"];

/// What the names of headers with the credentials or the version of a client contain.
const PARTS: [&str; 9] = [
    "access-token",
    "api-key",
    "api-token",
    "api-version",
    "apikey",
    "auth-token",
    "client-version",
    "security-token",
    "session",
];

/// Whether a client sends the same value at this place with every request.
fn is_constant(place: &KeyPlace) -> bool {
    let (KeyPlace::Header(name) | KeyPlace::Mime(name) | KeyPlace::Query(name)) = place else { return false };
    let name = name.to_ascii_lowercase().replace('_', "-");
    let is_credential = PARTS.iter().any(|part| name.contains(part));
    let is_known = || {
        name == "accept"
            || NAMES.contains(&name.as_str())
            || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    };
    is_credential || (!matches!(place, KeyPlace::Query(_)) && is_known())
}

/// Why there can be no key at a place, and what to write instead; `None` if there can.
pub(crate) fn no_key_there(place: &KeyPlace) -> Option<(String, &'static str)> {
    let (KeyPlace::Header(name) | KeyPlace::Mime(name) | KeyPlace::Query(name)) = place else { return None };
    is_constant(place).then(|| {
        (
            format!("`{name}` cannot have the key: a client sends the same value with every request"),
            "name the header or the field with a new value for each operation (key: header.Idempotency-Key); \
             what only keeps accounts or endpoints apart is `scope`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(place: &str) -> bool {
        no_key_there(&KeyPlace::parse(place).unwrap()).is_some()
    }

    #[test]
    fn headers_that_identify_no_request_have_no_key() {
        for place in [
            "User-Agent",
            "header.user_agent",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "Host",
            "Accept",
            "accept-language",
            "Content-Type",
            "Content-MD5",
            "X-Api-Key",
            "X_API_KEY",
            "apikey",
            "X-Goog-Api-Key",
            "X-Auth-Token",
            "X-Shopify-Access-Token",
            "X-Forwarded-For",
            "X-Stainless-Lang",
            "mime.From",
            "mime.MIME-Version",
            "mime.Content-Type",
            "query.api_key",
            "query.access_token",
        ] {
            assert!(is_refused(place), "{place}");
        }
    }

    #[test]
    fn other_places_can_have_it() {
        for place in [
            "Idempotency-Key",
            "X-Idempotency-Token",
            "X-Request-Id",
            "X-Client-Token",
            "Acceptance-Id",
            "Hostage-Id",
            "mime.Message-ID",
            "query.from",
            "query.key",
            "body.from",
            "body.api_key",
            "id",
            "content",
        ] {
            assert!(!is_refused(place), "{place}");
        }
        for profile in crate::idempotency::Profile::ALL {
            let place = profile.idempotency().place();
            assert!(place.is_none_or(|place| no_key_there(place).is_none()), "{profile}");
        }
    }

    #[test]
    fn the_names_are_sorted() {
        for list in [NAMES.as_slice(), &BEGINNINGS, &PARTS] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}
