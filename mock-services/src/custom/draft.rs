//! One operation as its file declares it, checked as far as it can be without looking at the others.

use super::fields::FieldReader;
use super::input::Place;
use super::route::{Route, is_name};
use crate::fault::read_fields;
use crate::service::Fields;
use crate::yaml::{Key, Kind, Node, Reader, Span, listed, nearest, shown};

/// One operation whose references to others are still names.
pub(super) struct Draft<'n> {
    pub(super) name: &'n str,
    pub(super) route: Route,
    pub(super) route_span: Span,
    pub(super) fields: Vec<(String, Place)>,
    pub(super) required: Vec<String>,
    pub(super) each: Option<String>,
    pub(super) does: Does<'n>,
    pub(super) set: &'n [(Key, Node)],
    pub(super) shows: Option<&'n Node>,
    pub(super) unless: Option<(Fields, Span)>,
    pub(super) filter: Vec<(&'n str, Span)>,
    pub(super) status: u16,
    pub(super) body: Option<&'n Node>,
}

/// Which of the three an operation does.
pub(super) enum Does<'n> {
    Make { identity: Vec<String>, prefix: Option<String> },
    Change(&'n Node),
    Read(&'n Node),
}

impl<'n> Draft<'n> {
    pub(super) fn read(reader: &Reader, key: &'n Key, node: &'n Node) -> Option<Self> {
        check_name(reader, key);
        let what = format!("the operation `{}`", shown(&key.name));
        let mut map = reader.map(node, &what)?;
        let route = map.required("route").and_then(|node| Some((read_route(reader, node)?, node.span)));
        let (effect, changes, reads) = (map.entry("effect"), map.entry("changes"), map.entry("reads"));
        let fields = map.optional("fields");
        let required = map.optional("required");
        let each = map.entry("each");
        let set = map.entry("set");
        let shows = map.entry("shows");
        let unless = map.entry("unless");
        let filter = map.entry("filter");
        let answer = map.optional("answer");
        let place = map.place();
        misplaced(
            reader,
            [effect, changes, reads].map(|key| key.is_some()),
            [each, set, shows, unless, filter],
        );
        map.finish();

        let given = [effect, changes, reads].into_iter().flatten().count();
        if given != 1 {
            let message = format!("{what} needs exactly one of `effect`, `changes` and `reads`");
            let help =
                "`effect` makes something, `changes` changes what another operation made, `reads` shows it";
            reader.report_with_help(place, message, help);
        }
        let makes = effect.is_some();
        let mut read = FieldReader::new(reader, route.as_ref().map(|(route, _)| route), makes);
        read.implicit(route.as_ref().map_or(place, |(_, span)| *span));
        fields
            .and_then(|node| reader.entries(node))
            .unwrap_or_default()
            .iter()
            .for_each(|(key, node)| read.add(key, node));
        let each = each.and_then(|(_, node)| read.each(node));
        let fields = read.fields;

        let mut needed: Vec<String> = names(reader, required, &fields, "required");
        needed.extend(each.clone());
        let (status, body) = answer.map_or((None, None), |node| read_answer(reader, node));
        let does = match (effect, changes, reads) {
            (Some((_, node)), ..) => read_effect(reader, node, &fields),
            (_, Some((_, node)), _) => Some(Does::Change(node)),
            (.., Some((_, node))) => Some(Does::Read(node)),
            _ => None,
        };
        let set = set.and_then(|(_, node)| reader.entries(node)).unwrap_or_default();
        if makes {
            check_set(reader, set, &fields);
        }
        let (route, route_span) = route?;
        Some(Draft {
            name: &key.name,
            route,
            route_span,
            fields,
            required: needed,
            each,
            does: does?,
            set,
            shows: shows.map(|(_, node)| node),
            unless: unless.and_then(|(_, node)| Some((read_fields(reader, node)?, node.span))),
            filter: filter.and_then(|(_, node)| read_texts(reader, node)).unwrap_or_default(),
            status: status.unwrap_or(if makes { 201 } else { 200 }),
            body,
        })
    }

    /// Whether the path names one item.
    pub(super) fn is_about_one(&self) -> bool {
        self.route.names().any(|name| name == "id")
    }
}

fn check_name(reader: &Reader, key: &Key) {
    if !key.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        || key.name.is_empty()
    {
        let help = "a name consists of letters, digits, dashes and underscores";
        reader.report_with_help(
            key.span,
            format!("`{}` cannot be the name of an operation", shown(&key.name)),
            help,
        );
    }
}

fn read_route(reader: &Reader, node: &Node) -> Option<Route> {
    let text = reader.text(node)?;
    Route::read(text)
        .map_err(|message| {
            reader.report_with_help(node.span, message, "write it as POST /tickets/{id}/close")
        })
        .ok()
}

/// Reports the keys that belong to another kind of operation.
fn misplaced(reader: &Reader, [makes, changes, reads]: [bool; 3], keys: [Option<(&Key, &Node)>; 5]) {
    let [each, set, shows, unless, filter] = keys;
    let rules = [
        (each, makes, "effect"),
        (shows, makes, "effect"),
        (set, makes || changes, "effect` or `changes"),
        (unless, changes, "changes"),
        (filter, reads, "reads"),
    ];
    for (key, allowed, with) in rules {
        if let Some((key, _)) = key.filter(|_| !allowed) {
            reader.report_with_help(
                key.span,
                format!("`{}` goes with `{with}` alone", key.name),
                "leave it out",
            );
        }
    }
}

fn read_effect<'n>(reader: &Reader, node: &Node, fields: &[(String, Place)]) -> Option<Does<'n>> {
    let mut map = reader.map(node, "`effect`")?;
    let identity = map.required("identity");
    let prefix = map.optional("id").and_then(|node| Some((reader.text(node)?, node.span)));
    map.finish();
    if let Some((text, span)) = prefix.filter(|(text, _)| !text.is_empty() && !is_name(text)) {
        let help = "letters, digits and underscores, as in tkt_";
        reader.report_with_help(span, format!("ids cannot begin with `{}`", shown(text)), help);
    }
    let identity_names = names(reader, identity, fields, "identity");
    if let Some(node) = identity.filter(|node| matches!(&node.kind, Kind::List(items) if items.is_empty())) {
        let help = "name the fields that tell one effect from another";
        reader.report_with_help(
            node.span,
            "without an identity a duplicate cannot be told from a second effect",
            help,
        );
    }
    Some(Does::Make { identity: identity_names, prefix: prefix.map(|(text, _)| text.to_owned()) })
}

fn read_answer<'n>(reader: &Reader, node: &'n Node) -> (Option<u16>, Option<&'n Node>) {
    let Some(mut map) = reader.map(node, "`answer`") else { return (None, None) };
    let status = map.optional("status").and_then(|node| reader.integer(node, 200..=299u16));
    let body = map.entry("body");
    map.finish();
    if let (Some(204), Some((key, _))) = (status, body) {
        reader.report_with_help(
            key.span,
            "an answer with the status 204 has no body",
            "leave `body` out, or choose 200",
        );
    }
    (status, body.map(|(_, node)| node))
}

