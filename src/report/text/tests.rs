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
