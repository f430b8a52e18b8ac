//! A tool: one request to a service, for agents that get tools and not an API. A description translates the
//! arguments of a call into the request, and a request back into arguments. It sends nothing.

mod encoding;

use serde_json::{Map, Value, json};

/// The name of the argument with the idempotency key of a write.
pub const KEY_ARGUMENT: &str = "idempotency_key";

/// One tool of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDescription {
    /// Its name, which begins with that of the service: `payment_create_refund`.
    pub name: String,
    /// The operation that its calls usually are: `payment.refund`.
    pub operation: String,
    /// What it does, as sentences.
    pub about: String,
    /// The method of the request.
    pub method: &'static str,
    /// The path of the request; a name in braces is a parameter.
    pub path: String,
    /// How the parameters of the body are encoded.
    pub body: ToolBody,
    /// Its parameters, without the idempotency key.
    pub parameters: Vec<ToolParameter>,
    /// Where the request has the idempotency key, if the service accepts one for it.
    pub key: Option<ParameterPlace>,
    /// Whether a second call with the same arguments changes nothing more.
    pub repeatable: bool,
    /// Whether it replaces or removes something that exists.
    pub destructive: bool,
    /// Whether it acts on something outside of the service: people, money, machines.
    pub open_world: bool,
}

/// How the body of a request is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolBody {
    /// There is no body.
    Nothing,
    /// A form; nested values have names in brackets.
    Form,
    /// A JSON object.
    Json,
}

/// One parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolParameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ParameterType,
    /// Where the request has it.
    pub place: ParameterPlace,
    /// Whether a call must have it.
    pub required: bool,
    /// What it means, as a sentence.
    pub about: String,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    Texts,
    /// A map of names to texts.
    Labels,
    /// A list of objects.
    Objects,
    /// An object.
    Object,
    /// Any value.
    Any,
}

/// Where a request has a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterPlace {
    /// In the path, at this name.
    Path(String),
    /// In the query, under this name.
    Query(String),
    /// In the body, under these names.
    Body(Vec<String>),
    /// In this header.
    Header(String),
}

/// A request to a service, without the headers that every request has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRequest {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The type of the body; `None` if there is no body.
    pub content_type: Option<&'static str>,
    /// The body.
    pub body: String,
}

/// Why a call cannot be translated into a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// A required argument is missing.
    #[error("the argument `{0}` is required")]
    Missing(String),
    /// There is no such argument.
    #[error("unknown argument `{name}`; expected {expected}")]
    Unknown {
        /// The name of the argument.
        name: String,
        /// The names that the tool has.
        expected: String,
    },
    /// The value cannot be a part of a path, a query or a header.
    #[error("the argument `{0}` must be a text, a number or a boolean that is not empty")]
    NotPlain(String),
}

impl ParameterType {
    /// Its JSON Schema.
    #[must_use]
    pub fn schema(self) -> Value {
        match self {
            ParameterType::Text => json!({ "type": "string" }),
            ParameterType::Integer => json!({ "type": "integer" }),
            ParameterType::Flag => json!({ "type": "boolean" }),
            ParameterType::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            ParameterType::Labels => {
                json!({ "type": "object", "additionalProperties": { "type": "string" } })
            }
            ParameterType::Objects => json!({ "type": "array", "items": { "type": "object" } }),
            ParameterType::Object => json!({ "type": "object" }),
            ParameterType::Any => json!({}),
        }
    }

    /// The value that a text of a path, a query or a form stands for.
    fn parsed(self, text: String) -> Value {
        match self {
            ParameterType::Integer => text.parse::<i64>().map_or(Value::String(text), Value::from),
            ParameterType::Flag => text.parse::<bool>().map_or(Value::String(text), Value::from),
            _ => Value::String(text),
        }
    }
}

impl ToolDescription {
    /// A tool without parameters.
    #[must_use]
    pub fn new(name: &str, operation: &str, method: &'static str, path: &str, about: &str) -> Self {
        ToolDescription {
            name: name.to_owned(),
            operation: operation.to_owned(),
            about: about.to_owned(),
            method,
            path: path.to_owned(),
            body: ToolBody::Nothing,
            parameters: Vec::new(),
            key: None,
            repeatable: method == "GET",
            destructive: false,
            open_world: true,
        }
    }

