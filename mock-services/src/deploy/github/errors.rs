//! GitHub's error bodies: refused requests and failures.

use jiff::Timestamp;
use serde::Serialize;

use crate::deploy::body::{BodyError, JsonBody};
use crate::endpoints;
use crate::service::{Answer, Context, Request};

pub(crate) const DOCS: &str = "https://docs.github.com/rest";
pub(crate) const CREATE_DOCS: &str =
    "https://docs.github.com/rest/deployments/deployments#create-a-deployment";
pub(crate) const GET_DOCS: &str = "https://docs.github.com/rest/deployments/deployments#get-a-deployment";
pub(crate) const DELETE_DOCS: &str =
    "https://docs.github.com/rest/deployments/deployments#delete-a-deployment";
pub(crate) const STATUS_DOCS: &str =
    "https://docs.github.com/rest/deployments/statuses#create-a-deployment-status";
const LIMIT_DOCS: &str = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api";

/// The length of a rate limit window, in seconds.
const RATE_LIMIT_WINDOW: i64 = 10;

#[derive(Debug, Serialize)]
struct GithubError<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<ErrorDetails<'a>>,
    documentation_url: &'a str,
    status: String,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ErrorDetails<'a> {
    Plain([&'a str; 1]),
    StatusError([StatusError<'a>; 1]),
    ChecksError([ChecksError<'a>; 1]),
}

#[derive(Debug, Serialize)]
struct ChecksError<'a> {
    contexts: Vec<Check<'a>>,
    resource: &'a str,
    field: &'a str,
    code: &'a str,
}

#[derive(Debug, Serialize)]
struct Check<'a> {
    context: &'a str,
    state: &'a str,
}

#[derive(Debug, Serialize)]
struct StatusError<'a> {
    resource: &'a str,
    code: &'a str,
    field: &'a str,
    message: &'a str,
}

/// When GitHub itself fails, the body has only a message.
#[derive(Debug, Serialize)]
struct BareMessage {
    message: &'static str,
}

fn error_answer(status: u16, message: &str, docs: &str) -> Answer {
    Answer::json(
        status,
        &GithubError { message, errors: None, documentation_url: docs, status: status.to_string() },
    )
}

fn validation_failed(errors: ErrorDetails<'_>, docs: &str) -> Answer {
    let failure = GithubError {
        message: "Validation Failed",
        errors: Some(errors),
        documentation_url: docs,
        status: "422".to_owned(),
    };
    Answer::json(422, &failure)
}

pub(crate) fn not_found(docs: &str) -> Answer {
    error_answer(404, "Not Found", docs)
}

/// An endpoint that GitHub has and this service does not.
pub(crate) fn unsupported_endpoint(endpoint: &str) -> Answer {
    error_answer(501, &endpoints::lacking(endpoint), DOCS).unsupported(endpoint)
}

/// The path is not one of GitHub's: the request is meant for another service.
pub(crate) fn no_endpoint(method: &str, path: &str) -> Answer {
    let message = endpoints::no_such_endpoint("deploy", "GitHub's API and one of its own", method, path);
    error_answer(404, &format!("Not Found ({message})"), DOCS)
}

pub(crate) fn no_ref(name: &str) -> Answer {
    error_answer(422, &format!("No ref found for: {name}"), CREATE_DOCS)
}

/// Required checks of a deployment have not passed.
pub(crate) fn checks_pending(name: &str, contexts: &[String]) -> Answer {
    let contexts = contexts.iter().map(|context| Check { context, state: "pending" }).collect();
    let checks =
        ChecksError { contexts, resource: "Deployment", field: "required_contexts", code: "invalid" };
    let message = format!("Conflict: Commit status checks failed for {name}.");
    let errors = Some(ErrorDetails::ChecksError([checks]));
    Answer::json(
        409,
        &GithubError { message: &message, errors, documentation_url: CREATE_DOCS, status: "409".to_owned() },
    )
}

/// GitHub refuses requests without a User-Agent. The server in front of the API does so.
pub(crate) fn missing_user_agent(request: &Request) -> Option<Answer> {
    let is_named = request.header_value("user-agent").is_some_and(|agent| !agent.trim().is_empty());
    let page = "\r\nRequest forbidden by administrative rules. Please make sure your request has a \
                User-Agent header \
                (https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). \
                Check \
                https://developer.github.com for other possible causes.\r\n";
    (!is_named).then(|| Answer::text(403, "text/html", page))
}

pub(crate) fn still_active() -> Answer {
    let reason =
        "We cannot delete an active deployment unless it is the only deployment in a given environment.";
    validation_failed(ErrorDetails::Plain([reason]), DELETE_DOCS)
}

pub(crate) fn invalid_status(field: &str, message: &str) -> Answer {
    let error = StatusError { resource: "DeploymentStatus", code: "custom", field, message };
    validation_failed(ErrorDetails::StatusError([error]), STATUS_DOCS)
}

/// GitHub's response to an invalid body.
pub(crate) fn invalid_body(error: &BodyError, docs: &str) -> Answer {
    match error {
        BodyError::NotJson => error_answer(400, "Problems parsing JSON", docs),
        BodyError::NotAnObject => error_answer(400, "Body should be a JSON object", docs),
        BodyError::Missing(name) => {
            error_answer(422, &format!("Invalid request.\n\n\"{name}\" wasn't supplied."), docs)
        }
        BodyError::Mistyped(name, value, kind) => error_answer(
            422,
            &format!("Invalid request.\n\nFor 'properties/{name}', {value} is not {kind}."),
            docs,
        ),
    }
}

pub(crate) fn unauthorized(request: &Request) -> Answer {
    if let Some(answer) = missing_user_agent(request) {
        return answer;
    }
    let message = if request.header_value("authorization").is_some() {
        "Bad credentials"
    } else {
        "Requires authentication"
    };
    error_answer(401, message, DOCS)
}

/// The end of the rate limit window that contains `now`.
pub(crate) fn window_end(now: Timestamp) -> i64 {
    (now.as_second().div_euclid(RATE_LIMIT_WINDOW) + 1) * RATE_LIMIT_WINDOW
}

/// GitHub's response when it fails with this status.
pub(crate) fn failure(status: u16, request: &Request, context: &Context) -> Answer {
    match status {
        403 => {
            let user = context.ids.number("user", 100_000_000) + 10_000_000;
            let message = format!(
                "API rate limit exceeded for user ID {user}. If you reach out to GitHub Support for help, \
                 please include the \
                 request ID {} and timestamp {}.",
                super::standard_headers::request_id(context),
                context.now.strftime("%Y-%m-%d %H:%M:%S UTC")
            );
            error_answer(403, &message, LIMIT_DOCS)
                .with_header("X-RateLimit-Remaining", "0")
                .with_header("X-RateLimit-Used", "5000")
                .with_header("X-RateLimit-Reset", window_end(context.now).to_string())
        }
        429 => {
            let message =
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
            error_answer(429, message, LIMIT_DOCS).with_header("Retry-After", "1")
        }
        404 => not_found(DOCS),
        401 => error_answer(401, "Bad credentials", DOCS),
        409 => {
            let name =
                JsonBody::read(request.bytes()).ok().and_then(|mut body| body.text("ref").ok().flatten());
            let message =
                format!("Conflict: Commit status checks failed for {}.", name.as_deref().unwrap_or("main"));
            error_answer(409, &message, CREATE_DOCS)
        }
        422 => error_answer(422, "Validation Failed", CREATE_DOCS),
        400 => error_answer(400, "Problems parsing JSON", DOCS),
        408 => error_answer(408, "Request Timeout", DOCS),
        503 => Answer::json(
            503,
            &BareMessage {
                message: "No server is currently available to service your request. Sorry about that. \
                          Please try resubmitting \
                          your request and contact us if the problem persists.",
            },
        ),
        504 => Answer::json(
            504,
            &BareMessage {
                message: "We couldn't respond to your request in time. Sorry about that. Please try \
                          resubmitting your request \
                          and contact us if the problem persists.",
            },
        ),
        500.. => Answer::json(status, &BareMessage { message: "Server Error" }),
        _ => error_answer(status, "Bad Request", DOCS),
    }
}
