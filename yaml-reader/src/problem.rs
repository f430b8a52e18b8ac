//! A problem in a text: what is wrong, where, and how to fix it, shown with the line.

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::words::escaped;
use super::{Source, Span};

/// The maximum number of problems that are shown; more usually have one cause.
const SHOWN_PROBLEMS: usize = 100;

/// What is shown in place of something hidden.
const HIDDEN: &str = "[hidden]";
/// So many bytes of something hidden are recognized in a message that quotes a part of it.
const SHORTEST_QUOTE: usize = 6;
/// A shorter text is in too many messages by chance.
const SHORTEST_HIDDEN: usize = 3;

/// One problem in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The text that it is in.
    pub file: Source,
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// The text next to the caret.
    pub label: Option<String>,
    /// How to fix it.
    pub help: Option<String>,
}

impl Problem {
    /// A problem at that place.
    #[must_use]
    pub fn new(file: &Source, span: Span, message: impl Into<String>) -> Self {
        Problem { file: file.clone(), span, message: message.into(), label: None, help: None }
    }

    /// Adds a text next to the caret.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Its line and column, counted from 1; columns are characters.
    #[must_use]
    pub fn position(&self) -> (usize, usize) {
        let (line, start, _) = self.line();
        let text = self.file.text();
        (line, text[start..floor(text, self.span.start)].chars().count() + 1)
    }

    /// The problem as text: the message, `file:line:column`, the line with a caret, and the help.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        if self.file.is_withheld() {
            return self.render_withheld(color);
        }
        let (number, start, line) = self.line();
        let text = self.file.text();
        // Of several lines only the first is shown.
        let from = floor(text, self.span.start) - start;
        let to = (floor(text, self.span.end).max(start) - start).clamp(from, line.len().max(from));
        let (name, message) = (escaped(self.file.name()), escaped(&self.without_hidden(&self.message)));
        let label = self.label.as_deref().map(|label| escaped(&self.without_hidden(label)));
        let line = masked(line, start, self.file.hidden());
        let snippet = Snippet::source(&line)
            .line_start(number)
            .path(&name)
            .annotation(AnnotationKind::Primary.span(from..to).label(label.as_deref()));
        let mut group = Level::ERROR.primary_title(&message).element(snippet);
        let help = self.help.as_deref().map(|help| escaped(&self.without_hidden(help)));
        if let Some(help) = &help {
            group = group.element(Level::HELP.message(help));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(140).render(&[group])
    }

    /// A text about the file without what is hidden of it, as a whole or shortened.
    fn without_hidden(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for range in self.file.hidden() {
            let hidden = self.file.text().get(range.clone()).unwrap_or_default();
            let start = &hidden[..floor(hidden, SHORTEST_QUOTE)];
            if start.len() < SHORTEST_HIDDEN {
                continue;
            }
            let (mut shown, mut rest) = (String::new(), text.as_str());
            while let Some(at) = rest.find(start) {
                let same = rest[at..].chars().zip(hidden.chars()).take_while(|(one, other)| one == other);
                let length: usize = same.map(|(same, _)| same.len_utf8()).sum();
                shown.push_str(&rest[..at]);
                shown.push_str(HIDDEN);
                rest = &rest[at + length..];
            }
            shown.push_str(rest);
            text = shown;
        }
        text
    }

    /// The same without the line, the message and the help: each of them can quote the file.
    fn render_withheld(&self, color: bool) -> String {
        let (line, column) = self.position();
        let name = escaped(self.file.name());
        let origin = annotate_snippets::Origin::path(&name).line(line).char_column(column);
        let help = "nothing of this file is shown, because it is outside of the folder of the scenario that \
            names it; put it into that \
                    folder, and the error says what is wrong";
        let group = Level::ERROR
            .primary_title("this file is not valid")
            .element(origin)
            .element(Level::HELP.message(help));
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(140).render(&[group])
    }

    /// The number, the first byte and the text of the line in which it begins.
    fn line(&self) -> (usize, usize, &str) {
        let text = self.file.text();
        let before = &text[..floor(text, self.span.start)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = text[start..].split('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, start, line.strip_suffix('\r').unwrap_or(line))
    }
}

/// A line that begins at this byte of its text, with an asterisk for each hidden byte.
fn masked(line: &str, start: usize, hidden: &[std::ops::Range<usize>]) -> String {
    let mask = |(at, character): (usize, char)| {
        let place = start + at;
        match hidden.iter().any(|range| range.contains(&place)) {
            true => "*".repeat(character.len_utf8()),
            false => character.to_string(),
        }
    };
    line.char_indices().map(mask).collect()
}

/// The place, or the nearest before it at which a character begins.
fn floor(text: &str, place: usize) -> usize {
    let mut at = place.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Problem {}

/// All problems, in the order in which they were found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// All of them as text, an empty line between.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        let mut rendered: Vec<String> =
            self.0.iter().take(SHOWN_PROBLEMS).map(|problem| problem.render(color)).collect();
        if self.len() > SHOWN_PROBLEMS {
            rendered.push(format!("and {} more", self.len() - SHOWN_PROBLEMS));
        }
        rendered.join("\n\n")
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Problems(vec![problem])
    }
}

impl From<Vec<Problem>> for Problems {
    fn from(problems: Vec<Problem>) -> Self {
        Problems(problems)
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        self.0.extend(problems);
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Problems {}
