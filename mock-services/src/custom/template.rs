//! Templates: a string that is only `"${amount}"` takes the value itself, of any type; within a longer string
//! the value is inserted as text. `$${` stands for `${`.

use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed, nearest, shown};

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum TemplatePart<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// The parts of a template; `None` when a brace is not closed.
fn template_parts(text: &str) -> Option<Vec<TemplatePart<'_>>> {
    let mut template_parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            template_parts.push(TemplatePart::Text(&rest[..at - 1]));
            template_parts.push(TemplatePart::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        let close = at + rest[at..].find('}')?;
        if at > 0 {
            template_parts.push(TemplatePart::Text(&rest[..at]));
        }
        template_parts.push(TemplatePart::Name(&rest[at + 2..close]));
        rest = &rest[close + 1..];
    }
    if !rest.is_empty() {
        template_parts.push(TemplatePart::Text(rest));
    }
    Some(template_parts)
}

/// Reports every name in the value that is not among those allowed.
pub(super) fn check(reader: &Reader, node: &Node, allowed: &[&str]) {
    match &node.kind {
        NodeKind::Text(text) => match template_parts(text) {
            Some(template_parts) => {
                for part in template_parts {
                    if let TemplatePart::Name(name) = part
                        && !allowed.contains(&name)
                    {
                        unknown(reader, node.span, name, allowed);
                    }
                }
            }
            None => reader.report_with_help(
                node.span,
                "`${` is not closed",
                "close it with `}`, or write `$${` for the characters",
            ),
        },
        NodeKind::List(items) => items.iter().for_each(|item| check(reader, item, allowed)),
        NodeKind::Map(entries) => entries.iter().for_each(|(_, value)| check(reader, value, allowed)),
        _ => {}
    }
}

fn unknown(reader: &Reader, span: Span, name: &str, allowed: &[&str]) {
    let all = listed(allowed.iter().copied());
    let help = match nearest(name, allowed.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? it can be {all}"),
        None => format!("it can be {all}"),
    };
    reader.report_with_help(span, format!("`{}` is not defined here", shown(name)), help);
}

/// Names and their values. The first of two equal names wins.
#[derive(Debug, Default)]
pub(super) struct Scope(Vec<(String, Node)>);

impl Scope {
    pub(super) fn of(values: &[(String, Node)]) -> Self {
        Scope(values.to_vec())
    }

    pub(super) fn add(&mut self, name: &str, value: Node) -> &mut Self {
        self.0.push((name.to_owned(), value));
        self
    }

    fn get(&self, name: &str) -> Option<&Node> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, node)| node)
    }
}

/// The value with its names replaced; a name without a value becomes null.
pub(super) fn render(node: &Node, scope: &Scope) -> Node {
    match &node.kind {
        NodeKind::Text(template) => match template_parts(template).as_deref() {
            Some([TemplatePart::Name(name)]) => {
                scope.get(name).cloned().unwrap_or_else(|| node_of(NodeKind::Null))
            }
            Some(template_parts) => text(template_parts.iter().fold(String::new(), |mut out, part| {
                match part {
                    TemplatePart::Text(text) => out.push_str(text),
                    TemplatePart::Name(name) => {
                        out.push_str(&scope.get(name).map(as_text).unwrap_or_default())
                    }
                }
                out
            })),
            None => node.clone(),
        },
        NodeKind::List(items) => list(items.iter().map(|item| render(item, scope)).collect()),
        NodeKind::Map(entries) => {
            map(entries.iter().map(|(key, value)| (key.name.clone(), render(value, scope))))
        }
        _ => node.clone(),
    }
}

/// The value as text: a string unchanged, null as the empty string, and a list or a map as JSON.
pub(super) fn as_text(node: &Node) -> String {
    match &node.kind {
        NodeKind::Null => String::new(),
        NodeKind::Text(text) => text.clone(),
        _ => serde_json::to_string(node).unwrap_or_default(),
    }
}

/// The elements of a list, or a single value as a list of one.
pub(super) fn elements(node: &Node) -> &[Node] {
    match &node.kind {
        NodeKind::List(items) => items,
        _ => std::slice::from_ref(node),
    }
}

pub(super) fn node_of(kind: NodeKind) -> Node {
    Node::new(kind, Span::default())
}

pub(super) fn text(text: impl Into<String>) -> Node {
    node_of(NodeKind::Text(text.into()))
}

pub(super) fn integer(number: i64) -> Node {
    node_of(NodeKind::Integer(number))
}

pub(super) fn list(items: Vec<Node>) -> Node {
    node_of(NodeKind::List(items))
}

pub(super) fn map(entries: impl Iterator<Item = (String, Node)>) -> Node {
    let key = |name| Key { name, span: Span::default() };
    node_of(NodeKind::Map(entries.map(|(name, node)| (key(name), node)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rendered(template: &str) -> NodeKind {
        let mut scope = Scope::default();
        scope.add("amount", integer(5)).add("name", text("Ada")).add("tags", list(vec![text("a")]));
        render(&text(template), &scope).kind
    }

    #[test]
    fn a_template_of_one_name_takes_the_value_itself() {
        assert_eq!(rendered("${amount}"), NodeKind::Integer(5));
        assert_eq!(rendered("${tags}"), NodeKind::List(vec![text("a")]));
        assert_eq!(rendered("${absent}"), NodeKind::Null);
    }

    #[test]
    fn a_name_within_a_longer_template_is_inserted_as_text() {
        assert_eq!(
            rendered("${name}: ${amount}${absent} ${tags}"),
            NodeKind::Text("Ada: 5 [\"a\"]".to_owned())
        );
        assert_eq!(rendered("no name"), NodeKind::Text("no name".to_owned()));
        assert_eq!(rendered("$ {a} }"), NodeKind::Text("$ {a} }".to_owned()));
    }

    #[test]
    fn a_doubled_dollar_is_an_escape() {
        assert_eq!(rendered("$${name} ${name}"), NodeKind::Text("${name} Ada".to_owned()));
    }

    proptest! {
        #[test]
        fn no_template_makes_it_panic(template in ".*", marks in "[${}a]{0,12}") {
            let _ = (rendered(&template), rendered(&marks));
        }
    }
}
