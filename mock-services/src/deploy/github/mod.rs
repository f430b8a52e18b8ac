//! GitHub's deployments API as PyGithub and octokit use it, below `/repos` and, as on an Enterprise server,
//! `/api/v3/repos`. It has no locks, rollouts or idempotency keys: each POST makes a deployment.

mod accounts;
mod decide;
mod errors;
mod etag;
mod objects;
mod page;
mod read;
mod repository;
mod standard_headers;

pub(crate) use objects::{deployment_object, status_object};
use std::sync::LazyLock;

use super::deployment::RequestedDeployment;
use super::facts::operation;
use crate::endpoints::{Endpoints, Known};
use crate::service::{Answer, Fields, Recognized, Request};
pub(crate) use decide::decide;
pub(crate) use errors::{failure, unauthorized};
use page::Page;
use read::{GithubFilter, NewStatus};
pub(crate) use standard_headers::add_standard_headers;

/// A request to GitHub's API.
#[derive(Debug)]
pub(crate) struct GithubCall {
    pub(crate) repository: RepositoryAddress,
    pub(crate) action: GithubAction,
}

/// The repository of a request, and how the client addressed it.
#[derive(Debug, Clone)]
pub(crate) struct RepositoryAddress {
    /// The address before `/repos`, including the prefix.
    pub(crate) base: String,
    pub(crate) owner: String,
    pub(crate) repo: String,
}

impl RepositoryAddress {
    pub(crate) fn url(&self) -> String {
        format!("{}/repos/{}/{}", self.base, self.owner, self.repo)
    }
}

/// The action that a request asks for.
#[derive(Debug)]
pub(crate) enum GithubAction {
    Repository,
    Create(Box<RequestedDeployment>),
    List(GithubFilter, Page),
    Get(u64),
    Delete(u64),
    NewStatus(u64, Box<NewStatus>),
    Statuses(u64, Page),
    DeploymentStatus(u64, u64),
}

const PREFIX: [&str; 2] = ["api", "v3"];

/// All endpoints of GitHub.
pub(super) static GITHUB: LazyLock<Endpoints> =
    LazyLock::new(|| Endpoints::read(include_str!("endpoints.txt")));

/// Whether the request is meant for GitHub's API: by its path, or for an unknown path by its `Accept` header.
pub(crate) fn is_for_github(request: &Request) -> bool {
    let wants_github =
        || request.header_value("accept").is_some_and(|accept| accept.contains("application/vnd.github"));
    is_path(request.path())
        .unwrap_or_else(|| wants_github() || (request.path() != "/" && GITHUB.has_path(request.path())))
}

/// The path without the prefix of an Enterprise server.
fn path_without_prefix(request: &Request) -> &str {
    let path = request.path();
    // GraphQL has its own prefix there.
    path.strip_prefix("/api/v3")
        .or_else(|| path.strip_prefix("/api").filter(|rest| *rest == "/graphql"))
        .unwrap_or(path)
}

/// The refusal of a request that the service does not support.
fn unknown(request: &Request) -> Answer {
    match GITHUB.find(request.method(), path_without_prefix(request)) {
        Known::Endpoint(endpoint) => errors::unsupported_endpoint(&endpoint),
        Known::OtherMethods => errors::not_found(errors::DOCS),
        Known::Nothing => unknown_path(request).unwrap_or_else(|| errors::not_found(errors::DOCS)),
    }
}

/// The refusal of a request for a path that GitHub does not have.
pub(crate) fn unknown_path(request: &Request) -> Option<Answer> {
    let is_known = || GITHUB.has_path(path_without_prefix(request).trim_end_matches('/'));
    let is_here = is_path(request.path()) == Some(true) || request.path() == "/";
    (!is_here && !is_known()).then(|| errors::no_endpoint(request.method(), request.path()))
}

/// Whether a path belongs to GitHub's API; `None` when neither API has it.
pub(crate) fn is_path(path: &str) -> Option<bool> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("repos") => Some(true),
        Some("api") => Some(matches!(parts.next(), Some("v3" | "graphql"))),
        Some("deployments" | "environments") => Some(false),
        _ => None,
    }
}

pub(crate) fn recognize(request: &Request) -> Result<Recognized<GithubCall>, Answer> {
    if let Some(answer) = errors::missing_user_agent(request) {
        return Err(answer);
    }
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (base, path) = match segments.strip_prefix(&PREFIX) {
        Some(path) => (request.base_url() + "/api/v3", path),
        None => (request.base_url(), segments.as_slice()),
    };
    let ["repos", owner, repo, rest @ ..] = path else { return Err(unknown(request)) };
    if !is_name(owner) || !is_name(repo) {
        return Err(errors::not_found(errors::DOCS));
    }
    let repository = RepositoryAddress { base, owner: (*owner).to_owned(), repo: (*repo).to_owned() };
    let fields = Fields::new().with("repo", format!("{owner}/{repo}"));
    let (operation, fields, action) = route(request, &repository, fields, rest)?;
    Ok(Recognized { operation, fields, call: GithubCall { repository, action } })
}

fn route(
    request: &Request,
    repository: &RepositoryAddress,
    fields: Fields,
    rest: &[&str],
) -> Result<(usize, Fields, GithubAction), Answer> {
    let of = |number: u64| fields.clone().with("deployment", number.to_string());
    Ok(match (request.method(), rest) {
        ("GET", []) => (operation::REPOSITORY, fields, GithubAction::Repository),
        ("POST", ["deployments"]) => {
            let requested = read::requested(request, repository)?;
            (
                operation::DEPLOY,
                super::facts::deployment_fields(&requested),
                GithubAction::Create(Box::new(requested)),
            )
        }
        ("GET", ["deployments"]) => {
            let filter = GithubFilter::read(request);
            (operation::LIST, filter.fields(fields), GithubAction::List(filter, Page::read(request)))
        }
        ("GET", ["deployments", id]) => {
            let number = number(id)?;
            (operation::GET, of(number), GithubAction::Get(number))
        }
        ("DELETE", ["deployments", id]) => {
            let number = number(id)?;
            (operation::DELETE, of(number), GithubAction::Delete(number))
        }
        ("POST", ["deployments", id, "statuses"]) => {
            let number = number(id)?;
            let new_status = read::new_status(request)?;
            (
                operation::STATUS,
                new_status.fields(of(number)),
                GithubAction::NewStatus(number, Box::new(new_status)),
            )
        }
        ("GET", ["deployments", id, "statuses"]) => {
            let number = number(id)?;
            (operation::STATUSES, of(number), GithubAction::Statuses(number, Page::read(request)))
        }
        ("GET", ["deployments", id, "statuses", status]) => {
            let (number, status) = (number(id)?, self::number(status)?);
            (operation::STATUSES, of(number), GithubAction::DeploymentStatus(number, status))
        }
        _ => return Err(unknown(request)),
    })
}

/// GitHub's ids are integers; any other id is not found.
fn number(text: &str) -> Result<u64, Answer> {
    text.parse().map_err(|_| errors::not_found(errors::DOCS))
}

/// Whether an account or a repository can have this name.
fn is_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
