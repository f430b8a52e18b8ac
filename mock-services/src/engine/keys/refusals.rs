//! How each profile refuses a key.

use serde::Serialize;

use crate::idempotency::{KeyError, Profile};
use crate::service::Answer;

/// Why a key is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum KeyRefusal {
    /// The profile wants a key and there is none.
    Missing,
    /// The key is empty or too long.
    Length,
    /// The first request with this key is still running.
    InFlight,
    /// The key was used with other parameters.
    OtherPayload,
    /// The key was used for another endpoint.
    OtherEndpoint {
        /// The one it was first used for.
        first: String,
    },
}

#[derive(Serialize)]
struct StripeKeyErrorBody<'a> {
    error: StripeKeyError<'a>,
}

#[derive(Serialize)]
struct StripeKeyError<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    message: String,
    #[serde(rename = "type")]
    kind: &'a str,
}

#[derive(Serialize)]
struct IetfKeyProblem<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

#[derive(Serialize)]
struct AcpKeyError<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct ResendKeyError<'a> {
    #[serde(rename = "statusCode")]
    status: u16,
    message: &'a str,
    name: &'a str,
}

impl KeyRefusal {
    /// The answer of that profile. `own` returns it in the form of the service's own errors, if it has one.
    pub(in crate::engine) fn answer(
        &self,
        profile: Profile,
        key: &str,
        endpoint: &str,
        own: impl FnOnce(&KeyError) -> Option<Answer>,
    ) -> Answer {
        match profile {
            Profile::Stripe | Profile::None => {
                let error = self.stripe(key, endpoint);
                own(&error).unwrap_or_else(|| {
                    let KeyError { status, code, kind, message, .. } = error;
                    Answer::json(
                        status,
                        &StripeKeyErrorBody { error: StripeKeyError { code, message, kind } },
                    )
                })
            }
            Profile::Ietf => self.ietf(),
            Profile::Acp => self.acp(),
            Profile::Resend => self.resend(),
        }
    }

    fn stripe(&self, key: &str, endpoint: &str) -> KeyError {
        let path = |endpoint: &str| endpoint.split_once(' ').map_or(endpoint, |(_, path)| path).to_owned();
        let advice =
            format!("Try using a key other than '{key}' if you meant to execute a different request.");
        let (status, code, kind, message) = match self {
            KeyRefusal::Missing | KeyRefusal::Length => (
                400,
                None,
                "invalid_request_error",
                "Idempotency-Key must be between 1 and 255 characters long.".to_owned(),
            ),
            KeyRefusal::InFlight => (
                409,
                Some("idempotency_key_in_use"),
                "idempotency_error",
                format!(
                    "There is currently another in-progress request using this Idempotent Key (that \
                     probably means you submitted \
                     twice, and the other request is still going through): {key}. Please try again later."
                ),
            ),
            KeyRefusal::OtherPayload => (
                400,
                None,
                "idempotency_error",
                format!(
                    "Keys for idempotent requests can only be used with the same parameters they were first \
                     used with. {advice}"
                ),
            ),
            KeyRefusal::OtherEndpoint { first } => (
                400,
                None,
                "idempotency_error",
                format!(
                    "Keys for idempotent requests can only be used for the same endpoint they were first \
                     used for ('{}' vs '{}'). \
                     {advice}",
                    path(endpoint),
                    path(first)
                ),
            ),
        };
        KeyError { profile: Profile::Stripe, status, code, kind, message }
    }

    fn ietf(&self) -> Answer {
        let (status, title, detail) = match self {
            KeyRefusal::Missing => (
                400,
                "Idempotency-Key is missing",
                "This operation is idempotent and it requires correct usage of Idempotency Key.",
            ),
            KeyRefusal::Length => {
                (400, "Idempotency-Key is invalid", "The key must be a string of 1 to 255 characters.")
            }
            KeyRefusal::InFlight => (
                409,
                "A request is outstanding for this Idempotency-Key",
                "A request with the same Idempotency-Key for the same operation is being processed or is \
                 outstanding.",
            ),
            KeyRefusal::OtherPayload | KeyRefusal::OtherEndpoint { .. } => (
                422,
                "Idempotency-Key is already used",
                "This operation is idempotent and it requires correct usage of Idempotency Key. Idempotency \
                 Key MUST not be reused \
                 across different payloads of this operation.",
            ),
        };
        let mut answer = Answer::json(status, &IetfKeyProblem { kind: "about:blank", title, status, detail });
        answer.set_header("Content-Type", "application/problem+json");
        answer
    }

    fn acp(&self) -> Answer {
        let (status, code, message) = match self {
            KeyRefusal::Missing => {
                (400, "idempotency_key_required", "The Idempotency-Key header is required for this request.")
            }
            KeyRefusal::Length => {
                (400, "invalid_idempotency_key", "The Idempotency-Key must be 1 to 255 characters long.")
            }
            KeyRefusal::InFlight => (
                409,
                "idempotency_in_flight",
                "A request with this Idempotency-Key is still being processed. Retry after the indicated \
                 delay.",
            ),
            KeyRefusal::OtherPayload | KeyRefusal::OtherEndpoint { .. } => (
                422,
                "idempotency_conflict",
                "The Idempotency-Key was already used with different request parameters.",
            ),
        };
        let answer = Answer::json(status, &AcpKeyError { kind: "invalid_request", code, message });
        if status == 409 { answer.with_header("Retry-After", "1") } else { answer }
    }

    fn resend(&self) -> Answer {
        let (status, name, message) = match self {
            KeyRefusal::Missing | KeyRefusal::Length => {
                (400, "invalid_idempotency_key", "The idempotency key must be between 1-256 chars.")
            }
            KeyRefusal::InFlight => (
                409,
                "concurrent_idempotent_requests",
                "Same idempotency key used while original request is still in progress.",
            ),
            KeyRefusal::OtherPayload | KeyRefusal::OtherEndpoint { .. } => (
                409,
                "invalid_idempotent_request",
                "Same idempotency key used with a different request payload.",
            ),
        };
        Answer::json(status, &ResendKeyError { status, message, name })
    }
}
