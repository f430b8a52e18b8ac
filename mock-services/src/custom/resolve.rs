//! What ties the operations of a service together: who changes and reads what, and which names the answers
//! can use.

use std::borrow::Cow;
use std::collections::HashSet;

use super::draft::{Does, Draft};
use super::fields::OWN;
use super::route::is_name;
use super::template::check;
use super::{Deed, Make, Rule};
use crate::service::{Kind, Operation};
use crate::yaml::{Key, Node, Reader, Span, listed, nearest, shown};

/// The operations and how they work. `all` are the names of all operations, also of those that could not be
/// read.
pub(super) fn resolve(
    reader: &Reader,
    drafts: &[Draft<'_>],
    all: &[&str],
    service: &str,
) -> Vec<(Operation, Rule)> {
    same_routes(reader, drafts);
    let mut resolver = Resolver { reader, drafts, all, items: Vec::new() };
    resolver.items = (0..drafts.len()).map(|maker| resolver.item_names(maker)).collect();
    drafts.iter().filter_map(|draft| Some((operation(draft, service), resolver.rule(draft)?))).collect()
}

fn same_routes(reader: &Reader, drafts: &[Draft<'_>]) {
    for (index, draft) in drafts.iter().enumerate() {
        if let Some(earlier) = drafts[..index].iter().find(|earlier| earlier.route.is_same(&draft.route)) {
            let message = format!("`{}` and `{}` have the same route", earlier.name, draft.name);
            reader.report_with_help(
                draft.route_span,
                message,
                "no request could tell them apart; change one of the two",
            );
        }
        if draft.route.method == "GET" && !matches!(draft.does, Does::Read(_)) {
            let message = format!("`{}` changes something, and a GET must not", draft.name);
            reader.report_with_help(draft.route_span, message, "use POST, PUT, PATCH or DELETE");
        }
    }
}

fn operation(draft: &Draft<'_>, service: &str) -> Operation {
    let owned = |name: &str| Cow::Owned(name.to_owned());
    let filter = draft.filter.iter().map(|(name, _)| *name);
    let mut fields: Vec<Cow<'static, str>> = draft.fields.iter().map(|(name, _)| owned(name)).collect();
    fields.extend(filter.filter(|name| !draft.fields.iter().any(|(have, _)| have == name)).map(owned));
    let (kind, identity) = match &draft.does {
        Does::Make { identity, .. } => (Kind::Write, identity.iter().map(|name| owned(name)).collect()),
        Does::Change(_) => (Kind::Write, vec![Cow::Borrowed("id")]),
        Does::Read(_) => (Kind::Read, Vec::new()),
    };
    Operation {
        name: Cow::Owned(format!("{service}.{}", draft.name)),
        kind,
        list: draft.each.is_some(),
        fields,
        identity,
    }
}

struct Resolver<'a, 'n> {
    reader: &'a Reader,
    drafts: &'a [Draft<'n>],
    all: &'a [&'n str],
    /// For each operation, the names of what the items that it makes can hold.
    items: Vec<Vec<String>>,
}

