//! The arguments of a call: from the file about tools, from examples in the schema, or made from the schema.
//! The same schema always gives the same arguments.

use serde_json::{Map, Value, json};

use super::tools_file::ToolSettings;
use crate::mcp::client::{KEY_PLACEHOLDER, ListedTool, TRIAL_PLACEHOLDER};

/// How deep a schema is followed: objects, lists, references and choices within each other.
const MAX_DEPTH: usize = 8;
/// How many levels of arguments within arguments are searched for a key.
const MAX_KEY_DEPTH: usize = 4;
/// The longest text that is made to reach a minimum length.
const MAX_TEXT: u64 = 1000;
/// The most items that are made to reach a minimum.
const MAX_ITEMS: u64 = 5;

/// How a tool is called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallArguments {
    /// The arguments, without a key.
    pub(super) arguments: Map<String, Value>,
    /// The parameter that takes a key.
    pub(super) key: Option<KeyParameter>,
    /// Other arguments for the same key; `None` if there is no argument that can be changed.
    pub(super) other: Option<Map<String, Value>>,
    /// Why no value could be made for a required argument.
    pub(super) missing: Option<String>,
}

/// Why no value fits a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NoValue {
    /// The argument; empty for the arguments as a whole.
    argument: String,
    why: String,
}

impl NoValue {
    fn because(why: String) -> Self {
        NoValue { argument: String::new(), why }
    }

    /// The same for a value inside an argument: the outermost one is named.
    fn inside(self, argument: &str) -> Self {
        NoValue { argument: argument.to_owned(), ..self }
    }

    /// What the result says about it.
    fn shown(&self) -> String {
        let NoValue { argument, why } = self;
        let whose = match argument.is_empty() {
            true => "of its arguments".to_owned(),
            false => format!("of its argument `{argument}`"),
        };
        format!("the schema {whose} {why}: give its arguments in the tools file (`arguments`)")
    }
}

/// A parameter that takes an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyParameter {
    /// Its name; those of the arguments around it stand before it, with dots: `options.idempotencyKey`.
    pub(super) name: String,
    pub(super) description: String,
    /// Whether a call needs it.
    pub(super) required: bool,
    /// Whether it must be a UUID.
    pub(super) uuid: bool,
}

impl KeyParameter {
    /// The map in which it stands, and its name there. The maps around it are made; `None` if something else is in
    /// their place.
    fn place<'m, 'k>(
        &'k self,
        arguments: &'m mut Map<String, Value>,
    ) -> Option<(&'m mut Map<String, Value>, &'k str)> {
        let mut parts: Vec<&str> = self.name.split('.').collect();
        let name = parts.pop()?;
        let mut inside = arguments;
        for part in parts {
            inside = inside.entry(part).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
        }
        Some((inside, name))
    }

    fn remove_from(&self, arguments: &mut Map<String, Value>) {
        let mut parts: Vec<&str> = self.name.split('.').collect();
        let Some(name) = parts.pop() else { return };
        let mut inside = Some(arguments);
        for part in parts {
            inside = inside.and_then(|map| map.get_mut(part)).and_then(Value::as_object_mut);
        }
        inside.and_then(|map| map.remove(name));
    }

    /// A value: another one for each trial and for each number.
    pub(super) fn value(&self, number: u8) -> Value {
        // The driver puts twelve hexadecimal digits in its place.
        let text = if self.uuid {
            format!("0000000{number}-0000-4000-8000-{KEY_PLACEHOLDER}")
        } else {
            format!("hapax-{number}-{KEY_PLACEHOLDER}")
        };
        Value::String(text)
    }
}

impl CallArguments {
    /// The arguments for a tool.
    pub(super) fn new(tool: &ListedTool, settings: &ToolSettings) -> Self {
        let schema = &tool.input_schema;
        let key = key_parameter(schema, settings);
        let (mut arguments, missing) = match (&settings.arguments, example(schema)) {
            (Some(given), _) => (given.clone(), None),
            (None, Some(Value::Object(given))) => (given, None),
            (None, _) => match made(schema, schema, "", 0) {
                Ok(Value::Object(made)) => (made, None),
                Ok(_) => (Map::new(), None),
                Err(none) => (Map::new(), Some(none.shown())),
            },
        };
        if let Some(key) = &key {
            key.remove_from(&mut arguments);
        }
        let other = match &settings.other {
            Some(changes) => {
                let mut other = arguments.clone();
                other.extend(changes.clone());
                Some(other)
            }
            None => changed(&arguments, schema),
        };
        CallArguments { arguments, key, other, missing }
    }

