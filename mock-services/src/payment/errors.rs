//! Refusals in Stripe's format. The module knows neither state nor routes; the response is built when the id
//! of the request is known.

use std::borrow::Cow;

use compact_str::CompactString;
use serde::Serialize;

use super::answers;
use super::effects::PaymentChange;
use super::objects::{Intent, PaymentMethod};
use crate::endpoints;
use crate::service::{Answer, Context};

/// A refusal that is not a response yet.
pub(crate) type Refused = Box<PaymentError>;

/// An error of Stripe.
#[derive(Debug, Clone)]
pub(crate) struct PaymentError {
    status: u16,
    executed: bool,
    /// The changes that are committed although the call is refused.
    changes_to_commit: Vec<PaymentChange>,
    /// The unsupported feature of Stripe, when that is the reason.
    unsupported: Option<String>,
    body: StripeErrorBody,
}

#[derive(Debug, Clone, Default, Serialize)]
struct StripeErrorBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decline_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_url: Option<String>,
    message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_intent: Option<Box<Intent>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_method: Option<Box<PaymentMethod>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_log_url: Option<String>,
    r#type: Cow<'static, str>,
}

/// The documentation page of an error code.
pub(crate) fn doc_url(code: &str) -> String {
    format!("https://stripe.com/docs/error-codes/{}", code.replace('_', "-"))
}

impl PaymentError {
    /// An invalid request.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        PaymentError::new(400, "invalid_request_error", message)
    }

    /// An error with this status.
    pub(crate) fn new(
        status: u16,
        kind: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        PaymentError {
            status,
            executed: false,
            changes_to_commit: Vec::new(),
            unsupported: None,
            body: StripeErrorBody {
                message: message.into(),
                r#type: kind.into(),
                ..StripeErrorBody::default()
            },
        }
    }

    /// Sets the error code, with its documentation page.
    pub(crate) fn code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        let code = code.into();
        self.body.doc_url = Some(doc_url(&code));
        self.body.code = Some(code);
        self
    }

    /// Sets the parameter that the error names.
    pub(crate) fn param(mut self, param: impl Into<Cow<'static, str>>) -> Self {
        self.body.param = Some(param.into());
        self
    }

    /// Sets the status.
    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Marks an error found during execution, so that an idempotency key stores the response.
    pub(crate) fn executed(mut self) -> Self {
        self.executed = true;
        self
    }

    /// Commits these changes although the call is refused.
    pub(crate) fn committing(mut self, changes_to_commit: Vec<PaymentChange>) -> Self {
        self.changes_to_commit = changes_to_commit;
        self
    }

    /// Takes the changes to commit.
    pub(crate) fn take_changes_to_commit(&mut self) -> Vec<PaymentChange> {
        std::mem::take(&mut self.changes_to_commit)
    }

    /// Whether Stripe has the endpoint and this service does not.
    #[cfg(test)]
    pub(crate) fn is_unsupported_endpoint(&self) -> bool {
        self.status == 501
    }

    /// Whether the execution had started.
    pub(crate) fn was_executed(&self) -> bool {
        self.executed
    }

    /// A feature that Stripe has and this service does not; `what` names it: `POST /v1/invoices`.
    pub(crate) fn unsupported_feature(status: u16, kind: &'static str, what: String) -> Self {
        let problem = PaymentError::new(status, kind, endpoints::lacking(&what));
        PaymentError { unsupported: Some(what), ..problem }
    }

    /// Sets the bank's reason for declining.
    pub(crate) fn decline_code(mut self, code: Option<&'static str>) -> Self {
        self.body.decline_code = code;
        self
    }

    /// Sets the failed charge.
    pub(crate) fn charge(mut self, id: &str) -> Self {
        self.body.charge = Some(id.to_owned());
        self
    }

    /// Sets the intent as it is after the refusal.
    pub(crate) fn intent(mut self, intent: Intent) -> Self {
        self.body.payment_intent = Some(Box::new(intent));
        self
    }

    /// Sets the payment method that was declined.
    pub(crate) fn method(mut self, method: PaymentMethod) -> Self {
        self.body.payment_method = Some(Box::new(method));
        self
    }

    /// The response to the client.
    pub(crate) fn answer(mut self, context: &Context) -> Answer {
        #[derive(Serialize)]
        struct ErrorEnvelope<'a> {
            error: &'a StripeErrorBody,
        }
        // Unauthorized requests and gateway errors have no log entry.
        if self.status < 500 && self.status != 401 {
            let id = request_id(context);
            self.body.request_log_url =
                Some(format!("https://dashboard.stripe.com/test/logs/{id}?t={}", context.now.as_second()));
        }
        let answer = answers::json(self.status, &ErrorEnvelope { error: &self.body });
        match self.unsupported {
            // Stripe's clients would retry a 501 in vain.
            Some(what) => answer.unsupported(&what).with_header("Stripe-Should-Retry", "false"),
            None => answer,
        }
    }
}

