//! How the values of a matrix are written in a case id: short, stable, and without characters that a shell
//! would need quotes for.

use std::collections::{HashMap, HashSet};

use yaml_reader::{Node, NodeKind};

/// The maximum length of the word for one value.
const MAX_WORD_LENGTH: usize = 40;

/// A distinct word for each value. The word for a map with one key is the word for its value, unless another
/// value has the same word: `{status: 502}` is `502`. Words that are still equal get a number.
pub(crate) fn words_of(values: &[Node]) -> Vec<String> {
    let short: Vec<String> = values.iter().map(|value| cut(short_word(value))).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    short.iter().for_each(|brief| *counts.entry(brief).or_default() += 1);
    let mut taken = HashSet::new();
    let mut words = Vec::with_capacity(values.len());
    for (value, brief) in values.iter().zip(&short) {
        let word = if counts.get(brief.as_str()) == Some(&1) { brief.clone() } else { cut(long_word(value)) };
        // The word with a number may be the word of another value.
        let mut free = word.clone();
        let mut number = 2;
        while taken.contains(&free) || (free != *brief && counts.contains_key(free.as_str())) {
            free = format!("{word}-{number}");
            number += 1;
        }
        taken.insert(free.clone());
        words.push(free);
    }
    words
}

fn cut(mut word: String) -> String {
    // Words are ASCII.
    word.truncate(MAX_WORD_LENGTH);
    word
}

fn short_word(node: &Node) -> String {
    match &node.kind {
        NodeKind::Map(entries) => match entries.as_slice() {
            [(_, value)] if !matches!(value.kind, NodeKind::List(_) | NodeKind::Map(_)) => long_word(value),
            _ => long_word(node),
        },
        _ => long_word(node),
    }
}

fn long_word(node: &Node) -> String {
    match &node.kind {
        NodeKind::Null => "null".to_owned(),
        NodeKind::Bool(value) => value.to_string(),
        NodeKind::Integer(value) => value.to_string(),
        NodeKind::Float(value) => typeable(&format!("{value:?}")),
        NodeKind::Text(text) => typeable(text),
        NodeKind::List(items) => joined(items.iter().map(long_word)),
        NodeKind::Map(entries) => {
            joined(entries.iter().flat_map(|(key, value)| [typeable(&key.name), long_word(value)]))
        }
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { "empty".to_owned() } else { words.join("-") }
}

/// The text with a dash in place of each character that a shell may interpret.
fn typeable(text: &str) -> String {
    if text.is_empty() {
        return "empty".to_owned();
    }
    text.chars()
        .take(MAX_WORD_LENGTH)
        .map(|character| if is_typeable(character) { character } else { '-' })
        .collect()
}

/// Whether no shell interprets this character.
pub(crate) fn is_typeable(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._+-".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use yaml_reader::{Source, parse};

    fn words(list: &str) -> Vec<String> {
        let node = parse(&Source::new("list", list)).unwrap();
        let NodeKind::List(values) = node.kind else { panic!("{list} is no list") };
        words_of(&values)
    }

    #[test]
    fn plain_values_are_written_as_they_are() {
        assert_eq!(
            words("[drop, 5, -1.5, true, null, 800ms]"),
            ["drop", "5", "-1.5", "true", "null", "800ms"]
        );
    }

    #[test]
    fn a_map_of_one_key_is_its_value() {
        assert_eq!(words("[drop, {status: 502}, {delay: 2s}]"), ["drop", "502", "2s"]);
    }

    #[test]
    fn a_map_of_one_key_is_written_in_full_where_its_value_alone_is_ambiguous() {
        assert_eq!(words("[{delay: 2s}, {drip: 2s}]"), ["delay-2s", "drip-2s"]);
        assert_eq!(words("[502, {status: 502}]"), ["502", "status-502"]);
    }

    #[test]
    fn larger_values_are_their_words() {
        assert_eq!(
            words("[{status: 429, retry_after: 1}, [1, 2], {later: {requests: 2}}, [], {}]"),
            ["status-429-retry_after-1", "1-2", "later-requests-2", "empty", "empty-2"]
        );
    }

    #[test]
    fn what_a_shell_would_read_is_a_dash() {
        assert_eq!(words("['a b', 'x;y', '$(z)', é, '']"), ["a-b", "x-y", "--z-", "-", "empty"]);
    }

    #[test]
    fn words_that_would_be_the_same_are_numbered_by_their_place() {
        assert_eq!(words("['a b', 'a;b', 'a-b-2', 'a/b']"), ["a-b", "a-b-3", "a-b-2", "a-b-4"]);
        assert_eq!(words("[1, '1']"), ["1", "1-2"]);
    }

    proptest! {
        #[test]
        fn words_are_unique_and_typeable(
            values in proptest::collection::vec("[-a-c1-3 ;é]{0,3}", 1..12),
            wrapped in any::<bool>(),
        ) {
            let span = yaml_reader::Span::default();
            let text = |value: &String| Node::new(NodeKind::Text(value.clone()), span);
            let key = |name: &str| yaml_reader::Key { name: name.to_owned(), span };
            let node = |(index, value)| match wrapped && index % 2 == 0 {
                true => Node::new(NodeKind::Map(vec![(key("k"), text(value))]), span),
                false => text(value),
            };
            let nodes: Vec<Node> = values.iter().enumerate().map(node).collect();
            let words = words_of(&nodes);
            let unique: HashSet<&String> = words.iter().collect();
            prop_assert_eq!(unique.len(), nodes.len());
            prop_assert!(words.iter().all(|word| !word.is_empty() && word.chars().all(is_typeable)));
        }
    }
}
