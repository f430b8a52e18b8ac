//! What is kept of an output without end: the first half of what may be kept, and the last.

use std::collections::VecDeque;

/// A bounded part of an output.
#[derive(Debug)]
pub(super) struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    cut: u64,
}

impl Kept {
    /// Keeps up to so many bytes.
    pub(super) fn new(most: usize) -> Self {
        Kept { half: most / 2, head: Vec::new(), tail: VecDeque::new(), cut: 0 }
    }

    /// Takes what came next.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.cut += over as u64;
    }

    /// How many bytes were cut out.
    pub(super) fn cut(&self) -> u64 {
        self.cut
    }

    /// What was kept, with a word where the middle was cut out.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.cut == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        // On the same line: what stands behind it must not look like a line of its own.
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}[… {} bytes cut out …]{tail}", self.cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_middle_is_cut_out_and_counted() {
        let mut kept = Kept::new(8);
        for part in ["abc", "defgh", "ijkl", ""] {
            kept.push(part.as_bytes());
        }
        assert_eq!((kept.text().as_str(), kept.cut()), ("abcd[… 4 bytes cut out …]ijkl", 4));
    }

    #[test]
    fn a_character_that_came_in_two_parts_is_whole() {
        let mut kept = Kept::new(4);
        kept.push(&"aé".as_bytes()[..2]);
        kept.push(&"aé".as_bytes()[2..]);
        assert_eq!(kept.text(), "aé");
    }

    proptest! {
        #[test]
        fn first_and_last_bytes_are_kept_and_none_is_forgotten(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20), most in 0usize..100) {
            let mut kept = Kept::new(most);
            parts.iter().for_each(|part| kept.push(part));
            let all = parts.concat();
            let tail: Vec<u8> = kept.tail.iter().copied().collect();
            prop_assert!(kept.head.len() + tail.len() <= most);
            prop_assert!(all.starts_with(&kept.head) && all.ends_with(&tail));
            prop_assert_eq!(kept.head.len() as u64 + tail.len() as u64 + kept.cut(), all.len() as u64);
        }
    }
}
