//! Reading values from a tree: each function returns the value, or reports a problem at its place and returns
//! `None`, so that one pass over a file finds all of its problems.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::duration::read_duration;
use super::{Key, Map, Node, NodeKind, Problem, Problems, Source, Span, listed, nearest, shown};

/// Reads one file and collects its problems.
///
/// ```
/// use mock_services::yaml::{Reader, Source, parse};
///
/// let file = Source::new("shop.yaml", "name: corner\nopens: 8\n");
/// let tree = parse(&file).unwrap();
/// let reader = Reader::new(&file);
/// let mut map = reader.map(&tree, "a shop").unwrap();
/// let name = map.required("name").and_then(|node| reader.text(node));
/// let opens = map.optional("opens").and_then(|node| reader.integer(node, 0..=23u8));
/// map.finish();
/// assert_eq!(reader.finish(name.zip(opens)).unwrap(), ("corner", 8));
/// ```
#[derive(Debug)]
pub struct Reader {
    file: Source,
    problems: RefCell<Vec<Problem>>,
}

impl Reader {
    /// A reader of this file.
    #[must_use]
    pub fn new(file: &Source) -> Self {
        Reader { file: file.clone(), problems: RefCell::default() }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Source {
        &self.file
    }

    /// Reports a problem at that place.
    pub fn report(&self, span: Span, message: impl Into<String>) {
        self.add(Problem::new(&self.file, span, message));
    }

    /// The same, with help.
    pub fn report_with_help(&self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.add(Problem::new(&self.file, span, message).with_help(help));
    }

    /// Reports a problem that was made elsewhere.
    pub fn add(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    /// The number of problems so far: a part has no problems if the number is the same after it as before.
    #[must_use]
    pub fn count(&self) -> usize {
        self.problems.borrow().len()
    }

    /// The value if there were no problems, or all problems in the order of the file.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problems> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.span.start);
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            None if problems.is_empty() => {
                Err(Problem::new(&self.file, Span::default(), "this could not be read").into())
            }
            _ => Err(problems.into()),
        }
    }

    /// The entries of a map; `what` is what the map describes, for messages.
    pub fn map<'r, 'n>(&'r self, node: &'n Node, what: &'r str) -> Option<Map<'r, 'n>> {
        match &node.kind {
            NodeKind::Map(entries) => Some(Map::new(self, node.span, entries, what)),
            _ => self.unexpected(node, &format!("{what} (a map of keys and values)")),
        }
    }

    /// The entries of a map whose keys can be any names.
    pub fn entries<'a>(&self, node: &'a Node) -> Option<&'a [(Key, Node)]> {
        match &node.kind {
            NodeKind::Map(entries) => Some(entries),
            _ => self.unexpected(node, "a map of keys and values"),
        }
    }

    /// The elements of a list.
    pub fn list<'a>(&self, node: &'a Node) -> Option<&'a [Node]> {
        match &node.kind {
            NodeKind::List(items) => Some(items),
            _ => self.unexpected(node, "a list"),
        }
    }

    /// A text. A number or a boolean must be in quotes to be a text.
    pub fn text<'a>(&self, node: &'a Node) -> Option<&'a str> {
        match &node.kind {
            NodeKind::Text(text) => Some(text),
            NodeKind::Bool(_) | NodeKind::Integer(_) | NodeKind::Float(_) => {
                let written = shown(self.written(node));
                self.report_with_help(
                    node.span,
                    format!("expected a text, found {}", node.describe()),
                    format!("put it in quotes: \"{written}\""),
                );
                None
            }
            _ => self.unexpected(node, "a text"),
        }
    }

    /// `true` or `false`.
    pub fn boolean(&self, node: &Node) -> Option<bool> {
        match &node.kind {
            NodeKind::Bool(value) => Some(*value),
            NodeKind::Text(text)
                if matches!(text.to_ascii_lowercase().as_str(), "yes" | "no" | "on" | "off") =>
            {
                let help = "write `true` or `false`; other words are texts";
                self.report_with_help(
                    node.span,
                    format!("expected `true` or `false`, found {}", node.describe()),
                    help,
                );
                None
            }
            _ => self.unexpected(node, "`true` or `false`"),
        }
    }

    /// A whole number within bounds.
    pub fn integer<T>(&self, node: &Node, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i64> + PartialOrd + Display + Copy,
    {
        let NodeKind::Integer(value) = node.kind else { return self.unexpected(node, "a whole number") };
        let found = T::try_from(value).ok().filter(|value| range.contains(value));
        if found.is_none() {
            let (least, most) = (range.start(), range.end());
            self.report(node.span, format!("expected a whole number from {least} to {most}, found {value}"));
        }
        found
    }

    /// Any number.
    pub fn number(&self, node: &Node) -> Option<f64> {
        match node.kind {
            NodeKind::Float(value) => Some(value),
            #[expect(
                clippy::cast_precision_loss,
                reason = "fractions, chances and factors are far below 2^53"
            )]
            NodeKind::Integer(value) => Some(value as f64),
            _ => self.unexpected(node, "a number"),
        }
    }

    /// A duration with its unit.
    pub fn duration(&self, node: &Node) -> Option<Duration> {
        let found = node.describe();
        let help = match &node.kind {
            NodeKind::Text(text) => match read_duration(text) {
                Some(duration) => return Some(duration),
                None => "write it as a number with the unit ms, s or m: 800ms, 1.5s, 2m".to_owned(),
            },
            NodeKind::Integer(_) | NodeKind::Float(_) => {
                let written = shown(self.written(node));
                format!("add a unit: {written}ms, {written}s or {written}m")
            }
            _ => "for example 800ms, 1.5s or 2m".to_owned(),
        };
        self.report_with_help(node.span, format!("expected a duration, found {found}"), help);
        None
    }

    /// One of some words, each with its value.
    pub fn one_of<T: Clone>(&self, node: &Node, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, value)) = node.as_text().and_then(|text| words.iter().find(|(word, _)| *word == text))
        {
            return Some(value.clone());
        }
        let allowed = || words.iter().map(|(word, _)| *word);
        let problem = Problem::new(
            &self.file,
            node.span,
            format!("expected {}, found {}", listed(allowed()), node.describe()),
        );
        self.add(match node.as_text().and_then(|text| nearest(text, allowed())) {
            Some(near) => problem.with_help(format!("did you mean `{near}`?")),
            None => problem,
        });
        None
    }

    /// Reports that something else was expected here.
    pub fn unexpected<T>(&self, node: &Node, expected: &str) -> Option<T> {
        self.report(node.span, format!("expected {expected}, found {}", node.describe()));
        None
    }

    /// The value as it is in the file.
    fn written(&self, node: &Node) -> &str {
        self.file.text().get(node.span.range()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
