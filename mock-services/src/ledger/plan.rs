//! The plan record of a ledger file: one line before all ledgers that says what the file was meant to hold.
//! Its content belongs to the writer of the file; here it is only sealed, and the first entry of each ledger
//! in the file carries its hash.

use super::chain::{Chain, split};
use super::entry::LEDGER_FORMAT;

/// How a plan record begins: with its format. An entry of a ledger begins with the name of its trial.
const OPENING: &[u8] = b"{\"format\":";
/// What is between the format and the content.
const BEFORE_CONTENT: &[u8] = b",\"plan\":";
/// How a plan record of the first format begins.
const FIRST_OPENING: &[u8] = b"{\"plan\":";

/// A ledger or plan record was written in another format than the one that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its format is {found}, and this version reads format {LEDGER_FORMAT}: run again")]
pub struct OtherFormat {
    /// Its format.
    pub found: u32,
}

impl OtherFormat {
    /// Accepts only the format of this version.
    pub(super) fn check(found: u32) -> Result<(), OtherFormat> {
        if found == LEDGER_FORMAT { Ok(()) } else { Err(OtherFormat { found }) }
    }
}

/// A plan record as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPlan {
    /// The number of its line in the file, from 1.
    pub line: u64,
    /// Its content, as JSON.
    pub json: String,
    /// The hash that the first entry of each of its ledgers carries; `None` if the line was changed or
    /// damaged.
    pub hash: Option<String>,
}

/// The line of a plan, with its end, and its hash.
pub(super) fn seal(json: &str) -> (Vec<u8>, String) {
    let format = LEDGER_FORMAT.to_string();
    let mut line = [OPENING, format.as_bytes(), BEFORE_CONTENT, json.as_bytes(), b"}\n"].concat();
    Chain::new("plan").seal(&mut line, 0);
    let (_, shown) = split(&line[..line.len() - 1]).unwrap_or_default();
    let hash = String::from_utf8_lossy(shown).into_owned();
    (line, hash)
}

/// Whether a line is a plan record of any format, or the beginning of one.
pub(super) fn is_plan(line: &[u8]) -> bool {
    line.starts_with(OPENING) || line.starts_with(FIRST_OPENING)
}

/// The plan of a line without its end.
///
/// # Errors
/// When its format is not the one that is read here.
pub(super) fn read(line: &[u8], number: u64) -> Result<SavedPlan, OtherFormat> {
    let (content, shown) = split(line).unwrap_or((line, b""));
    let (format, json) = split_format(content);
    OtherFormat::check(format)?;
    let is_whole = Chain::new("plan").verify(line) == Some(true);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(SavedPlan { line: number, json: text(json), hash: is_whole.then(|| text(shown)) })
}

/// The format of a plan record, and its content.
fn split_format(content: &[u8]) -> (u32, &[u8]) {
    let Some(rest) = content.strip_prefix(OPENING) else { return (1, content) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let format = str::from_utf8(&rest[..digits]).unwrap_or_default().parse().unwrap_or_default();
    (format, rest[digits..].strip_prefix(BEFORE_CONTENT).unwrap_or_default())
}
