//! The matrix of a scenario: its axes, all combinations of their values, and the substitution of `${name}`.

pub(super) mod names;
pub(super) mod words;

use yaml_reader::shape::{Count, Shape};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed, nearest, shown};

use self::words::words_of;

/// The largest number of cases of one file.
const MAX_CASES: usize = 1000;
/// The largest number of values in all cases of a file together: a small file must not expand into a large
/// one.
pub(super) const MAX_VALUES: usize = 300_000;
/// The largest number of names in a matrix.
const MAX_NAMES: usize = 20;

/// The shape of `matrix`. No name can stand in it.
pub(super) const MATRIX: Shape = Shape::Own(|| {
    let values = &Shape::Set(&Shape::Any, Count(1, MAX_CASES));
    Shape::MapOf(&Shape::Pattern("^[a-z][a-z0-9_-]*$"), values, Count(0, MAX_NAMES)).schema(false)
});
/// The pattern of a name where it stands for a value.
pub(super) const NAME_PATTERN: &str = "^\\$\\{[a-z][a-z0-9_-]*\\}$";

/// A name of the matrix and its values.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) values: Vec<Node>,
    /// How each value is written in a case id; all are distinct.
    pub(super) words: Vec<String>,
}

/// The axes, in the order of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Matrix {
    pub(super) axes: Vec<Axis>,
    /// Names whose values could not be read; the problem is reported already.
    broken: Vec<String>,
}

/// For each axis, the index of the chosen value.
pub(super) type Choice = Vec<usize>;

impl Matrix {
    /// Reads the axes. Reports the axes that are wrong, and keeps the others.
    pub(super) fn read(reader: &Reader, node: &Node) -> Self {
        let mut entries = reader.entries(node).unwrap_or_default();
        let mut matrix = Matrix::default();
        if entries.len() > MAX_NAMES {
            reader.report(
                node.span,
                format!("the matrix has {} names; the maximum is {MAX_NAMES}", entries.len()),
            );
            entries = &[];
        }
        for (key, values) in entries {
            match read_axis(reader, key, values) {
                Some(axis) => matrix.axes.push(axis),
                None => matrix.broken.push(key.name.clone()),
            }
        }
        if matrix.len().is_none_or(|cases| cases > MAX_CASES) {
            let message = format!("this matrix has more than {MAX_CASES} combinations");
            reader.report_with_help(node.span, message, "remove values, or split the file");
            matrix.axes.iter_mut().for_each(|axis| axis.values.truncate(1));
        }
        matrix
    }

