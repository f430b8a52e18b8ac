//! Limits the size of the page: each text is stored once, and there are no more than a browser opens fast.

use std::collections::HashMap;

use crate::report::text::{block, line};

/// All texts of a page, each once; data names them by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    places: HashMap<String, u32>,
    kept: Vec<String>,
    size: usize,
    /// Whether a text was cut shorter than usual because there were too many.
    pub(super) cut: bool,
}

/// When the page has this many bytes of text, further texts are shortened.
const ROOMY: usize = 3 * 1024 * 1024;
/// How many characters of a shortened text are kept.
const SCARCE: usize = 100;
/// When the page has this many bytes of text, further texts are left out.
const FULL: usize = 5 * 1024 * 1024;

impl Texts {
    /// A text in one line, at most this many characters of it.
    pub(super) fn line(&mut self, text: &str, most: usize) -> u32 {
        let most = self.most(text, most);
        self.keep(line(text, most))
    }

    /// A text with its lines, at most this many characters of it.
    pub(super) fn block(&mut self, text: &str, most: usize) -> u32 {
        let most = self.most(text, most);
        self.keep(block(text, most))
    }

    /// A text that is never left out, because the page needs it.
    pub(super) fn name(&mut self, text: &str) -> u32 {
        self.keep(line(text, 300))
    }

    fn most(&mut self, text: &str, most: usize) -> usize {
        let left = match self.size {
            FULL.. => 0,
            ROOMY.. => SCARCE,
            _ => most,
        };
        self.cut |= left < most && text.len() > left;
        left.min(most)
    }

    fn keep(&mut self, text: String) -> u32 {
        if let Some(place) = self.places.get(&text) {
            return *place;
        }
        let place = u32::try_from(self.kept.len()).unwrap_or(u32::MAX);
        self.size += text.chars().map(written).sum::<usize>() + 3;
        self.kept.push(text.clone());
        self.places.insert(text, place);
        place
    }

    /// All of them, by number.
    pub(super) fn into_kept(self) -> Vec<String> {
        self.kept
    }
}

/// How many bytes a character takes in the page.
const fn written(character: char) -> usize {
    match character {
        '<' | '>' | '&' => 6,
        '"' | '\\' | '\n' | '\t' => 2,
        other => other.len_utf8(),
    }
}

/// How many items of timelines are left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Items {
    left: usize,
}

impl Items {
    /// A budget of this many items.
    pub(super) const fn new(left: usize) -> Self {
        Items { left }
    }

    /// Takes this many items from the budget; `false` where too few are left.
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
    fn when_there_are_too_many_texts_they_are_cut_and_the_page_knows() {
        let mut texts = Texts::default();
        for number in 0..20_000 {
            texts.line(&format!("{number}{}", "<".repeat(500)), 500);
        }
        assert!(texts.cut);
        assert!(texts.size < FULL + 4_000, "{}", texts.size);
        let name = texts.name("payment/lost-reply");
        assert_eq!(texts.into_kept()[name as usize], "payment/lost-reply", "a name has its room");
    }

    #[test]
    fn room_is_given_until_there_is_none() {
        let mut items = Items::new(10);
        assert!(items.take(7) && !items.take(4) && items.take(3) && !items.take(1));
    }
}
