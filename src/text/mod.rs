//! Text for people: escapes text of others, shortens it, fits it to a width, and colors it. It knows no report.

pub(crate) mod ci_commands;
pub(crate) mod escape;
pub(crate) mod words;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

/// Whether a character is invisible and can change how the text around it is shown, or is not a character:
/// XML cannot represent it.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || u32::from(character) & 0xfffe == 0xfffe
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn push_escaped(out: &mut String, character: char) {
    if is_harmful(character) {
        out.extend(character.escape_default());
    } else {
        out.push(character);
    }
}

/// The text in one line with at most `limit` characters, with misleading characters escaped.
#[must_use]
pub(crate) fn line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(limit) {
        push_escaped(&mut out, character);
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// The text with its lines, without its middle if it has more than `limit` characters, and escaped like
/// [`line`].
#[must_use]
pub(crate) fn block(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    let mut out = String::new();
    let mut push = |character: char| match character {
        '\n' | '\t' => out.push(character),
        other => push_escaped(&mut out, other),
    };
    if count <= limit {
        text.chars().for_each(push);
        return out;
    }
    let head = limit / 2;
    text.chars().take(head).for_each(&mut push);
    let note = format!("\n[{} characters left out]\n", count - limit);
    note.chars().for_each(&mut push);
    text.chars().skip(count - (limit - head)).for_each(&mut push);
    out
}

/// The number of columns of a text: the sum over its characters, so that breaking a text does not change it.
#[must_use]
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// The text cut to this many columns.
#[must_use]
pub(crate) fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(character);
    }
    out.push('…');
    out
}

/// The text in lines of at most this many columns, broken at spaces; a word that is too long is broken.
#[must_use]
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut current = String::new();
        for word in paragraph.split(' ') {
            let fits = columns(&current) + 1 + columns(word) <= width;
            if !current.is_empty() && !fits {
                lines.push(std::mem::take(&mut current));
            }
            if !current.is_empty() {
                current.push(' ');
            }
            push_word(&mut lines, &mut current, word, width);
        }
        lines.push(current);
    }
    lines
}

fn push_word(lines: &mut Vec<String>, current: &mut String, word: &str, width: usize) {
    if columns(word) <= width {
        current.push_str(word);
        return;
    }
    let mut used = columns(current);
    for character in word.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide > width {
            lines.push(std::mem::take(current));
            used = 0;
        }
        current.push(character);
        used += wide;
    }
}

/// Adds colors to text, which is the same without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextStyle {
    /// Whether colors are used.
    pub(crate) color: bool,
}

impl TextStyle {
    fn with(self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Failures.
    pub(crate) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// Passes.
    pub(crate) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// Void.
    pub(crate) fn void(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Important text.
    pub(crate) fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// Less important text.
    pub(crate) fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_could_deceive_a_reader_is_escaped() {
        assert_eq!(line("a\u{1b}[31m\r\nb\u{202e}c\u{200b}", 100), "a\\u{1b}[31m\\r\\nb\\u{202e}c\\u{200b}");
        assert_eq!(block("a\nb\tc\u{7}", 100), "a\nb\tc\\u{7}");
        assert_eq!(
            line("\u{fffd}\u{fffe}\u{1ffff}", 100),
            "\u{fffd}\\u{fffe}\\u{1ffff}",
            "what is no character is shown as such"
        );
    }

    #[test]
    fn a_long_text_is_cut_with_a_note() {
        assert_eq!(line("abcdef", 3), "abc…");
        assert_eq!(block("abcdefghij", 4), "ab\n[6 characters left out]\nij");
        assert_eq!(block("abcd", 4), "abcd");
    }

    #[test]
    fn lines_break_at_blanks_and_long_words_where_they_must() {
        assert_eq!(wrap("one two three", 9), ["one two", "three"]);
        assert_eq!(wrap("aaaaaaaaaaaa b", 8), ["aaaaaaaa", "aaaa b"]);
        assert_eq!(wrap("one\ntwo", 20), ["one", "two"]);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 6), "日本語");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in ".{0,200}", width in 8usize..120) {
            let text = line(&text, 1000);
            prop_assert!(wrap(&text, width).iter().all(|line| columns(line) <= width));
            prop_assert!(columns(&fit(&text, width)) <= width);
        }

        #[test]
        fn nothing_harmful_is_left(text in any::<String>()) {
            prop_assert!(!line(&text, 50).chars().any(is_harmful));
            let is_allowed = |character: char| !is_harmful(character) || matches!(character, '\n' | '\t');
            prop_assert!(block(&text, 50).chars().all(is_allowed));
        }
    }
}