impl Resolver<'_, '_> {
    fn rule(&self, draft: &Draft<'_>) -> Option<Rule> {
        let own: Vec<&str> = draft.fields.iter().map(|(name, _)| name.as_str()).collect();
        let deed = match &draft.does {
            Does::Make { prefix, .. } => {
                let maker = self.drafts.iter().position(|have| have.name == draft.name)?;
                let with = |more: &[&'static str]| [own.as_slice(), more].concat();
                self.set(draft.set, &with(&["id", "now"]));
                let item: Vec<&str> = self.items[maker].iter().map(String::as_str).collect();
                draft.shows.iter().for_each(|shows| {
                    check(self.reader, shows, &[item.as_slice(), &["id", "created_at"]].concat())
                });
                match draft.each {
                    Some(_) => self.body(draft, &with(&["items", "count", "now"])),
                    None => {
                        self.body(draft, &[item.as_slice(), &["item", "id", "created_at", "now"]].concat())
                    }
                }
                let shows = draft.shows.cloned();
                Deed::Make(Make {
                    prefix: prefix.clone(),
                    each: draft.each.clone(),
                    set: owned(draft.set),
                    shows,
                })
            }
            Does::Change(of) => {
                self.needs_id(draft);
                self.set(draft.set, &[own.as_slice(), &["now"]].concat());
                if draft.set.is_empty() {
                    let message = format!("`{}` changes nothing", draft.name);
                    self.reader.report_with_help(of.span, message, "say what under `set`: {state: closed}");
                }
                let maker = self.maker(of, "changes")?;
                self.one_item(draft, &own, maker);
                if let Some((unless, span)) = &draft.unless {
                    unless.iter().for_each(|(name, _)| self.held(name, maker, *span, "unless"));
                }
                let unless = draft.unless.as_ref().map(|(unless, _)| unless.clone()).unwrap_or_default();
                Deed::Change { maker, set: owned(draft.set), unless }
            }
            Does::Read(of) => {
                let maker = self.maker(of, "reads")?;
                if draft.is_about_one() {
                    self.one_item(draft, &own, maker);
                    if let Some((_, span)) = draft.filter.first() {
                        self.reader.report_with_help(
                            *span,
                            "`filter` is for lists, and `{id}` names one item",
                            "leave it out",
                        );
                    }
                    Deed::Get { maker }
                } else {
                    self.body(draft, &[own.as_slice(), &["items", "count", "now"]].concat());
                    draft.filter.iter().for_each(|(name, span)| self.held(name, maker, *span, "filter"));
                    Deed::List {
                        maker,
                        filter: draft.filter.iter().map(|(name, _)| (*name).to_owned()).collect(),
                    }
                }
            }
        };
        let (route, fields, required) = (draft.route.clone(), draft.fields.clone(), draft.required.clone());
        Some(Rule { route, fields, required, deed, status: draft.status, body: draft.body.cloned() })
    }

    /// All that an item of this operation can hold: its fields, what it sets, and what others set later.
    fn item_names(&self, maker: usize) -> Vec<String> {
        let made = &self.drafts[maker];
        let mut names: Vec<String> = made.fields.iter().map(|(name, _)| name.clone()).collect();
        names.extend(made.set.iter().map(|(key, _)| key.name.clone()));
        for draft in self.drafts {
            if matches!(draft.does, Does::Change(of) if of.as_text() == Some(made.name)) {
                names.extend(draft.set.iter().map(|(key, _)| key.name.clone()));
            }
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// The operation that made what is changed or read.
    fn maker(&self, of: &Node, key: &str) -> Option<usize> {
        let name = self.reader.text(of)?;
        let makers = || {
            self.drafts.iter().filter(|draft| matches!(draft.does, Does::Make { .. })).map(|draft| draft.name)
        };
        let among = || format!("operations with an effect: {}", listed(makers()));
        match self.drafts.iter().position(|draft| draft.name == name) {
            Some(index) if matches!(self.drafts[index].does, Does::Make { .. }) => return Some(index),
            Some(_) => {
                let message = format!("`{key}` names `{name}`, which makes nothing");
                self.reader.report_with_help(of.span, message, among());
            }
            // One that could not be read has its own problem.
            None if self.all.contains(&name) => {}
            None => {
                let help = match nearest(name, makers()) {
                    Some(near) => format!("did you mean `{near}`? {}", among()),
                    None => among(),
                };
                self.reader.report_with_help(
                    of.span,
                    format!("there is no operation `{}`", shown(name)),
                    help,
                );
            }
        }
        None
    }

    fn needs_id(&self, draft: &Draft<'_>) {
        if !draft.is_about_one() {
            let message = "an operation with `changes` needs `{id}` in its route, to say which item is meant";
            self.reader.report_with_help(draft.route_span, message, "write it as POST /tickets/{id}/close");
        }
    }

    /// An answer about one item can use all that it holds.
    fn one_item(&self, draft: &Draft<'_>, own: &[&str], maker: usize) {
        let item: Vec<&str> = self.items[maker].iter().map(String::as_str).collect();
        self.body(draft, &[own, &item, &["item", "id", "created_at", "now"]].concat());
    }

    fn body(&self, draft: &Draft<'_>, allowed: &[&str]) {
        let mut seen = HashSet::new();
        let allowed: Vec<&str> = allowed.iter().copied().filter(|name| seen.insert(*name)).collect();
        draft.body.iter().for_each(|body| check(self.reader, body, &allowed));
    }

    fn set(&self, set: &[(Key, Node)], allowed: &[&str]) {
        for (key, value) in set {
            if OWN.contains(&key.name.as_str()) || !is_name(&key.name) {
                let help = "a name consists of letters, digits and underscores, and is none that the service itself gives";
                self.reader.report_with_help(key.span, format!("`{}` cannot be set", shown(&key.name)), help);
            }
            check(self.reader, value, allowed);
        }
    }

    /// Reports a name that no item of this operation holds.
    fn held(&self, name: &str, maker: usize, span: Span, what: &str) {
        let names = || self.items[maker].iter().map(String::as_str);
        // A list can be narrowed to an id, too.
        let is_id = name == "id" && what == "filter";
        if !is_id && !names().any(|have| have == name) {
            let all = listed(names());
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`? it can be {all}"),
                None => format!("it can be {all}"),
            };
            let message = format!(
                "`{what}` names `{}`, which what `{}` makes does not hold",
                shown(name),
                self.drafts[maker].name
            );
            self.reader.report_with_help(span, message, help);
        }
    }
}

fn owned(set: &[(Key, Node)]) -> Vec<(String, Node)> {
    set.iter().map(|(key, node)| (key.name.clone(), node.clone())).collect()
}
