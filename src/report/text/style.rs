//! Colours, or none: what is said is the same without them.

use anstyle::{AnsiColor, Style};

/// Paints text, where colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextStyle {
    /// Whether colours are wanted.
    pub(crate) color: bool,
}

impl TextStyle {
    fn with(self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// What went wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// What went right.
    pub(crate) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// What proves nothing.
    pub(crate) fn unsure(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// What to look at.
    pub(crate) fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// What can be passed over.
    pub(crate) fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }
}
