//! Reads the tools that a prompt describes: Python signatures, lists with arguments, and JSON.

use serde_json::{Map, Value, json};

use super::json_objects;
use crate::model::conversation::{CallForm, OfferedTool};
use crate::result_text::value_in;

/// The tools that a prompt describes, each once.
pub(super) fn described(prompt: &str) -> Vec<OfferedTool> {
    let mut tools: Vec<OfferedTool> = Vec::new();
    let found = labelled(prompt).into_iter().chain(listed(prompt)).chain(objects(prompt));
    for tool in found {
        if !tools.iter().any(|have| have.name == tool.name) {
            tools.push(tool);
        }
    }
    tools
}

/// `Tool Name: charge`, then `Tool Arguments: {…}`.
fn labelled(prompt: &str) -> Vec<OfferedTool> {
    let mut parts = prompt.split("Tool Name:");
    parts.next();
    let tools = parts.filter_map(|part| {
        let name = part.lines().next()?.split('(').next()?.trim();
        let arguments = ["Tool Arguments:", "Tool Args:"].iter().find_map(|label| part.split_once(label));
        let value = arguments.and_then(|(_, rest)| value_at(rest.trim_start()));
        Some(tool(name, schema_of(&value.unwrap_or_default())))
    });
    tools.filter(|tool| !tool.name.is_empty()).collect()
}

/// One tool on each line: `def charge(order: str) -> str:`, `charge(order: str) -> str - …`, `charge: …, args: {…}`,
/// and `- charge: …` with `Takes inputs: {…}` on the line after it.
fn listed(prompt: &str) -> Vec<OfferedTool> {
    let lines: Vec<&str> = prompt.lines().map(str::trim).collect();
    let tools = lines.iter().enumerate().filter_map(|(at, line)| {
        if let Some(rest) = line.strip_prefix("def ") {
            let (name, arguments, after) = signature(rest)?;
            return after.trim_end().ends_with(':').then(|| tool(name, schema_of_arguments(arguments)));
        }
        let item = line.trim_start_matches(['-', '*', '>', ' ']).trim_start_matches('`');
        let next = lines[at + 1..].iter().take_while(|next| !next.starts_with("- "));
        let inputs = next.filter_map(|next| next.split_once("Takes inputs:")).next();
        if let (Some((name, _)), Some((_, inputs)), true) =
            (item.split_once(':'), inputs, line.starts_with("- "))
        {
            return is_name(name)
                .then(|| tool(name, schema_of(&value_at(inputs.trim()).unwrap_or_default())));
        }
        let named = item.split_once(": ").filter(|(name, _)| is_name(name));
        if let Some((_, arguments)) = line.rsplit_once(", args: ") {
            let name = named.map(|(name, _)| name).or_else(|| Some(signature(item)?.0))?;
            return Some(tool(name, schema_of(&value_at(arguments)?)));
        }
        let written =
            named.filter(|(name, rest)| rest.starts_with(&format!("{name}("))).map_or(item, |named| named.1);
        let (name, arguments, after) = signature(written)?;
        let is_described = after.starts_with(" - ") || (after.starts_with(" -> ") && after.contains(" - "));
        is_described.then(|| tool(name, schema_of_arguments(arguments)))
    });
    tools.collect()
}

/// The objects of JSON that describe a tool: `{"name": "charge", "parameters": {…}}`, also within `function`.
fn objects(prompt: &str) -> Vec<OfferedTool> {
    let mut tools = Vec::new();
    for (value, _) in json_objects(prompt) {
        let function = value.get("function").unwrap_or(&value);
        let schema =
            ["parameters", "input_schema", "inputSchema"].iter().find_map(|name| function.get(*name));
        let name = function.get("name").and_then(Value::as_str).filter(|name| is_name(name));
        if let (Some(name), Some(schema)) = (name, schema) {
            tools.push(tool(name, schema_of(schema)));
        }
    }
    tools
}

fn tool(name: &str, schema: Value) -> OfferedTool {
    OfferedTool { name: name.to_owned(), description: String::new(), schema, form: CallForm::Function }
}

fn is_name(text: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == '-';
    text.starts_with(|first: char| first.is_alphabetic() || first == '_') && text.chars().all(is_part)
}

/// The name, the text between the parentheses, and the text after them.
fn signature(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once('(').filter(|(name, _)| is_name(name))?;
    let end = closing(rest, ')')?;
    Some((name, &rest[..end], &rest[end + 1..]))
}

/// The value at the beginning of a text: JSON, or as Python prints it.
pub(super) fn value_at(text: &str) -> Option<Value> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = values.next() {
        return Some(value);
    }
    let close = match text.chars().next()? {
        '{' => '}',
        '[' => ']',
        _ => return None,
    };
    let end = closing(&text[1..], close)?;
    value_in(&text[..end + 2])
}

/// The place of the character that closes what was opened before this text, outside quotes.
pub(super) fn closing(text: &str, close: char) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0_u32, None, false);
    for (at, character) in text.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if character == '\\' => is_escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None => match character {
                '\'' | '"' => quote = Some(character),
                _ if depth == 0 && character == close => return Some(at),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.checked_sub(1)?,
                _ => {}
            },
        }
    }
    None
}

/// The parts of a list, outside quotes and brackets.
pub(super) fn items(list: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut rest = list;
    while let Some(end) = closing(rest, ',') {
        items.push(rest[..end].trim());
        rest = &rest[end + 1..];
    }
    items.push(rest.trim());
    items.retain(|item| !item.is_empty());
    items
}

/// The schema of `order: str, note: str = ''`.
fn schema_of_arguments(arguments: &str) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for item in items(arguments) {
        let (declared, default) = match item.split_once('=') {
            Some((declared, default)) => (declared, Some(default)),
            None => (item, None),
        };
        let (name, kind) = declared.split_once(':').unwrap_or((declared, ""));
        let (name, kind) = (name.trim(), kind.trim().trim_matches(['\'', '"']));
        if !is_name(name) || name == "self" {
            continue;
        }
        let is_optional = default.is_some() || kind.starts_with("Optional") || kind.contains("None");
        properties.insert(name.to_owned(), type_schema(kind));
        if !is_optional {
            required.push(name.to_owned());
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The schema that a value describes: it is one, or it maps the arguments to what they are.
fn schema_of(value: &Value) -> Value {
    if value.get("properties").is_some_and(Value::is_object) {
        return value.clone();
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, argument) in value.as_object().into_iter().flatten() {
        let kind = argument.as_str().or_else(|| argument.get("type").and_then(Value::as_str));
        let schema = match (kind, argument.is_object()) {
            (Some(kind), _) => type_schema(kind),
            (None, true) => argument.clone(),
            (None, false) => json!({}),
        };
        let is_optional = argument.get("default").is_some()
            || argument.get("nullable") == Some(&Value::Bool(true))
            || argument.get("required") == Some(&Value::Bool(false));
        if !is_optional {
            required.push(name.clone());
        }
        properties.insert(name.clone(), schema);
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The schema of a type by its name in Python or in JSON Schema.
fn type_schema(name: &str) -> Value {
    let name = name.strip_prefix("Optional[").unwrap_or(name).to_lowercase();
    let name = name.split(['[', ']', '|', ' ']).next().unwrap_or_default();
    let kind = match name {
        "str" | "string" => "string",
        "int" | "integer" => "integer",
        "float" | "number" => "number",
        "bool" | "boolean" => "boolean",
        "list" | "array" | "tuple" | "set" => "array",
        "dict" | "object" => "object",
        _ => return json!({}),
    };
    json!({ "type": kind })
}
