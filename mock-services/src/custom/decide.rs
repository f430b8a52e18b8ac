//! What a call comes to: the items that it makes, changes or shows.

use super::items::{Item, Step, id, time, to_fields};
use super::template::{Scope, elements, integer, list, render, text};
use super::{Call, Change, Custom, Deed, Items, Make};
use crate::service::{Answer, Context, Decision, Fields};
use crate::yaml::Node;

impl Custom {
    pub(super) fn decision(&self, state: &Items, call: &Call, context: &Context) -> Decision<Change> {
        match &self.rules[call.rule].deed {
            Deed::Make(make) => self.make(call, make, context),
            Deed::Change { maker, set, unless } => match self.one(state, *maker, call) {
                Ok(item) => self.change(call, item, set, unless, context),
                Err(answer) => Decision::refuse(answer),
            },
            Deed::Get { maker } => match self.one(state, *maker, call) {
                Ok(item) => {
                    let mut scope = Scope::of(&call.values);
                    self.add_item(&mut scope, item);
                    Decision::read(self.answer(call, scope, context, "${item}"))
                }
                Err(answer) => Decision::refuse(answer),
            },
            Deed::List { maker, .. } => {
                let mut scope = Scope::of(&call.values);
                self.add_items(&mut scope, state.all(*maker).filter(|item| item.fits(&call.filter)));
                Decision::read(self.answer(call, scope, context, "${items}"))
            }
        }
    }

    /// The item that the path names.
    fn one<'a>(&self, state: &'a Items, maker: usize, call: &Call) -> Result<&'a Item, Answer> {
        let id = call
            .values
            .iter()
            .find(|(name, _)| name == "id")
            .and_then(|(_, node)| node.as_text())
            .unwrap_or_default();
        state.get(maker, id).ok_or_else(|| self.refuse(404, format!("{id} was not found")))
    }

    fn make(&self, call: &Call, make: &Make, context: &Context) -> Decision<Change> {
        let listed = make.each.as_ref().and_then(|each| call.values.iter().find(|(name, _)| name == each));
        let made: Vec<Item> = match listed {
            Some((name, values)) => elements(values)
                .iter()
                .enumerate()
                .map(|(number, element)| {
                    let one = |(have, value): &(String, Node)| {
                        (have.clone(), if have == name { element } else { value }.clone())
                    };
                    new_item(call, make, context, number, call.values.iter().map(one).collect())
                })
                .collect(),
            None => vec![new_item(call, make, context, 0, call.values.clone())],
        };
        let mut scope = Scope::of(&call.values);
        let body = match made.first() {
            Some(item) if make.each.is_none() => {
                self.add_item(&mut scope, item);
                "${item}"
            }
            _ => {
                self.add_items(&mut scope, made.iter());
                "${items}"
            }
        };
        let answer = self.answer(call, scope, context, body);
        Decision::accept(answer, made.into_iter().map(|item| Change(Step::Make(item))).collect())
    }

    fn change(
        &self,
        call: &Call,
        item: &Item,
        set: &[(String, Node)],
        unless: &Fields,
        context: &Context,
    ) -> Decision<Change> {
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
        let step = Step::Set { operation: call.rule, maker: item.maker, id: item.id.clone(), values, fields };
        Decision::accept(answer, vec![Change(step)])
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

    /// The item as answers show it.
    fn shown(&self, item: &Item) -> Node {
        match &self.rules[item.maker].deed {
            Deed::Make(Make { shows: Some(shows), .. }) => {
                let mut scope = Scope::of(&item.values);
                scope.add("id", text(&item.id)).add("created_at", text(&item.created_at));
                render(shows, &scope)
            }
            _ => item.whole(),
        }
    }
}

fn new_item(call: &Call, make: &Make, context: &Context, number: usize, values: Vec<(String, Node)>) -> Item {
    let (id, now) = (id(context, make.prefix.as_deref(), number), time(context));
    let mut scope = Scope::of(&values);
    scope.add("id", text(&id)).add("now", text(&now));
    let set: Vec<(String, Node)> =
        make.set.iter().map(|(name, template)| (name.clone(), render(template, &scope))).collect();
    let mut item = Item { maker: call.rule, id, created_at: now, values };
    item.set_all(&set);
    item
}
