//! Words in messages: lists of names, suggestions, and text from outside with its control characters escaped.

/// The maximum number of characters of a text from outside in a message.
const LONGEST_SHOWN: usize = 60;

/// A text from outside as a message shows it: with its control characters escaped, and cut if it is long.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST_SHOWN {
            out.push('…');
            break;
        }
        push_escaped(&mut out, character);
    }
    out
}

/// The text with its control characters escaped, at its full length.
pub(super) fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, character| {
        push_escaped(&mut out, character);
        out
    })
}

fn push_escaped(out: &mut String, character: char) {
    // Beside control characters: those that reverse or break a line without being seen.
    if character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    {
        out.extend(character.escape_default());
    } else {
        out.push(character);
    }
}

/// Names as a sentence lists them: `a, b or c`.
#[must_use]
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", shown(name))).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// The name that was probably meant, if one is similar enough.
#[must_use]
pub fn nearest<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Names are short: a long one is not a typing error, and comparing it would take time.
    if name.len() > 100 {
        return None;
    }
    let name = name.to_lowercase();
    among
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            *distance <= (candidate.chars().count().max(name.chars().count()) / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_found_and_a_far_one_is_not() {
        assert_eq!(nearest("comit", ["commit", "reply"]), Some("commit"));
        assert_eq!(nearest("Attempts", ["attempt", "reply"]), Some("attempt"));
        assert_eq!(nearest("payment.chrage", ["payment.list", "payment.charge"]), Some("payment.charge"));
        assert_eq!(nearest("color", ["commit", "reply"]), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), ["x"]), None);
    }

    #[test]
    fn text_from_outside_is_cut_and_escaped() {
        assert_eq!(shown("a\u{1b}[31mb\n\u{202e}"), "a\\u{1b}[31mb\\n\\u{202e}");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 61);
    }

    #[test]
    fn names_are_listed_as_in_a_sentence() {
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed([]), "none");
    }
}
