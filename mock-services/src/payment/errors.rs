//! Refusals in Stripe's words and shape. Knows neither state nor routes; the answer is made once the
//! request's id is known.

use std::borrow::Cow;

use compact_str::CompactString;
use serde::Serialize;

use super::answers;
use super::effects::Change;
use super::objects::{Intent, PaymentMethod};
use crate::endpoints;
use crate::service::{Answer, Context};

/// A refusal before it is an answer.
pub(crate) type Refused = Box<Problem>;

/// What Stripe has to say against a request.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: u16,
    begun: bool,
    /// What the service remembers of it.
    traces: Vec<Change>,
    /// What Stripe has and the service does not, where that is why.
    unsupported: Option<String>,
    body: Body,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
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
    r#type: &'static str,
}

/// The page that explains an error code.
pub(crate) fn doc_url(code: &str) -> String {
    format!("https://stripe.com/docs/error-codes/{}", code.replace('_', "-"))
}

impl Problem {
    /// A request that is wrong in itself.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Problem::new(400, "invalid_request_error", message)
    }

    /// Any refusal.
    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Problem {
            status,
            begun: false,
            traces: Vec::new(),
            unsupported: None,
            body: Body { message: message.into(), r#type: kind, ..Body::default() },
        }
    }

    /// The short name of the error, with the page that explains it.
    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.body.doc_url = Some(doc_url(code));
        self.body.code = Some(code);
        self
    }

    /// The parameter that is to blame.
    pub(crate) fn param(mut self, param: impl Into<Cow<'static, str>>) -> Self {
        self.body.param = Some(param.into());
        self
    }

    /// With another status.
    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Found out only while the call was carried out, so that an idempotency key keeps the answer.
    pub(crate) fn begun(mut self) -> Self {
        self.begun = true;
        self
    }

    /// The service remembers this much of the call, though it is refused.
    pub(crate) fn leaving(mut self, traces: Vec<Change>) -> Self {
        self.traces = traces;
        self
    }

    /// What the service remembers, to be taken once.
    pub(crate) fn take_traces(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.traces)
    }

    /// Whether the call had begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Something that Stripe has and the service does not; `what` names it: `POST /v1/invoices`.
    pub(crate) fn lacking(status: u16, kind: &'static str, what: String) -> Self {
        let problem = Problem::new(status, kind, endpoints::lacking(&what));
        Problem { unsupported: Some(what), ..problem }
    }

    /// Why the bank declined.
    pub(crate) fn decline_code(mut self, code: Option<&'static str>) -> Self {
        self.body.decline_code = code;
        self
    }

    /// The charge that failed.
    pub(crate) fn charge(mut self, id: &str) -> Self {
        self.body.charge = Some(id.to_owned());
        self
    }

    /// The intent as it stands after the refusal.
    pub(crate) fn intent(mut self, intent: Intent) -> Self {
        self.body.payment_intent = Some(Box::new(intent));
        self
    }

    /// The payment method that was tried.
    pub(crate) fn method(mut self, method: PaymentMethod) -> Self {
        self.body.payment_method = Some(Box::new(method));
        self
    }

    /// The answer that the caller gets.
    pub(crate) fn answer(mut self, context: &Context) -> Answer {
        #[derive(Serialize)]
        struct Envelope<'a> {
            error: &'a Body,
        }
        // A request without a valid key and an edge that fails write no log entry.
        if self.status < 500 && self.status != 401 {
            let id = request_id(context);
            self.body.request_log_url =
                Some(format!("https://dashboard.stripe.com/test/logs/{id}?t={}", context.now.as_second()));
        }
        let answer = answers::json(self.status, &Envelope { error: &self.body });
        match self.unsupported {
            // Stripe's clients would repeat a 501, and it would not help them.
            Some(what) => answer.unsupported(&what).with_header("Stripe-Should-Retry", "false"),
            None => answer,
        }
    }
}

/// The id under which Stripe logs the request.
pub(crate) fn request_id(context: &Context) -> CompactString {
    let mut id = *b"req_00000000000000";
    context.ids.fill("req_", &mut id[4..]);
    // Letters and digits are ASCII.
    CompactString::from_utf8(id).unwrap_or_default()
}

/// No route leads there.
pub(crate) fn unknown_url(method: &str, path: &str) -> Refused {
    let hint = if path.ends_with('/') {
        " If you are trying to list objects, remove the trailing slash. If you are trying to retrieve an object, make sure you \
         passed a valid (non-empty) identifier in your code."
    } else {
        ""
    };
    let message = format!(
        "Unrecognized request URL ({method}: {path}).{hint} Please see https://stripe.com/docs or we can help at \
         https://support.stripe.com/."
    );
    Box::new(Problem::invalid(message).status(404))
}

/// The path is not one of Stripe's at all: whoever asks wants another service.
pub(crate) fn foreign_url(method: &str, path: &str) -> Refused {
    let refused = unknown_url(method, path);
    let said = endpoints::no_such_endpoint("payment", "Stripe's API", method, path);
    let message = format!("{} ({said})", refused.body.message);
    Box::new(Problem::invalid(message).status(404))
}

/// An endpoint that Stripe has and the service does not.
pub(crate) fn lacking_endpoint(endpoint: String) -> Refused {
    Box::new(Problem::lacking(501, "api_error", endpoint))
}

/// A part of an endpoint that Stripe has and the service does not: a parameter, a value of one, a path to
/// expand.
pub(crate) fn lacking_part(part: &str, endpoint: &str, param: impl Into<Cow<'static, str>>) -> Refused {
    let what = if endpoint.is_empty() { part.to_owned() } else { format!("{part} of {endpoint}") };
    Box::new(Problem::lacking(400, "invalid_request_error", what).param(param))
}

/// A body that is no form.
pub(crate) fn not_a_form() -> Refused {
    Box::new(Problem::invalid(
        "Invalid request (check that your POST content type is application/x-www-form-urlencoded). If you have any questions, we \
         can help at https://support.stripe.com/.",
    ))
}

/// A parameter that must be there.
pub(crate) fn missing(name: &'static str) -> Refused {
    Box::new(
        Problem::invalid(format!("Missing required param: {name}.")).code("parameter_missing").param(name),
    )
}

/// An object that a parameter names and that does not exist.
pub(crate) fn no_such(kind: &str, id: &str, param: impl Into<Cow<'static, str>>) -> Refused {
    Box::new(Problem::invalid(format!("No such {kind}: '{id}'")).code("resource_missing").param(param))
}

/// An object that the path names and that does not exist.
pub(crate) fn not_found(kind: &str, id: &str) -> Refused {
    let param = if kind == "payment_intent" { "intent" } else { "id" };
    Box::new(no_such(kind, id, param).status(404))
}

/// A payment intent that is not in the right state for what was asked.
pub(crate) fn unexpected_state(message: impl Into<Cow<'static, str>>, intent: &Intent) -> Refused {
    Box::new(Problem::invalid(message).code("payment_intent_unexpected_state").intent(intent.clone()).begun())
}
