//! The endpoints of the deploy service, for its reference. A test compares them with the routers.

use super::github;
use crate::description::{EndpointDescription, RealEndpoint};

/// All endpoints of GitHub.
pub(super) fn real_endpoints() -> Vec<RealEndpoint> {
    github::GITHUB.all().into_iter().map(RealEndpoint::from).collect()
}

/// All endpoints of the service.
pub(super) fn endpoints() -> Vec<EndpointDescription> {
    github().into_iter().chain(plain()).collect()
}

fn github() -> Vec<EndpointDescription> {
    const PAGE: &[&str] = &["page", "per_page"];
    const CREATE: &[&str] = &[
        "ref",
        "task",
        "environment",
        "description",
        "transient_environment",
        "production_environment",
        "auto_merge",
        "required_contexts",
        "payload",
    ];
    const STATUS: &[&str] =
        &["state", "description", "target_url", "log_url", "environment", "environment_url", "auto_inactive"];
    let one = |method: &str, path: &str, operation: &str, parameters: &[&[&str]]| {
        EndpointDescription::new(
            method,
            &format!("/repos/{{owner}}/{{repo}}{path}"),
            &[operation],
            parameters,
        )
    };
    vec![
        one("GET", "", "deploy.repository", &[]),
        one("POST", "/deployments", "deploy.deploy", &[CREATE]),
        one("GET", "/deployments", "deploy.list", &[&["sha", "ref", "task", "environment"], PAGE]),
        one("GET", "/deployments/{id}", "deploy.get", &[]),
        one("DELETE", "/deployments/{id}", "deploy.delete", &[]),
        one("POST", "/deployments/{id}/statuses", "deploy.status", &[STATUS]),
        one("GET", "/deployments/{id}/statuses", "deploy.statuses", &[PAGE]),
        one("GET", "/deployments/{id}/statuses/{id}", "deploy.statuses", &[]),
    ]
}

fn plain() -> Vec<EndpointDescription> {
    const DEPLOY: &[&str] =
        &["environment", "version", "service", "description", "metadata", "holder", "dry_run"];
    let one = |method: &str, path: &str, operations: &[&str], parameters: &[&str]| {
        EndpointDescription::new(method, path, operations, &[parameters])
    };
    vec![
        one("POST", "/deployments", &["deploy.deploy", "deploy.dry-run", "deploy.no-change"], DEPLOY),
        one(
            "GET",
            "/deployments",
            &["deploy.list"],
            &["environment", "version", "service", "state", "limit"],
        ),
        one("GET", "/deployments/{id}", &["deploy.get"], &[]),
        one("GET", "/environments", &["deploy.environment"], &[]),
        one("GET", "/environments/{name}", &["deploy.environment"], &[]),
        one("PUT", "/environments/{name}/lock", &["deploy.lock", "deploy.take-lock"], &["holder", "ttl"]),
        one("DELETE", "/environments/{name}/lock", &["deploy.unlock"], &["holder"]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::listed_like_routed;
    use crate::deploy::Deploy;

    #[test]
    fn the_reference_lists_exactly_the_endpoints_that_the_routers_have() {
        listed_like_routed(&Deploy::default(), &github(), &real_endpoints());
        listed_like_routed(&Deploy::default(), &plain(), &[]);
    }
}
