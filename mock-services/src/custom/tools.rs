//! The tools of a declared service: one for each operation, with the fields that its file names.

use super::input::FieldPlace;
use super::{CreateItems, Custom, KEY_HEADER, OperationAction, OperationRule};
use crate::description::{ParameterPlace, ParameterType, ToolBody, ToolDescription, ToolParameter};
use crate::service::{Operation, OperationKind};

/// All tools of the service.
pub(super) fn all(service: &Custom) -> Vec<ToolDescription> {
    let all = service.operations.iter().zip(&service.rules);
    all.map(|(operation, rule)| tool(service, operation, rule)).collect()
}

fn tool(service: &Custom, operation: &Operation, rule: &OperationRule) -> ToolDescription {
    let (method, path) = (rule.route.method, rule.route.template());
    let name = operation.name.replace(['.', '-'], "_");
    let mut about = about(service, operation, rule);
    about.push_str(&format!(" It is the request {method} {path}."));
    let mut tool = ToolDescription::new(&name, &operation.name, method, &path, &about);
    for (name, place) in &rule.fields {
        let place = match place {
            FieldPlace::Path(at) => ParameterPlace::Path(at.clone()),
            FieldPlace::Query(at) => ParameterPlace::Query(at.clone()),
            FieldPlace::Header(at) => ParameterPlace::Header(at.clone()),
            FieldPlace::RequestBody(at) => ParameterPlace::Body(at.clone()),
        };
        let kind = if each(rule) == Some(name) { ParameterType::Texts } else { ParameterType::Any };
        let is_required = rule.required.contains(name)
            || each(rule) == Some(name)
            || matches!(place, ParameterPlace::Path(_));
        let parameter = ToolParameter::new(name, kind, place, &format!("The field `{name}`."));
        tool = tool.parameter(if is_required { parameter.required() } else { parameter });
    }
    for name in rule.route.names() {
        let place = ParameterPlace::Path(name.to_owned());
        if !tool.parameters.iter().any(|parameter| parameter.place == place) {
            tool = tool.path(name, &format!("The part `{name}` of the path."));
        }
    }
    if let OperationAction::List { filter, .. } = &rule.action {
        for name in filter {
            tool = tool.query(name, ParameterType::Text, &format!("Only items with this `{name}`."));
        }
    }
    if tool.parameters.iter().any(|parameter| matches!(parameter.place, ParameterPlace::Body(_))) {
        tool.body = ToolBody::Json;
    }
    if operation.kind == OperationKind::Write && method != "DELETE" {
        tool.key = match &service.key {
            None => Some(ParameterPlace::Header(KEY_HEADER.to_owned())),
            Some(FieldPlace::Header(at)) => Some(ParameterPlace::Header(at.clone())),
            Some(FieldPlace::Query(at)) => Some(ParameterPlace::Query(at.clone())),
            Some(FieldPlace::RequestBody(at)) => {
                tool.body = ToolBody::Json;
                Some(ParameterPlace::Body(at.clone()))
            }
            Some(FieldPlace::Path(_)) => None,
        };
    }
    tool.destructive = matches!(rule.action, OperationAction::Change { .. });
    tool
}

fn about(service: &Custom, operation: &Operation, rule: &OperationRule) -> String {
    let short = operation.name.split('.').next_back().unwrap_or_default();
    let does = match &rule.action {
        OperationAction::Create(CreateItems { each: Some(_), .. }) => {
            "it creates one item for each element of a list, and a second call creates them again"
        }
        OperationAction::Create(_) => "it creates an item, and a second call creates another",
        OperationAction::Change { .. } => "it changes an item",
        OperationAction::Get { .. } => "it returns one item",
        OperationAction::List { .. } => "it lists items",
    };
    let about = service.about.as_deref().map(|about| format!(" ({})", about.trim_end_matches('.')));
    format!("The operation `{short}` of {}{}: {does}.", service.name, about.unwrap_or_default())
}

fn each(rule: &OperationRule) -> Option<&String> {
    match &rule.action {
        OperationAction::Create(CreateItems { each, .. }) => each.as_ref(),
        _ => None,
    }
}
