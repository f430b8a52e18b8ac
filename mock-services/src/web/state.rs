//! The state: what was made at each path of each host, in the order in which it was made.

use std::collections::HashMap;

use serde_json::Value;

use crate::service::Fields;

/// What was made.
#[derive(Debug, Clone, Default)]
pub(super) struct WebItems {
    items: Vec<WebItem>,
    /// The places in `items`, by host and path.
    by_path: HashMap<(String, String), usize>,
    /// The places in `items` of what was made below a path, by host and that path.
    by_parent: HashMap<(String, String), Vec<usize>>,
}

#[derive(Debug, Clone)]
struct WebItem {
    /// Its value; `None` after it was deleted.
    value: Option<Value>,
}

/// One change: the effect of a request.
#[derive(Debug, Clone)]
pub(super) struct WebChange {
    /// The index of its operation.
    pub(super) operation: usize,
    /// The id of what it changes.
    pub(super) id: String,
    /// What the ledger records.
    pub(super) fields: Fields,
    /// The host of what it changes.
    pub(super) host: String,
    /// The path of what it changes.
    pub(super) path: String,
    /// The new value; `None` for a deletion.
    pub(super) value: Option<Value>,
}

impl WebItems {
    /// What was made at exactly this path.
    pub(super) fn get(&self, host: &str, path: &str) -> Option<&Value> {
        let place = self.by_path.get(&key(host, path))?;
        self.items.get(*place)?.value.as_ref()
    }

    /// What was made directly below this path, and is still there.
    pub(super) fn below(&self, host: &str, path: &str) -> impl Iterator<Item = &Value> {
        let places = self.by_parent.get(&key(host, path));
        places.into_iter().flatten().filter_map(|place| self.items.get(*place)?.value.as_ref())
    }

    /// Whether something was ever made directly below this path.
    pub(super) fn is_collection(&self, host: &str, path: &str) -> bool {
        self.by_parent.contains_key(&key(host, path))
    }

    pub(super) fn apply(&mut self, change: &WebChange) {
        let WebChange { host, path, value, .. } = change;
        match (self.by_path.get(&key(host, path)), value) {
            (Some(place), value) => {
                if let Some(item) = self.items.get_mut(*place) {
                    item.value.clone_from(value);
                }
            }
            (None, Some(value)) => {
                let place = self.items.len();
                self.items.push(WebItem { value: Some(value.clone()) });
                self.by_path.insert(key(host, path), place);
                self.by_parent.entry(key(host, split(path).0)).or_default().push(place);
            }
            (None, None) => {}
        }
    }
}

/// The path above the last part of a path, and the last part.
pub(super) fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", last)) => ("/", last),
        Some((parent, last)) => (parent, last),
        None => ("/", path),
    }
}

fn key(host: &str, path: &str) -> (String, String) {
    (host.to_owned(), path.to_owned())
}
