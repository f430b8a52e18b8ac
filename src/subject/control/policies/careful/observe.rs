//! Reads the state of an effect repeatedly, to wait for late commits and stale reads. The limit is a number
//! of reads, not a time, because services can count requests.

use std::time::Duration;

use super::Careful;
use crate::subject::control::journal::IntentRecord;
use crate::subject::control::tools::{self, Observation, ToolError, WriteMode};

/// The number of reads without the effect after which it counts as absent.
pub(super) const OBSERVATIONS: u32 = 10;
/// The number of reads for an effect that is in progress.
const OBSERVATIONS_UNDERWAY: u32 = 24;
/// The number of reads without a reply.
const MAX_UNANSWERED: u32 = 4;
const PAUSE: Duration = Duration::from_millis(10);

impl Careful<'_> {
    /// Reads until the effect exists, has failed, or was absent this many times.
    pub(super) fn observe_repeatedly(
        &self,
        record: &mut IntentRecord,
        observations: u32,
    ) -> Result<Observation, ToolError> {
        let mut unanswered = 0;
        let mut observed = 0;
        loop {
            let observation = self.observation(record);
            match observation {
                Ok(
                    Observation::Done | Observation::Surplus(_) | Observation::Failed | Observation::Unclear,
                )
                | Err(ToolError::Impossible(_)) => return observation,
                Err(ToolError::Unanswered) => {
                    unanswered += 1;
                    if unanswered == MAX_UNANSWERED {
                        return observation;
                    }
                }
                Ok(ref partial) => {
                    observed += 1;
                    let max_observations =
                        if *partial == Observation::Absent { observations } else { OBSERVATIONS_UNDERWAY };
                    if observed >= max_observations {
                        return observation;
                    }
                }
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads once.
    pub(super) fn observation(&self, record: &mut IntentRecord) -> Result<Observation, ToolError> {
        let facts = self.facts(record)?;
        tools::observe(&self.wire, &record.step, &facts)
    }

    /// The facts for an attempt: read once, then kept in the record.
    pub(super) fn facts(&self, record: &mut IntentRecord) -> Result<serde_json::Value, ToolError> {
        if let Some(facts) = &record.facts {
            return Ok(facts.clone());
        }
        let read = || tools::facts(&self.wire, &record.step, WriteMode::Conditional);
        // Facts that are read anew are those of another attempt.
        let facts = self.shared.facts(&format!("{}-{}", record.id, record.key), read)?;
        record.facts = Some(facts.clone());
        Ok(facts)
    }
}
