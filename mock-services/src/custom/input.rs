//! Where the fields of a request stand, and how they are taken from there.

use super::route::Route;
use super::template::{bare, list, map, text};
use crate::service::Request;
use crate::yaml::{Kind, Node};

/// Where a field stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the body, under these names.
    Body(Vec<String>),
    /// In the query.
    Query(String),
    /// In the path, where the route has this name.
    Path(String),
    /// In a header.
    Header(String),
}

impl Place {
    /// Reads `body.a.b`, `query.x`, `path.x` or `header.X`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (place, name) = text.split_once('.')?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return None;
        }
        match place {
            "body" if name.split('.').all(|part| !part.is_empty()) => {
                Some(Place::Body(name.split('.').map(str::to_owned).collect()))
            }
            "query" => Some(Place::Query(name.to_owned())),
            "path" => Some(Place::Path(name.to_owned())),
            "header" => Some(Place::Header(name.to_owned())),
            _ => None,
        }
    }

    /// The header, where it stands in one.
    pub(super) fn header(&self) -> Option<&str> {
        match self {
            Place::Header(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn is_in_body(&self) -> bool {
        matches!(self, Place::Body(_))
    }

    /// The idempotency key that a request has there: a text, a number or a truth value. A body that cannot be
    /// read has none.
    pub(super) fn key(&self, request: &Request) -> Option<String> {
        let value = match self {
            Place::Body(names) => Body::read(request).ok()?.value(names)?,
            Place::Query(name) => return request.query_value(name),
            Place::Header(name) => return request.header_value(name).map(str::to_owned),
            Place::Path(_) => return None,
        };
        match value.kind {
            Kind::Text(text) => Some(text),
            Kind::Integer(number) => Some(number.to_string()),
            Kind::Bool(value) => Some(value.to_string()),
            Kind::Null | Kind::Float(_) | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The value that a request has there; `null` is no value.
    pub(super) fn value(
        &self,
        request: &Request,
        body: &Body,
        route: &Route,
        segments: &[String],
    ) -> Option<Node> {
        match self {
            Place::Body(names) => body.value(names),
            Place::Query(name) => request.query_value(name).map(text),
            Place::Path(name) => route.value(name, segments).map(text),
            Place::Header(name) => request.header_value(name).map(text),
        }
    }
}

/// The body of a request.
#[derive(Debug)]
pub(super) enum Body {
    Empty,
    Json(Node),
    Form(Vec<(String, String)>),
}

impl Body {
    /// Reads the body by its content type; an error is what the caller is told.
    pub(super) fn read(request: &Request) -> Result<Self, &'static str> {
        let bytes = request.bytes();
        let kind = request.header_value("content-type").unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("application/x-www-form-urlencoded") {
            return Ok(Body::Form(form_urlencoded::parse(bytes).into_owned().collect()));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Body::Empty);
        }
        match serde_json::from_slice(bytes) {
            Ok(value @ serde_json::Value::Object(_)) => Ok(Body::Json(tree(value))),
            Ok(_) => Err("the body must be a JSON object"),
            Err(_) => Err("the body is not valid JSON"),
        }
    }

    fn value(&self, names: &[String]) -> Option<Node> {
        match self {
            Body::Empty => None,
            Body::Json(root) => {
                let node = names.iter().try_fold(root, |node, name| node.get(name))?;
                (node.kind != Kind::Null).then(|| node.clone())
            }
            Body::Form(pairs) => {
                // `a.b` is `a[b]` in a form, and `a[b][]` as often as there are elements.
                let mut name = names.first()?.clone();
                for part in &names[1..] {
                    name.push_str(&format!("[{part}]"));
                }
                let several = format!("{name}[]");
                if let Some((_, value)) = pairs.iter().find(|(have, _)| *have == name) {
                    return Some(text(value));
                }
                let values: Vec<Node> =
                    pairs.iter().filter(|(have, _)| *have == several).map(|(_, value)| text(value)).collect();
                (!values.is_empty()).then(|| list(values))
            }
        }
    }
}

/// JSON as a tree.
fn tree(value: serde_json::Value) -> Node {
    use serde_json::Value;
    match value {
        Value::Null => bare(Kind::Null),
        Value::Bool(value) => bare(Kind::Bool(value)),
        Value::Number(number) => match number.as_i64() {
            Some(number) => bare(Kind::Integer(number)),
            None => bare(Kind::Float(number.as_f64().unwrap_or_default())),
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
        Place::read(place).unwrap().value(request, &Body::read(request).unwrap(), &route, &request.segments())
    }

    #[test]
    fn a_field_is_taken_from_each_place() {
        let request = Request::new("POST", "/a/x%20y?q=1")
            .header("X-Channel", "web")
            .body(r#"{"a": {"b": 5}, "n": null}"#);
        assert_eq!(value(&request, "path.id"), Some(text("x y")));
        assert_eq!(value(&request, "query.q"), Some(text("1")));
        assert_eq!(value(&request, "header.x-channel"), Some(text("web")));
        assert_eq!(value(&request, "body.a.b"), Some(bare(Kind::Integer(5))));
        assert_eq!(value(&request, "body.n"), None);
        assert_eq!(value(&request, "body.a.c"), None);
    }

    #[test]
    fn forms_have_the_same_fields() {
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        let request =
            Request::new("POST", "/a/1").header("Content-Type", form).body("a[b]=5&to[]=x&to[]=y&half=%zz&[");
        assert_eq!(value(&request, "body.a.b"), Some(text("5")));
        assert_eq!(value(&request, "body.to"), Some(list(vec![text("x"), text("y")])));
        assert_eq!(value(&request, "body.half"), Some(text("%zz")));
    }

    #[test]
    fn a_key_is_taken_from_the_body_the_query_or_a_header() {
        let key = |request: &Request, place: &str| Place::read(place).unwrap().key(request);
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
    fn a_body_that_is_no_object_is_refused() {
        let read = |body: &str| Body::read(&Request::new("POST", "/").body(body)).err();
        assert_eq!(read("{"), Some("the body is not valid JSON"));
        assert_eq!(read(&"[".repeat(100_000)), Some("the body is not valid JSON"));
        assert_eq!(read("[1]"), Some("the body must be a JSON object"));
        assert_eq!(read(" \n"), None);
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "body", "body.", "body..a", "cookie.a", "path.", "query.\u{7}"] {
            assert_eq!(Place::read(text), None, "{text}");
        }
    }
}
