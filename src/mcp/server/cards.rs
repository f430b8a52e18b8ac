//! What a client reads about a tool: name, description, schema and hints, as well or as badly as the scenario
//! says.

use std::sync::Arc;

use mock_services::catalog::{KEY_ARGUMENT, ToolDescription};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::OfferedService;
use crate::domain::{KeyDescription, ToolCards, ToolHints};

/// The description of the key: one for the operation, the same in every retry.
const KEY_PER_OPERATION: &str = "An idempotency key for this operation, for example made from the order id. \
     Repeat the same key when you repeat the call after an error, a timeout or a lost reply: the service then \
     does it only once. Use another key only for another operation.";
/// A description that leads to a new key for every call.
const KEY_PER_REQUEST: &str =
    "A unique identifier of this request. Generate a new random UUID for every call.";

/// A tool, the service that it calls and what clients read about it.
#[derive(Debug)]
pub(super) struct OfferedTool {
    /// The index of the service.
    pub(super) service: usize,
    pub(super) description: ToolDescription,
    pub(super) card: Tool,
}

/// The tools of the services.
pub(super) fn tools(services: &[OfferedService], cards: ToolCards) -> Vec<OfferedTool> {
    let of_service = |(index, service): (usize, &OfferedService)| {
        let tools = (service.description.tools)().into_iter();
        tools
            .map(|description| OfferedTool {
                service: index,
                card: card(service, &description, cards),
                description,
            })
            .collect::<Vec<_>>()
    };
    services.iter().enumerate().flat_map(of_service).collect()
}

fn card(service: &OfferedService, tool: &ToolDescription, cards: ToolCards) -> Tool {
    let card = Tool::new(tool.name.clone(), tool.about.clone(), Arc::new(schema(service, tool, cards)));
    match hints(service.description.is_write(tool), tool, cards.hints) {
        Some(hints) => card.with_annotations(hints),
        None => card,
    }
}

fn schema(service: &OfferedService, tool: &ToolDescription, cards: ToolCards) -> Map<String, Value> {
    let described = |mut schema: Value, about: &str| {
        schema["description"] = about.into();
        schema
    };
    let mut properties = Map::new();
    for parameter in &tool.parameters {
        properties.insert(parameter.name.clone(), described(parameter.kind.schema(), &parameter.about));
    }
    let mut required: Vec<&str> =
        tool.parameters.iter().filter(|one| one.required).map(|one| one.name.as_str()).collect();
    if let Some(rules) = service.description.key_rules(tool, service.idempotency.as_ref()) {
        let about = match cards.key_description {
            KeyDescription::PerOperation => KEY_PER_OPERATION,
            KeyDescription::PerRequest => KEY_PER_REQUEST,
        };
        properties.insert(KEY_ARGUMENT.to_owned(), described(json!({ "type": "string" }), about));
        if rules.requires_key() {
            required.push(KEY_ARGUMENT);
        }
    }
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false
    });
    match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn hints(is_write: bool, tool: &ToolDescription, hints: ToolHints) -> Option<ToolAnnotations> {
    let all = ToolAnnotations::new();
    match hints {
        ToolHints::Absent => None,
        ToolHints::Right if is_write => Some(
            all.read_only(false)
                .destructive(tool.destructive)
                .idempotent(tool.repeatable)
                .open_world(tool.open_world),
        ),
        ToolHints::Right => Some(all.read_only(true).open_world(tool.open_world)),
        // A client that trusts these repeats writes without a thought, and asks before it reads.
        ToolHints::Wrong if is_write => {
            Some(all.read_only(true).destructive(false).idempotent(true).open_world(false))
        }
        ToolHints::Wrong => Some(all.read_only(false).destructive(true).idempotent(false).open_world(true)),
    }
}
