//! Where a request has its fields, and how they are read from there.

use yaml_reader::{Node, NodeKind};

use super::route::Route;
use super::template::{list, map, node_of, text};
use crate::service::Request;

/// Where a request has a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldPlace {
    /// In the body, under these names.
    RequestBody(Vec<String>),
    /// In the query.
    Query(String),
    /// In the path, where the route has this name.
    Path(String),
    /// In a header.
    Header(String),
}

impl FieldPlace {
    /// Reads `body.a.b`, `query.x`, `path.x` or `header.X`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (place, name) = text.split_once('.')?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return None;
        }
        match place {
            "body" if name.split('.').all(|part| !part.is_empty()) => {
                Some(FieldPlace::RequestBody(name.split('.').map(str::to_owned).collect()))
            }
            "query" => Some(FieldPlace::Query(name.to_owned())),
            "path" => Some(FieldPlace::Path(name.to_owned())),
            "header" => Some(FieldPlace::Header(name.to_owned())),
            _ => None,
        }
    }

    /// As in a file: `body.a.b`.
    pub(super) fn written(&self) -> String {
        match self {
            FieldPlace::RequestBody(names) => format!("body.{}", names.join(".")),
            FieldPlace::Query(name) => format!("query.{name}"),
            FieldPlace::Path(name) => format!("path.{name}"),
            FieldPlace::Header(name) => format!("header.{name}"),
        }
    }

    /// The header's name, when the field is in a header.
    pub(super) fn header(&self) -> Option<&str> {
        match self {
            FieldPlace::Header(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn is_in_body(&self) -> bool {
        matches!(self, FieldPlace::RequestBody(_))
    }

    /// The idempotency key at this place of a request: a string, a number or a boolean. An unreadable body
    /// has none.
    pub(super) fn key(&self, request: &Request) -> Option<String> {
        let value = match self {
            FieldPlace::RequestBody(names) => RequestBody::read(request).ok()?.value(names)?,
            FieldPlace::Query(name) => return request.query_value(name),
            FieldPlace::Header(name) => return request.header_value(name).map(str::to_owned),
            FieldPlace::Path(_) => return None,
        };
        match value.kind {
            NodeKind::Text(text) => Some(text),
            NodeKind::Integer(number) => Some(number.to_string()),
            NodeKind::Bool(value) => Some(value.to_string()),
            NodeKind::Null | NodeKind::Float(_) | NodeKind::List(_) | NodeKind::Map(_) => None,
        }
    }

    /// The value at this place of a request; `null` counts as absent.
    pub(super) fn value(
        &self,
        request: &Request,
        body: &RequestBody,
        route: &Route,
        segments: &[String],
    ) -> Option<Node> {
        match self {
            FieldPlace::RequestBody(names) => body.value(names),
            FieldPlace::Query(name) => request.query_value(name).map(text),
            FieldPlace::Path(name) => route.value(name, segments).map(text),
            FieldPlace::Header(name) => request.header_value(name).map(text),
        }
    }
}

/// The body of a request.
#[derive(Debug)]
pub(super) enum RequestBody {
    Empty,
    Json(Node),
    Form(Vec<(String, String)>),
}

impl RequestBody {
    /// Reads the body by its content type. The error is the message for the client.
    pub(super) fn read(request: &Request) -> Result<Self, &'static str> {
        let bytes = request.bytes();
        let kind = request.header_value("content-type").unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("application/x-www-form-urlencoded") {
            return Ok(RequestBody::Form(form_urlencoded::parse(bytes).into_owned().collect()));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(RequestBody::Empty);
        }
        match serde_json::from_slice(bytes) {
            Ok(value @ serde_json::Value::Object(_)) => Ok(RequestBody::Json(tree(value))),
            Ok(_) => Err("the body must be a JSON object"),
            Err(_) => Err("the body is not valid JSON"),
        }
    }

    fn value(&self, names: &[String]) -> Option<Node> {
        match self {
            RequestBody::Empty => None,
            RequestBody::Json(root) => {
                let node = names.iter().try_fold(root, |node, name| node.get(name))?;
                (node.kind != NodeKind::Null).then(|| node.clone())
            }
            RequestBody::Form(pairs) => {
                // `a.b` is `a[b]` in a form; a list is `a[b][]`, once for each element.
                let mut name = names.first()?.clone();
                for part in &names[1..] {
                    name.push_str(&format!("[{part}]"));
                }
                let several = format!("{name}[]");
                if let Some((_, value)) = pairs.iter().find(|(other, _)| *other == name) {
                    return Some(text(value));
                }
                let values: Vec<Node> = pairs
                    .iter()
                    .filter(|(other, _)| *other == several)
                    .map(|(_, value)| text(value))
                    .collect();
                (!values.is_empty()).then(|| list(values))
            }
        }
    }
}

/// JSON as a tree of nodes.
fn tree(value: serde_json::Value) -> Node {
    use serde_json::Value;
    match value {
        Value::Null => node_of(NodeKind::Null),
        Value::Bool(value) => node_of(NodeKind::Bool(value)),
        Value::Number(number) => match number.as_i64() {
            Some(number) => node_of(NodeKind::Integer(number)),
            None => node_of(NodeKind::Float(number.as_f64().unwrap_or_default())),
        },
        Value::String(value) => text(value),
        Value::Array(values) => list(values.into_iter().map(tree).collect()),
        Value::Object(entries) => map(entries.into_iter().map(|(name, value)| (name, tree(value)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(request: &Request, place: &str) -> Option<Node> {
        let route = Route::read("POST /a/{id}").unwrap();
        FieldPlace::read(place).unwrap().value(
            request,
            &RequestBody::read(request).unwrap(),
            &route,
            &request.segments(),
        )
    }

    #[test]
    fn a_field_is_read_from_each_place() {
        let request = Request::new("POST", "/a/x%20y?q=1")
            .header("X-Channel", "web")
            .body(r#"{"a": {"b": 5}, "n": null}"#);
        assert_eq!(value(&request, "path.id"), Some(text("x y")));
        assert_eq!(value(&request, "query.q"), Some(text("1")));
        assert_eq!(value(&request, "header.x-channel"), Some(text("web")));
        assert_eq!(value(&request, "body.a.b"), Some(node_of(NodeKind::Integer(5))));
        assert_eq!(value(&request, "body.n"), None);
        assert_eq!(value(&request, "body.a.c"), None);
    }

    #[test]
    fn a_form_has_the_same_fields_as_json() {
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        let request =
            Request::new("POST", "/a/1").header("Content-Type", form).body("a[b]=5&to[]=x&to[]=y&half=%zz&[");
        assert_eq!(value(&request, "body.a.b"), Some(text("5")));
        assert_eq!(value(&request, "body.to"), Some(list(vec![text("x"), text("y")])));
        assert_eq!(value(&request, "body.half"), Some(text("%zz")));
    }

    #[test]
    fn a_key_is_read_from_the_body_the_query_or_a_header() {
        let key = |request: &Request, place: &str| FieldPlace::read(place).unwrap().key(request);
        let request = Request::new("POST", "/a/1?once=q1")
            .header("X-Once", "h1")
            .body(r#"{"a": {"nonce": "b1"}, "n": 7, "l": []}"#);
        assert_eq!(key(&request, "body.a.nonce").as_deref(), Some("b1"));
        assert_eq!(key(&request, "body.n").as_deref(), Some("7"));
        assert_eq!(key(&request, "body.l"), None);
        assert_eq!(key(&request, "body.gone"), None);
        assert_eq!(key(&request, "query.once").as_deref(), Some("q1"));
        assert_eq!(key(&request, "header.x-once").as_deref(), Some("h1"));
        assert_eq!(key(&Request::new("POST", "/").body("{"), "body.n"), None);
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused() {
        let read = |body: &str| RequestBody::read(&Request::new("POST", "/").body(body)).err();
        assert_eq!(read("{"), Some("the body is not valid JSON"));
        assert_eq!(read(&"[".repeat(100_000)), Some("the body is not valid JSON"));
        assert_eq!(read("[1]"), Some("the body must be a JSON object"));
        assert_eq!(read(" \n"), None);
    }

    #[test]
    fn an_invalid_place_is_refused() {
        for text in ["", "body", "body.", "body..a", "cookie.a", "path.", "query.\u{7}"] {
            assert_eq!(FieldPlace::read(text), None, "{text}");
        }
    }
}
