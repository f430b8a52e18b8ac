//! Keeps text of a subject from acting as a command of a CI system. The runners of GitHub and others read commands from whatever a step
//! prints: `::name …::` at the beginning of a line, blanks before it included, and `##[name]`, `##vso[name]` or `##teamcity[name]`
//! anywhere in it. Every format has its own way to write the same characters so that no runner finds them.

use std::borrow::Cow;

/// Text for a terminal, colors included: a backslash stands before what would begin a command.
#[must_use]
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    // .NET, in which GitHub's runner is written, ends a line at a carriage return, too.
    for line in text.split_inclusive(['\n', '\r']) {
        let start = beginning(line);
        out.push_str(&line[..start]);
        if line[start..].starts_with("::") {
            out.push('\\');
        }
        push_hashes(&mut out, &line[start..], "\\[");
    }
    Cow::Owned(out)
}

/// JSON: the same value, written with an escape.
#[must_use]
pub(crate) fn json(json: &str) -> Cow<'_, str> {
    if !json.contains("##") {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8);
    // Outside of its texts JSON has no such characters, and none of its lines begins within a text.
    push_hashes(&mut out, json, "\\u005b");
    Cow::Owned(out)
}

/// A page: the same characters, written as entities. Lines that begin with colons are left to its style sheet: no text of others is more
/// than one line there.
#[must_use]
pub(crate) fn page(page: &str) -> Cow<'_, str> {
    if !page.contains("##") {
        return Cow::Borrowed(page);
    }
    let mut out = String::with_capacity(page.len() + 8);
    push_hashes(&mut out, page, "&#91;");
    Cow::Owned(out)
}

/// XML: the same characters, written as entities.
#[must_use]
pub(crate) fn markup(markup: &str) -> Cow<'_, str> {
    if !markup.contains("::") && !markup.contains("##") {
        return Cow::Borrowed(markup);
    }
    let mut out = String::with_capacity(markup.len() + 8);
    for line in markup.split_inclusive(['\n', '\r']) {
        let start = beginning(line);
        out.push_str(&line[..start]);
        let rest = match line[start..].strip_prefix("::") {
            Some(rest) => {
                out.push_str("&#58;&#58;");
                rest
            }
            None => &line[start..],
        };
        push_hashes(&mut out, rest, "&#91;");
    }
    Cow::Owned(out)
}

/// Where a line begins behind its blanks and colors.
fn beginning(line: &str) -> usize {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start();
        let Some(sequence) = trimmed.strip_prefix("\u{1b}[") else { return line.len() - trimmed.len() };
        let Some(end) = sequence.find(|character: char| character.is_ascii_alphabetic()) else {
            return line.len() - trimmed.len();
        };
        rest = &sequence[end + 1..];
    }
}

/// Adds the text, another bracket in the place of each that would make a command of the hashes before it.
fn push_hashes(out: &mut String, text: &str, bracket: &str) {
    let mut rest = text;
    while let Some(at) = rest.find("##") {
        let after = rest[at..].trim_start_matches('#').trim_start_matches(|character: char| character.is_ascii_alphanumeric());
        let before = &rest[..rest.len() - after.len()];
        out.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(after) => {
                out.push_str(bracket);
                after
            }
            None => after,
        };
    }
    out.push_str(rest);
}

#[cfg(test)]
#[path = "inert_tests.rs"]
mod tests;