    /// Its body is a form.
    #[must_use]
    pub fn form(self) -> Self {
        ToolDescription { body: ToolBody::Form, ..self }
    }

    /// Its body is a JSON object.
    #[must_use]
    pub fn json(self) -> Self {
        ToolDescription { body: ToolBody::Json, ..self }
    }

    /// The service accepts an idempotency key for it.
    #[must_use]
    pub fn keyed(self) -> Self {
        ToolDescription { key: Some(ParameterPlace::Header("Idempotency-Key".to_owned())), ..self }
    }

    /// A second call with the same arguments changes nothing more.
    #[must_use]
    pub fn repeatable(self) -> Self {
        ToolDescription { repeatable: true, ..self }
    }

    /// It replaces or removes something that exists.
    #[must_use]
    pub fn destructive(self) -> Self {
        ToolDescription { destructive: true, ..self }
    }

    /// It acts only on what the service itself stores.
    #[must_use]
    pub fn closed_world(self) -> Self {
        ToolDescription { open_world: false, ..self }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, parameter: ToolParameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Adds a parameter of the path.
    #[must_use]
    pub fn path(self, name: &str, about: &str) -> Self {
        let place = ParameterPlace::Path(name.to_owned());
        self.parameter(ToolParameter::new(name, ParameterType::Text, place, about).required())
    }

    /// Adds an optional parameter of the query.
    #[must_use]
    pub fn query(self, name: &str, kind: ParameterType, about: &str) -> Self {
        let place = ParameterPlace::Query(name.to_owned());
        self.parameter(ToolParameter::new(name, kind, place, about))
    }

    /// Adds an optional parameter of the body.
    #[must_use]
    pub fn optional(self, name: &str, kind: ParameterType, about: &str) -> Self {
        let place = ParameterPlace::Body(vec![name.to_owned()]);
        self.parameter(ToolParameter::new(name, kind, place, about))
    }

    /// Adds a required parameter of the body.
    #[must_use]
    pub fn required(self, name: &str, kind: ParameterType, about: &str) -> Self {
        let place = ParameterPlace::Body(vec![name.to_owned()]);
        self.parameter(ToolParameter::new(name, kind, place, about).required())
    }

    /// Adds an optional parameter that is a header.
    #[must_use]
    pub fn header(self, name: &str, header: &str, about: &str) -> Self {
        let place = ParameterPlace::Header(header.to_owned());
        self.parameter(ToolParameter::new(name, ParameterType::Text, place, about))
    }

    /// The request for a call with these arguments. An argument that is `null` counts as absent; a key is
    /// accepted also where the tool has no parameter for it.
    ///
    /// # Errors
    /// When an argument is missing or unknown, or cannot be where the request has it.
    pub fn request(&self, arguments: &Map<String, Value>) -> Result<ServiceRequest, ArgumentError> {
        let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        if let Some(name) = arguments.keys().find(|name| !self.has_argument(name)) {
            let names = self.parameters.iter().map(|parameter| parameter.name.as_str());
            let expected = yaml_reader::listed(names.collect::<Vec<_>>());
            return Err(ArgumentError::Unknown { name: yaml_reader::shown(name), expected });
        }
        let mut request = ServiceRequest {
            method: self.method.to_owned(),
            target: self.path.clone(),
            headers: Vec::new(),
            content_type: None,
            body: String::new(),
        };
        let (mut query, mut body) = (Vec::new(), Map::new());
        let default_key = ParameterPlace::Header("Idempotency-Key".to_owned());
        let key = given(KEY_ARGUMENT)
            .filter(|_| self.method != "GET" && !self.has_parameter(KEY_ARGUMENT))
            .map(|value| (KEY_ARGUMENT, self.key.as_ref().unwrap_or(&default_key), value));
        let own = self.parameters.iter().filter_map(|parameter| {
            Some((parameter.name.as_str(), &parameter.place, given(&parameter.name)?))
        });
        for (name, place, value) in own.chain(key) {
            let plain = || encoding::plain(value).ok_or_else(|| ArgumentError::NotPlain(name.to_owned()));
            match place {
                ParameterPlace::Path(at) => {
                    let segment = plain().ok().filter(|segment| !segment.is_empty());
                    let segment = segment.ok_or_else(|| ArgumentError::NotPlain(name.to_owned()))?;
                    request.target =
                        request.target.replace(&format!("{{{at}}}"), &encoding::escaped(&segment));
                }
                ParameterPlace::Query(at) => query.push((at.clone(), plain()?)),
                ParameterPlace::Header(at) => request.headers.push((at.clone(), plain()?)),
                ParameterPlace::Body(at) => encoding::set(&mut body, at, value.clone()),
            }
        }
        let missing = self.parameters.iter().find(|one| one.required && given(&one.name).is_none());
        if let Some(missing) = missing {
            return Err(ArgumentError::Missing(missing.name.clone()));
        }
        if !query.is_empty() {
            request.target = format!("{}?{}", request.target, encoding::form(&query));
        }
        match self.body {
            ToolBody::Nothing => {}
            ToolBody::Form => {
                request.content_type = Some("application/x-www-form-urlencoded");
                request.body = encoding::form(&encoding::flattened(&body));
            }
            ToolBody::Json => {
                request.content_type = Some("application/json");
                request.body = Value::Object(body).to_string();
            }
        }
        Ok(request)
    }

    /// The arguments of the call that makes this request; `None` if no call of this tool does.
    #[must_use]
    pub fn arguments(&self, request: &ServiceRequest) -> Option<Map<String, Value>> {
        if request.method != self.method {
            return None;
        }
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let mut arguments = Map::new();
        for (name, text) in encoding::matched(&self.path, path)? {
            let parameter = self.at(&ParameterPlace::Path(name))?;
            arguments.insert(parameter.name.clone(), parameter.kind.parsed(text));
        }
        for (name, text) in encoding::pairs(query) {
            let parameter = self.at(&ParameterPlace::Query(name))?;
            arguments.insert(parameter.name.clone(), parameter.kind.parsed(text));
        }
        for (name, text) in &request.headers {
            let is_it = |place: &ParameterPlace| match place {
                ParameterPlace::Header(header) => header.eq_ignore_ascii_case(name),
                _ => false,
            };
            let known = self.parameters.iter().find(|parameter| is_it(&parameter.place));
            let is_key = self.key.as_ref().map_or(name.eq_ignore_ascii_case("Idempotency-Key"), is_it);
            let name = known.map(|parameter| parameter.name.as_str()).or(is_key.then_some(KEY_ARGUMENT))?;
            arguments.insert(name.to_owned(), text.as_str().into());
        }
        let members = match self.body {
            ToolBody::Nothing if request.body.is_empty() => Map::new(),
            ToolBody::Nothing => return None,
            ToolBody::Form => encoding::nested(encoding::pairs(&request.body)),
            ToolBody::Json if request.body.is_empty() => Map::new(),
            ToolBody::Json => match serde_json::from_str(&request.body).ok()? {
                Value::Object(members) => members,
                _ => return None,
            },
        };
        let mut left = members.len();
        for parameter in &self.parameters {
            let ParameterPlace::Body(at) = &parameter.place else { continue };
            let [name] = at.as_slice() else { continue };
            let Some(value) = members.get(name) else { continue };
            left -= 1;
            let value = match (self.body, value) {
                (ToolBody::Form, Value::String(text)) => parameter.kind.parsed(text.clone()),
                (_, value) => value.clone(),
            };
            arguments.insert(parameter.name.clone(), value);
        }
        let is_complete =
            left == 0 && self.parameters.iter().all(|one| !one.required || arguments.contains_key(&one.name));
        is_complete.then_some(arguments)
    }

    fn at(&self, place: &ParameterPlace) -> Option<&ToolParameter> {
        self.parameters.iter().find(|parameter| parameter.place == *place)
    }

    fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }

