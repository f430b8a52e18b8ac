//! Reading values from a tree: each function returns the value, or reports a problem at its place and returns
//! `None`, so that one pass over a file finds all of its problems.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::duration::read_duration;
use super::shape::MapShape;
use super::{Key, Map, Node, NodeKind, Problem, Problems, Source, Span, listed, nearest, shown};

/// Reads one file and collects its problems.
///
/// ```
/// use yaml_reader::{Reader, Source, parse};
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

    /// The values of a map of this shape, in its order. What is missing and what is unknown is reported.
    pub fn fields<'n, const N: usize>(
        &self,
        node: &'n Node,
        what: &str,
        shape: &MapShape<N>,
    ) -> Option<[Option<&'n Node>; N]> {
        self.keyed_fields(node, what, shape).map(|fields| fields.map(|field| field.map(|(_, node)| node)))
    }

    /// The same, each value with its key.
    pub fn keyed_fields<'n, const N: usize>(
        &self,
        node: &'n Node,
        what: &str,
        shape: &MapShape<N>,
    ) -> Option<[Option<(&'n Key, &'n Node)>; N]> {
        let mut map = self.map(node, what)?;
        let fields = map.keyed_fields(shape);
        map.finish();
        Some(fields)
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
mod tests {
    use super::*;
    use crate::parse;

    /// All problems that reading gives, as they are shown.
    fn problems(text: &str, read: impl Fn(&Reader, &Node)) -> String {
        let file = Source::new("file.yaml", text);
        let tree = parse(&file).unwrap();
        let reader = Reader::new(&file);
        read(&reader, &tree);
        match reader.finish(Some(())) {
            Ok(()) => String::new(),
            Err(problems) => problems.to_string(),
        }
    }

    fn fault(reader: &Reader, node: &Node) {
        let Some(mut map) = reader.map(node, "a fault") else { return };
        map.required("on").and_then(|node| reader.text(node));
        map.optional("attempt").and_then(|node| reader.integer(node, 1..=9u32));
        map.optional("optional").and_then(|node| reader.boolean(node));
        map.finish();
    }

    #[test]
    fn all_problems_of_a_file_are_shown_at_once_in_its_order() {
        let text = "onn: payment.charge\nattempt: 12\noptional: yes\ncolour: red\n";
        let picture = "\
error: a fault has no key `onn`
 --> file.yaml:1:1
  |
1 | onn: payment.charge
  | ^^^ unknown key
  |
  = help: did you mean `on`? it can have `on`, `attempt` or `optional`

error: expected a whole number from 1 to 9, found 12
 --> file.yaml:2:10
  |
2 | attempt: 12
  |          ^^

error: expected `true` or `false`, found the text \"yes\"
 --> file.yaml:3:11
  |
3 | optional: yes
  |           ^^^
  |
  = help: write `true` or `false`; other words are texts

error: a fault has no key `colour`
 --> file.yaml:4:1
  |
4 | colour: red
  | ^^^^^^ unknown key
  |
  = help: it can have `on`, `attempt` or `optional`";
        assert_eq!(problems(text, fault), picture);
    }

    #[test]
    fn a_missing_key_is_shown_at_the_beginning_of_its_map() {
        let picture = "\
error: a fault needs the key `on`
 --> file.yaml:2:3
  |
2 |   attempt: 1
  |   ^^^^^^^";
        let read = |reader: &Reader, node: &Node| fault(reader, node.get("fault").unwrap());
        assert_eq!(problems("fault:\n  attempt: 1\n", read), picture);
        assert!(problems("fault: {attempt: 1}", read).contains("file.yaml:1:8\n"));
        assert!(problems("fault: {}", read).contains("a fault needs the key `on`"));
    }

    #[test]
    fn a_value_of_another_kind_is_named() {
        assert!(problems("[1]", fault).contains("expected a fault (a map of keys and values), found a list"));
        assert!(problems("", fault).contains("expected a fault (a map of keys and values), found nothing"));
        let problem = problems("on: 5\n", fault);
        assert!(problem.contains("expected a text, found the whole number 5"), "{problem}");
        assert!(problem.contains("help: put it in quotes: \"5\""), "{problem}");
    }

    #[test]
    fn a_duration_needs_its_unit() {
        let duration = |reader: &Reader, node: &Node| {
            reader.duration(node);
        };
        let problem = problems("5", duration);
        assert!(problem.contains("expected a duration, found the whole number 5"), "{problem}");
        assert!(problem.contains("help: add a unit: 5ms, 5s or 5m"), "{problem}");
        assert!(problems("soon", duration).contains("help: write it as a number with the unit ms, s or m"));
        assert_eq!(problems("1.5s", duration), "");
    }

    #[test]
    fn a_word_that_is_not_among_those_allowed_is_shown_with_the_nearest() {
        let word = |reader: &Reader, node: &Node| {
            reader.one_of(node, &[("drop", 1), ("reset", 2)]);
        };
        let problem = problems("rest", word);
        assert!(problem.contains("expected `drop` or `reset`, found the text \"rest\""), "{problem}");
        assert!(problem.contains("help: did you mean `reset`?"), "{problem}");
        assert!(!problems("3", word).contains("help"));
        assert_eq!(problems("drop", word), "");
    }

    #[test]
    fn numbers_may_be_whole_or_not() {
        let file = Source::new("file.yaml", "[1, 0.5, x]");
        let tree = parse(&file).unwrap();
        let reader = Reader::new(&file);
        let numbers: Vec<_> = reader.list(&tree).unwrap().iter().map(|node| reader.number(node)).collect();
        assert_eq!(numbers, [Some(1.0), Some(0.5), None]);
        assert_eq!(reader.count(), 1);
    }

    #[test]
    fn foreign_text_can_do_nothing_to_a_terminal() {
        let problem = problems("\"a\\e[31m\": 1", fault);
        assert!(!problem.contains('\u{1b}'), "{problem:?}");
    }

    #[test]
    fn more_than_a_hundred_problems_are_cut_short() {
        let text: String = (0..150).map(|number| format!("key{number}: 1\n")).collect();
        let shown = problems(&text, fault);
        assert!(shown.ends_with("and 51 more"), "{}", &shown[shown.len() - 100..]);
    }

    #[test]
    fn colour_is_only_there_when_asked_for() {
        let problem = Problem::new(&Source::new("f", "abc"), Span::new(1, 2), "m").with_label("l");
        assert!(problem.render(true).contains('\u{1b}'));
        assert!(!problem.render(false).contains('\u{1b}'));
    }

    #[test]
    fn a_place_outside_the_text_or_inside_a_character_is_still_shown() {
        let file = Source::new("f", "é\n");
        for (start, end) in [(0, 99), (1, 1), (1, 0), (3, 3), (99, 99), (2, 3)] {
            let problem = Problem::new(&file, Span::new(start, end), "m");
            assert!(problem.to_string().contains("--> f:"), "{start} {end}");
            assert!(problem.position().0 >= 1);
        }
        assert!(Problem::new(&Source::new("f", ""), Span::default(), "m").to_string().contains("f:1:1"));
    }
}
