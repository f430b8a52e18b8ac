//! The tools that a control offers to the model: one for each operation of its steps. Pure.

use mock_services::service::{Fields, Value as Field};
use serde_json::{Map, Value, json};

use super::model_turn::RequestedCall;
use super::vendor::Vendor;
use crate::scenario::Step;

/// The tools on offer.
#[derive(Debug)]
pub(super) struct Offer {
    /// The operations with the names of their tools.
    operations: Vec<(String, String)>,
    /// The tools: name, and schema of the arguments.
    tools: Vec<(String, Value)>,
}

impl Offer {
    /// The tools for these steps.
    pub(super) fn new(steps: &[Step]) -> Self {
        let mut offer = Offer { operations: Vec::new(), tools: Vec::new() };
        for step in steps {
            if offer.operations.iter().any(|(operation, _)| *operation == step.operation) {
                continue;
            }
            let name = step.operation.replace(['.', '-'], "_");
            let alike: Vec<&Step> = steps.iter().filter(|other| other.operation == step.operation).collect();
            offer.tools.push((name.clone(), parameters(&alike)));
            offer.operations.push((step.operation.clone(), name));
        }
        offer
    }

    /// The body of a request to the model.
    pub(super) fn question(&self, vendor: Vendor, messages: &[Value]) -> Value {
        vendor.question(messages, &self.tools)
    }

    /// The step that a call asks for; `None` if there is no such tool, or its arguments are invalid.
    pub(super) fn step(&self, call: &RequestedCall) -> Option<Step> {
        let (operation, _) = self.operations.iter().find(|(_, name)| *name == call.name)?;
        let with: Fields = serde_json::from_value(call.values()?).ok()?;
        Some(Step { operation: operation.clone(), with })
    }
}

/// The fields of these steps as arguments of a tool; those that all steps have are required.
fn parameters(steps: &[&Step]) -> Value {
    let mut properties = Map::new();
    for (field, value) in steps.iter().flat_map(|step| step.with.iter()) {
        properties.entry(field.to_owned()).or_insert_with(|| schema(value));
    }
    let required: Vec<&String> =
        properties.keys().filter(|name| steps.iter().all(|step| step.with.get(name).is_some())).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn schema(value: &Field) -> Value {
    match value {
        Field::Bool(_) => json!({ "type": "boolean" }),
        Field::Number(_) => json!({ "type": "integer" }),
        Field::Text(_) => json!({ "type": "string" }),
        Field::List(_) => json!({ "type": "array", "items": { "type": "string" } }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(fields: Fields) -> Step {
        Step { operation: "payment.charge".to_owned(), with: fields }
    }

    #[test]
    fn each_operation_is_a_tool_with_the_fields_of_its_steps() {
        let steps = [
            charge(Fields::new().with("amount", 1_i64)),
            charge(Fields::new().with("amount", 2_i64).with("order", "o2")),
        ];
        let offer = Offer::new(&steps);
        let question = offer.question(Vendor::OpenAi, &[]);
        let tools = question["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 1);
        let function = &tools[0]["function"];
        assert_eq!(function["name"], "payment_charge");
        assert_eq!(function["parameters"]["required"], json!(["amount"]));
        assert_eq!(function["parameters"]["properties"]["order"], json!({ "type": "string" }));
        let call = |name: &str, arguments: &str| RequestedCall {
            id: "c1".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let asked = call("payment_charge", "{\"amount\": 2, \"order\": \"o2\"}");
        assert_eq!(offer.step(&asked), Some(steps[1].clone()));
        assert_eq!(offer.step(&call("refund", "{}")), None);
        assert_eq!(offer.step(&call("payment_charge", "[1]")), None);
    }
}
