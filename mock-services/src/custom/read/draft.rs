//! One operation as its file declares it, with every check that needs no other operation.

use serde_json::json;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, required};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed, nearest, shown};

use super::fields::FieldReader;
use crate::custom::input::FieldPlace;
use crate::custom::route::{METHODS, Route, is_name};
use crate::fault::read_fields;
use crate::service::Fields;

/// An operation.
pub(super) static OPERATION: MapShape<12> = MapShape::new([
    required("route", ROUTE).about("The method and the path: POST /tickets/{id}/close."),
    optional("effect", EFFECT.shape()).about("It creates an item, which is an effect."),
    optional("changes", Shape::Text)
        .about("It changes an item that this operation created. The route has {id}."),
    optional("reads", Shape::Text)
        .about("It returns the items of this operation: one, if the route has {id}, or a list."),
    optional("fields", Shape::MapOf(&Shape::Any, &Shape::Ref("place"), Count::ANY))
        .about("The fields of the request and their places."),
    optional("required", Shape::TEXTS).about("The fields that a request must have."),
    optional("each", Shape::MapOf(&Shape::Any, &Shape::Ref("place"), Count(1, 1)))
        .about("A field and the place of a list: one item is created for each element."),
    optional("set", Shape::Types(&["object"])).about("What an item holds beside the fields of the request."),
    optional("shows", Shape::Any).about("How responses show an item. It can name ${field}."),
    optional("unless", Shape::Types(&["object"])).about("Values of an item that refuse the change."),
    optional("filter", Shape::TEXTS).about("The fields by which a list can be filtered."),
    optional("answer", ANSWER.shape()).about("The response."),
])
.needs(Rule::OneOf(&["effect", "changes", "reads"]));
static EFFECT: MapShape<2> = MapShape::new([
    required("identity", Shape::List(&Shape::Text, Count::SOME))
        .about("The fields that identify one effect."),
    optional("id", Shape::Pattern("^[A-Za-z0-9_]*$")).about("The prefix of the ids."),
]);
static ANSWER: MapShape<2> =
    MapShape::new([optional("status", Shape::Integer(200, 299)), optional("body", Shape::Any)]);
const ROUTE: Shape =
    Shape::Own(|| json!({ "type": "string", "pattern": format!("^({}) +/", METHODS.join("|")) }));

/// One operation whose references to other operations are still names.
pub(super) struct OperationDraft<'n> {
    pub(super) name: &'n str,
    pub(super) route: Route,
    pub(super) route_span: Span,
    pub(super) fields: Vec<(String, FieldPlace)>,
    pub(super) required: Vec<String>,
    pub(super) each: Option<String>,
    pub(super) action: DraftAction<'n>,
    pub(super) set: &'n [(Key, Node)],
    pub(super) shows: Option<&'n Node>,
    pub(super) unless: Option<(Fields, Span)>,
    pub(super) filter: Vec<(&'n str, Span)>,
    pub(super) status: u16,
    pub(super) body: Option<&'n Node>,
}

