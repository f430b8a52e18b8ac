//! Text of others, escaped, bounded and fitted to a width. It knows nothing of reports.

pub(crate) mod ci_commands;
pub(crate) mod escape;
pub(crate) mod style;
pub(crate) mod words;

use unicode_width::UnicodeWidthChar;

/// Whether a character can change how the text around it is shown without being seen itself, or is none: XML
/// has no way to write it.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || u32::from(character) & 0xfffe == 0xfffe
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn push_harmless(out: &mut String, character: char) {
    if is_harmful(character) {
        out.extend(character.escape_default());
    } else {
        out.push(character);
    }
}

/// The text in one line, at most `most` characters of it, with what could deceive a reader escaped.
#[must_use]
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(most) {
        push_harmless(&mut out, character);
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// The text with its lines kept, its middle left out where it has more than `most` characters, and escaped
/// like [`line`].
#[must_use]
pub(crate) fn block(text: &str, most: usize) -> String {
    let count = text.chars().count();
    let mut out = String::new();
    let mut push = |character: char| match character {
        '\n' | '\t' => out.push(character),
        other => push_harmless(&mut out, other),
    };
    if count <= most {
        text.chars().for_each(push);
        return out;
    }
    let head = most / 2;
    text.chars().take(head).for_each(&mut push);
    let note = format!("\n[{} characters left out]\n", count - most);
    note.chars().for_each(&mut push);
    text.chars().skip(count - (most - head)).for_each(&mut push);
    out
}

/// How many columns a text takes: the sum of its characters, so that a text that is broken anywhere takes no
/// more than before.
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

/// The text in lines of at most so many columns, broken at blanks; a word that is too long is broken where it
/// must be.
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

#[cfg(test)]
mod tests;
