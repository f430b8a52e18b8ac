//! Who sent a request that came after its trial had ended. What carries a key of the run is the subject's, whichever
//! port it came to and whichever process sent it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use mock_services::ledger::LateSender;
use mock_services::{LateSenders, MockServices};

use crate::subject::{Subject, SubjectServer};

/// The keys of the services of all trials of a run.
#[derive(Debug, Clone, Default)]
pub struct RunKeys(Arc<Mutex<HashSet<String>>>);

impl RunKeys {
    /// Adds the keys of a trial.
    pub(super) fn add(&self, services: &MockServices) {
        let keys = services.names().filter_map(|name| services.key(name)).map(str::to_owned);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(keys);
    }

    fn has(&self, word: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(word)
    }
}

/// Says of a late request whether another process sent it, which has nothing to do with the subject.
pub(super) fn late_senders(subject: &Subject, keys: &RunKeys) -> LateSenders {
    let (server, keys) = (SubjectServer::of(subject), keys.clone());
    let brings_own_keys = subject.settings.calls_real_hosts();
    Arc::new(move |call| {
        let has_key = (brings_own_keys && call.has_credential()) || call.has_word(|word| keys.has(word));
        let is_foreign = || call.connection.is_some_and(|(client, hapax)| server.is_foreign(client, hapax));
        if !has_key && is_foreign() { LateSender::Foreign } else { LateSender::Subject }
    })
}
