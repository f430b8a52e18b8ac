//! The fields of an operation, from its `fields`, its `each` and the names in its route.

use yaml_reader::{Key, Node, Reader, Span, listed, shown};

use crate::custom::input::FieldPlace;
use crate::custom::route::{Route, is_name};

/// Names that the service sets itself in responses.
pub(super) const RESERVED_FIELDS: [&str; 6] = ["id", "created_at", "now", "item", "items", "count"];

/// Collects the fields of an operation.
pub(super) struct FieldReader<'a> {
    reader: &'a Reader,
    route: Option<&'a Route>,
    creates: bool,
    pub(super) fields: Vec<(String, FieldPlace)>,
}

impl<'a> FieldReader<'a> {
    pub(super) fn new(reader: &'a Reader, route: Option<&'a Route>, creates: bool) -> Self {
        FieldReader { reader, route, creates, fields: Vec::new() }
    }

    /// Each name in the path is a field.
    pub(super) fn add_path_names(&mut self, span: Span) {
        for name in self.route.into_iter().flat_map(Route::names) {
            if RESERVED_FIELDS.contains(&name) && (self.creates || name != "id") {
                let help = "the service sets it itself; choose another name";
                self.reader.report_with_help(
                    span,
                    format!("the path of this operation cannot contain `{{{name}}}`"),
                    help,
                );
            }
            self.fields.push((name.to_owned(), FieldPlace::Path(name.to_owned())));
        }
    }

    pub(super) fn add(&mut self, key: &Key, node: &Node) {
        let Some(text) = self.reader.text(node) else { return };
        if RESERVED_FIELDS.contains(&key.name.as_str()) {
            let help = "the service sets it itself; choose another name";
            self.reader.report_with_help(key.span, format!("a field cannot be called `{}`", key.name), help);
        } else if !is_name(&key.name) {
            let help = "a name consists of letters, digits and underscores";
            self.reader.report_with_help(
                key.span,
                format!("`{}` cannot be the name of a field", shown(&key.name)),
                help,
            );
        }
        let place = FieldPlace::read(text).unwrap_or_else(|| {
            let message = format!("`{}` is not a place in a request", shown(text));
            let help = "write body.name, body.name.inner, query.name, path.name or header.Name";
            self.reader.report_with_help(node.span, message, help);
            // The name stays known, so that one mistake is reported once.
            FieldPlace::Query(key.name.clone())
        });
        match (&place, self.route) {
            (FieldPlace::Path(name), Some(route)) if !route.names().any(|other| other == name) => {
                let help = format!("the names in braces are {}", listed(route.names()));
                self.reader.report_with_help(
                    node.span,
                    format!("the route has no `{{{}}}`", shown(name)),
                    help,
                );
            }
            (FieldPlace::RequestBody(_), Some(route)) if route.method == "GET" => {
                self.reader.report_with_help(node.span, "a GET has no body", "use query.name");
            }
            _ => {}
        }
        self.fields.retain(|(name, _)| *name != key.name);
        self.fields.push((key.name.clone(), place));
    }

    /// `each: {recipient: body.recipients}`: the field that holds the list.
    pub(super) fn each(&mut self, node: &Node) -> Option<String> {
        match self.reader.entries(node)? {
            [(key, node)] => {
                if self.fields.iter().any(|(name, _)| *name == key.name) {
                    self.reader.report_with_help(
                        key.span,
                        format!("`{}` is already a field", shown(&key.name)),
                        "keep one of the two",
                    );
                }
                self.add(key, node);
                Some(key.name.clone())
            }
            _ => {
                let help = "write {recipient: body.recipients}";
                self.reader.report_with_help(
                    node.span,
                    "`each` takes one name and the place of its list",
                    help,
                );
                None
            }
        }
    }
}
