//! Where a `hapax.yaml` has secrets, also if it is no valid YAML: problems with the file must not show them. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use mock_services::ledger::secret_parts;

use crate::subject::secret_words::{is_secret_option, is_secret_word};

/// Keys of `hapax.yaml` that have such a name, and whose values are names or rules.
const OWN_KEYS: [&str; 3] = ["pass", "key", "keys"];

/// A shorter text is found elsewhere by chance.
const SHORTEST_REPEATED: usize = 6;

/// The secrets of a text, in order.
pub(crate) fn secret_values(text: &str) -> Vec<Range<usize>> {
    let is_own = |range: &Range<usize>| {
        let line = text[..range.start].rsplit('\n').next().unwrap_or_default().trim_start();
        is_filled(&text[range.clone()]) || OWN_KEYS.iter().any(|key| line.starts_with(&format!("{key}:")))
    };
    let mut found: Vec<Range<usize>> =
        secret_parts(text).into_iter().filter(|range| !is_own(range)).collect();
    // The indentation of a name whose secret value stands in the lines below it.
    let mut block: Option<usize> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        let indent = content.len() - content.trim_start().len();
        let within = |range: Range<usize>| start + range.start..start + range.end;
        if content.is_empty() || block.is_some_and(|above| indent > above) {
            found.push(within(indent.min(content.len())..content.len()));
        } else {
            block = None;
            for value in named_values(content) {
                let is_below = value.is_empty() || matches!(&content[value.clone()], "|" | ">" | "|-" | ">-");
                if is_below && value.end == content.len() {
                    block = Some(indent);
                } else {
                    found.push(within(value));
                }
            }
            found.extend(option_values(content).map(within));
        }
        start += line.len();
    }
    // The same text elsewhere is the same secret.
    let texts: BTreeSet<&str> = found.iter().map(|range| &text[range.clone()]).collect();
    for secret in texts.into_iter().filter(|secret| secret.len() >= SHORTEST_REPEATED) {
        found.extend(text.match_indices(secret).map(|(at, _)| at..at + secret.len()));
    }
    found.retain(|range| !range.is_empty());
    found.sort_by_key(|range| (range.start, range.end));
    found.dedup();
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// The values in a line behind names that say that they are secret.
fn named_values(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_name(bytes[at]) {
            at += 1;
            continue;
        }
        let end = (at..bytes.len()).find(|next| !is_name(bytes[*next])).unwrap_or(bytes.len());
        let name = &line[at..end];
        at = end;
        if !is_secret_option(name) || OWN_KEYS.contains(&name) {
            continue;
        }
        let after = if matches!(bytes.get(end), Some(b'"' | b'\'')) { end + 1 } else { end };
        let is_assigned = bytes.get(after) == Some(&b'=');
        let is_key =
            bytes.get(after) == Some(&b':') && bytes.get(after + 1).is_none_or(u8::is_ascii_whitespace);
        if is_assigned || is_key {
            let value = value_at(line, after + 1, is_assigned);
            at = value.end.max(at);
            let value = without_quotes(line, value);
            if is_hidden(&line[value.clone()]) {
                found.push(value);
            }
        }
    }
    found
}

/// Whether a value is one: not a switch, a number, or only what hapax puts in its place.
fn is_hidden(value: &str) -> bool {
    !is_filled(value) && (value.is_empty() || value.contains(char::is_whitespace) || is_secret_word(value))
}

/// Whether a value is only what hapax puts in its place, such as `${payment.key}`.
fn is_filled(value: &str) -> bool {
    value.starts_with("${") && value.find('}') == Some(value.len() - 1)
}

/// The value without the quotes around it; the last can be missing.
fn without_quotes(line: &str, value: Range<usize>) -> Range<usize> {
    let text = &line[value.clone()];
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let is_closed = text.len() > 1 && text.ends_with(quote);
            value.start + 1..value.end - usize::from(is_closed)
        }
        _ => value,
    }
}

/// The value that begins at or after this byte: to the end of its quotes, of its place in a list or map of one line,
/// or of the line.
fn value_at(line: &str, from: usize, is_word: bool) -> Range<usize> {
    let rest = &line[from..];
    let begin = from + (rest.len() - rest.trim_start().len());
    let rest = &line[begin..];
    let is_in_flow = line[..begin].contains(['{', '[']);
    let length = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].find(quote).map_or(rest.len(), |at| at + 2),
        Some('[') => rest.find(']').map_or(rest.len(), |at| at + 1),
        _ if is_word => rest.find([' ', '"', '\'', ',', ']', '}']).unwrap_or(rest.len()),
        _ if is_in_flow => rest.find([',', '}', ']']).unwrap_or(rest.len()),
        _ => rest.find(" #").unwrap_or(rest.len()),
    };
    begin..begin + rest[..length].trim_end().len()
}

/// The words behind options such as `--token`.
fn option_values(line: &str) -> impl Iterator<Item = Range<usize>> {
    let is_between = |character: char| character.is_whitespace() || "[]{},\"'".contains(character);
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for word in line.split(is_between) {
        if !word.is_empty() {
            words.push(from..from + word.len());
        }
        // What is between two words has one byte.
        from += word.len() + 1;
    }
    let pairs: Vec<Range<usize>> = words
        .windows(2)
        .filter_map(|pair| {
            let [option, value] = pair else { return None };
            let (name, text) = (&line[option.clone()], &line[value.clone()]);
            let is_option = name.starts_with('-') && is_secret_option(name) && !name.contains('=');
            (is_option && !text.starts_with('-') && !text.contains('$') && is_secret_word(text))
                .then(|| value.clone())
        })
        .collect();
    pairs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> Vec<&str> {
        secret_values(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn the_values_of_secret_names_are_found_also_in_bad_lines() {
        for (text, expected) in [
            ("env:\n  SHOP_TOKEN: abcdefgh\n", "abcdefgh"),
            ("env:\n  SHOP_TOKEN: abc: defgh # why\n", "abc: defgh"),
            ("env: { SHOP_TOKEN: abcdefgh, TZ: UTC }\n", "abcdefgh"),
            ("env:\n  SHOP_TOKEN: \"abcdefgh\n", "abcdefgh"),
            ("env:\n  'SHOP_TOKEN': 'abcdefgh' x\n", "abcdefgh"),
            ("env:\n  SHOP_TOKEN: abc${defgh\n", "abc${defgh"),
            ("env:\n  SHOP_TOKEN: |\n    abcdefgh\n  TZ: UTC\n", "abcdefgh"),
            ("env:\n  SHOP_TOKEN:\n    abcdefgh\n  TZ: UTC\n", "abcdefgh"),
            ("command: [agent, --token, abcdefgh, --fast]\n", "abcdefgh"),
            ("command: env SHOP_TOKEN=abcdefgh agent\n", "abcdefgh"),
        ] {
            assert!(hidden(text).contains(&expected), "{text}: {:?}", hidden(text));
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "pass: [SHOP_TOKEN, OPENAI_API_KEY]\n",
            "env:\n  SHOP_TOKEN: ${payment.key}\n  MAX_TOKENS: 100\n  USE_TOKEN: true\n",
            "command: [agent, --max-tokens, many, --token-file, path]\n",
            "subjects:\n  shop:\n    command: python3 agent.py\n    timeout: 5s\n",
        ] {
            assert_eq!(hidden(text), [] as [&str; 0], "{text}");
        }
    }
}
