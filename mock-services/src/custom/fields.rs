//! The fields of an operation, from its `fields`, its `each` and the names in its route.

use super::input::Place;
use super::route::{Route, is_name};
use crate::yaml::{Key, Node, Reader, Span, listed, shown};

/// Names that answers have for what the service itself gives.
pub(super) const OWN: [&str; 6] = ["id", "created_at", "now", "item", "items", "count"];

/// The fields of an operation as they are gathered.
pub(super) struct FieldReader<'a> {
    reader: &'a Reader,
    route: Option<&'a Route>,
    makes: bool,
    pub(super) fields: Vec<(String, Place)>,
}

impl<'a> FieldReader<'a> {
    pub(super) fn new(reader: &'a Reader, route: Option<&'a Route>, makes: bool) -> Self {
        FieldReader { reader, route, makes, fields: Vec::new() }
    }

    /// Each name of the path is a field.
    pub(super) fn implicit(&mut self, span: Span) {
        for name in self.route.into_iter().flat_map(Route::names) {
            if OWN.contains(&name) && (self.makes || name != "id") {
                let help = "the service itself gives it; choose another name";
                self.reader.report_with_help(
                    span,
                    format!("a path of this operation cannot have `{{{name}}}`"),
                    help,
                );
            }
            self.fields.push((name.to_owned(), Place::Path(name.to_owned())));
        }
    }

    pub(super) fn add(&mut self, key: &Key, node: &Node) {
        let Some(text) = self.reader.text(node) else { return };
        if OWN.contains(&key.name.as_str()) {
            let help = "the service itself gives it; choose another name";
            self.reader.report_with_help(key.span, format!("a field cannot be called `{}`", key.name), help);
        } else if !is_name(&key.name) {
            let help = "a name consists of letters, digits and underscores";
            self.reader.report_with_help(
                key.span,
                format!("`{}` cannot be the name of a field", shown(&key.name)),
                help,
            );
        }
        let place = Place::read(text).unwrap_or_else(|| {
            let message = format!("`{}` is not a place in a request", shown(text));
            let help = "write body.name, body.name.inner, query.name, path.name or header.Name";
            self.reader.report_with_help(node.span, message, help);
            // The name stays known, so that one mistake is told once.
            Place::Query(key.name.clone())
        });
        match (&place, self.route) {
            (Place::Path(name), Some(route)) if !route.names().any(|have| have == name) => {
                let help = format!("the names in braces are {}", listed(route.names()));
                self.reader.report_with_help(
                    node.span,
                    format!("the route has no `{{{}}}`", shown(name)),
                    help,
                );
            }
            (Place::Body(_), Some(route)) if route.method == "GET" => {
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
                        format!("`{}` is a field already", shown(&key.name)),
                        "keep one of the two",
                    );
                }
                self.add(key, node);
                Some(key.name.clone())
            }
            _ => {
                let help = "write {recipient: body.recipients}";
                self.reader.report_with_help(node.span, "`each` is one name and where its list stands", help);
                None
            }
        }
    }
}
