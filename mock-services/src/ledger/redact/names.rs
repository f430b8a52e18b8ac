//! Names within a text, and the values that follow them: parameters, and JSON within a text.

use super::prose::reads_environment;

/// The parts of a name: `metadata[password]` and `metadata.password` are names of a password too, as is
/// `password.old`.
pub(super) fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', '[', ']', '"'])
}

/// The other parts of a name end at most this far after one part.
const LONGEST_NAME: usize = 200;

/// The place of the value of a name that was found between `from` and `to`; `None` if it has none.
pub(super) fn value_of(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    if text[..from].last().is_some_and(in_word) {
        return None;
    }
    let mut at = to;
    if matches!(text.get(at), Some(b'.' | b'[' | b']')) {
        // No name is longer. Without the limit, a text of brackets would be read to its end again and again.
        let near = &text[..text.len().min(at + LONGEST_NAME)];
        at = skip(near, at, |byte| in_word(&byte) || b".[]".contains(&byte));
    }
    if text.get(at) == Some(&b'=') {
        if reads_environment(&text[at + 1..]) {
            return None;
        }
        return within_quotes(text, at + 1).or_else(|| Some((at + 1, end_of_parameter(text, at + 1))));
    }
    let (_, behind_quote) = quote(text, at)?;
    let colon = skip(text, behind_quote, |byte| byte.is_ascii_whitespace());
    let value = skip(text, text.get(colon).filter(|byte| **byte == b':').map(|_| colon + 1)?, |byte| {
        byte.is_ascii_whitespace()
    });
    within_quotes(text, value).or_else(|| match text.get(value)? {
        b'{' | b'[' => Some((value, end_of_value(text, value))),
        _ => Some((
            value,
            skip(text, value, |byte| !byte.is_ascii_whitespace() && !b",}]\"\\".contains(&byte)),
        )),
    })
}

fn skip(text: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    text[from..].iter().position(|byte| !is(*byte)).map_or(text.len(), |length| from + length)
}

/// The quote that begins here: how many backslashes it has before it, and what comes after it.
fn quote(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let at = skip(text, from, |byte| byte == b'\\');
    (text.get(at) == Some(&b'"')).then_some((at - from, at + 1))
}

/// The text between the quote that begins here and the one that ends it.
fn within_quotes(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let (backslashes, start) = quote(text, from)?;
    let mut at = start;
    loop {
        at = skip(text, at, |byte| byte != b'\\' && byte != b'"');
        if at == text.len() {
            return Some((start, at));
        }
        match quote(text, at) {
            // Quotes and backslashes of what is quoted have more before them: twice as many and one for each
            // depth.
            Some((before, _)) if before % (2 * (backslashes + 1)) == backslashes => {
                return Some((start, at + before - backslashes));
            }
            Some((_, behind)) => at = behind,
            None => at = skip(text, at, |byte| byte == b'\\'),
        }
    }
}

/// Where the JSON value that begins at `from` ends.
pub(super) fn end_of_value(text: &[u8], from: usize) -> usize {
    let (mut depth, mut at) = (0usize, from);
    while at < text.len() {
        match text[at] {
            b'"' => at = end_of_string(text, at + 1),
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

/// Where the JSON string ends whose content begins at `from`.
fn end_of_string(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at.min(text.len())
}

/// Where the value of a parameter ends. That of a header can have its scheme before it.
fn end_of_parameter(text: &[u8], from: usize) -> usize {
    let end_of_word = |from| skip(text, from, |byte| byte > b' ' && !b"&\";".contains(&byte));
    let end = end_of_word(from);
    let is_scheme = ["bearer", "basic", "token"]
        .iter()
        .any(|scheme| text[from..end].eq_ignore_ascii_case(scheme.as_bytes()));
    if is_scheme && text.get(end) == Some(&b' ') { end_of_word(end + 1) } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_name_is_found_in_every_notation() {
        for (text, value) in [
            ("password=abc&x=1", Some("abc")),
            ("/x?password=abc", Some("abc")),
            ("a[password]=abc d", Some("abc")),
            ("a.password.old=abc;d", Some("abc")),
            ("password=\"a b\" c", Some("a b")),
            ("password=Bearer abc def", Some("Bearer abc")),
            (r#"{"password":"a\"b\\","c":1}"#, Some(r#"a\"b\\"#)),
            (r#"{\"password\": \"a\\\"b\",\"c\":1}"#, Some(r#"a\\\"b"#)),
            (r#"{"password" : 12,"c":1}"#, Some("12")),
            (r#"{"password":["a","b"],"c":1}"#, Some(r#"["a","b"]"#)),
            (r#"{"user.password":"a"#, Some("a")),
            ("my_password=abc", None),
            ("password: abc", None),
            ("passwords=abc", None),
            (r#""password" is"#, None),
        ] {
            let from = text.find("password").unwrap();
            let found = value_of(text.as_bytes(), from, from + "password".len());
            assert_eq!(found.map(|(from, to)| &text[from..to]), value, "{text}");
        }
    }
}
