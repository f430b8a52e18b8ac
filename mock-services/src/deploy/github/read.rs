//! Reads what a request to GitHub's API asks for, and refuses what GitHub would refuse before looking
//! anywhere.

use sha2::{Digest, Sha256};

use super::{Place, errors};
use crate::deploy::body::Body;
use crate::deploy::deployment::{Deployment, Record, Source, Wanted};
use crate::deploy::facts::metadata_of;
use crate::deploy::short_ref;
use crate::service::{Answer, Fields, Request};

/// The states that a status can have.
const STATES: [&str; 7] = ["error", "failure", "inactive", "in_progress", "queued", "pending", "success"];
/// How long the description of a status can be, in characters.
const LONGEST_DESCRIPTION: usize = 140;

/// A status that is to be posted.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) state: String,
    pub(crate) description: String,
    pub(crate) environment: Option<String>,
    pub(crate) environment_url: String,
    pub(crate) log_url: String,
    pub(crate) auto_inactive: bool,
}

impl Report {
    pub(crate) fn fields(&self, fields: Fields) -> Fields {
        let fields =
            fields.with("state", self.state.as_str()).with_some("environment", self.environment.as_deref());
        fields.with_some("description", Some(self.description.as_str()).filter(|text| !text.is_empty()))
    }
}

/// Which deployments a list is about.
#[derive(Debug)]
pub(crate) struct Filter {
    sha: Option<String>,
    version: Option<String>,
    task: Option<String>,
    environment: Option<String>,
}

impl Filter {
    pub(crate) fn read(request: &Request) -> Self {
        // `none` is what GitHub documents as the default of each.
        let value = |name| request.query_value(name).filter(|value| !value.is_empty() && value != "none");
        Filter {
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

    pub(crate) fn fits(&self, deployment: &Deployment, source: &Source, record: &Record) -> bool {
        let same =
            |wanted: &Option<String>, have: &str| wanted.as_deref().is_none_or(|wanted| wanted == have);
        same(&self.sha, &source.sha)
            && same(&self.version, &deployment.wanted.version)
            && same(&self.task, &source.task)
            && same(&self.environment, &record.environment)
    }
}

/// The deployment that a request asks for.
pub(crate) fn wanted(request: &Request, place: &Place) -> Result<Wanted, Answer> {
    let refuse = |flaw| errors::flawed(&flaw, errors::CREATE_DOCS);
    let mut body = Body::read_optional(request.bytes()).map_err(refuse)?;
    let version = body.required_text("ref").map_err(refuse)?;
    let task = body.text("task").map_err(refuse)?;
    let environment = body.text("environment").map_err(refuse)?;
    let description = body.text("description").map_err(refuse)?;
    let transient = body.flag("transient_environment").map_err(refuse)?;
    let production = body.flag("production_environment").map_err(refuse)?;
    // Read for its type alone: every branch is up to date here.
    body.flag("auto_merge").map_err(refuse)?;
    let contexts = body.texts("required_contexts").map_err(refuse)?.unwrap_or_default();
    if !is_ref(&version) {
        return Err(errors::no_ref(&version));
    }
    if !contexts.is_empty() {
        // No check has ever reported here: what is named is still awaited.
        return Err(errors::checks_pending(&version, &contexts));
    }
    let environment = environment.filter(|name| !name.is_empty()).unwrap_or_else(|| "production".to_owned());
    let payload = body.take("payload").unwrap_or_else(|| serde_json::Value::Object(serde_json::Map::new()));
    let metadata = metadata_of(&payload);
    let source = Source {
        sha: sha(place, &version),
        owner: place.owner.clone(),
        repo: place.repo.clone(),
        task: task.unwrap_or_else(|| "deploy".to_owned()),
        payload,
        transient: transient.unwrap_or(false),
        production: production.unwrap_or(environment == "production"),
    };
    Ok(Wanted { environment, version, service: None, description, metadata, source: Some(source) })
}

/// The status that a request posts.
pub(crate) fn report(request: &Request) -> Result<Report, Answer> {
    let refuse = |flaw| errors::flawed(&flaw, errors::STATUS_DOCS);
    let mut body = Body::read_optional(request.bytes()).map_err(refuse)?;
    let state = body.required_text("state").map_err(refuse)?;
    let description = body.text("description").map_err(refuse)?.unwrap_or_default();
    let target = body.text("target_url").map_err(refuse)?;
    let log = body.text("log_url").map_err(refuse)?;
    let report = Report {
        state,
        description,
        environment: body.text("environment").map_err(refuse)?.filter(|name| !name.is_empty()),
        environment_url: body.text("environment_url").map_err(refuse)?.unwrap_or_default(),
        log_url: log.or(target).unwrap_or_default(),
        auto_inactive: body.flag("auto_inactive").map_err(refuse)?.unwrap_or(true),
    };
    if !STATES.contains(&report.state.as_str()) {
        return Err(errors::invalid_status("state", "state is not included in the list"));
    }
    if report.description.chars().count() > LONGEST_DESCRIPTION {
        return Err(errors::invalid_status(
            "description",
            "description is too long (maximum is 140 characters)",
        ));
    }
    Ok(report)
}

/// Whether git could know a ref of this name.
fn is_ref(name: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    (1..=255).contains(&name.len()) && !name.contains(forbidden) && !name.contains("..")
}

/// The commit that the ref stands for: always the same one, and itself where it is one.
fn sha(place: &Place, version: &str) -> String {
    if version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return version.to_ascii_lowercase();
    }
    let short = short_ref(version);
    let repository = format!("{}/{}", place.owner, place.repo).to_ascii_lowercase();
    let digest = Sha256::new().chain_update(repository).chain_update([0]).chain_update(short).finalize();
    hex::encode(&digest[..20])
}
