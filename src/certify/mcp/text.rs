//! Words for sentences.

use mock_services::catalog;

/// The numbers that are written as words.
const NUMBERS: [&str; 13] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// A number as a word, where it is small.
pub(super) fn number(count: usize) -> String {
    NUMBERS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// A number of effects: `two mails`, `no charge`.
pub(super) fn counted_effects(count: usize, effect: &str) -> String {
    let (one, several) = catalog::nouns(effect);
    match count {
        0 | 1 => format!("{} {one}", number(count)),
        _ => format!("{} {several}", number(count)),
    }
}

/// A text on one line, shortened.
pub(super) fn short(text: &str, length: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(length) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
