//! The state of the service: its items in the order of their creation, and the changes to them.

use std::borrow::Cow;
use std::collections::HashMap;

use jiff::Timestamp;
use yaml_reader::{Node, NodeKind};

use super::template::{as_text, map, text};
use crate::service::{Context, EffectFacts, Fields, Value};

/// All items of the service.
#[derive(Debug, Clone, Default)]
pub struct Items {
    all: Vec<Item>,
    by_id: HashMap<(usize, String), usize>,
    /// The changes whose events are sent.
    sent: Vec<ItemChange>,
}

/// One item.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The operation that created it.
    pub(super) creator: usize,
    pub(super) id: String,
    pub(super) created_at: String,
    /// The fields of the request that created it, and what was set then and later.
    pub(super) values: Vec<(String, Node)>,
}

/// One change of the items.
#[derive(Debug, Clone)]
pub struct ItemChange(pub(super) ItemEdit);

#[derive(Debug, Clone)]
pub(super) enum ItemEdit {
    /// A new item.
    Create(Item),
    /// New values for an item. `fields` is what the ledger records: the item after the change, and the fields
    /// of the request.
    Set { operation: usize, creator: usize, id: String, values: Vec<(String, Node)>, fields: Fields },
}

impl Items {
    pub(super) fn get(&self, creator: usize, id: &str) -> Option<&Item> {
        self.by_id.get(&(creator, id.to_owned())).map(|index| &self.all[*index])
    }

    /// The items that one operation created.
    pub(super) fn all(&self, creator: usize) -> impl Iterator<Item = &Item> {
        self.all.iter().filter(move |item| item.creator == creator)
    }

    /// The changes whose events are sent, in their order.
    pub(super) fn sent(&self) -> impl Iterator<Item = &ItemChange> {
        self.sent.iter()
    }

    /// Keeps a change for its event.
    pub(super) fn send(&mut self, change: &ItemChange) {
        self.sent.push(change.clone());
    }

    pub(super) fn apply(&mut self, change: &ItemChange) {
        match &change.0 {
            ItemEdit::Create(item) => {
                self.by_id.insert((item.creator, item.id.clone()), self.all.len());
                self.all.push(item.clone());
            }
            ItemEdit::Set { creator, id, values, .. } => {
                if let Some(index) = self.by_id.get(&(*creator, id.clone())) {
                    self.all[*index].set_all(values);
                }
            }
        }
    }
}

impl ItemChange {
    pub(super) fn operation(&self) -> usize {
        match &self.0 {
            ItemEdit::Create(item) => item.creator,
            ItemEdit::Set { operation, .. } => *operation,
        }
    }

    pub(super) fn facts(&self, effect: Cow<'static, str>) -> EffectFacts {
        let (id, fields) = match &self.0 {
            ItemEdit::Create(item) => (item.id.clone(), item.fields()),
            ItemEdit::Set { id, fields, .. } => (id.clone(), fields.clone()),
        };
        EffectFacts { effect, id, fields }
    }
}

impl Item {
    pub(super) fn set_all(&mut self, values: &[(String, Node)]) {
        for (name, value) in values {
            match self.values.iter_mut().find(|(other, _)| other == name) {
                Some(slot) => slot.1 = value.clone(),
                None => self.values.push((name.clone(), value.clone())),
            }
        }
    }

    pub(super) fn fields(&self) -> Fields {
        to_fields(&self.values)
    }

    /// Whether each name has the given value.
    pub(super) fn matches(&self, filter: &[(String, String)]) -> bool {
        if filter.is_empty() {
            return true;
        }
        let fields = self.fields();
        filter.iter().all(|(name, wanted)| match name.as_str() {
            "id" => self.id == *wanted,
            name => fields.get(name).is_some_and(|other| other.meets(&Value::from(wanted.as_str()))),
        })
    }

    /// All fields of the item.
    pub(super) fn all_fields(&self) -> Node {
        let id = std::iter::once(("id".to_owned(), text(&self.id)));
        let created = std::iter::once(("created_at".to_owned(), text(&self.created_at)));
        map(id.chain(self.values.iter().cloned()).chain(created))
    }
}

/// The values as fields of faults and the ledger; null values are left out.
pub(super) fn to_fields(values: &[(String, Node)]) -> Fields {
    let plain = |node: &Node| match &node.kind {
        NodeKind::Null => None,
        NodeKind::Bool(value) => Some(Value::Bool(*value)),
        NodeKind::Integer(value) => Some(Value::Number(*value)),
        NodeKind::List(items) => Some(Value::List(items.iter().map(as_text).collect())),
        _ => Some(Value::from(as_text(node))),
    };
    values.iter().fold(Fields::new(), |fields, (name, node)| fields.with_some(name.clone(), plain(node)))
}

/// The id of the item with this number among the items that one request creates.
pub(super) fn id(context: &Context, prefix: Option<&str>, number: usize) -> String {
    let name = format!("item {number}");
    match prefix {
        Some(prefix) => format!("{prefix}{}", context.ids.hex(&name, 16)),
        None => context.ids.uuid(&name),
    }
}

/// The time as responses show it, in whole seconds.
pub(super) fn time(context: &Context) -> String {
    Timestamp::from_second(context.now.as_second()).unwrap_or(context.now).to_string()
}
