//! The message after `DATA`: finds its end and removes the stuffed dots. The result does not depend on how
//! the bytes are split. Only CRLF ends a line, which prevents SMTP smuggling with bare line feeds.

/// A message that is being received.
#[derive(Debug)]
pub(super) struct IncomingMessage {
    message: Vec<u8>,
    limit: usize,
    too_large: bool,
    at: BytePosition,
}

/// The position of the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BytePosition {
    LineStart,
    Dot,
    DotCr,
    Text,
    Cr,
}

impl IncomingMessage {
    /// A message of at most `limit` bytes; the rest is read and discarded.
    pub(super) fn new(limit: usize) -> Self {
        IncomingMessage { message: Vec::new(), limit, too_large: false, at: BytePosition::LineStart }
    }

    /// Reads more bytes. Returns how many were used and whether the end was among them; bytes after the end
    /// are not used.
    pub(super) fn read(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut used = 0;
        while let Some(&byte) = bytes.get(used) {
            if self.at == BytePosition::Text && byte != b'\r' {
                let rest = &bytes[used..];
                let run = rest.iter().position(|byte| *byte == b'\r').unwrap_or(rest.len());
                self.keep(&rest[..run]);
                used += run;
                continue;
            }
            used += 1;
            if self.step(byte) {
                return (used, true);
            }
        }
        (used, false)
    }

    /// The message; `None` if it was larger than allowed.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        (!self.too_large).then_some(self.message)
    }

    fn step(&mut self, byte: u8) -> bool {
        match (self.at, byte) {
            (BytePosition::DotCr, b'\n') => return true,
            (BytePosition::LineStart, b'.') => {
                self.at = BytePosition::Dot;
                return false;
            }
            (BytePosition::Dot, b'\r') => {
                self.at = BytePosition::DotCr;
                return false;
            }
            (BytePosition::DotCr, _) => {
                self.keep(b"\r");
                self.at = BytePosition::Cr;
            }
            _ => {}
        }
        self.keep(&[byte]);
        self.at = match (self.at, byte) {
            (BytePosition::Cr, b'\n') => BytePosition::LineStart,
            (_, b'\r') => BytePosition::Cr,
            _ => BytePosition::Text,
        };
        false
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.too_large || bytes.len() > self.limit - self.message.len() {
            self.too_large = true;
            self.message = Vec::new();
        } else {
            self.message.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stuffed(message: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut line_start = true;
        for (index, byte) in message.iter().enumerate() {
            if line_start && *byte == b'.' {
                bytes.push(b'.');
            }
            bytes.push(*byte);
            line_start = *byte == b'\n' && index > 0 && message[index - 1] == b'\r';
        }
        bytes.extend_from_slice(if message.is_empty() || message.ends_with(b"\r\n") {
            b".\r\n"
        } else {
            b"\r\n.\r\n"
        });
        bytes
    }

    #[test]
    fn only_a_dot_between_two_crlf_ends_the_message() {
        for harmless in [&b"a\n.\r\nb"[..], b"a\r\n.\nb", b"a\r.\r\nb", b"a\n.\nb", b"a\r\n.\r.\r\nb"] {
            let mut incoming = IncomingMessage::new(100);
            assert_eq!(incoming.read(harmless), (harmless.len(), false), "{harmless:?}");
        }
        assert_eq!(IncomingMessage::new(100).read(b"a\r\n.\r\nQUIT\r\n"), (6, true));
        assert_eq!(IncomingMessage::new(100).read(b".\r\n"), (3, true));
    }

    #[test]
    fn a_message_over_the_limit_is_read_to_its_end_and_not_kept() {
        let mut incoming = IncomingMessage::new(4);
        assert_eq!(incoming.read(b"abc\r\n.\r\n"), (8, true));
        assert_eq!(incoming.message.capacity(), 0);
        assert_eq!(incoming.finish(), None);
    }

    proptest! {
        #[test]
        fn stuffed_dots_are_removed(
            message in proptest::collection::vec(proptest::sample::select(&b".\r\nab"[..]), 0..60),
            cut in 0usize..80,
        ) {
            let wire = stuffed(&message);
            let cut = cut.min(wire.len());
            let mut incoming = IncomingMessage::new(1000);
            let (used, done) = incoming.read(&wire[..cut]);
            if !done {
                prop_assert_eq!(used, cut);
                prop_assert_eq!(incoming.read(&wire[cut..]), (wire.len() - cut, true));
            }
            let mut wanted = message.clone();
            if !message.is_empty() && !message.ends_with(b"\r\n") {
                wanted.extend_from_slice(b"\r\n");
            }
            prop_assert_eq!(incoming.finish(), Some(wanted));
        }
    }
}
