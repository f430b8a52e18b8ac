//! The matrix of a scenario: its axes, all combinations of their values, and what stands for `${name}` in
//! each.

pub(super) mod names;
pub(super) mod words;

use mock_services::yaml::{Key, Kind, Node, Reader, Span, listed, nearest, shown};

use self::words::words_of;

/// How many cases one file can stand for.
pub(super) const MOST_CASES: usize = 1000;
/// How many values all cases of a file can hold together: a small file must not become a large one.
pub(super) const MOST_VALUES: usize = 300_000;
/// How many names a matrix can have.
const MOST_NAMES: usize = 20;

/// One name of the matrix and what can stand for it.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) values: Vec<Node>,
    /// How each value is written in an id; no two are the same.
    pub(super) words: Vec<String>,
}

/// All axes, in the order of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Matrix {
    pub(super) axes: Vec<Axis>,
    /// Names that could not be read, which was reported: one mistake is told once.
    broken: Vec<String>,
}

/// For each axis, the place of the value that stands for it.
pub(super) type Choice = Vec<usize>;

impl Matrix {
    /// Reads the axes; what is wrong with one is reported, and the others are kept.
    pub(super) fn read(reader: &Reader, node: &Node) -> Self {
        let mut entries = reader.entries(node).unwrap_or_default();
        let mut matrix = Matrix::default();
        if entries.len() > MOST_NAMES {
            reader.report(
                node.span,
                format!("there are {} names here, and at most {MOST_NAMES} are read", entries.len()),
            );
            entries = &[];
        }
        for (key, values) in entries {
            match read_axis(reader, key, values) {
                Some(axis) => matrix.axes.push(axis),
                None => matrix.broken.push(key.name.clone()),
            }
        }
        if matrix.len().is_none_or(|cases| cases > MOST_CASES) {
            let message = format!("this matrix stands for more than {MOST_CASES} cases");
            reader.report_with_help(node.span, message, "leave values out, or cut the file into several");
            matrix.axes.iter_mut().for_each(|axis| axis.values.truncate(1));
        }
        matrix
    }

    /// How many combinations there are; `None` where there are too many to count.
    fn len(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |cases, axis| cases.checked_mul(axis.values.len()))
    }

    /// All combinations, in the order of the file: the last axis changes fastest.
    pub(super) fn combinations(&self) -> Vec<Choice> {
        let start = vec![Choice::new()];
        self.axes.iter().fold(start, |choices, axis| {
            let longer = |choice: &Choice, place| choice.iter().copied().chain([place]).collect::<Choice>();
            choices
                .iter()
                .flat_map(|choice| (0..axis.values.len()).map(move |place| longer(choice, place)))
                .collect()
        })
    }

    /// The names and the words of a combination, as they stand in an id.
    pub(super) fn variant(&self, choice: &[usize]) -> Vec<(String, String)> {
        self.axes
            .iter()
            .zip(choice)
            .map(|(axis, place)| (axis.name.clone(), axis.words[*place].clone()))
            .collect()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == name)
    }

    /// The axis of that name; where there is none, that is reported.
    pub(super) fn named(&self, reader: &Reader, name: &str, span: Span) -> Option<usize> {
        let found = self.place(name);
        if found.is_none() && !self.broken.iter().any(|broken| broken == name) {
            let names = || self.axes.iter().map(|axis| axis.name.as_str());
            let help = match nearest(name, names()) {
                _ if self.axes.is_empty() => "give it values under `matrix`".to_owned(),
                Some(near) => format!("did you mean `{near}`? it can be {}", listed(names())),
                None => format!("give it values under `matrix`, or use {}", listed(names())),
            };
            reader.report_with_help(span, format!("the matrix has no name `{}`", shown(name)), help);
        }
        found
    }

    /// The tree with a value in the place of each name. What stands in stands where the matrix has it, so
    /// that problems point there.
    pub(super) fn fill(&self, node: &Node, choice: &[usize], budget: &mut usize) -> Option<Node> {
        *budget = budget.checked_sub(1)?;
        let kind = match &node.kind {
            Kind::Text(text) => match placeholder(text).and_then(|name| self.place(name)) {
                Some(axis) => {
                    let value = &self.axes[axis].values[choice[axis]];
                    *budget = budget.checked_sub(size(value))?;
                    return Some(value.clone());
                }
                None => node.kind.clone(),
            },
            Kind::List(items) => {
                Kind::List(items.iter().map(|item| self.fill(item, choice, budget)).collect::<Option<_>>()?)
            }
            Kind::Map(entries) => {
                let filled =
                    entries.iter().map(|(key, value)| Some((key.clone(), self.fill(value, choice, budget)?)));
                Kind::Map(filled.collect::<Option<_>>()?)
            }
            other => other.clone(),
        };
        Some(Node::new(kind, node.span))
    }
}

fn read_axis(reader: &Reader, key: &Key, node: &Node) -> Option<Axis> {
    let name = &key.name;
    if !is_axis_name(name) {
        let help = "a name begins with a small letter and goes on with small letters, digits, `_` and `-`";
        reader.report_with_help(key.span, format!("`{}` cannot be a name of the matrix", shown(name)), help);
        return None;
    }
    let Kind::List(values) = &node.kind else {
        let help = format!("write the values that `{name}` takes as a list: [a, b]");
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
            format!("`{name}` has no value, so there is no case"),
            "give it one or more values",
        );
        return None;
    }
    if values.len() > MOST_CASES {
        reader.report(
            node.span,
            format!("`{name}` has {} values, and at most {MOST_CASES} are read", values.len()),
        );
        return None;
    }
    let mut seen: Vec<Node> = Vec::new();
    for value in values {
        let bare = bare(value);
        if seen.contains(&bare) {
            reader.report_with_help(
                value.span,
                format!("`{name}` has this value twice"),
                "leave one of the two out",
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

/// The name in `${name}`, where the text is nothing else.
pub(super) fn placeholder(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}').filter(|name| !name.contains(['$', '{', '}']))
}

/// How many values a tree holds.
pub(super) fn size(node: &Node) -> usize {
    match &node.kind {
        Kind::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Kind::Map(entries) => 1 + entries.iter().map(|(_, value)| size(value)).sum::<usize>(),
        _ => 1,
    }
}

/// The value without its places, for comparing.
pub(super) fn bare(node: &Node) -> Node {
    let kind = match &node.kind {
        Kind::List(items) => Kind::List(items.iter().map(bare).collect()),
        Kind::Map(entries) => {
            let key = |key: &Key| Key { name: key.name.clone(), span: Span::default() };
            Kind::Map(entries.iter().map(|(name, value)| (key(name), bare(value))).collect())
        }
        other => other.clone(),
    };
    Node::new(kind, Span::default())
}
