//! Who retried, as far as a client's own headers tell.

use std::collections::BTreeSet;

use mock_services::service::Fields;

use super::retries::{Next, afterwards, doubts};
use super::story::Story;
use super::verdict::RetriedBy;
use crate::scenario::Terms;

/// Headers that count the retries of a call, and what stands there on the first try.
const COUNTS: [(&str, u64); 3] = [("x-stainless-retry-count", 0), ("x-retry-count", 0), ("x-request-attempt", 1)];

/// Doubts beyond this many change nothing in the answer, and each is looked at with all that came after it.
const MOST_DOUBTS: usize = 64;

/// Who retried.
pub(super) fn retried_by(terms: &Terms, story: &Story<'_>) -> RetriedBy {
    let mut seen = BTreeSet::new();
    let (mut client, mut subject, mut unclear) = (false, false, false);
    for doubted in doubts(story).into_iter().take(MOST_DOUBTS) {
        for next in afterwards(terms, story, doubted) {
            let Next::Again(again) = next else { continue };
            if !seen.insert(again.n) {
                continue;
            }
            match again.attempt.and_then(|attempt| is_by_client(&attempt.received.client)) {
                Some(true) => client = true,
                Some(false) => subject = true,
                None => unclear = true,
            }
        }
    }
    match (client, subject, unclear) {
        (false, false, false) => RetriedBy::Nobody,
        (_, _, true) => RetriedBy::NotSure,
        (true, true, _) => RetriedBy::Both,
        (true, false, _) => RetriedBy::Client,
        (false, true, _) => RetriedBy::Subject,
    }
}

/// Whether the client says that this try is its own retry; `None` where it does not say.
fn is_by_client(client: &Fields) -> Option<bool> {
    COUNTS.iter().find_map(|(header, first)| {
        let count: u64 = client.get(header)?.to_string().trim().parse().ok()?;
        Some(count > *first)
    })
}

#[cfg(test)]
#[path = "retried_tests.rs"]
mod tests;
