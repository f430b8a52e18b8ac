//! Mail bodies as plain text for the ledger, from text or HTML.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use mail_parser::decoders::html::html_to_text;

/// The maximum number of characters of a body in the ledger.
const MAX_SHOWN_CHARACTERS: usize = 2_000;
/// The maximum length of a body that is read, and of a text after substitution.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// The plain text of a body: the text, or the HTML without its tags; the first 2,000 characters. When text
/// and HTML differ, both, because the recipient's mail program decides which one is displayed.
pub(super) fn plain(text: Option<&str>, html: Option<&str>) -> String {
    let text = text.map(|text| cut(text, MAX_BODY_BYTES).replace("\r\n", "\n")).unwrap_or_default();
    let html = html.map(|html| html_to_text(&separate_blocks(cut(html, MAX_BODY_BYTES)))).unwrap_or_default();
    let (text, html) = (text.trim(), html.trim());
    let (text, html) = (cut(text, MAX_SHOWN_CHARACTERS), cut(html, MAX_SHOWN_CHARACTERS));
    match (text, html) {
        (text, "") => text.to_owned(),
        ("", html) => html.to_owned(),
        (text, html) if is_same(text, html) => text.to_owned(),
        (text, html) => format!("{text}\n{html}"),
    }
}

/// The text and the HTML of a body as plain text, if both exist and differ.
pub(super) fn differing(text: Option<&str>, html: Option<&str>) -> Option<(String, String)> {
    let (text, html) = (plain(Some(text?), None), plain(None, Some(html?)));
    (!text.is_empty() && !html.is_empty() && !is_same(&text, &html)).then_some((text, html))
}

/// Whether two texts differ only in white space.
fn is_same(one: &str, other: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    letters(one) == letters(other)
}

/// The HTML with a space at the end of each block, so that words of adjacent blocks stay apart.
fn separate_blocks(html: &str) -> String {
    ["</h", "</div", "</li", "</td", "</th", "</tr"]
        .iter()
        .fold(html.to_owned(), |html, end| html.replace(end, &format!(" {end}")))
}

/// The first characters of a text.
fn cut(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Replaces all tags by their values in one pass. The result is bounded, because a short tag can stand for a
/// long value.
pub(super) fn substituted(text: &str, values: &BTreeMap<String, String>) -> String {
    let tags: Vec<(&String, &String)> = values.iter().filter(|(tag, _)| !tag.is_empty()).collect();
    let finder = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(tags.iter().map(|(tag, _)| tag.as_str()));
    let text = cut(text, MAX_BODY_BYTES);
    let Ok(finder) = finder else { return text.to_owned() };
    let (mut whole, mut done) = (String::with_capacity(text.len()), 0);
    for found in finder.find_iter(text) {
        if whole.len() > MAX_BODY_BYTES {
            return cut(&whole, MAX_BODY_BYTES).to_owned();
        }
        whole.push_str(&text[done..found.start()]);
        whole.push_str(tags.get(found.pattern().as_usize()).map_or("", |(_, value)| value));
        done = found.end();
    }
    whole.push_str(&text[done..]);
    cut(&whole, MAX_BODY_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn html_is_shown_without_its_tags() {
        assert_eq!(plain(None, Some("<h1>Hello</h1><p>Order &amp; <b>more</b></p>")), "Hello Order & more");
        assert_eq!(plain(Some("as it is\r\n"), Some("<p>as it <b>is</b></p>")), "as it is");
        assert_eq!(plain(None, None), "");
    }

    #[test]
    fn text_and_html_that_differ_are_both_shown() {
        assert_eq!(plain(Some("You owe $5."), Some("<p>You owe $500.</p>")), "You owe $5.\nYou owe $500.");
        assert_eq!(
            differing(Some("You owe $5."), Some("<p>You owe $500.</p>")),
            Some(("You owe $5.".to_owned(), "You owe $500.".to_owned()))
        );
        assert_eq!(differing(Some("as it is"), Some("<p>as it <b>is</b></p>")), None);
        assert_eq!(differing(None, Some("<p>Hello</p>")), None);
    }

    #[test]
    fn a_long_body_is_cut_between_characters() {
        assert_eq!(plain(Some(&"ä".repeat(3000)), None).chars().count(), 2000);
    }

    #[test]
    fn tags_are_replaced_by_their_values() {
        let values = BTreeMap::from([
            ("-name-".to_owned(), "-order-".to_owned()),
            ("-order-".to_owned(), "o1".to_owned()),
        ]);
        assert_eq!(substituted("Hi -name-, -order- is here", &values), "Hi -order-, o1 is here");
        assert_eq!(substituted("as it is", &BTreeMap::from([(String::new(), "x".to_owned())])), "as it is");
    }

    #[test]
    fn substitution_is_bounded() {
        let values = BTreeMap::from([("a".to_owned(), "x".repeat(10_000))]);
        assert!(substituted(&"a".repeat(100_000), &values).len() <= MAX_BODY_BYTES);
    }

    proptest! {
        #[test]
        fn no_html_makes_it_panic(html in "[<>/!a&;\" \n=pé-]{0,200}") {
            plain(None, Some(&html));
        }
    }
}
