//! The JSON Schema of service files, for editors, from the shapes that they are read with. Rules that need more than one value (which names are fields,
//! which operations a read shows) are left to the reader.

use serde_json::{Value, json};

use super::read::{OPERATION, SERVICE};

/// The schema (draft 2020-12).
#[must_use]
pub fn service_schema() -> Value {
    let mut operation = OPERATION.shape().schema(false);
    operation["dependentRequired"] =
        json!({ "each": ["effect"], "shows": ["effect"], "unless": ["changes"], "filter": ["reads"] });
    let place = json!({
        "description": "A place in a request: body.name, query.name, path.name or header.Name.",
        "type": "string",
        "pattern": "^(body|query|path|header)\\..+",
    });
    let about = "A service of your own: its operations, and the effects that they have.";
    let definitions = json!({ "operation": operation, "place": place });
    SERVICE.document("hapax service", about, definitions, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom::Custom;
    use crate::yaml::Source;

    fn problems(text: &str) -> String {
        Custom::from_source(&Source::new("service.yaml", text)).unwrap_err().render(false)
    }

    /// The keys that the reader accepts, from its message about an unknown one.
    fn accepted(text: &str) -> Vec<String> {
        let all = problems(text);
        let line = all.lines().find(|line| line.contains("it can have")).unwrap_or_else(|| panic!("{all}"));
        let names = line.split("it can have").nth(1).unwrap();
        let mut names: Vec<String> = names.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    fn keys(value: &Value) -> Vec<String> {
        value["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_the_reader_accepts() {
        let schema = service_schema();
        assert_eq!(accepted("zzzz: 1"), keys(&schema));
        let operation = "service: desk\noperations:\n  open:\n    zzzz: 1";
        assert_eq!(accepted(operation), keys(&schema["$defs"]["operation"]));
    }
}
