//! Stripe's responses when it fails, or when the API key is invalid.

use super::errors::PaymentError;
use crate::service::{Answer, Context, Request};

/// Stripe's response when it fails with this status.
pub(crate) fn failure(status: u16, context: &Context) -> Answer {
    let invalid = |message: &'static str| PaymentError::new(status, "invalid_request_error", message);
    let server = |message: &'static str| PaymentError::new(status, "api_error", message);
    let problem = match status {
        400 => invalid(
            "Invalid request. If you have any questions, we can help at \
                        https://support.stripe.com/.",
        ),
        401 => invalid(NO_KEY),
        402 => PaymentError::new(402, "card_error", "Your card was declined.")
            .code("card_declined")
            .decline_code(Some("generic_decline")),
        403 => invalid(
            "The provided key does not have the required permissions for this endpoint. If you have any \
             questions, we can help at \
             https://support.stripe.com/.",
        ),
        404 => invalid(
            "Unrecognized request URL. Please see https://stripe.com/docs or we can help at \
             https://support.stripe.com/.",
        ),
        409 => invalid(
            "This object cannot be accessed right now because another API request or Stripe process is \
             currently accessing it. If \
             you see this error intermittently, retry the request. If you see this error frequently and are \
             making multiple \
             concurrent requests to a single object, make your requests serially or at a lower rate. For \
             more details, see \
             https://stripe.com/docs/rate-limits#object-lock-timeouts.",
        )
        .code("lock_timeout"),
        424 => server("The request couldn't be completed because a dependency external to Stripe failed."),
        429 => {
            let message = "Request rate limit exceeded. Learn more about rate limits here \
                           https://stripe.com/docs/rate-limits.";
            return invalid(message)
                .code("rate_limit")
                .answer(context)
                .with_header("Stripe-Rate-Limited-Reason", "global-rate");
        }
        502 => return gateway_page(status, "Bad Gateway"),
        503 => server(
            "There was an unexpected error processing this request–we've been notified of this issue. We'll \
             update our status page \
             at https://status.stripe.com/ with more information if we're seeing systemic issues.",
        ),
        504 => return gateway_page(status, "Gateway Time-out"),
        500.. => server(
            "Sorry! There was an error while talking to one of our backends. We have already been notified \
             of the problem, but \
             please contact support@stripe.com with any questions you may have.",
        ),
        _ => invalid(
            "Invalid request. If you have any questions, we can help at \
                      https://support.stripe.com/.",
        ),
    };
    problem.answer(context)
}

/// A page of the gateway in front of the API.
fn gateway_page(status: u16, reason: &str) -> Answer {
    let page = format!(
        "<html>\r\n<head><title>{status} {reason}</title></head>\r\n<body>\r\n<center><h1>{status} \
         {reason}</h1></center>\r\n\
         <hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    );
    Answer::text(status, "text/html", page)
}

const NO_KEY: &str = "You did not provide an API key. You need to provide your API key in the Authorization \
                      header, using Bearer \
                      auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See \
                      https://stripe.com/docs/api#authentication for \
                      details, or we can help at https://support.stripe.com/.";

/// The response to a request without a valid key.
pub(crate) fn unauthorized(request: &Request, context: &Context) -> Answer {
    let problem = match request.credential().filter(|key| !key.is_empty()) {
        None => PaymentError::new(401, "invalid_request_error", NO_KEY),
        Some(key) => PaymentError::new(
            401,
            "invalid_request_error",
            format!("Invalid API Key provided: {}", masked(&key)),
        ),
    };
    problem.answer(context).with_header("WWW-Authenticate", "Basic realm=\"Stripe\"")
}

/// A key in which only the prefix and the last four characters are readable.
fn masked(key: &str) -> String {
    let prefix = ["sk_test_", "sk_live_", "rk_test_", "rk_live_", "pk_test_", "pk_live_"]
        .into_iter()
        .find(|prefix| key.starts_with(prefix))
        .unwrap_or_default();
    let rest: Vec<char> = key[prefix.len()..].chars().collect();
    let hidden = rest.len().saturating_sub(4);
    let shown: String = rest[hidden..].iter().collect();
    // The last characters of a short key would reveal most of it.
    if hidden == 0 {
        format!("{prefix}{}", "*".repeat(rest.len()))
    } else {
        format!("{prefix}{}{shown}", "*".repeat(hidden))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Ids;

    fn context() -> Context {
        Context {
            now: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
            ids: Ids::new(1, "payment", 1, 1, 0),
        }
    }

    #[test]
    fn every_status_has_a_body_that_clients_can_parse() {
        for status in 400..600 {
            let answer = failure(status, &context());
            assert_eq!(answer.status, status);
            if matches!(status, 502 | 504) {
                assert_eq!(answer.header("content-type"), Some("text/html"));
            } else {
                let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
                assert!(
                    body["error"]["message"].is_string() && body["error"]["type"].is_string(),
                    "{status}"
                );
            }
        }
        assert!(failure(429, &context()).header("stripe-rate-limited-reason").is_some());
    }

    #[test]
    fn a_wrong_key_is_shown_masked() {
        assert_eq!(masked("sk_test_abcdefgh1234"), "sk_test_********1234");
        assert_eq!(masked("abcdefgh"), "****efgh");
        assert_eq!(masked("sk_test_abc"), "sk_test_***");
        assert_eq!(masked("é"), "*");
        let wrong = Request::new("GET", "/v1/charges").header("Authorization", "Bearer sk_test_abcdefgh1234");
        let body = String::from_utf8(unauthorized(&wrong, &context()).body).unwrap();
        assert!(body.contains("Invalid API Key provided: sk_test_********1234"), "{body}");
        let none = unauthorized(&Request::new("GET", "/v1/charges"), &context());
        assert!(String::from_utf8(none.body).unwrap().contains("You did not provide an API key"));
        assert_eq!(none.status, 401);
    }
}
