//! Captured output, and the part of it that is shown: secrets are hidden before it is cut.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use mock_services::ledger::Ledger;
use serde::{Deserialize, Serialize};

/// The start and the end of an output, with more at each side of the cut than is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Captured {
    /// The start; the whole output where `tail` is `None`.
    pub(super) head: String,
    /// The end, if the middle was dropped.
    pub(super) tail: Option<String>,
    /// The number of bytes of the start and of the end that are shown.
    pub(super) half: usize,
    /// The number of bytes that are not shown.
    pub(super) cut: u64,
    /// When it last had a text that looks like a claim, in milliseconds after the start.
    #[serde(default)]
    pub(super) last_claim: Option<u64>,
}

impl Captured {
    /// The part that is shown, with secrets.
    pub(super) fn text(&self) -> String {
        self.with(&Hide::default())
    }

    /// The part that is shown, without secrets.
    pub(super) fn with(&self, hide: &Hide) -> String {
        if self.cut == 0 {
            return hide.part(&self.head, 0..self.head.len());
        }
        let tail = self.tail.as_deref().unwrap_or(&self.head);
        let ends = hide.part(tail, tail.len().saturating_sub(self.half)..tail.len());
        // On the same line, so that the text after the cut does not look like a whole line.
        format!("{}[… {} bytes cut out …]{ends}", hide.part(&self.head, 0..self.half), self.cut)
    }
}

/// Hides secrets in the output of a subject. The default hides nothing.
#[derive(Clone, Default)]
pub struct Hide(Option<Arc<Ledger>>);

impl Hide {
    /// Hides the secrets of this ledger, and what looks like a secret in free text.
    #[must_use]
    pub fn with(ledger: &Ledger) -> Self {
        Hide(Some(Arc::new(ledger.clone())))
    }

    /// The text without secrets.
    pub(super) fn text(&self, text: &str) -> String {
        self.part(text, 0..text.len())
    }

    /// A part of the text without secrets, including those that cross its ends.
    pub(super) fn part(&self, text: &str, part: Range<usize>) -> String {
        if let Some(ledger) = &self.0 {
            return ledger.redacted_part(text, part);
        }
        let floor = |at: usize| {
            (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
        };
        text[floor(part.start).min(floor(part.end))..floor(part.end)].to_owned()
    }
}

impl fmt::Debug for Hide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hide(secrets)" } else { "Hide(nothing)" })
    }
}
