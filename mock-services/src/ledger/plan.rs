//! The plan record of a ledger file: one line in front of all ledgers that says what the file was meant to
//! hold. Its content belongs to whoever writes the file; here it is only sealed, and the first entry of each
//! ledger in the file carries its hash.

use super::chain::{Chain, split};

/// How a plan record begins. No entry of a ledger begins so: those begin with the name of their trial.
pub(super) const BEGINS: &[u8] = b"{\"plan\":";

/// A plan record as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPlan {
    /// The number of its line in the file, from 1.
    pub line: u64,
    /// What it says, as JSON.
    pub json: String,
    /// The hash that the first entry of each of its ledgers carries; `None` where the line was changed or
    /// damaged.
    pub hash: Option<String>,
}

/// The line of a plan, with its end, and its hash.
pub(super) fn seal(json: &str) -> (Vec<u8>, String) {
    let mut line = [BEGINS, json.as_bytes(), b"}\n"].concat();
    Chain::new("plan").seal(&mut line, 0);
    let hash = read(&line[..line.len() - 1], 1).and_then(|plan| plan.hash).unwrap_or_default();
    (line, hash)
}

/// The plan of a line without its end; `None` where the line is no plan record.
pub(super) fn read(line: &[u8], number: u64) -> Option<SavedPlan> {
    if !line.starts_with(BEGINS) {
        return None;
    }
    let (content, shown) = split(line).unwrap_or((line, b""));
    let is_whole = Chain::new("plan").verify(line) == Some(true);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(SavedPlan {
        line: number,
        json: text(&content[BEGINS.len()..]),
        hash: is_whole.then(|| text(shown)),
    })
}