    /// The number of combinations; `None` on overflow.
    fn len(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |cases, axis| cases.checked_mul(axis.values.len()))
    }

    /// All combinations, in the order of the file: the last axis changes fastest.
    pub(super) fn combinations(&self) -> Vec<Choice> {
        let start = vec![Choice::new()];
        self.axes.iter().fold(start, |choices, axis| {
            let extended = |choice: &Choice, index| choice.iter().copied().chain([index]).collect::<Choice>();
            choices
                .iter()
                .flat_map(|choice| (0..axis.values.len()).map(move |index| extended(choice, index)))
                .collect()
        })
    }

    /// The names and the words of a combination, as in a case id.
    pub(super) fn variant(&self, choice: &[usize]) -> Vec<(String, String)> {
        self.axes
            .iter()
            .zip(choice)
            .map(|(axis, index)| (axis.name.clone(), axis.words[*index].clone()))
            .collect()
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == name)
    }

    /// The index of the axis with that name; reports an unknown name.
    pub(super) fn named(&self, reader: &Reader, name: &str, span: Span) -> Option<usize> {
        let found = self.index(name);
        if found.is_none() && !self.broken.iter().any(|broken| broken == name) {
            let names = || self.axes.iter().map(|axis| axis.name.as_str());
            let help = match nearest(name, names()) {
                _ if self.axes.is_empty() => "add it to `matrix`, with a list of values".to_owned(),
                Some(near) => format!("did you mean `{near}`? expected one of {}", listed(names())),
                None => format!("add it to `matrix`, or use {}", listed(names())),
            };
            reader.report_with_help(span, format!("the matrix has no name `{}`", shown(name)), help);
        }
        found
    }

    /// The index of the axis that an unknown name probably means.
    pub(super) fn near(&self, name: &str) -> Option<usize> {
        nearest(name, self.axes.iter().map(|axis| axis.name.as_str())).and_then(|near| self.index(near))
    }

    /// The tree with each `${name}` replaced by its value. The value keeps its position in the matrix, so
    /// that problems point there. `None` when the budget of values is used up.
    pub(super) fn fill(&self, node: &Node, choice: &[usize], budget: &mut usize) -> Option<Node> {
        *budget = budget.checked_sub(1)?;
        let kind = match &node.kind {
            NodeKind::Text(text) => match placeholder(text).and_then(|name| self.index(name)) {
                Some(axis) => {
                    let value = &self.axes[axis].values[choice[axis]];
                    *budget = budget.checked_sub(size(value))?;
                    return Some(value.clone());
                }
                None => node.kind.clone(),
            },
            NodeKind::List(items) => NodeKind::List(
                items.iter().map(|item| self.fill(item, choice, budget)).collect::<Option<_>>()?,
            ),
            NodeKind::Map(entries) => {
                let filled =
                    entries.iter().map(|(key, value)| Some((key.clone(), self.fill(value, choice, budget)?)));
                NodeKind::Map(filled.collect::<Option<_>>()?)
            }
            other => other.clone(),
        };
        Some(Node::new(kind, node.span))
    }
}

fn read_axis(reader: &Reader, key: &Key, node: &Node) -> Option<Axis> {
    let name = &key.name;
    if !is_axis_name(name) {
        let help =
            "a name starts with a lowercase letter, followed by lowercase letters, digits, `_` and `-`";
        reader.report_with_help(key.span, format!("`{}` is not a valid matrix name", shown(name)), help);
        return None;
    }
    let NodeKind::List(values) = &node.kind else {
        let help = format!("write the values of `{name}` as a list: [a, b]");
        reader.report_with_help(
            node.span,
            format!("expected a list of values, found {}", node.describe()),
            help,
        );
        return None;
    };
    if values.is_empty() {
        reader.report_with_help(
            node.span,
            format!("`{name}` has no values, so the scenario has no cases"),
            "add at least one value",
        );
        return None;
    }
    if values.len() > MAX_CASES {
        reader.report(node.span, format!("`{name}` has {} values; the maximum is {MAX_CASES}", values.len()));
        return None;
    }
    let mut seen: Vec<Node> = Vec::new();
    for value in values {
        let bare = bare(value);
        if seen.contains(&bare) {
            reader.report_with_help(
                value.span,
                format!("`{name}` lists this value twice"),
                "remove one of them",
            );
        }
        seen.push(bare);
    }
    Some(Axis { name: name.clone(), span: key.span, words: words_of(values), values: values.clone() })
}

fn is_axis_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
}

/// The name in a text that is exactly `${name}`.
pub(super) fn placeholder(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}').filter(|name| !name.contains(['$', '{', '}']))
}

/// The number of values in a tree.
pub(super) fn size(node: &Node) -> usize {
    match &node.kind {
        NodeKind::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        NodeKind::Map(entries) => 1 + entries.iter().map(|(_, value)| size(value)).sum::<usize>(),
        _ => 1,
    }
}

/// The value without its positions, for comparison.
pub(super) fn bare(node: &Node) -> Node {
    let kind = match &node.kind {
        NodeKind::List(items) => NodeKind::List(items.iter().map(bare).collect()),
        NodeKind::Map(entries) => {
            let key = |key: &Key| Key { name: key.name.clone(), span: Span::default() };
            NodeKind::Map(entries.iter().map(|(name, value)| (key(name), bare(value))).collect())
        }
        other => other.clone(),
    };
    Node::new(kind, Span::default())
}
