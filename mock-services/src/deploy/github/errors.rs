//! GitHub's error bodies: its true refusals, and what it sends when it fails.

use jiff::Timestamp;
use serde::Serialize;

use crate::deploy::body::{Body, Flaw};
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

/// How long the windows of the rate limit are, in seconds.
const WINDOW: i64 = 10;

#[derive(Debug, Serialize)]
struct Failure<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Errors<'a>>,
    documentation_url: &'a str,
    status: String,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Errors<'a> {
    Plain([&'a str; 1]),
    Custom([Custom<'a>; 1]),
    Checks([Checks<'a>; 1]),
}

#[derive(Debug, Serialize)]
struct Checks<'a> {
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
struct Custom<'a> {
    resource: &'a str,
    code: &'a str,
    field: &'a str,
    message: &'a str,
}

/// Where GitHub itself fails, nothing but a message comes.
#[derive(Debug, Serialize)]
struct Bare {
    message: &'static str,
}

fn failed(status: u16, message: &str, docs: &str) -> Answer {
    Answer::json(
        status,
        &Failure { message, errors: None, documentation_url: docs, status: status.to_string() },
    )
}

fn validation_failed(errors: Errors<'_>, docs: &str) -> Answer {
    let failure = Failure {
        message: "Validation Failed",
        errors: Some(errors),
        documentation_url: docs,
        status: "422".to_owned(),
    };
    Answer::json(422, &failure)
}

pub(crate) fn not_found(docs: &str) -> Answer {
    failed(404, "Not Found", docs)
}

/// An endpoint that GitHub has and the service does not.
pub(crate) fn lacking(endpoint: &str) -> Answer {
    failed(501, &endpoints::lacking(endpoint), DOCS).unsupported(endpoint)
}

/// The path is not one of GitHub's at all: whoever asks wants another service.
pub(crate) fn no_endpoint(method: &str, path: &str) -> Answer {
    let said = endpoints::no_such_endpoint("deploy", "GitHub's API and one of its own", method, path);
    failed(404, &format!("Not Found ({said})"), DOCS)
}

pub(crate) fn no_ref(name: &str) -> Answer {
    failed(422, &format!("No ref found for: {name}"), CREATE_DOCS)
}

/// Checks that a deployment must wait for have not passed.
pub(crate) fn checks_pending(name: &str, contexts: &[String]) -> Answer {
    let contexts = contexts.iter().map(|context| Check { context, state: "pending" }).collect();
    let checks = Checks { contexts, resource: "Deployment", field: "required_contexts", code: "invalid" };
    let message = format!("Conflict: Commit status checks failed for {name}.");
    let errors = Some(Errors::Checks([checks]));
    Answer::json(
        409,
        &Failure { message: &message, errors, documentation_url: CREATE_DOCS, status: "409".to_owned() },
    )
}

/// GitHub takes no request that does not say whose it is. The server before the API says so.
pub(crate) fn nameless(request: &Request) -> Option<Answer> {
    let is_named = request.header_value("user-agent").is_some_and(|agent| !agent.trim().is_empty());
    let page = "\r\nRequest forbidden by administrative rules. Please make sure your request has a User-Agent header \
                (https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). Check \
                https://developer.github.com for other possible causes.\r\n";
    (!is_named).then(|| Answer::text(403, "text/html", page))
}

pub(crate) fn still_active() -> Answer {
    let reason =
        "We cannot delete an active deployment unless it is the only deployment in a given environment.";
    validation_failed(Errors::Plain([reason]), DELETE_DOCS)
}

pub(crate) fn invalid_status(field: &str, message: &str) -> Answer {
    let error = Custom { resource: "DeploymentStatus", code: "custom", field, message };
    validation_failed(Errors::Custom([error]), STATUS_DOCS)
}

/// What GitHub says of a body that it cannot read.
pub(crate) fn flawed(flaw: &Flaw, docs: &str) -> Answer {
    match flaw {
        Flaw::NotJson => failed(400, "Problems parsing JSON", docs),
        Flaw::NotAnObject => failed(400, "Body should be a JSON object", docs),
        Flaw::Missing(name) => failed(422, &format!("Invalid request.\n\n\"{name}\" wasn't supplied."), docs),
        Flaw::Mistyped(name, value, kind) => {
            failed(422, &format!("Invalid request.\n\nFor 'properties/{name}', {value} is not {kind}."), docs)
        }
    }
}

pub(crate) fn unauthorized(request: &Request) -> Answer {
    if let Some(answer) = nameless(request) {
        return answer;
    }
    let message = if request.header_value("authorization").is_some() {
        "Bad credentials"
    } else {
        "Requires authentication"
    };
    failed(401, message, DOCS)
}

/// When the window of the rate limit in which `now` lies is over.
pub(crate) fn reset(now: Timestamp) -> i64 {
    (now.as_second().div_euclid(WINDOW) + 1) * WINDOW
}

/// What GitHub answers when it fails with this status.
pub(crate) fn failure(status: u16, request: &Request, context: &Context) -> Answer {
    match status {
        403 => {
            let user = context.ids.number("user", 100_000_000) + 10_000_000;
            let message = format!(
                "API rate limit exceeded for user ID {user}. If you reach out to GitHub Support for help, please include the \
                 request ID {} and timestamp {}.",
                super::standard_headers::request_id(context),
                context.now.strftime("%Y-%m-%d %H:%M:%S UTC")
            );
            failed(403, &message, LIMIT_DOCS)
                .with_header("X-RateLimit-Remaining", "0")
                .with_header("X-RateLimit-Used", "5000")
                .with_header("X-RateLimit-Reset", reset(context.now).to_string())
        }
        429 => {
            let message =
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
            failed(429, message, LIMIT_DOCS).with_header("Retry-After", "1")
        }
        404 => not_found(DOCS),
        401 => failed(401, "Bad credentials", DOCS),
        409 => {
            let name = Body::read(request.bytes()).ok().and_then(|mut body| body.text("ref").ok().flatten());
            let message =
                format!("Conflict: Commit status checks failed for {}.", name.as_deref().unwrap_or("main"));
            failed(409, &message, CREATE_DOCS)
        }
        422 => failed(422, "Validation Failed", CREATE_DOCS),
        400 => failed(400, "Problems parsing JSON", DOCS),
        408 => failed(408, "Request Timeout", DOCS),
        503 => Answer::json(
            503,
            &Bare {
                message: "No server is currently available to service your request. Sorry about that. Please try resubmitting \
                          your request and contact us if the problem persists.",
            },
        ),
        504 => Answer::json(
            504,
            &Bare {
                message: "We couldn't respond to your request in time. Sorry about that. Please try resubmitting your request \
                          and contact us if the problem persists.",
            },
        ),
        500.. => Answer::json(status, &Bare { message: "Server Error" }),
        _ => failed(status, "Bad Request", DOCS),
    }
}
