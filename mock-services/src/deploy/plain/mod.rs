//! The plain deploy API: versions in environments, locks, dry runs and roll-outs, as a company's own deploy
//! service has them.

mod decide;
mod locks;
mod problem;
mod read;
mod rollout;
mod views;

use super::deployment::Wanted;
use super::facts::{operation, wanted_fields};
use crate::endpoints;
use crate::service::{Answer, Context, Fields, Recognized, Request};
pub(crate) use decide::decide;
pub(crate) use problem::{failure, unauthorized};
use read::Filter;

/// What a refused caller is told to wait for a lock of which no end is known, in seconds.
pub(crate) const PATIENCE: u64 = 30;

/// A request to the plain API.
#[derive(Debug)]
pub(crate) struct Call {
    /// The address under which the caller reached the service.
    pub(crate) base: String,
    pub(crate) what: What,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) enum What {
    Deploy(Box<Deploy>),
    List(Filter),
    Get(String),
    Environments,
    Environment(String),
    Lock { environment: String, holder: String, ttl: Option<u64> },
    Unlock { environment: String, holder: String },
}

/// A deployment that is asked for.
#[derive(Debug)]
pub(crate) struct Deploy {
    pub(crate) wanted: Wanted,
    pub(crate) dry_run: bool,
    /// As whom the caller passes a lock.
    pub(crate) holder: Option<String>,
}

pub(crate) fn recognize(request: &Request) -> Result<Recognized<Call>, Answer> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (operation, fields, what) = route(request, &segments)?;
    Ok(Recognized { operation, fields, call: Call { base: request.base_url(), what } })
}

fn route(request: &Request, segments: &[&str]) -> Result<(usize, Fields, What), Answer> {
    let in_environment = |name: &str| Fields::new().with("environment", name);
    Ok(match (request.method(), segments) {
        ("POST", ["deployments"]) => {
            let deploy = read::deploy(request)?;
            let fields = wanted_fields(&deploy.wanted).with_some("holder", deploy.holder.as_deref());
            // Nothing comes of a dry run, so that no fault of a deployment may be used up by it.
            (
                if deploy.dry_run { operation::DRY_RUN } else { operation::DEPLOY },
                fields,
                What::Deploy(Box::new(deploy)),
            )
        }
        ("GET", ["deployments"]) => {
            let filter = Filter::read(request)?;
            (operation::LIST, filter.fields(), What::List(filter))
        }
        ("GET", ["deployments", id]) => {
            (operation::GET, Fields::new().with("deployment", *id), What::Get((*id).to_owned()))
        }
        ("GET", ["environments"]) => (operation::ENVIRONMENT, Fields::new(), What::Environments),
        ("GET", ["environments", name]) => {
            (operation::ENVIRONMENT, in_environment(name), What::Environment((*name).to_owned()))
        }
        ("PUT", ["environments", name, "lock"]) => {
            let (holder, ttl) = read::lock(request, name)?;
            let fields = in_environment(name).with("holder", holder.as_str());
            (operation::LOCK, fields, What::Lock { environment: (*name).to_owned(), holder, ttl })
        }
        ("DELETE", ["environments", name, "lock"]) => {
            let holder = read::unlock(request)?;
            let fields = in_environment(name).with("holder", holder.as_str());
            (operation::UNLOCK, fields, What::Unlock { environment: (*name).to_owned(), holder })
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
pub(crate) fn nowhere(request: &Request) -> Option<Answer> {
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

/// Adds what the service sends with every answer.
pub(crate) fn add_standard_headers(answer: &mut Answer, context: &Context) {
    answer.set_header("Cache-Control", "no-store");
    answer.set_header("X-Request-Id", context.ids.uuid("request"));
}
