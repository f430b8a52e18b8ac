//! Keeps the start and the end of an output. It keeps a margin at each side of the cut beyond what is shown,
//! because a secret that crosses the cut is found only if it is complete.

use std::collections::VecDeque;

use crate::subject::captured::Captured;

/// The number of bytes that are kept at each side of the cut and not shown. No secret that is found by its
/// form is longer.
pub(super) const CUT_MARGIN: usize = 64 * 1024;

/// A bounded part of an output.
#[derive(Debug)]
pub(super) struct BoundedOutput {
    /// The number of bytes that are shown.
    max_shown: usize,
    /// The number of bytes that are kept at each end.
    max_kept: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The number of bytes between the two.
    dropped: u64,
}

impl BoundedOutput {
    /// Keeps enough to show up to `max_shown` bytes, and a margin at each side of the cut.
    pub(super) fn new(max_shown: usize, margin: usize) -> Self {
        BoundedOutput {
            max_shown,
            max_kept: max_shown / 2 + margin,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Adds the next part.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.max_kept - self.head.len()));
        self.head.extend(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.max_kept);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// The captured output.
    pub(super) fn captured(&self) -> Captured {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (head, tail) = if self.dropped == 0 {
            (text(&[self.head.as_slice(), &tail].concat()), None)
        } else {
            (text(&self.head), Some(text(&tail)))
        };
        let total = self.dropped + (self.head.len() + self.tail.len()) as u64;
        let shown = self.max_shown / 2 * 2;
        Captured {
            head,
            tail,
            half: self.max_shown / 2,
            cut: total.saturating_sub(shown as u64),
            last_claim: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn the_middle_is_cut_out_and_counted() {
        for margin in [0, 1, 100] {
            let mut kept = BoundedOutput::new(8, margin);
            for part in ["abc", "defgh", "ijkl", ""] {
                kept.push(part.as_bytes());
            }
            assert_eq!(kept.captured().text(), "abcd[… 4 bytes cut out …]ijkl");
        }
    }

    #[test]
    fn a_character_that_is_split_between_parts_is_kept() {
        let mut kept = BoundedOutput::new(4, 0);
        kept.push(&"aé".as_bytes()[..2]);
        kept.push(&"aé".as_bytes()[2..]);
        assert_eq!(kept.captured().text(), "aé");
    }

    proptest! {
        #[test]
        fn first_and_last_bytes_are_kept_and_every_byte_is_counted(
            parts in vec(vec(any::<u8>(), 0..40), 0..20),
            max_shown in 0usize..100,
            margin in 0usize..20,
        ) {
            let mut kept = BoundedOutput::new(max_shown, margin);
            parts.iter().for_each(|part| kept.push(part));
            let all = parts.concat();
            let tail: Vec<u8> = kept.tail.iter().copied().collect();
            prop_assert!(kept.head.len() + tail.len() <= max_shown + 2 * margin);
            prop_assert!(all.starts_with(&kept.head) && all.ends_with(&tail));
            prop_assert_eq!(kept.head.len() as u64 + tail.len() as u64 + kept.dropped, all.len() as u64);
            let captured = kept.captured();
            prop_assert_eq!(captured.cut, (all.len() as u64).saturating_sub(max_shown as u64 / 2 * 2));
        }

        #[test]
        fn what_is_shown_does_not_depend_on_the_margin(
            text in "[a-zé\n]{0,80}",
            max_shown in 0usize..60,
            margin in 0usize..40,
        ) {
            let shown = |margin: usize| {
                let mut kept = BoundedOutput::new(max_shown, margin);
                kept.push(text.as_bytes());
                kept.captured().text()
            };
            // Without a margin a character can be cut in two.
            let plain = |text: String| text.replace(['é', '\u{fffd}'], "");
            prop_assert_eq!(plain(shown(margin)), plain(shown(0)));
        }
    }
}
