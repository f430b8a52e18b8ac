//! A fault on one line, for the command line: `payment.charge#1 commit=now reply=drop`. The line is cut into
//! words, the words are made into the tree that YAML would have given, and the rest is the same as for YAML.

use yaml_reader::{Key, Node, NodeKind, Problems, Reader, Source, Span, parse_part, shown};

use super::{Fault, PlacedFault, check_placed, read_fault};
use crate::examples;
use crate::service::Operation;

/// How a fault is written on one line.
fn form() -> String {
    format!("write it as {}", examples::FAULT_LINE)
}

/// Reads and checks a fault on one line. Values are YAML on one line, so `reply={status: 503}` may hold
/// spaces.
pub fn read_line(line: &Source, operations: &[Operation], callers: Option<u32>) -> Result<Fault, Problems> {
    let reader = Reader::new(line);
    let placed = read_unchecked(&reader);
    check_placed(&reader, placed.as_slice(), operations, callers);
    reader.finish(placed.map(|placed| placed.fault))
}

/// The same without looking at operations and callers.
pub(super) fn read_unchecked(reader: &Reader) -> Option<PlacedFault> {
    read_fault(reader, &tree(reader)?)
}

fn tree(reader: &Reader) -> Option<Node> {
    let text = reader.file().text();
    let words = words(text);
    let Some((head, rest)) = words.split_first() else {
        reader.report_with_help(Span::default(), "expected a fault, found nothing", form());
        return None;
    };
    let before = reader.count();
    let mut tree = LineTree { reader, entries: Vec::new(), fields: Vec::new() };
    tree.head(*head);
    for word in rest {
        tree.word(*word);
    }
    let last = rest.last().unwrap_or(head);
    let entries = tree.finish();
    (reader.count() == before).then(|| Node::new(NodeKind::Map(entries), head.to(*last)))
}

struct LineTree<'a> {
    reader: &'a Reader,
    entries: Vec<(Key, Node)>,
    fields: Vec<(Key, Node)>,
}

impl<'a> LineTree<'a> {
    /// The operation, and after `#` its attempts.
    fn head(&mut self, word: Span) {
        let text = self.text(word);
        let (on, attempt) = match text.find('#') {
            Some(at) => {
                (Span::new(word.start, word.start + at), Some(Span::new(word.start + at + 1, word.end)))
            }
            None => (word, None),
        };
        let name = self.text(on).to_owned();
        if name.is_empty() || name.contains('=') {
            self.reader.report_with_help(word, "a fault begins with its operation", form());
            return;
        }
        self.entries.push((Key { name: "on".to_owned(), span: on }, Node::new(NodeKind::Text(name), on)));
        if let Some(attempt) = attempt {
            self.value("attempt", attempt, attempt);
        }
    }

    /// `name=value`, or `optional` by itself.
    fn word(&mut self, word: Span) {
        let text = self.text(word);
        match text.find('=') {
            Some(at) => {
                let name = Span::new(word.start, word.start + at);
                self.value(&text[..at], name, Span::new(word.start + at + 1, word.end));
            }
            None if text == "optional" => self.entry("optional", word, Node::new(NodeKind::Bool(true), word)),
            None => {
                let message = format!("expected a name and a value, found `{}`", shown(text));
                let help = "write name=value, and no spaces except within quotes, braces and brackets";
                self.reader.report_with_help(word, message, help);
            }
        }
    }

    fn value(&mut self, name: &str, place: Span, value: Span) {
        match parse_part(self.reader.file(), value) {
            Ok(node) => self.entry(name, place, node),
            Err(problem) => self.reader.add(problem),
        }
    }

    fn entry(&mut self, name: &str, span: Span, node: Node) {
        let (entries, name) = match name.strip_prefix("where.") {
            Some(field) => (&mut self.fields, field),
            None => (&mut self.entries, name),
        };
        if entries.iter().any(|(key, _)| key.name == name) {
            self.reader.report_with_help(
                span,
                format!("`{}` is given a second time", shown(name)),
                "keep one of the two",
            );
        } else {
            entries.push((Key { name: name.to_owned(), span }, node));
        }
    }

    fn finish(mut self) -> Vec<(Key, Node)> {
        if let (Some((first, _)), Some((_, last))) = (self.fields.first(), self.fields.last()) {
            let place = first.span;
            let node = Node::new(NodeKind::Map(Vec::new()), place.to(last.span));
            let fields = std::mem::take(&mut self.fields);
            self.entry("where", place, Node { kind: NodeKind::Map(fields), ..node });
        }
        self.entries
    }

    fn text(&self, span: Span) -> &'a str {
        self.reader.file().text().get(span.range()).unwrap_or_default()
    }
}

