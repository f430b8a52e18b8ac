//! What is kept of an output without end: its beginning and its end. Beyond what is shown, a margin is kept
//! at each side of the cut: a secret that lies across the cut is only found where all of it is there.

use std::collections::VecDeque;

use crate::subject::captured::Captured;

/// So many bytes are kept at each side of the cut and not shown. No secret that is found by its form is
/// longer.
pub(super) const MARGIN: usize = 64 * 1024;

/// A bounded part of an output.
#[derive(Debug)]
pub(super) struct Kept {
    /// So much of it is shown.
    most: usize,
    /// So much is kept at each end.
    each: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How many bytes came between the two.
    lost: u64,
}

impl Kept {
    /// Keeps what is needed to show up to `most` bytes, and a margin at each side of the cut.
    pub(super) fn new(most: usize, margin: usize) -> Self {
        Kept { most, each: most / 2 + margin, head: Vec::new(), tail: VecDeque::new(), lost: 0 }
    }

    /// Takes what came next.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.each - self.head.len()));
        self.head.extend(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.each);
        self.tail.drain(..over);
        self.lost += over as u64;
    }

    /// What was kept.
    pub(super) fn captured(&self) -> Captured {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (head, tail) = if self.lost == 0 {
            (text(&[self.head.as_slice(), &tail].concat()), None)
        } else {
            (text(&self.head), Some(text(&tail)))
        };
        let came = self.lost + (self.head.len() + self.tail.len()) as u64;
        let shown = self.most / 2 * 2;
        Captured { head, tail, half: self.most / 2, cut: came.saturating_sub(shown as u64), spoke: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_middle_is_cut_out_and_counted() {
        for margin in [0, 1, 100] {
            let mut kept = Kept::new(8, margin);
            for part in ["abc", "defgh", "ijkl", ""] {
                kept.push(part.as_bytes());
            }
            assert_eq!(kept.captured().text(), "abcd[… 4 bytes cut out …]ijkl");
        }
    }

    #[test]
    fn a_character_that_came_in_two_parts_is_whole() {
        let mut kept = Kept::new(4, 0);
        kept.push(&"aé".as_bytes()[..2]);
        kept.push(&"aé".as_bytes()[2..]);
        assert_eq!(kept.captured().text(), "aé");
    }

    proptest! {
        #[test]
        fn first_and_last_bytes_are_kept_and_none_is_forgotten(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20), most in 0usize..100, margin in 0usize..20) {
            let mut kept = Kept::new(most, margin);
            parts.iter().for_each(|part| kept.push(part));
            let all = parts.concat();
            let tail: Vec<u8> = kept.tail.iter().copied().collect();
            prop_assert!(kept.head.len() + tail.len() <= most + 2 * margin);
            prop_assert!(all.starts_with(&kept.head) && all.ends_with(&tail));
            prop_assert_eq!(kept.head.len() as u64 + tail.len() as u64 + kept.lost, all.len() as u64);
            let captured = kept.captured();
            prop_assert_eq!(captured.cut, (all.len() as u64).saturating_sub(most as u64 / 2 * 2));
        }

        #[test]
        fn what_is_shown_does_not_depend_on_the_margin(text in "[a-zé\n]{0,80}", most in 0usize..60, margin in 0usize..40) {
            let shown = |margin: usize| {
                let mut kept = Kept::new(most, margin);
                kept.push(text.as_bytes());
                kept.captured().text()
            };
            // Without a margin a character can be cut in two.
            let plain = |text: String| text.replace(['é', '\u{fffd}'], "");
            prop_assert_eq!(plain(shown(margin)), plain(shown(0)));
        }
    }
}
