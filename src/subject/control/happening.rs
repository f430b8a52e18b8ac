//! What a scenario lets happen before a subject is told of it, done with the tools of the controls: each step once, over
//! the ports of the services for the scenario itself.

use mock_services::catalog::ServiceDescription;
use mock_services::service::Value as Field;
use serde_json::{Map, Value};

use super::answer::ReplyClass;
use super::environment::Environment;
use super::tools::{self, ToolError, WriteMode};
use super::wire::{Content, ToolRequest, Wire};
use crate::scenario::Step;
use crate::subject::ServiceAddress;

/// Does each step once. Blocks until all are done.
///
/// # Errors
/// Which step is not done, and why.
pub(crate) fn perform(
    steps: &[Step],
    services: &[(ServiceDescription, ServiceAddress)],
) -> Result<(), String> {
    let variables = services.iter().flat_map(|(_, service)| {
        let stem = format!("HAPAX_{}", service.name.to_uppercase().replace('-', "_"));
        [(format!("{stem}_URL"), service.url.clone()), (format!("{stem}_KEY"), service.key.clone())]
    });
    let variables = variables.chain([("HAPAX_STEPS".to_owned(), "[]".to_owned())]);
    let environment = Environment::read(variables).map_err(|error| error.to_string())?;
    let wire = Wire::new(&environment);
    for step in steps {
        let failed = |why: &str| format!("{} cannot happen: {why}", step.operation);
        let request = request(&wire, step, services).map_err(|error| match error {
            ToolError::Unanswered => failed("the service did not answer"),
            ToolError::Impossible(why) => failed(&why),
        })?;
        let reply = wire.send(&request);
        if reply.class != ReplyClass::Done {
            let status =
                reply.status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
            return Err(failed(&format!("the service refused it with {status}: {}", reply.body)));
        }
    }
    Ok(())
}

/// The request for a step: of the control's tool, or of the tool of a service that the user declares.
fn request(
    wire: &Wire<'_>,
    step: &Step,
    services: &[(ServiceDescription, ServiceAddress)],
) -> Result<ToolRequest, ToolError> {
    let service = step.operation.split('.').next().unwrap_or_default();
    let own = services.iter().find(|(description, _)| description.name == service);
    let tool = own.and_then(|(description, _)| {
        (description.tools)().into_iter().find(|tool| tool.operation == step.operation)
    });
    let facts = tools::facts(wire, step, WriteMode::Plain);
    match (facts, tool) {
        (Ok(facts), _) => tools::write(step, &facts, WriteMode::Plain),
        (Err(_), Some(tool)) if !tools::is_supported(step) => {
            let json = |value: &Field| serde_json::to_value(value).unwrap_or_default();
            let arguments: Map<String, Value> =
                step.with.iter().map(|(name, value)| (name.to_owned(), json(value))).collect();
            let request = tool.request(&arguments);
            let request = request.map_err(|error| ToolError::Impossible(error.to_string()))?;
            let content = match serde_json::from_str(&request.body) {
                Ok(body) => Content::Json(body),
                Err(_) => Content::Nothing,
            };
            Ok(ToolRequest::new(service, tool.method, request.target, content))
        }
        (Err(error), _) => Err(error),
    }
}