    /// The arguments with a key, if the tool takes one.
    pub(super) fn with_key(&self, number: u8) -> Map<String, Value> {
        self.keyed(&self.arguments, number)
    }

    /// The same for other arguments.
    pub(super) fn other_with_key(&self, number: u8) -> Option<Map<String, Value>> {
        Some(self.keyed(self.other.as_ref()?, number))
    }

    /// Whether the arguments name the trial, so that its effects can be told from others.
    pub(super) fn name_the_trial(&self) -> bool {
        serde_json::to_string(&self.arguments).is_ok_and(|text| text.contains(TRIAL_PLACEHOLDER))
    }

    fn keyed(&self, arguments: &Map<String, Value>, number: u8) -> Map<String, Value> {
        let mut arguments = arguments.clone();
        if let Some(key) = &self.key
            && let Some((inside, name)) = key.place(&mut arguments)
        {
            inside.insert(name.to_owned(), key.value(number));
        }
        arguments
    }
}

/// The parameter that takes a key: the one that the file names, or one with such a name.
fn key_parameter(schema: &Value, settings: &ToolSettings) -> Option<KeyParameter> {
    let root = schema;
    let is_key = |name: &str| match &settings.key {
        Some(key) => key == name,
        None => {
            let plain: String =
                name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
            const NAMES: [&str; 7] = [
                "idempotencykey",
                "idempotencytoken",
                "idempotencyid",
                "clienttoken",
                "clientrequestid",
                "deduplicationid",
                "dedupkey",
            ];
            plain.contains("idempoten") || NAMES.contains(&plain.as_str()) || plain == "requestid"
        }
    };
    let mut level = vec![NamedSchema { name: String::new(), schema, required: true }];
    for _ in 0..MAX_KEY_DEPTH {
        level = level.iter().flat_map(|outer| outer.parameters(root)).collect();
        let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        let found = level.iter().find(|parameter| is_key(&parameter.name) || is_key(&last(&parameter.name)));
        if let Some(NamedSchema { name, schema, required }) = found {
            let text = |field: &str| schema.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (description, uuid) = (text("description"), text("format") == "uuid");
            return Some(KeyParameter { name: name.clone(), description, required: *required, uuid });
        }
    }
    None
}

/// A parameter, also one inside another.
struct NamedSchema<'a> {
    name: String,
    schema: &'a Value,
    /// Whether it and everything around it is required.
    required: bool,
}

