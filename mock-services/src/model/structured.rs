//! Values that match a JSON Schema: structured output, and the arguments of a tool that the request forces.

use serde_json::{Map, Value, json};

/// Schemas that are nested deeper than this cannot be satisfied.
const MAX_DEPTH: u32 = 20;

/// What the value says.
#[derive(Debug, Clone, Copy)]
pub(super) struct StructuredContent<'a> {
    /// The text where a text is wanted.
    pub(super) text: &'a str,
    /// Whether the task is done: the value of flags, and the choice among words.
    pub(super) is_done: bool,
}

/// A value that matches a schema; `None` if none is found.
pub(super) fn structured(schema: &Value, content: StructuredContent<'_>) -> Option<Value> {
    Structure { root: schema, content }.value(schema, 0)
}

struct Structure<'a> {
    root: &'a Value,
    content: StructuredContent<'a>,
}

impl Structure<'_> {
    fn value(&self, schema: &Value, depth: u32) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(reference.strip_prefix('#')?)?;
            return self.value(target, depth + 1);
        }
        if let Some(only) = schema.get("const") {
            return Some(only.clone());
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return self.word(words);
        }
        if let Some(alternatives) =
            ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)).and_then(Value::as_array)
        {
            return alternatives.iter().find_map(|alternative| self.value(alternative, depth + 1));
        }
        if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            return self.value(only, depth + 1);
        }
        self.of_type(schema, type_of(schema), depth)
    }

    fn of_type(&self, schema: &Value, kind: &str, depth: u32) -> Option<Value> {
        let whole = |name: &str| schema.get(name).and_then(Value::as_u64);
        match kind {
            "object" => self.object(schema, depth),
            "array" => {
                let item =
                    || schema.get("items").map_or(Some(Value::Null), |item| self.value(item, depth + 1));
                let count =
                    usize::try_from(whole("minItems").unwrap_or_default().min(100)).unwrap_or_default();
                std::iter::repeat_with(item).take(count).collect::<Option<Vec<_>>>().map(Value::Array)
            }
            "integer" | "number" => {
                let least = schema.get("minimum").cloned();
                let above =
                    schema.get("exclusiveMinimum").and_then(Value::as_i64).map(|least| json!(least + 1));
                Some(least.or(above).unwrap_or_else(|| json!(0)))
            }
            "boolean" => Some(json!(self.content.is_done)),
            "null" => Some(Value::Null),
            _ => self.text(schema, whole("minLength"), whole("maxLength")),
        }
    }

    fn object(&self, schema: &Value, depth: u32) -> Option<Value> {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut object = Map::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match self.value(property, depth + 1) {
                Some(value) => drop(object.insert(name.clone(), value)),
                None if required.contains(&name.as_str()) => return None,
                None => {}
            }
        }
        required.iter().all(|name| object.contains_key(*name)).then_some(Value::Object(object))
    }

    /// A text, unless the schema asks for one of a form that the model does not know.
    fn text(&self, schema: &Value, least: Option<u64>, most: Option<u64>) -> Option<Value> {
        match schema.get("format").and_then(Value::as_str) {
            None if schema.get("pattern").is_some() => return None,
            None => {}
            Some("date-time") => return Some(json!("2026-01-01T00:00:00Z")),
            Some("date") => return Some(json!("2026-01-01")),
            Some("email") => return Some(json!("someone@shop.example")),
            Some(_) => return None,
        }
        let mut text = self.content.text.to_owned();
        while (text.chars().count() as u64) < least.unwrap_or_default().min(10_000) {
            text.push('.');
        }
        if let Some(most) = most.and_then(|most| usize::try_from(most).ok()) {
            text = text.chars().take(most).collect();
        }
        Some(json!(text))
    }

    /// The word that says whether the task is done; the first word if none does.
    fn word(&self, words: &[Value]) -> Option<Value> {
        const DONE: [&str; 8] =
            ["done", "success", "succeeded", "completed", "complete", "ok", "yes", "refunded"];
        const NOT_DONE: [&str; 7] = ["unknown", "failed", "failure", "error", "not-done", "not_done", "no"];
        let wanted: &[&str] = if self.content.is_done { &DONE } else { &NOT_DONE };
        let is_wanted = |word: &&Value| {
            word.as_str().is_some_and(|word| wanted.contains(&word.to_ascii_lowercase().as_str()))
        };
        words.iter().find(is_wanted).or_else(|| words.first()).cloned()
    }
}

/// The type of a schema; of several, the first that is not `null`.
fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(only)) => only,
        Some(Value::Array(several)) => {
            several.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("items").is_some() => "array",
        _ => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(schema: &Value) -> Option<Value> {
        structured(schema, StructuredContent { text: "Done.", is_done: true })
    }

    #[test]
    fn a_value_matches_the_schema() {
        let schema = json!({
            "type": "object",
            "$defs": {
                "Line": { "type": "object", "properties": { "sku": { "type": "string" } }, "required": ["sku"] },
            },
            "properties": {
                "summary": { "type": "string" },
                "short": { "type": "string", "maxLength": 2 },
                "done": { "type": "boolean" },
                "count": { "type": "integer", "minimum": 1 },
                "status": { "enum": ["failed", "succeeded"] },
                "note": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
                "kind": { "type": ["null", "string"] },
                "lines": { "type": "array", "items": { "$ref": "#/$defs/Line" }, "minItems": 1 },
                "none": { "type": "array" },
                "day": { "type": "string", "format": "date" },
            },
            "required": ["summary"],
        });
        assert_eq!(
            value(&schema),
            Some(json!({
                "summary": "Done.", "short": "Do", "done": true, "count": 1, "status": "succeeded", "note": null,
                "kind": "Done.", "lines": [{ "sku": "Done." }], "none": [], "day": "2026-01-01",
            }))
        );
    }

    #[test]
    fn a_task_that_is_not_done_is_not_reported_as_done() {
        let schema = json!({ "properties": { "done": { "type": "boolean" }, "status": { "enum": ["ok", "failed"] } } });
        let value = structured(&schema, StructuredContent { text: "No.", is_done: false });
        assert_eq!(value, Some(json!({ "done": false, "status": "failed" })));
    }

    #[test]
    fn a_schema_that_cannot_be_satisfied_has_no_value() {
        let pattern = json!({ "type": "string", "pattern": "^a$" });
        assert_eq!(value(&pattern), None);
        assert_eq!(value(&json!({ "properties": { "a": pattern }, "required": ["a"] })), None);
        assert_eq!(value(&json!({ "properties": { "a": pattern } })), Some(json!({})));
        assert_eq!(value(&json!({ "required": ["a"] })), None);
        assert_eq!(value(&json!({ "$defs": { "A": { "$ref": "#/$defs/A" } }, "$ref": "#/$defs/A" })), None);
    }
}
