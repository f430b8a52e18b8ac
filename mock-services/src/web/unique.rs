//! Fields that no two things at one place may share: a natural key, such as the address of an account.

use serde::Serialize;
use serde_json::{Value, json};
use yaml_reader::shape::{MapShape, Shape, optional, required};
use yaml_reader::{Node, Reader, shown};

use super::content::text;
use super::state::{WebChange, WebItems, split};
use crate::description::is_match;
use crate::service::Answer;

pub(super) static UNIQUE: MapShape<3> = MapShape::new([
    optional("host", Shape::Text).about("The host, where `*` stands for any characters."),
    required("path", Shape::Text).about("The path below which things are made: /v1/users."),
    required("field", Shape::Text).about("The field of the body: email, or account.email."),
]);

/// A field that no two things below a path may share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UniqueField {
    /// The host, where `*` stands for any characters; `None` for all.
    pub host: Option<String>,
    /// The path below which the things are, where `*` stands for any characters.
    pub path: String,
    /// The field, with dots between the names of nested objects.
    pub field: String,
}

impl UniqueField {
    fn applies(&self, host: &str, parent: &str) -> bool {
        // A request to an address of this machine does not say which host it means.
        let is_host = host.is_empty() || self.host.as_ref().is_none_or(|pattern| is_match(pattern, host));
        is_host && is_match(&self.path, parent)
    }

    fn value<'v>(&self, item: &'v Value) -> Option<&'v Value> {
        self.field.split('.').try_fold(item, |value, name| value.get(name)).filter(|value| !value.is_null())
    }
}

/// The refusal of a change that gives something a value that another thing below the same path has; `None` if there is
/// no such thing.
pub(super) fn conflict(rules: &[UniqueField], items: &WebItems, change: &WebChange) -> Option<Answer> {
    let wanted = change.value.as_ref()?;
    let (parent, _) = split(&change.path);
    let before = items.get(&change.host, &change.path);
    rules.iter().filter(|rule| rule.applies(&change.host, parent)).find_map(|rule| {
        let value = rule.value(wanted)?;
        // What already has the value keeps it.
        if before.and_then(|before| rule.value(before)) == Some(value) {
            return None;
        }
        let is_same = |item: &&Value| rule.value(item).is_some_and(|have| text(have) == text(value));
        let other = items.below(&change.host, parent).find(is_same)?;
        let message = format!("{} is taken: {}", rule.field, shown(&text(value)));
        let error = json!({
            "status": 409, "code": "already_exists", "message": message, "field": rule.field, "id": other.get("id"),
        });
        Some(Answer::json(409, &json!({ "error": error })))
    })
}

/// Reads the list of unique fields; problems are reported to the reader.
pub(super) fn read_unique(reader: &Reader, node: &Node) -> Vec<UniqueField> {
    reader.list(node).unwrap_or_default().iter().filter_map(|node| read_one(reader, node)).collect()
}

fn read_one(reader: &Reader, node: &Node) -> Option<UniqueField> {
    let [host, path_node, field] = reader.fields(node, "a unique field", &UNIQUE)?;
    let path = path_node.and_then(|node| reader.text(node))?;
    if let Some(node) = path_node.filter(|_| !path.starts_with(['/', '*']) || path.contains('?')) {
        let help = "write the path with its first slash and without a query: /v1/users";
        reader.report_with_help(node.span, format!("`{}` is not a path", shown(path)), help);
    }
    let field_text = field.and_then(|node| reader.text(node))?;
    // `body.` stands before names of the body wherever a scenario names them.
    let name = field_text.strip_prefix("body.").unwrap_or(field_text);
    if let Some(node) = field.filter(|_| name.is_empty() || name.split('.').any(str::is_empty)) {
        let help = "name one field of the body: email, or account.email";
        reader.report_with_help(node.span, format!("`{}` is not a field", shown(field_text)), help);
    }
    Some(UniqueField {
        host: host.and_then(|node| reader.text(node)).map(str::to_ascii_lowercase),
        path: if path == "/" { path } else { path.trim_end_matches('/') }.to_owned(),
        field: name.to_owned(),
    })
}