impl<'a> NamedSchema<'a> {
    /// The parameters inside of it.
    fn parameters(&self, root: &'a Value) -> Vec<NamedSchema<'a>> {
        let target = self.schema.get("$ref").and_then(Value::as_str);
        let schema = match target.and_then(|target| target.strip_prefix('#')) {
            Some(pointer) => root.pointer(pointer).unwrap_or(self.schema),
            None => self.schema,
        };
        let needed = required(schema);
        let properties = schema.get("properties").and_then(Value::as_object);
        let inside = properties.into_iter().flatten().map(|(name, schema)| NamedSchema {
            name: if self.name.is_empty() { name.clone() } else { format!("{}.{name}", self.name) },
            schema,
            required: self.required && needed.contains(&name.as_str()),
        });
        inside.collect()
    }
}

fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A value that the schema itself names.
fn example(schema: &Value) -> Option<Value> {
    let first = |name: &str| schema.get(name)?.as_array()?.first().cloned();
    schema
        .get("const")
        .cloned()
        .or_else(|| first("examples"))
        .or_else(|| schema.get("example").cloned())
        .or_else(|| schema.get("default").cloned().filter(|value| !value.is_null()))
        .or_else(|| first("enum"))
}

/// A value that fits the schema.
fn made(schema: &Value, root: &Value, name: &str, depth: usize) -> Result<Value, NoValue> {
    if depth > MAX_DEPTH {
        let why = format!("nests deeper than the {MAX_DEPTH} levels that hapax follows");
        return Err(NoValue::because(why));
    }
    if let Some(value) = example(schema) {
        return Ok(value);
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        let found =
            found.ok_or_else(|| NoValue::because(format!("refers to `{target}`, which it does not have")));
        return made(found?, root, name, depth + 1);
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        let mut all = Map::new();
        for part in parts {
            match made(part, root, name, depth + 1)? {
                Value::Object(entries) => all.extend(entries),
                other => return Ok(other),
            }
        }
        return Ok(Value::Object(all));
    }
    for choice in ["anyOf", "oneOf"] {
        let options = schema.get(choice).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_null = |option: &Value| option.get("type").and_then(Value::as_str) == Some("null");
        // The first that a value can be made for, and nothing only where nothing else is left.
        let (null, others): (Vec<&Value>, Vec<&Value>) = options.iter().partition(|option| is_null(option));
        let mut failed = None;
        for option in others.into_iter().chain(null) {
            match made(option, root, name, depth + 1) {
                Ok(value) => return Ok(value),
                Err(none) => failed = failed.or(Some(none)),
            }
        }
        if let Some(none) = failed {
            return Err(none);
        }
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    };
    let limit = |field: &str| schema.get(field).and_then(Value::as_u64);
    Ok(match kind {
        "object" => {
            let needed = required(schema);
            let properties = schema.get("properties").and_then(Value::as_object);
            let needed = properties.into_iter().flatten().filter(|(name, _)| needed.contains(&name.as_str()));
            let entry = |(name, schema): (&String, &Value)| {
                let value = made(schema, root, name, depth + 1).map_err(|none| none.inside(name))?;
                Ok((name.clone(), value))
            };
            Value::Object(needed.map(entry).collect::<Result<_, NoValue>>()?)
        }
        "array" => {
            let count = limit("minItems").unwrap_or(1).clamp(1, MAX_ITEMS);
            let items = schema.get("items").cloned().unwrap_or_else(|| json!({"type": "string"}));
            match made(&items, root, name, depth + 1) {
                Ok(item) => Value::Array(vec![item; usize::try_from(count).unwrap_or(1)]),
                // The children of a tree that has an end.
                Err(_) if limit("minItems").unwrap_or(0) == 0 => Value::Array(Vec::new()),
                Err(none) => return Err(none),
            }
        }
        "integer" | "number" => number(schema),
        "boolean" => Value::Bool(false),
        "null" => Value::Null,
        _ => Value::String(text(schema, name)),
    })
}

fn number(schema: &Value) -> Value {
    let bound = |field: &str| schema.get(field).and_then(Value::as_f64);
    let mut value =
        bound("minimum").or_else(|| bound("exclusiveMinimum").map(|least| least + 1.0)).unwrap_or(1.0);
    if let Some(most) = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|most| most - 1.0)) {
        value = value.min(most);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the range of the schema")]
    if value.fract() == 0.0 { Value::from(value as i64) } else { Value::from(value) }
}

fn text(schema: &Value, name: &str) -> String {
    let lower = name.to_lowercase();
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let made = match format {
        "email" => "someone@example.com",
        "uri" | "url" | "iri" => "https://example.com/",
        "date-time" => "2030-01-02T03:04:05Z",
        "date" => "2030-01-02",
        "time" => "03:04:05Z",
        "uuid" => "7d444840-9dc0-41d1-b245-5ffdce74fad2",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        _ if lower.contains("email")
            || ["to", "from", "cc", "bcc", "recipient"].contains(&lower.as_str()) =>
        {
            "someone@example.com"
        }
        _ if lower.ends_with("url") || lower.ends_with("uri") => "https://example.com/",
        _ if lower == "currency" => "usd",
        _ if lower.ends_with("date") => "2030-01-02",
        _ => "hapax test",
    };
    let mut made = made.to_owned();
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0).min(MAX_TEXT);
    while (made.chars().count() as u64) < least {
        made.push('x');
    }
    match schema.get("maxLength").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok()) {
        Some(most) => made.chars().take(most).collect(),
        None => made,
    }
}