/// A list of texts with their places.
fn read_texts<'n>(reader: &Reader, node: &'n Node) -> Option<Vec<(&'n str, Span)>> {
    let items = reader.list(node)?;
    Some(items.iter().filter_map(|item| Some((reader.text(item)?, item.span))).collect())
}

/// A list of names that must be fields of the operation.
fn names(reader: &Reader, node: Option<&Node>, fields: &[(String, Place)], what: &str) -> Vec<String> {
    let texts = node.and_then(|node| read_texts(reader, node)).unwrap_or_default();
    for (name, span) in &texts {
        let known = || fields.iter().map(|(name, _)| name.as_str());
        if !known().any(|have| have == *name) {
            let help = match nearest(name, known()) {
                Some(near) => format!("did you mean `{near}`? it can be {}", listed(known())),
                None => format!("declare it under `fields`; it can be {}", listed(known())),
            };
            reader.report_with_help(
                *span,
                format!("`{what}` names `{}`, which is not a field", shown(name)),
                help,
            );
        }
    }
    texts.into_iter().map(|(name, _)| name.to_owned()).collect()
}

fn check_set(reader: &Reader, set: &[(Key, Node)], fields: &[(String, Place)]) {
    for (key, _) in set.iter().filter(|(key, _)| fields.iter().any(|(name, _)| *name == key.name)) {
        let help = "the item holds the request's value already; choose another name";
        reader.report_with_help(key.span, format!("`{}` is a field of the request", shown(&key.name)), help);
    }
}
