//! The hash chain of a ledger's file: the last of the lines that are written together carries a hash over all
//! of them and all before them.

use blake3::Hasher;

const MARK: &[u8] = b",\"hash\":\"";
/// How many bytes of each hash are shown.
const SHOWN: usize = 16;

/// The state of a chain after some lines.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    /// What has come since the last hash, which is its key.
    hasher: Hasher,
}

impl Chain {
    /// The chain of a trial, before its first line.
    pub(super) fn new(trial: &str) -> Self {
        Chain { hasher: Hasher::new_keyed(blake3::hash(trial.as_bytes()).as_bytes()) }
    }

    /// Seals the lines from `start` on, of which each ends with a line end: the last gets the hash.
    pub(super) fn seal(&mut self, lines: &mut Vec<u8>, start: usize) {
        let Some(open) = lines[start..].strip_suffix(b"}\n") else { return };
        let length = start + open.len();
        lines.truncate(length);
        let hash = self.hash_with(&lines[start..]);
        lines.extend_from_slice(MARK);
        lines.extend_from_slice(&hash);
        lines.extend_from_slice(b"\"}\n");
    }

    /// Takes the next line, without its end: `None` if it carries no hash, and otherwise whether that is
    /// right.
    pub(super) fn verify(&mut self, line: &[u8]) -> Option<bool> {
        let Some((content, shown)) = split(line) else {
            self.hasher.update(line);
            self.hasher.update(b"\n");
            return None;
        };
        Some(self.hash_with(content) == shown)
    }

    /// The hash over all so far, as far as it is shown.
    fn hash_with(&mut self, content: &[u8]) -> [u8; 2 * SHOWN] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let hash = *self.hasher.update(content).finalize().as_bytes();
        // As a key and not as the first bytes: a hash is made fastest from one piece.
        self.hasher = Hasher::new_keyed(&hash);
        std::array::from_fn(|place| {
            let byte = hash[place / 2];
            DIGITS[usize::from(if place % 2 == 0 { byte >> 4 } else { byte & 15 })]
        })
    }
}

/// The hash that a line carries, as it is shown; empty if it carries none.
pub(super) fn shown_hash(line: &[u8]) -> String {
    split(line).map_or_else(String::new, |(_, shown)| String::from_utf8_lossy(shown).into_owned())
}

/// The content that was hashed, and the hash as it is shown. No text of an entry can look like it: its quotes
/// would be escaped.
pub(super) fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let body = line.strip_suffix(b"\"}")?;
    let at = body.len().checked_sub(2 * SHOWN)?;
    let content = body[..at].strip_suffix(MARK)?;
    Some((content, &body[at..]))
}
