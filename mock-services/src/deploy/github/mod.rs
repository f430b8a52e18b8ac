//! GitHub's deployments API as PyGithub and octokit speak it, below `/repos` and, as on an Enterprise server,
//! `/api/v3/repos`. It knows no locks, no roll-outs and no keys: each POST makes a deployment.

mod decide;
mod errors;
mod fresh;
mod objects;
mod page;
mod people;
mod read;
mod repository;
mod standard_headers;

use std::sync::LazyLock;

use super::deployment::Wanted;
use super::facts::operation;
use crate::endpoints::{Endpoints, Known};
use crate::service::{Answer, Fields, Recognized, Request};
pub(crate) use decide::decide;
pub(crate) use errors::{failure, unauthorized};
use page::Page;
use read::{Filter, Report};
pub(crate) use standard_headers::add_standard_headers;

/// A request to GitHub's API.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) place: Place,
    pub(crate) what: What,
}

/// The repository that is meant, and how the caller reached it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The address in front of `/repos`, the prefix included.
    pub(crate) base: String,
    pub(crate) owner: String,
    pub(crate) repo: String,
}

impl Place {
    pub(crate) fn url(&self) -> String {
        format!("{}/repos/{}/{}", self.base, self.owner, self.repo)
    }
}

/// What is to be done with it.
#[derive(Debug)]
pub(crate) enum What {
    Repository,
    Create(Box<Wanted>),
    List(Filter, Page),
    Get(u64),
    Delete(u64),
    Report(u64, Box<Report>),
    Statuses(u64, Page),
    Status(u64, u64),
}

const PREFIX: [&str; 2] = ["api", "v3"];

/// All that GitHub has.
static GITHUB: LazyLock<Endpoints> = LazyLock::new(|| Endpoints::read(include_str!("endpoints.txt")));

/// Whether the request is meant for GitHub's API: by its path or, where that is unknown, by what it wants
/// back.
pub(crate) fn is_addressed(request: &Request) -> bool {
    let wants_github =
        || request.header_value("accept").is_some_and(|accept| accept.contains("application/vnd.github"));
    is_path(request.path())
        .unwrap_or_else(|| wants_github() || (request.path() != "/" && GITHUB.has_path(request.path())))
}

/// The path as it is without the prefix of an Enterprise server.
fn bare_path(request: &Request) -> &str {
    let path = request.path();
    // GraphQL has a prefix of its own there.
    path.strip_prefix("/api/v3")
        .or_else(|| path.strip_prefix("/api").filter(|rest| *rest == "/graphql"))
        .unwrap_or(path)
}

/// The refusal of a request that no call stands for.
fn unknown(request: &Request) -> Answer {
    match GITHUB.find(request.method(), bare_path(request)) {
        Known::Endpoint(endpoint) => errors::lacking(&endpoint),
        Known::OtherMethods => errors::not_found(errors::DOCS),
        Known::Nothing => nowhere(request).unwrap_or_else(|| errors::not_found(errors::DOCS)),
    }
}

/// The refusal of a request for a path that GitHub does not have.
pub(crate) fn nowhere(request: &Request) -> Option<Answer> {
    let is_known = || GITHUB.has_path(bare_path(request).trim_end_matches('/'));
    let is_here = is_path(request.path()) == Some(true) || request.path() == "/";
    (!is_here && !is_known()).then(|| errors::no_endpoint(request.method(), request.path()))
}

/// Whether a path is one of GitHub's API; `None` where neither API has it.
pub(crate) fn is_path(path: &str) -> Option<bool> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("repos") => Some(true),
        Some("api") => Some(matches!(parts.next(), Some("v3" | "graphql"))),
        Some("deployments" | "environments") => Some(false),
        _ => None,
    }
}

pub(crate) fn recognize(request: &Request) -> Result<Recognized<Call>, Answer> {
    if let Some(answer) = errors::nameless(request) {
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
    let place = Place { base, owner: (*owner).to_owned(), repo: (*repo).to_owned() };
    let fields = Fields::new().with("repo", format!("{owner}/{repo}"));
    let (operation, fields, what) = route(request, &place, fields, rest)?;
    Ok(Recognized { operation, fields, call: Call { place, what } })
}

fn route(
    request: &Request,
    place: &Place,
    fields: Fields,
    rest: &[&str],
) -> Result<(usize, Fields, What), Answer> {
    let of = |number: u64| fields.clone().with("deployment", number.to_string());
    Ok(match (request.method(), rest) {
        ("GET", []) => (operation::REPOSITORY, fields, What::Repository),
        ("POST", ["deployments"]) => {
            let wanted = read::wanted(request, place)?;
            (operation::DEPLOY, super::facts::wanted_fields(&wanted), What::Create(Box::new(wanted)))
        }
        ("GET", ["deployments"]) => {
            let filter = Filter::read(request);
            (operation::LIST, filter.fields(fields), What::List(filter, Page::read(request)))
        }
        ("GET", ["deployments", id]) => {
            let number = number(id)?;
            (operation::GET, of(number), What::Get(number))
        }
        ("DELETE", ["deployments", id]) => {
            let number = number(id)?;
            (operation::DELETE, of(number), What::Delete(number))
        }
        ("POST", ["deployments", id, "statuses"]) => {
            let number = number(id)?;
            let report = read::report(request)?;
            (operation::STATUS, report.fields(of(number)), What::Report(number, Box::new(report)))
        }
        ("GET", ["deployments", id, "statuses"]) => {
            let number = number(id)?;
            (operation::STATUSES, of(number), What::Statuses(number, Page::read(request)))
        }
        ("GET", ["deployments", id, "statuses", status]) => {
            let (number, status) = (number(id)?, self::number(status)?);
            (operation::STATUSES, of(number), What::Status(number, status))
        }
        _ => return Err(unknown(request)),
    })
}

/// GitHub's ids are whole numbers; whatever else stands there is not found.
fn number(text: &str) -> Result<u64, Answer> {
    text.parse().map_err(|_| errors::not_found(errors::DOCS))
}

/// Whether an account or a repository can have this name.
fn is_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
