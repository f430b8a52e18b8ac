//! Parses requests to GitHub's API, and refuses what GitHub refuses without looking at its state.

use sha2::{Digest, Sha256};

use super::{RepositoryAddress, errors};
use crate::deploy::body::JsonBody;
use crate::deploy::deployment::{Deployment, GithubRecord, GithubSource, RequestedDeployment};
use crate::deploy::facts::metadata_of;
use crate::deploy::short_ref;
use crate::service::{Answer, Fields, Request};

/// The possible states of a status.
const STATES: [&str; 7] = ["error", "failure", "inactive", "in_progress", "queued", "pending", "success"];
/// The maximum length of a status description, in characters.
const MAX_DESCRIPTION_CHARACTERS: usize = 140;

/// A status to post.
#[derive(Debug)]
pub(crate) struct NewStatus {
    pub(crate) state: String,
    pub(crate) description: String,
    pub(crate) environment: Option<String>,
    pub(crate) environment_url: String,
    pub(crate) log_url: String,
    pub(crate) auto_inactive: bool,
}

impl NewStatus {
    pub(crate) fn fields(&self, fields: Fields) -> Fields {
        let fields =
            fields.with("state", self.state.as_str()).with_some("environment", self.environment.as_deref());
        fields.with_some("description", Some(self.description.as_str()).filter(|text| !text.is_empty()))
    }
}

/// The filter of a list of deployments.
#[derive(Debug)]
pub(crate) struct GithubFilter {
    sha: Option<String>,
    version: Option<String>,
    task: Option<String>,
    environment: Option<String>,
}

impl GithubFilter {
    pub(crate) fn read(request: &Request) -> Self {
        // GitHub documents `none` as the default of each.
        let value = |name| request.query_value(name).filter(|value| !value.is_empty() && value != "none");
        GithubFilter {
            sha: value("sha"),
            version: value("ref"),
            task: value("task"),
            environment: value("environment"),
        }
    }

    pub(crate) fn fields(&self, fields: Fields) -> Fields {
        fields
            .with_some("sha", self.sha.as_deref())
            .with_some("ref", self.version.as_deref())
            .with_some("version", self.version.as_deref())
            .with_some("task", self.task.as_deref())
            .with_some("environment", self.environment.as_deref())
    }

    pub(crate) fn matches(
        &self,
        deployment: &Deployment,
        source: &GithubSource,
        record: &GithubRecord,
    ) -> bool {
        let same = |requested: &Option<String>, other: &str| {
            requested.as_deref().is_none_or(|requested| requested == other)
        };
        same(&self.sha, &source.sha)
            && same(&self.version, &deployment.requested.version)
            && same(&self.task, &source.task)
            && same(&self.environment, &record.environment)
    }
}

/// The deployment that a request asks for.
pub(crate) fn requested(
    request: &Request,
    repository: &RepositoryAddress,
) -> Result<RequestedDeployment, Answer> {
    let refuse = |error| errors::invalid_body(&error, errors::CREATE_DOCS);
    let mut body = JsonBody::read_optional(request.bytes()).map_err(refuse)?;
    let version = body.required_text("ref").map_err(refuse)?;
    let task = body.text("task").map_err(refuse)?;
    let environment = body.text("environment").map_err(refuse)?;
    let description = body.text("description").map_err(refuse)?;
    let transient = body.flag("transient_environment").map_err(refuse)?;
    let production = body.flag("production_environment").map_err(refuse)?;
    // Only its type is checked: every branch is up to date here.
    body.flag("auto_merge").map_err(refuse)?;
    let contexts = body.texts("required_contexts").map_err(refuse)?.unwrap_or_default();
    if !is_ref(&version) {
        return Err(errors::no_ref(&version));
    }
    if !contexts.is_empty() {
        // No checks report here, so a required check is always pending.
        return Err(errors::checks_pending(&version, &contexts));
    }
    let environment = environment.filter(|name| !name.is_empty()).unwrap_or_else(|| "production".to_owned());
    let payload = body.take("payload").unwrap_or_else(|| serde_json::Value::Object(serde_json::Map::new()));
    let metadata = metadata_of(&payload);
    let source = GithubSource {
        sha: sha(repository, &version),
        owner: repository.owner.clone(),
        repo: repository.repo.clone(),
        task: task.unwrap_or_else(|| "deploy".to_owned()),
        payload,
        transient: transient.unwrap_or(false),
        production: production.unwrap_or(environment == "production"),
    };
    Ok(RequestedDeployment {
        environment,
        version,
        service: None,
        description,
        metadata,
        source: Some(source),
    })
}

/// The status that a request posts.
pub(crate) fn new_status(request: &Request) -> Result<NewStatus, Answer> {
    let refuse = |error| errors::invalid_body(&error, errors::STATUS_DOCS);
    let mut body = JsonBody::read_optional(request.bytes()).map_err(refuse)?;
    let state = body.required_text("state").map_err(refuse)?;
    let description = body.text("description").map_err(refuse)?.unwrap_or_default();
    let target = body.text("target_url").map_err(refuse)?;
    let log = body.text("log_url").map_err(refuse)?;
    let new_status = NewStatus {
        state,
        description,
        environment: body.text("environment").map_err(refuse)?.filter(|name| !name.is_empty()),
        environment_url: body.text("environment_url").map_err(refuse)?.unwrap_or_default(),
        log_url: log.or(target).unwrap_or_default(),
        auto_inactive: body.flag("auto_inactive").map_err(refuse)?.unwrap_or(true),
    };
    if !STATES.contains(&new_status.state.as_str()) {
        return Err(errors::invalid_status("state", "state is not included in the list"));
    }
    if new_status.description.chars().count() > MAX_DESCRIPTION_CHARACTERS {
        return Err(errors::invalid_status(
            "description",
            "description is too long (maximum is 140 characters)",
        ));
    }
    Ok(new_status)
}

/// Whether git allows a ref with this name.
fn is_ref(name: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    (1..=255).contains(&name.len()) && !name.contains(forbidden) && !name.contains("..")
}

/// The commit of a ref: always the same for one ref; a commit hash is its own.
fn sha(repository: &RepositoryAddress, version: &str) -> String {
    if version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return version.to_ascii_lowercase();
    }
    let short = short_ref(version);
    let repository = format!("{}/{}", repository.owner, repository.repo).to_ascii_lowercase();
    let digest = Sha256::new().chain_update(repository).chain_update([0]).chain_update(short).finalize();
    hex::encode(&digest[..20])
}
