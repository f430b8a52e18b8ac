//! Parses requests to the plain API.

use super::{DeployRequest, problem};
use crate::deploy::body::{BodyError, JsonBody};
use crate::deploy::deployment::{Deployment, RequestedDeployment, Stage};
use crate::deploy::facts::metadata_of;
use crate::service::{Answer, Fields, Request};

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The filter of a list of deployments.
#[derive(Debug)]
pub(crate) struct PlainFilter {
    environment: Option<String>,
    version: Option<String>,
    service: Option<String>,
    stage: Option<Stage>,
    pub(crate) limit: usize,
}

impl PlainFilter {
    pub(crate) fn read(request: &Request) -> Result<Self, Answer> {
        let value = |name| request.query_value(name).filter(|value| !value.is_empty());
        let limit = match value("limit").map(|limit| limit.parse()) {
            None => 20,
            Some(Ok(limit @ 1..=100)) => limit,
            Some(_) => {
                return Err(problem::bad_parameter("limit", "It must be a whole number from 1 to 100."));
            }
        };
        let stage = match value("state") {
            None => None,
            Some(name) => match Stage::ALL.into_iter().find(|stage| stage.name() == name) {
                Some(stage) => Some(stage),
                None => {
                    return Err(problem::bad_parameter(
                        "state",
                        "It must be one of queued, rolling_out, live, superseded.",
                    ));
                }
            },
        };
        Ok(PlainFilter {
            environment: value("environment"),
            version: value("version"),
            service: value("service"),
            stage,
            limit,
        })
    }

    pub(crate) fn fields(&self) -> Fields {
        Fields::new()
            .with_some("environment", self.environment.as_deref())
            .with_some("version", self.version.as_deref())
            .with_some("service", self.service.as_deref())
            .with_some("state", self.stage.map(Stage::name))
    }

    pub(crate) fn matches(&self, deployment: &Deployment) -> bool {
        let requested = &deployment.requested;
        self.environment.as_ref().is_none_or(|name| *name == requested.environment)
            && self.version.as_ref().is_none_or(|version| *version == requested.version)
            && self.service.as_ref().is_none_or(|service| requested.service.as_ref() == Some(service))
            && self.stage.is_none_or(|stage| stage == deployment.stage)
    }
}

/// The deployment of a request.
pub(crate) fn deploy(request: &Request) -> Result<DeployRequest, Answer> {
    let mut body = JsonBody::read(request.bytes()).map_err(refuse_body)?;
    let environment = required_name(&mut body, "environment")?;
    let version = required_name(&mut body, "version")?;
    let dry_by_body = body.flag("dry_run").map_err(refuse_body)?.unwrap_or(false);
    let dry_by_query = match request.query_value("dry_run").as_deref() {
        None | Some("false" | "0") => false,
        Some("true" | "1" | "") => true,
        Some(_) => return Err(problem::bad_parameter("dry_run", "It must be true or false.")),
    };
    let requested = RequestedDeployment {
        environment,
        version,
        service: body.text("service").map_err(refuse_body)?.filter(|name| !name.is_empty()),
        description: body.text("description").map_err(refuse_body)?,
        metadata: body.take("metadata").map(|metadata| metadata_of(&metadata)).unwrap_or_default(),
        source: None,
    };
    let holder = body.text("holder").map_err(refuse_body)?;
    Ok(DeployRequest { requested, dry_run: dry_by_body || dry_by_query, holder })
}

/// The holder of a new lock, and its lifetime in seconds.
pub(crate) fn lock(request: &Request, environment: &str) -> Result<(String, Option<u64>), Answer> {
    check_name("environment", environment)?;
    let mut body = JsonBody::read(request.bytes()).map_err(refuse_body)?;
    let holder = required_name(&mut body, "holder")?;
    Ok((holder, body.seconds("ttl").map_err(refuse_body)?))
}

/// The holder of the lock to release. Many clients send no body with DELETE, so the query can name the holder
/// too.
pub(crate) fn unlock(request: &Request) -> Result<String, Answer> {
    if let Some(holder) = request.query_value("holder") {
        return Ok(holder);
    }
    required_name(&mut JsonBody::read_optional(request.bytes()).map_err(refuse_body)?, "holder")
}

fn required_name(body: &mut JsonBody, member: &'static str) -> Result<String, Answer> {
    let name = body.required_text(member).map_err(refuse_body)?;
    check_name(member, &name)?;
    Ok(name)
}

fn check_name(member: &str, name: &str) -> Result<(), Answer> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(char::is_control) {
        return Err(problem::invalid(
            member,
            &format!("It must be printable text of 1 to {MAX_NAME_BYTES} bytes."),
        ));
    }
    Ok(())
}

fn refuse_body(error: BodyError) -> Answer {
    match error {
        BodyError::NotJson => problem::malformed("The body is not JSON."),
        BodyError::NotAnObject => problem::malformed("The body is not a JSON object."),
        BodyError::Missing(member) => problem::invalid(member, "It is required."),
        BodyError::Mistyped(member, _, kind) => problem::invalid(member, &format!("It must be {kind}.")),
    }
}
