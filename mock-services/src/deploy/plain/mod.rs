//! The plain deploy API: versions in environments, locks, dry runs and rollouts, like a company's internal
//! deploy service.

mod decide;
mod locks;
mod problem;
mod read;
mod rollout;
mod views;

use super::deployment::RequestedDeployment;
use super::facts::{deployment_fields, operation};
use crate::endpoints;
use crate::service::{Answer, Context, Fields, Recognized, Request};
pub(crate) use decide::decide;
pub(crate) use problem::{failure, unauthorized};
use read::PlainFilter;

/// The `Retry-After` for a lock whose end is unknown, in seconds.
pub(crate) const DEFAULT_RETRY_AFTER: u64 = 30;

/// A request to the plain API.
#[derive(Debug)]
pub(crate) struct PlainCall {
    /// The address that the client used.
    pub(crate) base: String,
    pub(crate) action: PlainAction,
}

/// The action that a request asks for.
#[derive(Debug)]
pub(crate) enum PlainAction {
    DeployRequest(Box<DeployRequest>),
    List(PlainFilter),
    Get(String),
    Environments,
    Environment(String),
    Lock { environment: String, holder: String, ttl: Option<u64> },
    Unlock { environment: String, holder: String },
}

/// A requested deployment.
#[derive(Debug)]
pub(crate) struct DeployRequest {
    pub(crate) requested: RequestedDeployment,
    pub(crate) dry_run: bool,
    /// The lock holder that the caller claims to be.
    pub(crate) holder: Option<String>,
}

pub(crate) fn recognize(request: &Request) -> Result<Recognized<PlainCall>, Answer> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (operation, fields, action) = route(request, &segments)?;
    Ok(Recognized { operation, fields, call: PlainCall { base: request.base_url(), action } })
}

fn route(request: &Request, segments: &[&str]) -> Result<(usize, Fields, PlainAction), Answer> {
    let in_environment = |name: &str| Fields::new().with("environment", name);
    Ok(match (request.method(), segments) {
        ("POST", ["deployments"]) => {
            let deploy = read::deploy(request)?;
            let fields = deployment_fields(&deploy.requested).with_some("holder", deploy.holder.as_deref());
            // A dry run deploys nothing, so it must not use up a fault on deploying.
            (
                if deploy.dry_run { operation::DRY_RUN } else { operation::DEPLOY },
                fields,
                PlainAction::DeployRequest(Box::new(deploy)),
            )
        }
        ("GET", ["deployments"]) => {
            let filter = PlainFilter::read(request)?;
            (operation::LIST, filter.fields(), PlainAction::List(filter))
        }
        ("GET", ["deployments", id]) => {
            (operation::GET, Fields::new().with("deployment", *id), PlainAction::Get((*id).to_owned()))
        }
        ("GET", ["environments"]) => (operation::ENVIRONMENT, Fields::new(), PlainAction::Environments),
        ("GET", ["environments", name]) => {
            (operation::ENVIRONMENT, in_environment(name), PlainAction::Environment((*name).to_owned()))
        }
        ("PUT", ["environments", name, "lock"]) => {
            let (holder, ttl) = read::lock(request, name)?;
            let fields = in_environment(name).with("holder", holder.as_str());
            (operation::LOCK, fields, PlainAction::Lock { environment: (*name).to_owned(), holder, ttl })
        }
        ("DELETE", ["environments", name, "lock"]) => {
            let holder = read::unlock(request)?;
            let fields = in_environment(name).with("holder", holder.as_str());
            (operation::UNLOCK, fields, PlainAction::Unlock { environment: (*name).to_owned(), holder })
        }
        (_, ["deployments"]) => return Err(problem::method_not_allowed("GET, POST")),
        (_, ["deployments", _] | ["environments"] | ["environments", _]) => {
            return Err(problem::method_not_allowed("GET"));
        }
        (_, ["environments", _, "lock"]) => return Err(problem::method_not_allowed("DELETE, PUT")),
        _ => return Err(no_endpoint(request)),
    })
}

/// The refusal of a request for a path that the API does not have.
pub(crate) fn unknown_path(request: &Request) -> Option<Answer> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let is_known = matches!(
        segments.as_slice(),
        ["deployments" | "environments"] | ["deployments" | "environments", _] | ["environments", _, "lock"]
    );
    (!is_known).then(|| no_endpoint(request))
}

fn no_endpoint(request: &Request) -> Answer {
    let api = "GitHub's API and one of its own";
    problem::not_found(&endpoints::no_such_endpoint("deploy", api, request.method(), request.path()))
}

/// Adds the headers of every response.
pub(crate) fn add_standard_headers(answer: &mut Answer, context: &Context) {
    answer.set_header("Cache-Control", "no-store");
    answer.set_header("X-Request-Id", context.ids.uuid("request"));
}
