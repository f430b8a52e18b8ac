//! What the service remembers: the items that were made, in the order in which they were, and how they
//! changed.

use std::borrow::Cow;
use std::collections::HashMap;

use jiff::Timestamp;

use super::template::{as_words, map, text};
use crate::service::{Context, EffectFacts, Fields, Value};
use crate::yaml::{Kind, Node};

/// All items of the service.
#[derive(Debug, Default)]
pub struct Items {
    all: Vec<Item>,
    by_id: HashMap<(usize, String), usize>,
}

/// One thing that an operation made.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The operation that made it.
    pub(super) maker: usize,
    pub(super) id: String,
    pub(super) created_at: String,
    /// The fields of the request that made it, and what was set then and later.
    pub(super) values: Vec<(String, Node)>,
}

/// One change of the items.
#[derive(Debug, Clone)]
pub struct Change(pub(super) Step);

#[derive(Debug, Clone)]
pub(super) enum Step {
    /// An item comes into being.
    Make(Item),
    /// An item gets other values. `fields` is what the ledger says of it: the item as it is then, and the
    /// fields of the request.
    Set { operation: usize, maker: usize, id: String, values: Vec<(String, Node)>, fields: Fields },
}

impl Items {
    pub(super) fn get(&self, maker: usize, id: &str) -> Option<&Item> {
        self.by_id.get(&(maker, id.to_owned())).map(|place| &self.all[*place])
    }

    /// The items that one operation made.
    pub(super) fn all(&self, maker: usize) -> impl Iterator<Item = &Item> {
        self.all.iter().filter(move |item| item.maker == maker)
    }

    pub(super) fn apply(&mut self, change: &Change) {
        match &change.0 {
            Step::Make(item) => {
                self.by_id.insert((item.maker, item.id.clone()), self.all.len());
                self.all.push(item.clone());
            }
            Step::Set { maker, id, values, .. } => {
                if let Some(place) = self.by_id.get(&(*maker, id.clone())) {
                    self.all[*place].set_all(values);
                }
            }
        }
    }
}

impl Change {
    pub(super) fn operation(&self) -> usize {
        match &self.0 {
            Step::Make(item) => item.maker,
            Step::Set { operation, .. } => *operation,
        }
    }

    pub(super) fn facts(&self, effect: Cow<'static, str>) -> EffectFacts {
        let (id, fields) = match &self.0 {
            Step::Make(item) => (item.id.clone(), item.fields()),
            Step::Set { id, fields, .. } => (id.clone(), fields.clone()),
        };
        EffectFacts { effect, id, fields }
    }
}

impl Item {
    pub(super) fn set_all(&mut self, values: &[(String, Node)]) {
        for (name, value) in values {
            match self.values.iter_mut().find(|(have, _)| have == name) {
                Some(slot) => slot.1 = value.clone(),
                None => self.values.push((name.clone(), value.clone())),
            }
        }
    }

    pub(super) fn fields(&self) -> Fields {
        to_fields(&self.values)
    }

    /// Whether every one of the names has that value.
    pub(super) fn fits(&self, filter: &[(String, String)]) -> bool {
        if filter.is_empty() {
            return true;
        }
        let fields = self.fields();
        filter.iter().all(|(name, wanted)| match name.as_str() {
            "id" => self.id == *wanted,
            name => fields.get(name).is_some_and(|have| have.meets(&Value::from(wanted.as_str()))),
        })
    }

    /// All that it holds.
    pub(super) fn whole(&self) -> Node {
        let id = std::iter::once(("id".to_owned(), text(&self.id)));
        let created = std::iter::once(("created_at".to_owned(), text(&self.created_at)));
        map(id.chain(self.values.iter().cloned()).chain(created))
    }
}

/// The values as faults and the ledger name them; nothing is no value.
pub(super) fn to_fields(values: &[(String, Node)]) -> Fields {
    let plain = |node: &Node| match &node.kind {
        Kind::Null => None,
        Kind::Bool(value) => Some(Value::Bool(*value)),
        Kind::Integer(value) => Some(Value::Number(*value)),
        Kind::List(items) => Some(Value::List(items.iter().map(as_words).collect())),
        _ => Some(Value::from(as_words(node))),
    };
    values.iter().fold(Fields::new(), |fields, (name, node)| fields.with_some(name.clone(), plain(node)))
}

/// The id of the item with that number among those that one request makes.
pub(super) fn id(context: &Context, prefix: Option<&str>, number: usize) -> String {
    let name = format!("item {number}");
    match prefix {
        Some(prefix) => format!("{prefix}{}", context.ids.hex(&name, 16)),
        None => context.ids.uuid(&name),
    }
}

/// The time as answers show it, in whole seconds.
pub(super) fn time(context: &Context) -> String {
    Timestamp::from_second(context.now.as_second()).unwrap_or(context.now).to_string()
}