/// The id of the request in Stripe's log.
pub(crate) fn request_id(context: &Context) -> CompactString {
    let mut id = *b"req_00000000000000";
    context.ids.fill("req_", &mut id[4..]);
    // Letters and digits are ASCII.
    CompactString::from_utf8(id).unwrap_or_default()
}

/// No endpoint has this path.
pub(crate) fn unknown_url(method: &str, path: &str) -> Refused {
    let hint = if path.ends_with('/') {
        " If you are trying to list objects, remove the trailing slash. If you are trying to retrieve an \
         object, make sure you \
         passed a valid (non-empty) identifier in your code."
    } else {
        ""
    };
    let message = format!(
        "Unrecognized request URL ({method}: {path}).{hint} Please see https://stripe.com/docs or we can \
         help at \
         https://support.stripe.com/."
    );
    Box::new(PaymentError::invalid(message).status(404))
}

/// The path is not one of Stripe's: the request is meant for another service.
pub(crate) fn url_of_another_service(method: &str, path: &str) -> Refused {
    let refused = unknown_url(method, path);
    let message = endpoints::no_such_endpoint("payment", "Stripe's API", method, path);
    let message = format!("{} ({message})", refused.body.message);
    Box::new(PaymentError::invalid(message).status(404))
}

/// An endpoint that Stripe has and this service does not.
pub(crate) fn unsupported_endpoint(endpoint: String) -> Refused {
    Box::new(PaymentError::unsupported_feature(501, "api_error", endpoint))
}

/// A part of an endpoint that Stripe has and this service does not: a parameter, a value, a path to expand.
pub(crate) fn unsupported_part(part: &str, endpoint: &str, param: impl Into<Cow<'static, str>>) -> Refused {
    let what = if endpoint.is_empty() { part.to_owned() } else { format!("{part} of {endpoint}") };
    Box::new(PaymentError::unsupported_feature(400, "invalid_request_error", what).param(param))
}

/// A body that is not a form.
pub(crate) fn not_a_form() -> Refused {
    Box::new(PaymentError::invalid(
        "Invalid request (check that your POST content type is application/x-www-form-urlencoded). If you \
         have any questions, we \
         can help at https://support.stripe.com/.",
    ))
}

/// A required parameter is missing.
pub(crate) fn missing(name: &'static str) -> Refused {
    Box::new(
        PaymentError::invalid(format!("Missing required param: {name}."))
            .code("parameter_missing")
            .param(name),
    )
}

/// A parameter names an object that does not exist.
pub(crate) fn no_such(kind: &str, id: &str, param: impl Into<Cow<'static, str>>) -> Refused {
    Box::new(PaymentError::invalid(format!("No such {kind}: '{id}'")).code("resource_missing").param(param))
}

/// The path names an object that does not exist.
pub(crate) fn not_found(kind: &str, id: &str) -> Refused {
    let param = if kind == "payment_intent" { "intent" } else { "id" };
    Box::new(no_such(kind, id, param).status(404))
}

/// A payment intent is not in the required state.
pub(crate) fn unexpected_state(message: impl Into<Cow<'static, str>>, intent: &Intent) -> Refused {
    Box::new(
        PaymentError::invalid(message)
            .code("payment_intent_unexpected_state")
            .intent(intent.clone())
            .executed(),
    )
}
