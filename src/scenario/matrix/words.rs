//! How the values of a matrix are written in a case id: short, stable, and without characters that a shell
//! would need quotes for.

use std::collections::{HashMap, HashSet};

use mock_services::yaml::{Node, NodeKind};

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
mod tests;
