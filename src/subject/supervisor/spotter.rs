//! When an output last had one of some texts.

use std::time::Instant;

/// Looks for texts in an output that comes in parts.
#[derive(Debug)]
pub(super) struct Spotter {
    marks: Vec<Vec<u8>>,
    /// The end of what came before: a text can come in two parts.
    rest: Vec<u8>,
    began: Instant,
    spoke: Option<u64>,
}

impl Spotter {
    /// Looks for these texts from now on.
    pub(super) fn new(marks: &[String]) -> Self {
        let marks =
            marks.iter().filter(|mark| !mark.is_empty()).map(|mark| mark.clone().into_bytes()).collect();
        Spotter { marks, rest: Vec::new(), began: Instant::now(), spoke: None }
    }

    /// Takes what came next.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(longest) = self.marks.iter().map(Vec::len).max() else { return };
        self.rest.extend(bytes);
        if self.marks.iter().any(|mark| self.rest.windows(mark.len()).any(|part| part == mark.as_slice())) {
            self.spoke = Some(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX));
            // What was found is not found again.
            self.rest.clear();
        }
        let over = self.rest.len().saturating_sub(longest - 1);
        self.rest.drain(..over);
    }

    /// After how many milliseconds one of the texts last came.
    pub(super) fn spoke(&self) -> Option<u64> {
        self.spoke
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spotted(parts: &[&str]) -> bool {
        let mut spotter = Spotter::new(&["\"outcome\"".to_owned(), "placed".to_owned()]);
        parts.iter().for_each(|part| spotter.push(part.as_bytes()));
        spotter.spoke().is_some()
    }

    #[test]
    fn a_text_is_found_in_whatever_parts_it_comes() {
        assert!(spotted(&["{\"outcome\": \"done\"}\n"]));
        assert!(spotted(&["{\"out", "come\": \"done\"}\n"]));
        assert!(spotted(&["order p", "l", "ace", "d", " and more"]));
        assert!(!spotted(&["outcome placd", "place"]));
        assert!(!spotted(&[]));
        let mut nothing = Spotter::new(&[]);
        nothing.push(b"anything");
        assert_eq!(nothing.spoke(), None);
    }
}