    fn has_argument(&self, name: &str) -> bool {
        self.has_parameter(name) || (name == KEY_ARGUMENT && self.method != "GET")
    }
}

impl ToolParameter {
    /// An optional parameter.
    #[must_use]
    pub fn new(name: &str, kind: ParameterType, place: ParameterPlace, about: &str) -> Self {
        ToolParameter { name: name.to_owned(), kind, place, required: false, about: about.to_owned() }
    }

    /// The same parameter, required.
    #[must_use]
    pub fn required(self) -> Self {
        ToolParameter { required: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> ToolDescription {
        ToolDescription::new(
            "shop_update_cart",
            "shop.update",
            "POST",
            "/carts/{cart}/items",
            "Updates a cart.",
        )
        .form()
        .keyed()
        .path("cart", "The cart.")
        .query("limit", ParameterType::Integer, "How many.")
        .required("amount", ParameterType::Integer, "The amount.")
        .optional("items", ParameterType::Objects, "The items.")
        .optional("metadata", ParameterType::Labels, "Labels.")
        .header("if_match", "If-Match", "The version.")
    }

    fn arguments(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            _ => panic!("an object"),
        }
    }

    #[test]
    fn arguments_become_a_request_and_the_request_becomes_the_arguments() {
        let given = arguments(json!({
            "cart": "a b/1", "limit": 2, "amount": 4999, "if_match": "\"3\"", "idempotency_key": "k",
            "items": [{"price": "p"}, {"price": "q"}], "metadata": {"order": "ord 1"}
        }));
        let request = tool().request(&given).unwrap();
        assert_eq!(request.target, "/carts/a%20b%2F1/items?limit=2");
        assert_eq!(
            request.body,
            "amount=4999&items%5B0%5D%5Bprice%5D=p&items%5B1%5D%5Bprice%5D=q&metadata%5Border%5D=ord%201"
        );
        assert_eq!(
            request.headers,
            [("If-Match".to_owned(), "\"3\"".to_owned()), ("Idempotency-Key".to_owned(), "k".to_owned())]
        );
        assert_eq!(tool().arguments(&request), Some(given));
    }

    #[test]
    fn a_json_body_keeps_the_types_of_its_values() {
        let tool = ToolDescription { body: ToolBody::Json, ..tool() };
        let given = arguments(json!({"cart": "c", "amount": 1, "items": [{"n": 1.5, "is": true}]}));
        let request = tool.request(&given).unwrap();
        assert_eq!(request.body, r#"{"amount":1,"items":[{"is":true,"n":1.5}]}"#);
        assert_eq!(tool.arguments(&request), Some(given));
    }

    #[test]
    fn missing_unknown_and_nested_arguments_are_refused() {
        let refused = |value: Value| tool().request(&arguments(value)).unwrap_err().to_string();
        assert_eq!(refused(json!({"cart": "c"})), "the argument `amount` is required");
        assert_eq!(refused(json!({"cart": "c", "amount": null})), "the argument `amount` is required");
        assert!(
            refused(json!({"cart": "c", "amount": 1, "amout": 1})).starts_with("unknown argument `amout`")
        );
        for cart in [json!([]), json!("")] {
            assert!(refused(json!({"cart": cart, "amount": 1})).contains("`cart` must be a text"));
        }
    }

    #[test]
    fn a_request_of_another_tool_has_no_arguments() {
        let request = tool().request(&arguments(json!({"cart": "c", "amount": 1}))).unwrap();
        for other in [
            ServiceRequest { method: "PUT".to_owned(), ..request.clone() },
            ServiceRequest { target: "/carts/c".to_owned(), ..request.clone() },
            ServiceRequest { target: "/carts/c/items?other=1".to_owned(), ..request.clone() },
            ServiceRequest { body: "amount=1&other=1".to_owned(), ..request.clone() },
            ServiceRequest { body: String::new(), ..request },
        ] {
            assert_eq!(tool().arguments(&other), None, "{other:?}");
        }
    }

    #[test]
    fn a_key_is_accepted_by_writes_only() {
        let read = ToolDescription::new("shop_list", "shop.list", "GET", "/carts", "Lists carts.");
        let key = arguments(json!({"idempotency_key": "k"}));
        assert!(read.request(&key).is_err());
        let write = ToolDescription::new("shop_add", "shop.add", "POST", "/carts", "Adds a cart.").json();
        assert_eq!(
            write.request(&key).unwrap().headers,
            [("Idempotency-Key".to_owned(), "k".to_owned())],
            "a service that ignores keys also ignores this one"
        );
    }
}
