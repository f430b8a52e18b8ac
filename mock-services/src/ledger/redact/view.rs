//! A text of a line as somebody would read it: what is escaped in it, as JSON or in percent, shown as what it
//! stands for.

/// The bytes that a text stands for, and where each of them comes from.
#[derive(Debug)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// Where each byte begins in the line, and behind them where the text ends.
    places: Vec<usize>,
}

impl View {
    /// The text that stands between `from` and `to`, its escapes as they are.
    pub(super) fn of(line: &[u8], from: usize, to: usize) -> Self {
        View { bytes: line[from..to].to_vec(), places: (from..=to).collect() }
    }

    /// Where a part of it stands in the line.
    pub(super) fn in_line(&self, (from, to): (usize, usize)) -> (usize, usize) {
        (self.places[from], self.places[to])
    }

    /// Its escapes of JSON resolved once, and those in percent too where they are asked for; `None` where it
    /// has none of them.
    pub(super) fn resolved(&self, percent: bool) -> Option<Self> {
        memchr::memchr2(b'\\', b'%', &self.bytes)?;
        let mut view = View {
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

/// What stands here for another character, and how long it is.
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

/// Whether something is escaped in percent.
pub(in crate::ledger) fn holds_percent_escape(text: &[u8]) -> bool {
    memchr::memchr_iter(b'%', text).any(|at| percent_escape(&text[at..]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_seen_and_its_place_is_known() {
        let line = br#"{"a":"x\n%5F\u00e9\\n%4"}"#;
        let text = View::of(line, 6, line.len() - 2).resolved(false).unwrap();
        assert_eq!(text.bytes, "x\n%5Fé\\n%4".as_bytes());
        assert_eq!(text.in_line((1, 2)), (7, 9));
        let deeper = text.resolved(true).unwrap();
        assert_eq!(deeper.bytes, "x\n_é\n%4".as_bytes());
        assert_eq!(deeper.in_line((2, 5)), (9, 18));
        assert!(deeper.resolved(true).is_none());
        assert!(holds_percent_escape(b"50% of%20it") && !holds_percent_escape(b"50% of it, %+1 and %4"));
    }
}
