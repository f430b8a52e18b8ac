//! References between the operations of a service: which operation changes or reads which items, and which
//! names the responses can use.

use std::borrow::Cow;
use std::collections::HashSet;

use yaml_reader::{Key, Node, Reader, Span, listed, nearest, shown};

use super::draft::{DraftAction, OperationDraft};
use super::fields::RESERVED_FIELDS;
use crate::custom::route::is_name;
use crate::custom::template::check;
use crate::custom::{CreateItems, OperationAction, OperationRule};
use crate::service::{Operation, OperationKind};

/// The operations and their rules. `all` are the names of all operations, including those that could not be
/// read.
pub(super) fn resolve(
    reader: &Reader,
    drafts: &[OperationDraft<'_>],
    all: &[&str],
    service: &str,
) -> Vec<(Operation, OperationRule)> {
    check_routes(reader, drafts);
    let mut resolver = Resolver { reader, drafts, all, items: Vec::new() };
    resolver.items = (0..drafts.len()).map(|creator| resolver.item_names(creator)).collect();
    drafts.iter().filter_map(|draft| Some((operation(draft, service), resolver.rule(draft)?))).collect()
}

fn check_routes(reader: &Reader, drafts: &[OperationDraft<'_>]) {
    for (index, draft) in drafts.iter().enumerate() {
        if let Some(earlier) = drafts[..index].iter().find(|earlier| earlier.route.is_same(&draft.route)) {
            let message = format!("`{}` and `{}` have the same route", earlier.name, draft.name);
            reader.report_with_help(
                draft.route_span,
                message,
                "a request could match either; change one of the two",
            );
        }
        if draft.route.method == "GET" && !matches!(draft.action, DraftAction::Read(_)) {
            let message = format!("`{}` changes items, which a GET must not do", draft.name);
            reader.report_with_help(draft.route_span, message, "use POST, PUT, PATCH or DELETE");
        }
    }
}

fn operation(draft: &OperationDraft<'_>, service: &str) -> Operation {
    let owned = |name: &str| Cow::Owned(name.to_owned());
    let filter = draft.filter.iter().map(|(name, _)| *name);
    let mut fields: Vec<Cow<'static, str>> = draft.fields.iter().map(|(name, _)| owned(name)).collect();
    fields.extend(filter.filter(|name| !draft.fields.iter().any(|(other, _)| other == name)).map(owned));
    let (kind, identity) = match &draft.action {
        DraftAction::Create { identity, .. } => {
            (OperationKind::Write, identity.iter().map(|name| owned(name)).collect())
        }
        DraftAction::Change(_) => (OperationKind::Write, vec![Cow::Borrowed("id")]),
        DraftAction::Read(_) => (OperationKind::Read, Vec::new()),
    };
    Operation {
        name: Cow::Owned(format!("{service}.{}", draft.name)),
        kind,
        list: draft.each.is_some(),
        generates: false,
        fields,
        identity,
    }
}

struct Resolver<'a, 'n> {
    reader: &'a Reader,
    drafts: &'a [OperationDraft<'n>],
    all: &'a [&'n str],
    /// For each operation, the names of the fields that its items can have.
    items: Vec<Vec<String>>,
}

