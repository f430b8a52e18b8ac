//! The hash chain of a ledger's file: each line carries a hash over itself and all lines before it.

use sha2::{Digest, Sha256};

const MARK: &[u8] = b",\"hash\":\"";
/// How many bytes of each hash are shown.
const SHOWN: usize = 16;

/// The state of a chain after some lines.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    last: [u8; 32],
}

impl Chain {
    /// The chain of a trial, before its first line.
    pub(super) fn new(trial: &str) -> Self {
        Chain { last: Sha256::digest(trial.as_bytes()).into() }
    }

    /// Writes a line of the memory (`{"n":1,…}`) as a line of the file, with the trial and the hash.
    pub(super) fn seal(&mut self, trial_json: &str, line: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(b"{\"trial\":");
        out.extend_from_slice(trial_json.as_bytes());
        out.push(b',');
        out.extend_from_slice(&line[1..line.len() - 1]);
        self.advance(&out[start..]);
        out.extend_from_slice(MARK);
        out.extend_from_slice(&self.shown());
        out.extend_from_slice(b"\"}\n");
    }

    /// Whether this is the next line of the chain; the chain goes on only then.
    pub(super) fn verify(&mut self, line: &[u8]) -> bool {
        let Some((content, shown)) = split(line) else { return false };
        let before = self.last;
        self.advance(content);
        let fits = self.shown() == shown;
        if !fits {
            self.last = before;
        }
        fits
    }

    /// The last hash, as far as it is shown.
    fn shown(&self) -> [u8; 2 * SHOWN] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        std::array::from_fn(|place| {
            let byte = self.last[place / 2];
            DIGITS[usize::from(if place % 2 == 0 { byte >> 4 } else { byte & 15 })]
        })
    }

    fn advance(&mut self, content: &[u8]) {
        self.last = Sha256::new().chain_update(self.last).chain_update(content).finalize().into();
    }
}

/// The content that was hashed, and the hash as it is shown.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let body = line.strip_suffix(b"\"}")?;
    let at = body.len().checked_sub(2 * SHOWN)?;
    let content = body[..at].strip_suffix(MARK)?;
    Some((content, &body[at..]))
}
