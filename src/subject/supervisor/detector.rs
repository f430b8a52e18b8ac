//! Detects when an output last had a text that identifies a claim.

use std::time::Instant;

/// Searches texts in an output that arrives in parts.
#[derive(Debug)]
pub(super) struct ClaimDetector {
    marks: Vec<Vec<u8>>,
    /// The end of the previous part: a text can be split between parts.
    rest: Vec<u8>,
    began: Instant,
    last_claim: Option<u64>,
}

impl ClaimDetector {
    /// A detector for these texts; its clock starts now.
    pub(super) fn new(marks: &[String]) -> Self {
        let marks =
            marks.iter().filter(|mark| !mark.is_empty()).map(|mark| mark.clone().into_bytes()).collect();
        ClaimDetector { marks, rest: Vec::new(), began: Instant::now(), last_claim: None }
    }

    /// Adds the next part.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(longest) = self.marks.iter().map(Vec::len).max() else { return };
        self.rest.extend(bytes);
        if self.marks.iter().any(|mark| self.rest.windows(mark.len()).any(|part| part == mark.as_slice())) {
            self.last_claim = Some(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX));
            // A text is found only once.
            self.rest.clear();
        }
        let over = self.rest.len().saturating_sub(longest - 1);
        self.rest.drain(..over);
    }

    /// When one of the texts last arrived, in milliseconds after the start.
    pub(super) fn last_claim(&self) -> Option<u64> {
        self.last_claim
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_detected(parts: &[&str]) -> bool {
        let mut detector = ClaimDetector::new(&["\"outcome\"".to_owned(), "placed".to_owned()]);
        parts.iter().for_each(|part| detector.push(part.as_bytes()));
        detector.last_claim().is_some()
    }

    #[test]
    fn a_text_that_is_split_between_parts_is_found() {
        assert!(is_detected(&["{\"outcome\": \"done\"}\n"]));
        assert!(is_detected(&["{\"out", "come\": \"done\"}\n"]));
        assert!(is_detected(&["order p", "l", "ace", "d", " and more"]));
        assert!(!is_detected(&["outcome placd", "place"]));
        assert!(!is_detected(&[]));
        let mut nothing = ClaimDetector::new(&[]);
        nothing.push(b"anything");
        assert_eq!(nothing.last_claim(), None);
    }
}
