//! How the values of a matrix are written in an id: short, stable, and typed without quotes in any shell.

use std::collections::{HashMap, HashSet};

use mock_services::yaml::{Kind, Node};

/// The longest word of one value.
const LONGEST: usize = 40;

/// A word for each value; no two are the same. A map of one key is its value where no other value has that
/// word, so `{status: 502}` is `502`; what is equal nevertheless is told apart by its place.
pub(crate) fn words_of(values: &[Node]) -> Vec<String> {
    let short: Vec<String> = values.iter().map(|value| cut(short_word(value))).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    short.iter().for_each(|brief| *count.entry(brief).or_default() += 1);
    let mut taken = HashSet::new();
    let mut words = Vec::with_capacity(values.len());
    for (value, brief) in values.iter().zip(&short) {
        let word = if count.get(brief.as_str()) == Some(&1) { brief.clone() } else { cut(long_word(value)) };
        // A number behind a word may itself be the word of another value.
        let mut free = word.clone();
        let mut number = 2;
        while taken.contains(&free) || (free != *brief && count.contains_key(free.as_str())) {
            free = format!("{word}-{number}");
            number += 1;
        }
        taken.insert(free.clone());
        words.push(free);
    }
    words
}

fn cut(mut word: String) -> String {
    // All of its characters have one byte.
    word.truncate(LONGEST);
    word
}

fn short_word(node: &Node) -> String {
    match &node.kind {
        Kind::Map(entries) => match entries.as_slice() {
            [(_, value)] if !matches!(value.kind, Kind::List(_) | Kind::Map(_)) => long_word(value),
            _ => long_word(node),
        },
        _ => long_word(node),
    }
}

fn long_word(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "null".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Integer(value) => value.to_string(),
        Kind::Float(value) => typeable(&format!("{value:?}")),
        Kind::Text(text) => typeable(text),
        Kind::List(items) => joined(items.iter().map(long_word)),
        Kind::Map(entries) => {
            joined(entries.iter().flat_map(|(key, value)| [typeable(&key.name), long_word(value)]))
        }
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { "empty".to_owned() } else { words.join("-") }
}

/// The text with a dash for each character that a shell might not take for itself.
fn typeable(text: &str) -> String {
    if text.is_empty() {
        return "empty".to_owned();
    }
    text.chars().take(LONGEST).map(|character| if is_typeable(character) { character } else { '-' }).collect()
}

/// Whether a character means itself in every shell, wherever it stands.
pub(crate) fn is_typeable(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._+-".contains(character)
}

#[cfg(test)]
mod tests;
