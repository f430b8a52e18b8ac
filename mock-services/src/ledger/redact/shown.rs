//! Values that are no secrets, because the test itself names them.

use std::collections::HashSet;
use std::ops::Range;

/// An id can be in the middle of what is hidden if it is at least this long.
const SHORTEST_ID: usize = 6;

/// Values that are never hidden.
#[derive(Debug, Clone, Default)]
pub(super) struct ShownValues {
    values: HashSet<String>,
}

impl ShownValues {
    pub(super) fn add(&mut self, value: &str) {
        self.values.insert(value.to_owned());
    }

    /// Whether the text as a whole is one of them.
    pub(super) fn has(&self, text: &str) -> bool {
        self.values.contains(text)
    }

    /// The spans without those that are such a value, and without such ids in them: a line that is hidden as a
    /// password can name an order, too.
    pub(super) fn without(&self, text: &str, spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
        if self.values.is_empty() || spans.is_empty() {
            return spans;
        }
        spans.into_iter().flat_map(|span| self.parts(text, span)).collect()
    }

    fn parts(&self, text: &str, span: Range<usize>) -> Vec<Range<usize>> {
        if self.has(&text[span.clone()]) {
            return Vec::new();
        }
        let (mut parts, mut from) = (Vec::new(), span.start);
        let mut at = span.start;
        for word in text[span.clone()].split_inclusive(|char: char| !is_in_id(char)) {
            let id = word.trim_end_matches(|char: char| !is_in_id(char));
            if is_id(id) && self.has(id) {
                parts.push(from..at);
                from = at + id.len();
            }
            at += word.len();
        }
        parts.push(from..span.end);
        parts.retain(|part| !part.is_empty());
        parts
    }
}

fn is_in_id(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

/// Whether a word is an id: no other word has letters and digits.
fn is_id(word: &str) -> bool {
    word.len() >= SHORTEST_ID
        && word.contains(|char: char| char.is_ascii_digit())
        && word.contains(|char: char| char.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_test_is_shown_as_a_whole_and_an_id_also_within_what_is_hidden() {
        let mut shown = ShownValues::default();
        ["hunter2", "4242", "ord_1001"].iter().for_each(|value| shown.add(value));
        let left = |text: &str| -> Vec<(usize, usize)> {
            let whole = Range { start: 0, end: text.len() };
            shown.without(text, Vec::from([whole])).into_iter().map(|span| (span.start, span.end)).collect()
        };
        assert!(left("hunter2").is_empty());
        assert_eq!(left("4242 4242"), [(0, 9)]);
        assert_eq!(left("abc for ord_1001 now"), [(0, 8), (16, 20)]);
        assert_eq!(left("xord_1001"), [(0, 9)]);
    }
}
