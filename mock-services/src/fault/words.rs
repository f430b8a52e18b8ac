//! The words and limits of faults in YAML. The reader, the checks and the JSON Schema of scenarios use the
//! same tables.

use std::ops::RangeInclusive;

use super::{After, Commit, CutPlace, DEFAULT_DRIP, DEFAULT_RELEASE, Reply, Truncation};

/// The value of `attempt` that means all attempts.
pub const EVERY: &str = "every";
/// The value of `where` that includes attempts with effects that the task does not intend.
pub const ANY: &str = "any";
/// The value of `hang` that keeps the connection open until the client closes it.
pub const UNTIL_TIMEOUT: &str = "until-timeout";

/// The words that are a whole `commit`.
pub const COMMIT_WORDS: [(&str, Commit); 4] = [
    ("now", Commit::Now),
    ("never", Commit::Never),
    ("later", Commit::Later(After::Settled)),
    ("twice", Commit::Twice),
];

/// The words that are a whole `reply`.
pub const REPLY_WORDS: [(&str, Reply); 7] = [
    ("ok", Reply::Ok),
    ("drop", Reply::Drop),
    ("reset", Reply::Reset),
    ("hang", Reply::Hang { release: Some(DEFAULT_RELEASE) }),
    ("truncate", Reply::Truncate(Truncation::Length)),
    ("garble", Reply::Garble),
    ("drip", Reply::Drip(DEFAULT_DRIP)),
];

/// The words of `truncate`.
pub const TRUNCATION_WORDS: [(&str, Truncation); 5] = [
    ("length", Truncation::Length),
    ("chunked", Truncation::Chunked),
    (CutPlace::Word.as_str(), Truncation::At(CutPlace::Word)),
    (CutPlace::Arguments.as_str(), Truncation::At(CutPlace::Arguments)),
    (CutPlace::EndMarker.as_str(), Truncation::At(CutPlace::EndMarker)),
];

/// The value of `after` in a `delay` of the body.
pub const HEADERS: &str = "headers";

/// The maximum number of faults in one list; each is compared with all before it.
pub const MAX_FAULTS: usize = 1000;
/// The statuses that a reply can have.
pub const STATUSES: RangeInclusive<u16> = 200..=599;