/// The words of a line. Spaces within quotes, braces and brackets part nothing.
fn words(text: &str) -> Vec<Span> {
    let mut words = Vec::new();
    let mut start = None;
    let mut depth = 0usize;
    let mut quote = None;
    let mut before = ' ';
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        // A quote or a bracket in the midst of a plain word is a character as any other.
        let begins =
            matches!(before, '=' | '#') || (depth > 0 && (before.is_whitespace() || "{[,:".contains(before)));
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '\'') && begins => quote = Some(character),
            // Within single quotes, two of them are one.
            None if character == '\'' && before == '\'' => quote = Some(character),
            None if matches!(character, '{' | '[') && (begins || depth > 0) => depth += 1,
            None if matches!(character, '}' | ']') => depth = depth.saturating_sub(1),
            None if character.is_whitespace() && depth == 0 => {
                words.extend(start.take().map(|start| Span::new(start, at)))
            }
            None => {}
        }
        if start.is_none() && !character.is_whitespace() {
            start = Some(at);
        }
        before = character;
    }
    words.extend(start.map(|start| Span::new(start, text.len())));
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fault::{Attempts, Commit, Reply};
    use crate::service::{Fields, Value};

    fn operations() -> Vec<Operation> {
        vec![
            Operation::write("payment.charge", &["order", "amount", "note"], &["order"]),
            Operation::read("payment.list", &["order"]),
        ]
    }

    fn read(line: &str) -> Result<Fault, Problems> {
        read_line(&Source::new("--fault", line), &operations(), Some(3))
    }

    fn problems(line: &str) -> String {
        match read(line) {
            Ok(fault) => panic!("{line} was read as {fault}"),
            Err(problems) => problems.to_string(),
        }
    }

    #[test]
    fn a_line_is_a_fault() {
        let fault = read(
            "  payment.charge#1..3  commit=never reply={status: 503, retry_after: 2} \
        where.order=ord_1 where.amount=4999 caller=2 chance=0.2 optional ",
        )
        .unwrap();
        assert_eq!(fault.trigger.on, "payment.charge");
        assert_eq!(fault.trigger.attempts, Attempts::Span(1, 3));
        assert_eq!(fault.trigger.fields, Fields::new().with("order", "ord_1").with("amount", 4999));
        assert_eq!((fault.trigger.caller, fault.trigger.chance, fault.optional), (Some(2), Some(0.2), true));
        assert_eq!(fault.commit, Commit::Never);
        assert!(
            matches!(fault.reply, Reply::Status(reply) if (reply.status, reply.retry_after) == (503, Some(2)))
        );
    }

    #[test]
    fn without_a_number_the_first_attempt_is_meant() {
        assert_eq!(read("payment.charge reply=drop").unwrap().trigger.attempts, Attempts::These(vec![1]));
    }

    #[test]
    fn quotes_and_brackets_hold_spaces_together() {
        let note = |line: &str| read(line).unwrap().trigger.fields.get("note").cloned();
        assert_eq!(
            note("payment.charge reply=drop where.note=\"a } \\\" b\""),
            Some(Value::from("a } \" b"))
        );
        assert_eq!(note("payment.charge reply=drop where.note='it''s me'"), Some(Value::from("it's me")));
        assert_eq!(
            note("payment.charge reply=drop where.note=O'Brien optional"),
            Some(Value::from("O'Brien"))
        );
        assert_eq!(note("payment.charge reply=drop where={note: \"x y\"}"), Some(Value::from("x y")));
        let list = Value::from(vec!["a b".to_owned(), "c".to_owned()]);
        assert_eq!(note("payment.charge#[1, 2] reply=drop where.note=[a b, c]"), Some(list));
    }

    #[test]
    fn a_problem_shows_the_line_with_a_caret_at_the_place() {
        let picture = "\
error: expected a duration, found the whole number 800
 --> --fault:1:30
  |
1 | payment.charge reply={delay: 800} comit=now
  |                              ^^^
  |
  = help: add a unit: 800ms, 800s or 800m

error: a fault has no key `comit`
 --> --fault:1:35
  |
1 | payment.charge reply={delay: 800} comit=now
  |                                   ^^^^^ unknown key
  |
  = help: did you mean `commit`? it can have `on`, `attempt`, `where`, `caller`, `chance`, `optional`, `commit` or `reply`";
        assert_eq!(problems("payment.charge reply={delay: 800} comit=now"), picture);
    }

    #[test]
    fn the_problems_of_a_line_are_reported() {
        for (line, message, column) in [
            ("", "expected a fault, found nothing", 1),
            ("reply=drop", "a fault begins with its operation", 1),
            ("#1 reply=drop", "a fault begins with its operation", 1),
            ("payment.chrage reply=drop", "there is no operation `payment.chrage`", 1),
            ("payment.charge#0 reply=drop", "there is no attempt 0", 16),
            ("payment.charge# reply=drop", "expected the number of an attempt, found nothing", 16),
            ("payment.charge drop", "expected a name and a value, found `drop`", 16),
            ("payment.charge reply=drop reply=reset", "`reply` is given a second time", 27),
            ("payment.charge reply=drop where.order=a where.order=b", "`order` is given a second time", 41),
            ("payment.charge reply={status: 503", "unclosed bracket", 22),
            ("payment.charge reply= commit=now", "expected `ok`, `drop`, `reset`, `hang`, ", 22),
            ("payment.charge", "a fault without `commit` and `reply` changes nothing", 1),
            ("payment.charge reply=drop caller=4", "there is no caller 4", 34),
            ("payment.list commit=twice", "payment.list is a read", 21),
            ("payment.charge reply=drop where.ordr=1", "have no field `ordr`", 27),
        ] {
            let shown = problems(line);
            assert!(
                shown.contains(message) && shown.contains(&format!("--fault:1:{column}\n")),
                "{line}\n{shown}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in ".*", marks in "payment.charge(#[0-9.\\[, ]{0,4})? \
            [a-z.]{0,6}=['\"{}\\[\\]:, #a\\\\é]{0,12}") {
            let _ = read(&line).map_err(|problems| problems.to_string());
            let _ = read(&marks).map_err(|problems| problems.to_string());
        }
    }
}