/// What an operation does: one of three.
pub(super) enum DraftAction<'n> {
    Create { identity: Vec<String>, prefix: Option<String> },
    Change(&'n Node),
    Read(&'n Node),
}

impl<'n> OperationDraft<'n> {
    pub(super) fn read(reader: &Reader, key: &'n Key, node: &'n Node) -> Option<Self> {
        check_name(reader, key);
        let what = format!("the operation `{}`", shown(&key.name));
        let [route, effect, changes, reads, fields, required, each, set, shows, unless, filter, answer] =
            reader.keyed_fields(node, &what, &OPERATION)?;
        let route = route.and_then(|(_, node)| Some((read_route(reader, node)?, node.span)));
        let place = node.place();
        report_misplaced_keys(
            reader,
            [effect, changes, reads].map(|key| key.is_some()),
            [each, set, shows, unless, filter],
        );

        let given = [effect, changes, reads].into_iter().flatten().count();
        if given != 1 {
            let message = format!("{what} needs exactly one of `effect`, `changes` and `reads`");
            let help = "`effect` creates an item, `changes` updates an item of another operation, `reads` \
                        returns items";
            reader.report_with_help(place, message, help);
        }
        let creates = effect.is_some();
        let mut read = FieldReader::new(reader, route.as_ref().map(|(route, _)| route), creates);
        read.add_path_names(route.as_ref().map_or(place, |(_, span)| *span));
        fields
            .and_then(|(_, node)| reader.entries(node))
            .unwrap_or_default()
            .iter()
            .for_each(|(key, node)| read.add(key, node));
        let each = each.and_then(|(_, node)| read.each(node));
        let fields = read.fields;

        let mut needed: Vec<String> = names(reader, required.map(|(_, node)| node), &fields, "required");
        needed.extend(each.clone());
        let (status, body) = answer.map_or((None, None), |(_, node)| read_answer(reader, node));
        let action = match (effect, changes, reads) {
            (Some((_, node)), ..) => read_effect(reader, node, &fields),
            (_, Some((_, node)), _) => Some(DraftAction::Change(node)),
            (.., Some((_, node))) => Some(DraftAction::Read(node)),
            _ => None,
        };
        let set = set.and_then(|(_, node)| reader.entries(node)).unwrap_or_default();
        if creates {
            check_set(reader, set, &fields);
        }
        let (route, route_span) = route?;
        Some(OperationDraft {
            name: &key.name,
            route,
            route_span,
            fields,
            required: needed,
            each,
            action: action?,
            set,
            shows: shows.map(|(_, node)| node),
            unless: unless.and_then(|(_, node)| Some((read_fields(reader, node)?, node.span))),
            filter: filter.and_then(|(_, node)| read_texts(reader, node)).unwrap_or_default(),
            status: status.unwrap_or(if creates { 201 } else { 200 }),
            body,
        })
    }

    /// Whether the path contains `{id}`.
    pub(super) fn selects_one_item(&self) -> bool {
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
fn report_misplaced_keys(
    reader: &Reader,
    [creates, changes, reads]: [bool; 3],
    keys: [Option<(&Key, &Node)>; 5],
) {
    let [each, set, shows, unless, filter] = keys;
    let rules = [
        (each, creates, "effect"),
        (shows, creates, "effect"),
        (set, creates || changes, "effect` or `changes"),
        (unless, changes, "changes"),
        (filter, reads, "reads"),
    ];
    for (key, allowed, with) in rules {
        if let Some((key, _)) = key.filter(|_| !allowed) {
            reader.report_with_help(
                key.span,
                format!("`{}` is only allowed with `{with}`", key.name),
                "remove it",
            );
        }
    }
}

fn read_effect<'n>(reader: &Reader, node: &Node, fields: &[(String, FieldPlace)]) -> Option<DraftAction<'n>> {
    let [identity, prefix] = reader.fields(node, "`effect`", &EFFECT)?;
    let prefix = prefix.and_then(|node| Some((reader.text(node)?, node.span)));
    if let Some((text, span)) = prefix.filter(|(text, _)| !text.is_empty() && !is_name(text)) {
        let help = "letters, digits and underscores, as in tkt_";
        reader.report_with_help(span, format!("ids cannot begin with `{}`", shown(text)), help);
    }
    let identity_names = names(reader, identity, fields, "identity");
    if let Some(node) =
        identity.filter(|node| matches!(&node.kind, NodeKind::List(items) if items.is_empty()))
    {
        let help = "list the fields that identify one effect, so that a duplicate is recognized";
        reader.report_with_help(node.span, "`identity` must name at least one field", help);
    }
    Some(DraftAction::Create { identity: identity_names, prefix: prefix.map(|(text, _)| text.to_owned()) })
}

fn read_answer<'n>(reader: &Reader, node: &'n Node) -> (Option<u16>, Option<&'n Node>) {
    let Some([status, body]) = reader.keyed_fields(node, "`answer`", &ANSWER) else { return (None, None) };
    let status = status.and_then(|(_, node)| reader.integer(node, 200..=299u16));
    if let (Some(204), Some((key, _))) = (status, body) {
        reader.report_with_help(
            key.span,
            "an answer with the status 204 has no body",
            "remove `body`, or use the status 200",
        );
    }
    (status, body.map(|(_, node)| node))
}

/// A list of strings with their positions in the file.
fn read_texts<'n>(reader: &Reader, node: &'n Node) -> Option<Vec<(&'n str, Span)>> {
    let items = reader.list(node)?;
    Some(items.iter().filter_map(|item| Some((reader.text(item)?, item.span))).collect())
}

/// A list of names that must be fields of the operation.
fn names(reader: &Reader, node: Option<&Node>, fields: &[(String, FieldPlace)], what: &str) -> Vec<String> {
    let texts = node.and_then(|node| read_texts(reader, node)).unwrap_or_default();
    for (name, span) in &texts {
        let known = || fields.iter().map(|(name, _)| name.as_str());
        if !known().any(|other| other == *name) {
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

fn check_set(reader: &Reader, set: &[(Key, Node)], fields: &[(String, FieldPlace)]) {
    for (key, _) in set.iter().filter(|(key, _)| fields.iter().any(|(name, _)| *name == key.name)) {
        let help = "the item already holds the value of the request; choose another name";
        reader.report_with_help(key.span, format!("`{}` is a field of the request", shown(&key.name)), help);
    }
}
