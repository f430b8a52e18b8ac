//! Where a value that follows its name ends.

use super::super::names::end_of_value;
use super::{is_blank, skip};

/// The end of the word that begins here.
pub(super) fn end_of_word(text: &[u8], from: usize) -> usize {
    skip(text, from, |byte| byte > b' ' && !b"&;,\"'`<>)}]".contains(&byte))
}

/// The end of the line, blanks before it left out.
pub(super) fn end_of_line(text: &[u8], from: usize) -> usize {
    let end = skip(text, from, |byte| byte != b'\n' && byte != b'\r');
    from + text[from..end].trim_ascii_end().len()
}

/// The text between the quote that begins here and the one that ends it, and what is joined to it without
/// a blank: in a shell, `'a'\''b'` is one word.
pub(super) fn quoted(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let (start, end, behind) = between_quotes(text, from)?;
    let word = skip(text, behind, |byte| byte > b' ' && !b"&;,<>)}]:".contains(&byte));
    let is_joined = word > behind && text[behind] != b'\\' || word > behind + 1;
    Some((start, if is_joined { word } else { end }))
}

/// The text between the quote that begins here and the one that ends it, and what is behind that. The quote can
/// have backslashes before it, and a letter as in Python's `b'…'`.
pub(super) fn between_quotes(text: &[u8], from: usize) -> Option<(usize, usize, usize)> {
    let letter = usize::from(matches!(text.get(from), Some(b'a'..=b'z' | b'A'..=b'Z' | b'$' | b'@')));
    let at = skip(text, from + letter, |byte| byte == b'\\');
    let quote = *text.get(at).filter(|byte| b"\"'`".contains(byte))?;
    let (backslashes, start) = (at - from - letter, at + 1);
    let mut at = start;
    while at < text.len() {
        let run = skip(text, at, |byte| byte == b'\\') - at;
        if text.get(at + run) == Some(&quote) && run % (2 * (backslashes + 1)) == backslashes {
            return Some((start, at + run - backslashes, at + run + 1));
        }
        at += run.max(1) + usize::from(run > 0);
    }
    Some((start, text.len(), text.len()))
}

/// A list or an object.
pub(super) fn nested(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let open = text.get(from).is_some_and(|byte| b"[{".contains(byte));
    (open && !text[from..].starts_with(b"{{")).then(|| (from, end_of_value(text, from)))
}

/// A block of YAML: `|` or `>`, and the lines below it that are indented further than the name.
pub(super) fn yaml_block(text: &[u8], from: usize, indent: usize) -> Option<(usize, usize)> {
    let line = end_of_line(text, from);
    if !matches!(&text[from..line], b"|" | b">" | b"|-" | b">-" | b"|+" | b">+") {
        return None;
    }
    let start = skip(text, line, |byte| byte == b'\r' || byte == b'\n' || is_blank(byte));
    let mut end = start;
    loop {
        end = skip(text, end, |byte| byte != b'\n');
        let next = skip(text, end, |byte| byte == b'\n' || byte == b'\r');
        let deeper = skip(text, next, is_blank);
        if next == text.len() || deeper - next <= indent {
            return Some((start, end));
        }
        end = deeper;
    }
}

/// Whether a reference to another value begins here: a variable, a command, a placeholder.
pub(super) fn stands_for_another(value: &[u8]) -> bool {
    let backslashes = value.iter().take_while(|byte| **byte == b'\\').count();
    let value = match value[backslashes..] {
        [b'"' | b'\'' | b'`', ref inner @ ..] => inner,
        _ => value,
    };
    [&b"${"[..], b"$(", b"{{", b"<", b"%("].iter().any(|start| value.starts_with(start))
}

/// Whether a variable of the environment is read here, and nothing else: `os.environ["API_KEY"]`. Tracebacks show
/// such lines, and its value is not in them; a second operand or a default could be a secret.
pub(in crate::ledger::redact) fn reads_environment(value: &[u8]) -> bool {
    const CALLS: [&str; 10] = [
        "os.environ[",
        "os.environ.get(",
        "os.getenv(",
        "environ[",
        "getenv(",
        "os.Getenv(",
        "System.getenv(",
        "process.env[",
        "ENV[",
        "ENV.fetch(",
    ];
    const MEMBERS: [&str; 2] = ["process.env.", "import.meta.env."];
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let after = |start: &&str| value.strip_prefix(start.as_bytes());
    let rest = match (CALLS.iter().find_map(after), MEMBERS.iter().find_map(after)) {
        (Some([quote @ (b'"' | b'\''), inner @ ..]), _) => match inner[skip(inner, 0, in_name)..] {
            [ref end, b']' | b')', ref rest @ ..] if end == quote => rest,
            _ => return false,
        },
        (_, Some(inner)) => &inner[skip(inner, 0, in_name)..],
        _ => return false,
    };
    matches!(rest[skip(rest, 0, is_blank)..], [] | [b'\n' | b'\r' | b',' | b';' | b')' | b'}' | b']', ..])
}

/// Whether it is a reference to another value, or says that there is none.
pub(super) fn is_no_secret(value: &[u8]) -> bool {
    const NOTHING: [&str; 9] = ["true", "false", "null", "none", "nil", "undefined", "yes", "no", "not"];
    stands_for_another(value)
        || value.iter().all(|byte| b"*.x-".contains(byte))
        || NOTHING.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a word of a sentence is more likely a secret than a word.
pub(super) fn looks_secret(word: &[u8], shortest: usize) -> bool {
    let has = |is: fn(&u8) -> bool| word.iter().any(is);
    let letters = has(u8::is_ascii_alphabetic);
    let mixed = word.iter().skip(1).any(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    word.len() >= shortest && letters && (has(u8::is_ascii_digit) || mixed)
}
