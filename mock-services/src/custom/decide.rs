//! Decides a call: which items it creates, changes or returns.

use yaml_reader::Node;

use super::items::{Item, ItemEdit, id, time, to_fields};
use super::template::{Scope, elements, integer, list, render, text};
use super::{Call, CreateItems, Custom, ItemChange, Items, OperationAction};
use crate::service::{Answer, Context, Decision, Fields};

impl Custom {
    pub(super) fn decision(&self, state: &Items, call: &Call, context: &Context) -> Decision<ItemChange> {
        match &self.rules[call.rule].action {
            OperationAction::Create(creation) => self.create(call, creation, context),
            OperationAction::Change { creator, set, unless } => {
                match self.item_of_path(state, *creator, call) {
                    Ok(item) => self.change(call, item, set, unless, context),
                    Err(answer) => Decision::refuse(answer),
                }
            }
            OperationAction::Get { creator } => match self.item_of_path(state, *creator, call) {
                Ok(item) => {
                    let mut scope = Scope::of(&call.values);
                    self.add_item(&mut scope, item);
                    Decision::read(self.answer(call, scope, context, "${item}"))
                }
                Err(answer) => Decision::refuse(answer),
            },
            OperationAction::List { creator, .. } => {
                let mut scope = Scope::of(&call.values);
                self.add_items(&mut scope, state.all(*creator).filter(|item| item.matches(&call.filter)));
                Decision::read(self.answer(call, scope, context, "${items}"))
            }
        }
    }

    /// The item whose id is in the path.
    fn item_of_path<'a>(&self, state: &'a Items, creator: usize, call: &Call) -> Result<&'a Item, Answer> {
        let id = call
            .values
            .iter()
            .find(|(name, _)| name == "id")
            .and_then(|(_, node)| node.as_text())
            .unwrap_or_default();
        state.get(creator, id).ok_or_else(|| self.refuse(404, format!("{id} was not found")))
    }

    fn create(&self, call: &Call, creation: &CreateItems, context: &Context) -> Decision<ItemChange> {
        let listed =
            creation.each.as_ref().and_then(|each| call.values.iter().find(|(name, _)| name == each));
        let created: Vec<Item> = match listed {
            Some((name, values)) => elements(values)
                .iter()
                .enumerate()
                .map(|(number, element)| {
                    let one = |(other, value): &(String, Node)| {
                        (other.clone(), if other == name { element } else { value }.clone())
                    };
                    new_item(call, creation, context, number, call.values.iter().map(one).collect())
                })
                .collect(),
            None => vec![new_item(call, creation, context, 0, call.values.clone())],
        };
        let mut scope = Scope::of(&call.values);
        let body = match created.first() {
            Some(item) if creation.each.is_none() => {
                self.add_item(&mut scope, item);
                "${item}"
            }
            _ => {
                self.add_items(&mut scope, created.iter());
                "${items}"
            }
        };
        let answer = self.answer(call, scope, context, body);
        Decision::accept(answer, created.into_iter().map(|item| ItemChange(ItemEdit::Create(item))).collect())
    }

    fn change(
        &self,
        call: &Call,
        item: &Item,
        set: &[(String, Node)],
        unless: &Fields,
        context: &Context,
    ) -> Decision<ItemChange> {
        if !unless.is_empty() && item.fields().meet(unless) {
            let why: Vec<String> =
                unless.iter().map(|(name, value)| format!("its {name} is {value}")).collect();
            return Decision::refuse(
                self.refuse(409, format!("{} cannot be changed: {}", item.id, why.join(" and "))),
            );
        }
        let mut scope = Scope::of(&call.values);
        scope.add("now", text(time(context)));
        let values: Vec<(String, Node)> =
            set.iter().map(|(name, template)| (name.clone(), render(template, &scope))).collect();
        let mut changed = item.clone();
        changed.set_all(&values);
        self.add_item(&mut scope, &changed);
        let answer = self.answer(call, scope, context, "${item}");
        let mut fields = changed.fields();
        for (name, value) in to_fields(&call.values).iter() {
            fields.set(name.to_owned(), value.clone());
        }
        let step = ItemEdit::Set {
            operation: call.rule,
            creator: item.creator,
            id: item.id.clone(),
            values,
            fields,
        };
        Decision::accept(answer, vec![ItemChange(step)])
    }

    fn answer(&self, call: &Call, mut scope: Scope, context: &Context, body: &str) -> Answer {
        let rule = &self.rules[call.rule];
        if rule.status == 204 {
            return Answer::empty(204);
        }
        scope.add("now", text(time(context)));
        let whole = text(body);
        Answer::json(rule.status, &render(rule.body.as_ref().unwrap_or(&whole), &scope))
    }

    fn add_item(&self, scope: &mut Scope, item: &Item) {
        scope
            .add("item", self.shown(item))
            .add("id", text(&item.id))
            .add("created_at", text(&item.created_at));
        for (name, value) in &item.values {
            scope.add(name, value.clone());
        }
    }

    fn add_items<'a>(&self, scope: &mut Scope, items: impl Iterator<Item = &'a Item>) {
        let shown: Vec<Node> = items.map(|item| self.shown(item)).collect();
        let count = i64::try_from(shown.len()).unwrap_or(i64::MAX);
        scope.add("count", integer(count)).add("items", list(shown));
    }

    /// The item as responses show it.
    fn shown(&self, item: &Item) -> Node {
        match &self.rules[item.creator].action {
            OperationAction::Create(CreateItems { shows: Some(shows), .. }) => {
                let mut scope = Scope::of(&item.values);
                scope.add("id", text(&item.id)).add("created_at", text(&item.created_at));
                render(shows, &scope)
            }
            _ => item.all_fields(),
        }
    }
}

fn new_item(
    call: &Call,
    creation: &CreateItems,
    context: &Context,
    number: usize,
    values: Vec<(String, Node)>,
) -> Item {
    let (id, now) = (id(context, creation.prefix.as_deref(), number), time(context));
    let mut scope = Scope::of(&values);
    scope.add("id", text(&id)).add("now", text(&now));
    let set: Vec<(String, Node)> =
        creation.set.iter().map(|(name, template)| (name.clone(), render(template, &scope))).collect();
    let mut item = Item { creator: call.rule, id, created_at: now, values };
    item.set_all(&set);
    item
}
