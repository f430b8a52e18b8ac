//! What was captured of an output, and what is shown of it: secrets are hidden first, and then it is cut.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use mock_services::ledger::Ledger;
use serde::{Deserialize, Serialize};

/// The beginning and the end of an output, with more of it at each side of the cut than is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Captured {
    /// The beginning; the whole output where there is no end.
    pub(super) head: String,
    /// The end, where something between them was lost.
    pub(super) tail: Option<String>,
    /// So many bytes of the beginning and of the end are shown.
    pub(super) half: usize,
    /// How many bytes are not shown.
    pub(super) cut: u64,
    /// How many milliseconds after the start it last had something that looks like a claim.
    #[serde(default)]
    pub(super) spoke: Option<u64>,
}

impl Captured {
    /// The part that is shown, as it is.
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
        // On the same line: what stands behind it must not look like a line of its own.
        format!("{}[… {} bytes cut out …]{ends}", hide.part(&self.head, 0..self.half), self.cut)
    }
}

/// Hides secrets in what a subject says; by itself it hides nothing.
#[derive(Clone, Default)]
pub struct Hide(Option<Arc<Ledger>>);

impl Hide {
    /// Hides what this ledger hides, and what free text gives away.
    #[must_use]
    pub fn with(ledger: &Ledger) -> Self {
        Hide(Some(Arc::new(ledger.clone())))
    }

    /// The text without secrets.
    pub(super) fn text(&self, text: &str) -> String {
        self.part(text, 0..text.len())
    }

    /// A part of the text without secrets: those that lie across its ends are hidden, too.
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
