//! A text with its escapes resolved, as JSON or in percent.

/// The bytes of a text with its escapes resolved, and where each of them comes from.
#[derive(Debug)]
pub(super) struct EscapeView {
    pub(super) bytes: Vec<u8>,
    /// Where each byte begins in the original text, and after them where the text ends.
    places: Vec<usize>,
}

impl EscapeView {
    /// The text between `from` and `to`, its escapes as they are.
    pub(super) fn new(text: &[u8], from: usize, to: usize) -> Self {
        EscapeView { bytes: text[from..to].to_vec(), places: (from..=to).collect() }
    }

    /// Where a part of it is in the original text.
    pub(super) fn in_text(&self, (from, to): (usize, usize)) -> (usize, usize) {
        (self.places[from], self.places[to])
    }

    /// The same with its JSON escapes resolved once more, and with `percent` also its percent escapes; `None`
    /// where it has none of them.
    pub(super) fn resolved(&self, percent: bool) -> Option<Self> {
        memchr::memchr2(b'\\', b'%', &self.bytes)?;
        let mut view = EscapeView {
            bytes: Vec::with_capacity(self.bytes.len()),
            places: Vec::with_capacity(self.places.len()),
        };
        let (mut at, mut has_escapes) = (0, false);
        while at < self.bytes.len() {
            let rest = &self.bytes[at..];
            let before = view.bytes.len();
            let length = match json_escape(rest) {
                Some((char, length)) => {
                    view.bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                    length
                }
                None => {
                    let byte = percent_escape(rest).filter(|_| percent);
                    view.bytes.push(byte.unwrap_or(rest[0]));
                    if byte.is_some() { 3 } else { 1 }
                }
            };
            view.places.resize(view.places.len() + view.bytes.len() - before, self.places[at]);
            has_escapes |= length > 1;
            at += length;
        }
        view.places.push(self.places[at]);
        has_escapes.then_some(view)
    }
}

/// The character of the JSON escape that begins here, and the length of the escape.
fn json_escape(text: &[u8]) -> Option<(char, usize)> {
    let [b'\\', kind, digits @ ..] = text else { return None };
    let char = match kind {
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let code =
                digits.get(..4)?.iter().try_fold(0, |code, digit| Some(code << 4 | hex_digit(*digit)?))?;
            return Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 6));
        }
        _ => return None,
    };
    Some((char, 2))
}

fn percent_escape(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    u8::try_from(hex_digit(*high)? << 4 | hex_digit(*low)?).ok()
}

fn hex_digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_and_their_places_are_known() {
        let line = br#"{"a":"x\n%5F\u00e9\\n%4"}"#;
        let text = EscapeView::new(line, 6, line.len() - 2).resolved(false).unwrap();
        assert_eq!(text.bytes, "x\n%5Fé\\n%4".as_bytes());
        assert_eq!(text.in_text((1, 2)), (7, 9));
        let deeper = text.resolved(true).unwrap();
        assert_eq!(deeper.bytes, "x\n_é\n%4".as_bytes());
        assert_eq!(deeper.in_text((2, 5)), (9, 18));
        assert!(deeper.resolved(true).is_none());
        assert!(EscapeView::new(b"50% of it, %+1 and %4", 0, 21).resolved(true).is_none());
    }
}