/// The same arguments with one value changed: an amount, or a text that is free of form.
fn changed(arguments: &Map<String, Value>, schema: &Value) -> Option<Map<String, Value>> {
    let is_fixed = |name: &str| {
        let parameter = schema.get("properties").and_then(|properties| properties.get(name));
        parameter
            .is_some_and(|parameter| parameter.get("enum").is_some() || parameter.get("format").is_some())
    };
    let rank = |(name, value): &(&String, &Value)| {
        let name = name.to_lowercase();
        let is_id = name == "id" || name.ends_with("id") || name.contains("email");
        let is_address = ["to", "from", "cc", "bcc", "currency", "owner", "repo"].contains(&name.as_str());
        match value {
            Value::Number(_) if name.contains("amount") => 0,
            Value::String(_)
                if ["text", "body", "message", "content", "subject", "title"].contains(&name.as_str()) =>
            {
                1
            }
            Value::String(_) if !is_id && !is_address => 2,
            Value::Number(_) if !is_id => 3,
            _ => 9,
        }
    };
    let candidates = arguments.iter().filter(|(name, _)| !is_fixed(name));
    let (name, value) = candidates.min_by_key(rank).filter(|candidate| rank(candidate) < 9)?;
    let value = match value {
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole + 1),
            None => Value::from(number.as_f64()? + 1.0),
        },
        Value::String(text) => Value::String(format!("{text} (another)")),
        _ => return None,
    };
    let mut other = arguments.clone();
    other.insert(name.clone(), value);
    Some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: Value) -> ListedTool {
        ListedTool { name: "t".to_owned(), input_schema: schema, ..ListedTool::default() }
    }

    fn arguments(schema: Value) -> Value {
        Value::Object(CallArguments::new(&tool(schema), &ToolSettings::default()).arguments)
    }

    #[test]
    fn a_key_inside_another_argument_is_found_and_set_there() {
        let schema = json!({
            "properties": {
                "amount": {"type": "integer"},
                "options": {"$ref": "#/$defs/options"}
            },
            "required": ["amount"],
            "$defs": {"options": {"type": "object", "properties": {
                "idempotencyKey": {"type": "string", "description": "k"},
                "note": {"type": "string"}
            }}}
        });
        let call = CallArguments::new(&tool(schema.clone()), &ToolSettings::default());
        let key = call.key.clone().unwrap();
        assert_eq!((key.name.as_str(), key.required), ("options.idempotencyKey", false));
        assert_eq!(Value::Object(call.with_key(1))["options"]["idempotencyKey"], key.value(1));
        assert_eq!(Value::Object(call.arguments), json!({"amount": 1}));
        let named = ToolSettings { key: Some("options.note".to_owned()), ..ToolSettings::default() };
        assert_eq!(CallArguments::new(&tool(schema), &named).key.unwrap().name, "options.note");
    }

    #[test]
    fn only_required_arguments_are_made_and_they_fit_their_types_and_formats() {
        let made = arguments(json!({
            "type": "object",
            "properties": {
                "to": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 2},
                "subject": {"type": "string", "minLength": 12},
                "amount": {"type": "integer", "minimum": 50},
                "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
                "urgent": {"type": ["boolean", "null"]},
                "when": {"type": "string", "format": "date-time"},
                "kind": {"enum": ["a", "b"]},
                "address": {"$ref": "#/$defs/address"},
                "either": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
                "optional": {"type": "string"}
            },
            "required": ["to", "subject", "amount", "ratio", "urgent", "when", "kind", "address", "either"],
            "$defs": {"address": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 5}},
                "required": ["city"]
            }}
        }));
        assert_eq!(
            made,
            json!({
                "to": ["someone@example.com", "someone@example.com"],
                "subject": "hapax testxx",
                "amount": 50,
                "ratio": 0.5,
                "urgent": false,
                "when": "2030-01-02T03:04:05Z",
                "kind": "a",
                "address": {"city": "hapax"},
                "either": 1
            })
        );
    }

    #[test]
    fn examples_and_defaults_of_the_schema_come_first() {
        let schema = json!({
            "properties": {"a": {"type": "string", "examples": ["x"]}, "b": {"default": 7}, "c": {"const": "z"}},
            "required": ["a", "b", "c"]
        });
        assert_eq!(arguments(schema), json!({"a": "x", "b": 7, "c": "z"}));
        assert_eq!(arguments(json!({"type": "object", "examples": [{"q": 1}]})), json!({"q": 1}));
    }

    #[test]
    fn the_file_comes_before_the_schema() {
        let given = json!({"a": "mine"}).as_object().cloned();
        let settings = ToolSettings { arguments: given, ..ToolSettings::default() };
        let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        assert_eq!(
            Value::Object(CallArguments::new(&tool(schema), &settings).arguments),
            json!({"a": "mine"})
        );
    }

    #[test]
    fn a_schema_without_an_end_is_named_with_the_argument_and_the_way_out() {
        let missing = |node: Value, settings: &ToolSettings| {
            let schema = json!({
                "type": "object",
                "properties": {"name": {"type": "string"}, "tree": {"$ref": "#/$defs/node"}},
                "required": ["name", "tree"],
                "$defs": {"node": node}
            });
            CallArguments::new(&tool(schema), settings).missing
        };
        let none = ToolSettings::default();
        let endless = json!({"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]});
        let deep = "the schema of its argument `tree` nests deeper than the 8 levels that hapax follows: give its \
                    arguments in the tools file (`arguments`)";
        assert_eq!(missing(endless.clone(), &none).as_deref(), Some(deep));
        assert_eq!(missing(json!({"$ref": "#/$defs/node"}), &none).as_deref(), Some(deep));
        let unknown = "the schema of its argument `tree` refers to `#/$defs/leaf`, which it does not have: give its \
                       arguments in the tools file (`arguments`)";
        assert_eq!(missing(json!({"$ref": "#/$defs/leaf"}), &none).as_deref(), Some(unknown));
        let given = ToolSettings { arguments: Some(Map::new()), ..ToolSettings::default() };
        assert_eq!(missing(endless, &given), None);
    }

    #[test]
    fn a_schema_that_refers_to_itself_and_has_an_end_gives_arguments() {
        let node = |next: Value| {
            json!({
                "$ref": "#/$defs/node",
                "$defs": {"node": {"type": "object", "properties": {"next": next}, "required": ["next"]}}
            })
        };
        let list = arguments(node(json!({"type": "array", "items": {"$ref": "#/$defs/node"}})));
        assert_eq!(list, json!({"next": [{"next": [{"next": []}]}]}));
        let choice = arguments(node(json!({"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]})));
        assert_eq!(choice, json!({"next": {"next": null}}));
    }

    #[test]
    fn a_key_is_found_by_its_name_and_is_another_one_in_each_trial() {
        let schema = json!({
            "properties": {
                "amount": {"type": "integer"},
                "idempotency_key": {"type": "string", "description": "unique for every request"}
            },
            "required": ["amount"]
        });
        let call = CallArguments::new(&tool(schema), &ToolSettings::default());
        let key = call.key.clone().unwrap();
        assert_eq!((key.name.as_str(), key.required), ("idempotency_key", false));
        assert!(!call.arguments.contains_key("idempotency_key"));
        assert_eq!(call.with_key(1)["idempotency_key"], json!("hapax-1-{{trial-key}}"));
        assert_ne!(call.with_key(1), call.with_key(2));
        assert_eq!(call.other_with_key(1).unwrap()["amount"], json!(2));
        let none =
            CallArguments::new(&tool(json!({"properties": {"order_id": {}}})), &ToolSettings::default());
        assert_eq!(none.key, None);
    }

    #[test]
    fn the_changed_argument_is_an_amount_or_a_free_text_and_not_an_address() {
        let change = |given: Value| {
            let given = given.as_object().cloned();
            let settings = ToolSettings { arguments: given, ..ToolSettings::default() };
            CallArguments::new(&tool(json!({"properties": {}})), &settings).other.map(Value::Object)
        };
        assert_eq!(
            change(json!({"to": "a@example.com", "subject": "Hi"})),
            Some(json!({"to": "a@example.com", "subject": "Hi (another)"}))
        );
        assert_eq!(change(json!({"amount": 5, "text": "a"})), Some(json!({"amount": 6, "text": "a"})));
        assert_eq!(change(json!({"id": "x"})), None);
    }
}
