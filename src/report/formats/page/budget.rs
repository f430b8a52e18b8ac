//! Limits the size of the page, so that a browser opens it quickly: each text is stored once, and the number
//! of texts is limited.

use std::collections::HashMap;

use crate::text::{block, line};

/// All texts of a page, each once; data names them by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    indexes: HashMap<String, u32>,
    /// The number of the first.
    first: u32,
    kept: Vec<String>,
    size: usize,
    /// Whether a text was shortened because there were too many.
    pub(super) cut: bool,
}

/// When the page has this many bytes of text, further texts are shortened.
const SHORTEN_AT: usize = 3 * 1024 * 1024;
/// The number of characters of a shortened text.
const SHORTENED: usize = 100;
/// When the page has this many bytes of text, further texts are left out.
const OMIT_AT: usize = 5 * 1024 * 1024;

impl Texts {
    /// Texts that are numbered from here.
    pub(super) fn starting_at(first: u32) -> Self {
        Texts { first, ..Texts::default() }
    }

    /// A text in one line, with at most `limit` characters.
    pub(super) fn line(&mut self, text: &str, limit: usize) -> u32 {
        let limit = self.current_limit(text, limit);
        self.keep(line(text, limit))
    }

    /// A text with its lines, with at most `limit` characters.
    pub(super) fn block(&mut self, text: &str, limit: usize) -> u32 {
        let limit = self.current_limit(text, limit);
        self.keep(block(text, limit))
    }

    /// A text that is never left out, because the page needs it.
    pub(super) fn name(&mut self, text: &str) -> u32 {
        self.keep(line(text, 300))
    }

    fn current_limit(&mut self, text: &str, limit: usize) -> usize {
        let left = match self.size {
            OMIT_AT.. => 0,
            SHORTEN_AT.. => SHORTENED,
            _ => limit,
        };
        self.cut |= left < limit && text.len() > left;
        left.min(limit)
    }

    fn keep(&mut self, text: String) -> u32 {
        if let Some(index) = self.indexes.get(&text) {
            return *index;
        }
        let index = u32::try_from(self.kept.len()).unwrap_or(u32::MAX).saturating_add(self.first);
        self.size += text.chars().map(bytes_in_page).sum::<usize>() + 3;
        self.kept.push(text.clone());
        self.indexes.insert(text, index);
        index
    }

    /// All of them, in the order of their numbers.
    pub(super) fn into_kept(self) -> Vec<String> {
        self.kept
    }
}

/// The number of bytes of a character in the page.
const fn bytes_in_page(character: char) -> usize {
    match character {
        '<' | '>' | '&' => 6,
        '"' | '\\' | '\n' | '\t' => 2,
        other => other.len_utf8(),
    }
}

/// A budget of items: entries of timelines, facts, bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Items {
    left: usize,
}

impl Items {
    /// A budget of this many items.
    pub(super) const fn new(left: usize) -> Self {
        Items { left }
    }

    /// Takes this many items from the budget; `false` if too few are left.
    pub(super) fn take(&mut self, count: usize) -> bool {
        let enough = count <= self.left;
        self.left -= if enough { count } else { 0 };
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once() {
        let mut texts = Texts::default();
        assert_eq!([texts.line("a", 9), texts.line("b", 9), texts.line("a", 9)], [0, 1, 0]);
        assert_eq!(texts.into_kept(), ["a", "b"]);
    }

    #[test]
    fn too_many_texts_are_shortened_and_the_page_knows() {
        let mut texts = Texts::default();
        for number in 0..20_000 {
            texts.line(&format!("{number}{}", "<".repeat(500)), 500);
        }
        assert!(texts.cut);
        assert!(texts.size < OMIT_AT + 4_000, "{}", texts.size);
        let name = texts.name("payment/lost-reply");
        assert_eq!(texts.into_kept()[name as usize], "payment/lost-reply", "a name is always kept");
    }

    #[test]
    fn the_budget_refuses_more_items_than_are_left() {
        let mut items = Items::new(10);
        assert!(items.take(7) && !items.take(4) && items.take(3) && !items.take(1));
    }
}
