//! What was not ended when the trial ended: held money, a lock that was not released.

use std::collections::HashSet;

use super::Core;
use crate::ledger::{CommitTiming, Event};
use crate::service::Service;

impl<S: Service> Core<S> {
    /// Records what was begun and not ended, each once and under the attempt that began it.
    pub(in crate::engine) fn record_left_behind(&self) {
        let setting = &self.setting;
        let mut seen = HashSet::new();
        for past in self.history.iter().filter(|past| past.reads.is_some() && past.reverted.is_none()) {
            let Some(facts) = setting.service.left_behind(&self.state, &past.effect) else { continue };
            if seen.insert((facts.effect.clone(), facts.id.clone())) {
                setting.ledger.append(Event::Committed {
                    attempt: past.attempt,
                    effect: facts.effect.as_ref().into(),
                    id: facts.id.into(),
                    fields: facts.fields,
                    timing: CommitTiming::LeftBehind,
                });
            }
        }
    }
}
