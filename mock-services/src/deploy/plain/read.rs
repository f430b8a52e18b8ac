//! Reads what a request to the plain API asks for.

use super::{Deploy, problem};
use crate::deploy::body::{Body, Flaw};
use crate::deploy::deployment::{Deployment, Stage, Wanted};
use crate::deploy::facts::metadata_of;
use crate::service::{Answer, Fields, Request};

/// How long a name can be, in bytes.
const LONGEST_NAME: usize = 255;

/// Which deployments a list is about.
#[derive(Debug)]
pub(crate) struct Filter {
    environment: Option<String>,
    version: Option<String>,
    service: Option<String>,
    stage: Option<Stage>,
    pub(crate) limit: usize,
}

impl Filter {
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
        Ok(Filter {
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

    pub(crate) fn fits(&self, deployment: &Deployment) -> bool {
        let wanted = &deployment.wanted;
        self.environment.as_ref().is_none_or(|name| *name == wanted.environment)
            && self.version.as_ref().is_none_or(|version| *version == wanted.version)
            && self.service.as_ref().is_none_or(|service| wanted.service.as_ref() == Some(service))
            && self.stage.is_none_or(|stage| stage == deployment.stage)
    }
}

/// The deployment that a request asks for.
pub(crate) fn deploy(request: &Request) -> Result<Deploy, Answer> {
    let mut body = Body::read(request.bytes()).map_err(refuse)?;
    let environment = named(&mut body, "environment")?;
    let version = named(&mut body, "version")?;
    let dry_by_body = body.flag("dry_run").map_err(refuse)?.unwrap_or(false);
    let dry_by_query = match request.query_value("dry_run").as_deref() {
        None | Some("false" | "0") => false,
        Some("true" | "1" | "") => true,
        Some(_) => return Err(problem::bad_parameter("dry_run", "It must be true or false.")),
    };
    let wanted = Wanted {
        environment,
        version,
        service: body.text("service").map_err(refuse)?.filter(|name| !name.is_empty()),
        description: body.text("description").map_err(refuse)?,
        metadata: body.take("metadata").map(|metadata| metadata_of(&metadata)).unwrap_or_default(),
        source: None,
    };
    let holder = body.text("holder").map_err(refuse)?;
    Ok(Deploy { wanted, dry_run: dry_by_body || dry_by_query, holder })
}

/// Who locks an environment, and for how many seconds.
pub(crate) fn lock(request: &Request, environment: &str) -> Result<(String, Option<u64>), Answer> {
    check_name("environment", environment)?;
    let mut body = Body::read(request.bytes()).map_err(refuse)?;
    let holder = named(&mut body, "holder")?;
    Ok((holder, body.seconds("ttl").map_err(refuse)?))
}

/// Who frees an environment; many clients send no body with DELETE, so the query can say it too.
pub(crate) fn unlock(request: &Request) -> Result<String, Answer> {
    if let Some(holder) = request.query_value("holder") {
        return Ok(holder);
    }
    named(&mut Body::read_optional(request.bytes()).map_err(refuse)?, "holder")
}

fn named(body: &mut Body, member: &'static str) -> Result<String, Answer> {
    let name = body.required_text(member).map_err(refuse)?;
    check_name(member, &name)?;
    Ok(name)
}

fn check_name(member: &str, name: &str) -> Result<(), Answer> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(char::is_control) {
        return Err(problem::invalid(
            member,
            &format!("It must be printable text of 1 to {LONGEST_NAME} bytes."),
        ));
    }
    Ok(())
}

fn refuse(flaw: Flaw) -> Answer {
    match flaw {
        Flaw::NotJson => problem::malformed("The body is not JSON."),
        Flaw::NotAnObject => problem::malformed("The body is not a JSON object."),
        Flaw::Missing(member) => problem::invalid(member, "It is required."),
        Flaw::Mistyped(member, _, kind) => problem::invalid(member, &format!("It must be {kind}.")),
    }
}