impl Resolver<'_, '_> {
    fn rule(&self, draft: &OperationDraft<'_>) -> Option<OperationRule> {
        let own: Vec<&str> = draft.fields.iter().map(|(name, _)| name.as_str()).collect();
        let action = match &draft.action {
            DraftAction::Create { prefix, .. } => {
                let creator = self.drafts.iter().position(|other| other.name == draft.name)?;
                let with = |more: &[&'static str]| [own.as_slice(), more].concat();
                self.set(draft.set, &with(&["id", "now"]));
                let item: Vec<&str> = self.items[creator].iter().map(String::as_str).collect();
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
                OperationAction::Create(CreateItems {
                    prefix: prefix.clone(),
                    each: draft.each.clone(),
                    set: owned(draft.set),
                    shows,
                })
            }
            DraftAction::Change(of) => {
                self.check_id_in_route(draft);
                self.set(draft.set, &[own.as_slice(), &["now"]].concat());
                if draft.set.is_empty() {
                    let message = format!("`{}` sets no field", draft.name);
                    self.reader.report_with_help(
                        of.span,
                        message,
                        "list the new values under `set`: {state: closed}",
                    );
                }
                let creator = self.creator(of, "changes")?;
                self.check_one_item_body(draft, &own, creator);
                if let Some((unless, span)) = &draft.unless {
                    unless.iter().for_each(|(name, _)| self.check_item_field(name, creator, *span, "unless"));
                }
                let unless = draft.unless.as_ref().map(|(unless, _)| unless.clone()).unwrap_or_default();
                OperationAction::Change { creator, set: owned(draft.set), unless }
            }
            DraftAction::Read(of) => {
                let creator = self.creator(of, "reads")?;
                if draft.selects_one_item() {
                    self.check_one_item_body(draft, &own, creator);
                    if let Some((_, span)) = draft.filter.first() {
                        self.reader.report_with_help(
                            *span,
                            "`filter` only applies to lists, and `{id}` selects one item",
                            "remove it",
                        );
                    }
                    OperationAction::Get { creator }
                } else {
                    self.body(draft, &[own.as_slice(), &["items", "count", "now"]].concat());
                    draft
                        .filter
                        .iter()
                        .for_each(|(name, span)| self.check_item_field(name, creator, *span, "filter"));
                    OperationAction::List {
                        creator,
                        filter: draft.filter.iter().map(|(name, _)| (*name).to_owned()).collect(),
                    }
                }
            }
        };
        let (route, fields, required) = (draft.route.clone(), draft.fields.clone(), draft.required.clone());
        Some(OperationRule {
            route,
            fields,
            required,
            action,
            status: draft.status,
            body: draft.body.cloned(),
        })
    }

    /// All fields that an item of this operation can have: those of the request, those it sets, and those
    /// that others set later.
    fn item_names(&self, creator: usize) -> Vec<String> {
        let created = &self.drafts[creator];
        let mut names: Vec<String> = created.fields.iter().map(|(name, _)| name.clone()).collect();
        names.extend(created.set.iter().map(|(key, _)| key.name.clone()));
        for draft in self.drafts {
            if matches!(draft.action, DraftAction::Change(of) if of.as_text() == Some(created.name)) {
                names.extend(draft.set.iter().map(|(key, _)| key.name.clone()));
            }
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// The operation that creates what is changed or read.
    fn creator(&self, of: &Node, key: &str) -> Option<usize> {
        let name = self.reader.text(of)?;
        let makers = || {
            self.drafts
                .iter()
                .filter(|draft| matches!(draft.action, DraftAction::Create { .. }))
                .map(|draft| draft.name)
        };
        let among = || format!("operations with an effect: {}", listed(makers()));
        match self.drafts.iter().position(|draft| draft.name == name) {
            Some(index) if matches!(self.drafts[index].action, DraftAction::Create { .. }) => {
                return Some(index);
            }
            Some(_) => {
                let message = format!("`{key}` names `{name}`, which creates no items");
                self.reader.report_with_help(of.span, message, among());
            }
            // An operation that could not be read has its own problem.
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

    fn check_id_in_route(&self, draft: &OperationDraft<'_>) {
        if !draft.selects_one_item() {
            let message = "an operation with `changes` needs `{id}` in its route, to select the item";
            self.reader.report_with_help(draft.route_span, message, "write it as POST /tickets/{id}/close");
        }
    }

    /// A response about one item can use all its fields.
    fn check_one_item_body(&self, draft: &OperationDraft<'_>, own: &[&str], creator: usize) {
        let item: Vec<&str> = self.items[creator].iter().map(String::as_str).collect();
        self.body(draft, &[own, &item, &["item", "id", "created_at", "now"]].concat());
    }

    fn body(&self, draft: &OperationDraft<'_>, allowed: &[&str]) {
        let mut seen = HashSet::new();
        let allowed: Vec<&str> = allowed.iter().copied().filter(|name| seen.insert(*name)).collect();
        draft.body.iter().for_each(|body| check(self.reader, body, &allowed));
    }

    fn set(&self, set: &[(Key, Node)], allowed: &[&str]) {
        for (key, value) in set {
            if RESERVED_FIELDS.contains(&key.name.as_str()) || !is_name(&key.name) {
                let help = "use letters, digits and underscores, and no name that the service sets itself";
                self.reader.report_with_help(key.span, format!("`{}` cannot be set", shown(&key.name)), help);
            }
            check(self.reader, value, allowed);
        }
    }

    /// Reports a name that items of this operation do not have.
    fn check_item_field(&self, name: &str, creator: usize, span: Span, what: &str) {
        let names = || self.items[creator].iter().map(String::as_str);
        // A list can also be filtered by id.
        let is_id = name == "id" && what == "filter";
        if !is_id && !names().any(|other| other == name) {
            let all = listed(names());
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`? it can be {all}"),
                None => format!("it can be {all}"),
            };
            let message = format!(
                "`{what}` names `{}`, which items of `{}` do not have",
                shown(name),
                self.drafts[creator].name
            );
            self.reader.report_with_help(span, message, help);
        }
    }
}

fn owned(set: &[(Key, Node)]) -> Vec<(String, Node)> {
    set.iter().map(|(key, node)| (key.name.clone(), node.clone())).collect()
}
