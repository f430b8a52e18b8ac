//! The tools of the deploy service, for agents that get tools and not an API.

use crate::description::{ParameterType, ToolDescription};

const ENVIRONMENT: &str = "The environment: production.";
const OWNER: &str = "The owner of the repository.";
const REPOSITORY: &str = "The name of the repository, without its owner.";

/// All tools, of both APIs.
pub(super) fn all() -> Vec<ToolDescription> {
    let mut all = plain();
    all.extend(github());
    all
}

fn plain() -> Vec<ToolDescription> {
    use ParameterType::{Flag, Object, Text};
    vec![
        ToolDescription::new(
            "deploy_create",
            "deploy.deploy",
            "POST",
            "/deployments",
            "Deploys a version to an environment. Nothing happens if the version is already live there.",
        )
        .json()
        .keyed()
        .destructive()
        .required("environment", Text, ENVIRONMENT)
        .required("version", Text, "The version, for example a tag or a commit.")
        .optional("service", Text, "The service to deploy; the whole environment by default.")
        .optional("description", Text, "A text that is stored with the deployment.")
        .optional("holder", Text, "The name under which you hold the lock of the environment.")
        .optional("dry_run", Flag, "true: only check, and deploy nothing.")
        .optional("metadata", Object, "Labels that are stored with the deployment."),
        ToolDescription::new(
            "deploy_list",
            "deploy.list",
            "GET",
            "/deployments",
            "Lists deployments, the newest first.",
        )
        .query("environment", Text, "Only deployments to this environment.")
        .query("version", Text, "Only deployments of this version.")
        .query("service", Text, "Only deployments of this service."),
        ToolDescription::new(
            "deploy_get",
            "deploy.get",
            "GET",
            "/deployments/{deployment}",
            "Returns one deployment.",
        )
        .path("deployment", "The id of the deployment."),
        ToolDescription::new(
            "deploy_get_environment",
            "deploy.environment",
            "GET",
            "/environments/{environment}",
            "Returns which version an environment runs, and who holds its lock.",
        )
        .path("environment", ENVIRONMENT),
    ]
}

fn github() -> Vec<ToolDescription> {
    use ParameterType::{Any, Flag, Text};
    let deployments = "/repos/{owner}/{repo}/deployments";
    vec![
        ToolDescription::new(
            "deploy_create_github_deployment",
            "deploy.deploy",
            "POST",
            deployments,
            "Creates a deployment of a branch, tag or commit on GitHub. A second call creates a second \
             deployment.",
        )
        .json()
        .destructive()
        .path("owner", OWNER)
        .path("repo", REPOSITORY)
        .required("ref", Text, "The branch, tag or commit.")
        .optional("environment", Text, "The environment; production by default.")
        .optional("required_contexts", ParameterType::Texts, "The checks that must have passed; [] for none.")
        .optional("auto_merge", Flag, "Whether to merge the default branch first.")
        .optional("payload", Any, "Labels that are stored with the deployment.")
        .optional("description", Text, "A text that is stored with the deployment."),
        ToolDescription::new(
            "deploy_list_github_deployments",
            "deploy.list",
            "GET",
            deployments,
            "Lists the deployments of a repository on GitHub, the newest first.",
        )
        .path("owner", OWNER)
        .path("repo", REPOSITORY)
        .query("environment", Text, "Only deployments to this environment.")
        .query("ref", Text, "Only deployments of this branch, tag or commit."),
    ]
}
