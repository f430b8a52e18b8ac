//! Who made each retry, and what shows it.

use mock_services::catalog;

use std::collections::BTreeMap;

use super::history::{Attempt, TrialHistory};
use super::retries::{Again, Doubted, Next, afterwards, recoverable};
use super::signs::{self, Bytes, Keys, Signs};
use super::verdict::{RetriedBy, Retry};
use crate::scenario::Terms;

/// Doubts beyond this many are not looked at: each is looked at with all that came after it.
const MOST_DOUBTS: usize = 64;
/// So many retries are told one by one.
const MOST_TOLD: usize = 32;

/// Who retried, over all retries, and the first of them one by one.
pub(super) fn retried(terms: &Terms, history: &TrialHistory<'_>) -> (RetriedBy, Vec<Retry>) {
    // Each retry is held against the latest attempt that it can be a retry of.
    let mut found: BTreeMap<u64, (Doubted<'_, '_>, Again<'_, '_>)> = BTreeMap::new();
    for doubted in recoverable(terms, history).into_iter().take(MOST_DOUBTS) {
        for next in afterwards(terms, history, doubted) {
            if let Next::Again(again) = next {
                found.insert(again.n, (doubted, again));
            }
        }
    }
    let mut retries: Vec<Retry> =
        found.into_values().map(|(doubted, again)| retry(history, doubted, again)).collect();
    let by = summed_up(&retries);
    retries.truncate(MOST_TOLD);
    (by, retries)
}

fn summed_up(retries: &[Retry]) -> RetriedBy {
    let Some(first) = retries.first() else { return RetriedBy::Nobody };
    let is_alike = retries.iter().all(|retry| retry.by == first.by);
    let is_unclear = retries.iter().any(|retry| retry.by == RetriedBy::NotSure);
    match (is_alike, is_unclear) {
        (true, _) => first.by,
        (false, true) => RetriedBy::NotSure,
        (false, false) => RetriedBy::Several,
    }
}

fn retry(history: &TrialHistory<'_>, doubted: Doubted<'_, '_>, again: Again<'_, '_>) -> Retry {
    let Some(attempt) = again.attempt else { return refused(again) };
    let signs = signs_of(history, doubted, attempt);
    Retry { entry: again.n, attempt: Some(attempt.number()), by: signs.by(), evidence: signs.evidence() }
}

/// Of a request that was refused nothing is known but its key, which is that of the first attempt.
fn refused(again: Again<'_, '_>) -> Retry {
    let (by, evidence) = match again.key.and_then(signs::minted) {
        Some(begin) => {
            (RetriedBy::Client, format!("same key, which the client makes for each call ({begin}…)"))
        }
        None => (
            RetriedBy::NotSure,
            "same key; the service refused the request, so nothing else is known of it".to_owned(),
        ),
    };
    Retry { entry: again.n, attempt: None, by, evidence }
}

fn signs_of(history: &TrialHistory<'_>, doubted: Doubted<'_, '_>, attempt: &Attempt<'_>) -> Signs {
    let (before, now) = (doubted.attempt.received, attempt.received);
    let between = doubted.doubt.n..attempt.n;
    let first_of =
        |received: &mock_services::ledger::Received<'_>| received.repeats.unwrap_or(received.attempt);
    let bytes = if first_of(before) == first_of(now) {
        Bytes::Same
    } else if before.fields == now.fields {
        Bytes::Rewritten
    } else {
        Bytes::Other
    };
    let key = match (before.key.as_deref(), now.key.as_deref()) {
        (None, None) => Keys::None,
        (Some(one), Some(other)) if one == other => Keys::Same,
        (Some(_), Some(_)) => Keys::New,
        _ => Keys::One,
    };
    let read = history.attempts.iter().find(|read| {
        !read.write
            && read.caller() == attempt.caller()
            && between.contains(&read.n)
            && catalog::reveals(read.operation(), attempt.operation())
    });
    Signs {
        bytes,
        key,
        minted: now.key.as_deref().and_then(signs::minted),
        gap: attempt.at.saturating_sub(doubted.doubt.at),
        same_connection: before.connection == now.connection,
        count: signs::count(&now.client),
        trace: signs::trace(&before.client, &now.client),
        read: read.map(Attempt::number),
        restarted: history.was_restarted(attempt.caller(), between),
        retrying: signs::retrying(&now.client),
    }
}

#[cfg(test)]
mod tests;
