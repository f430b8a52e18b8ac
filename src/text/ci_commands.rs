//! Keeps text of a subject from acting as a command of a CI system. The runners of GitHub and others read
//! commands from the output of a step: `::name …::` at the start of a line, after optional spaces, and
//! `##[name]`, `##vso[name]` or `##teamcity[name]` anywhere in a line. Each format has its own way to write
//! the same characters so that no runner detects a command.

use std::borrow::Cow;

/// Text for a terminal, with colors: a backslash is put before a command.
#[must_use]
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(':') && !text.contains('#') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    // .NET, in which GitHub's runner is written, ends a line at a carriage return, too.
    for line in text.split_inclusive(['\n', '\r']) {
        let start = beginning(line);
        out.push_str(&line[..start]);
        if begins_command(&line[start..]) {
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
    // JSON has such characters only in strings, and none of its lines starts in a string.
    push_hashes(&mut out, json, "\\u005b");
    Cow::Owned(out)
}

/// A page: the same characters as entities. Lines that start with colons need no change: text of others is
/// never more than one line there.
#[must_use]
pub(crate) fn page(page: &str) -> Cow<'_, str> {
    if !page.contains("##") {
        return Cow::Borrowed(page);
    }
    let mut out = String::with_capacity(page.len() + 8);
    push_hashes(&mut out, page, "&#91;");
    Cow::Owned(out)
}

/// XML: the same characters as entities.
#[must_use]
pub(crate) fn markup(markup: &str) -> Cow<'_, str> {
    if !markup.contains(':') && !markup.contains('#') {
        return Cow::Borrowed(markup);
    }
    let mut out = String::with_capacity(markup.len() + 8);
    for line in markup.split_inclusive(['\n', '\r']) {
        let start = beginning(line);
        out.push_str(&line[..start]);
        let rest = &line[start..];
        let is_command = begins_command(rest);
        out.push_str(if is_command { "&#58;" } else { "" });
        push_hashes(&mut out, &rest[usize::from(is_command)..], "&#91;");
    }
    Cow::Owned(out)
}

/// The start of a line after its spaces and colors.
fn beginning(line: &str) -> usize {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start();
        match color(trimmed) {
            0 => return line.len() - trimmed.len(),
            length => rest = &trimmed[length..],
        }
    }
}

/// Whether two colons follow, with colors between them.
fn begins_command(text: &str) -> bool {
    let behind = |text: &str| Some(text.strip_prefix(':')?.len()).map(|length| text.len() - length);
    behind(text).is_some_and(|first| {
        let mut rest = &text[first..];
        while color(rest) > 0 {
            rest = &rest[color(rest)..];
        }
        behind(rest).is_some()
    })
}

/// The length of the color sequence that starts here; 0 if there is none.
fn color(text: &str) -> usize {
    let Some(sequence) = text.strip_prefix("\u{1b}[") else { return 0 };
    sequence.find(|character: char| character.is_ascii_alphabetic()).map_or(0, |end| end + 3)
}

/// Adds the text, with another bracket instead of each one that would make the hashes before it a command.
fn push_hashes(out: &mut String, text: &str, bracket: &str) {
    let (mut hashes, mut in_word, mut rest) = (0, false, text);
    while let Some(character) = rest.chars().next() {
        // Colors are removed when the output is a pipe.
        let length = color(rest).max(character.len_utf8());
        let (piece, behind) = rest.split_at(length);
        rest = behind;
        match character {
            '[' if hashes >= 2 => out.push_str(bracket),
            _ => out.push_str(piece),
        }
        match character {
            '\u{1b}' if length > 1 => {}
            '#' if !in_word => hashes += 1,
            '#' => (hashes, in_word) = (1, false),
            other if other.is_ascii_alphanumeric() && hashes >= 2 => in_word = true,
            _ => (hashes, in_word) = (0, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether a runner finds a command in the text, once its colors are taken out.
    pub(crate) fn acts(printed: &str) -> bool {
        let plain = anstream::adapter::strip_str(printed).to_string();
        plain.split(['\n', '\r']).any(|line| {
            let hashes = ["##[", "##vso[", "##teamcity["].iter().any(|command| line.contains(command));
            line.trim_start().starts_with("::") || hashes
        })
    }

    #[test]
    fn what_would_be_a_command_is_shown_and_does_nothing() {
        for (wrote, shown) in [
            ("::error::x", "\\::error::x"),
            ("a\n  ::set-output name=a::b", "a\n  \\::set-output name=a::b"),
            ("a\r::stop-commands::x", "a\r\\::stop-commands::x"),
            ("\u{a0}\u{1b}[1m ::debug::x", "\u{a0}\u{1b}[1m \\::debug::x"),
            ("a ##[group]b ##vso[task.x]c", "a ##\\[group]b ##vso\\[task.x]c"),
            (":\u{1b}[1m:debug::#\u{1b}[0m#[x]", "\\:\u{1b}[1m:debug::#\u{1b}[0m#\\[x]"),
            ("###[x] ####[y]", "###\\[x] ####\\[y]"),
        ] {
            assert!(acts(wrote), "{wrote:?}");
            assert_eq!(text(wrote), shown);
        }
        for harmless in ["std::fs::read", "a :: b", "## Heading", "[1] # 2", "", "x ::1"] {
            assert_eq!(text(harmless), harmless);
            assert_eq!(markup(harmless), harmless);
        }
    }

    #[test]
    fn other_formats_say_the_same_in_their_own_way() {
        let wrote = "::error::x ##[group]y";
        let written = serde_json::to_string(wrote).unwrap();
        let inert = json(&written);
        assert!(!acts(&inert), "{inert}");
        assert_eq!(serde_json::from_str::<String>(&inert).unwrap(), wrote);
        assert_eq!(markup("a\n::error::x ##[b]"), "a\n&#58;:error::x ##&#91;b]");
    }

    proptest! {
        #[test]
        fn nothing_that_is_printed_acts(wrote in "(::|#|##|\\[|vso|\\n|\\r| |a|\u{1b}\\[1m|:){0,12}") {
            prop_assert!(!acts(&text(&wrote)), "{:?}", text(&wrote));
            prop_assert!(!acts(&markup(&wrote)), "{:?}", markup(&wrote));
            let written = serde_json::to_string(&wrote).unwrap();
            prop_assert!(!acts(&json(&written)));
            prop_assert_eq!(serde_json::from_str::<String>(&json(&written)).unwrap(), wrote);
        }
    }
}
