//! Looking for an effect until there is something to say: what is late or shown late is waited out by looking
//! again. Bounded in looks, not in seconds, because services may count requests.

use std::time::Duration;

use super::Careful;
use crate::subject::control::journal::Record;
use crate::subject::control::tools::{self, Manner, Seen, Trouble};

/// How many looks must find nothing before nothing is there.
pub(super) const LOOKS: u32 = 10;
/// How many looks are given to what has begun and is not done.
const LOOKS_UNDERWAY: u32 = 24;
/// How many looks may go unanswered.
const UNANSWERED: u32 = 4;
const PAUSE: Duration = Duration::from_millis(10);

impl Careful<'_> {
    /// Looks until it is there, has come to nothing, or was not found so many times.
    pub(super) fn watched(&self, record: &mut Record, looks: u32) -> Result<Seen, Trouble> {
        let mut unanswered = 0;
        let mut looked = 0;
        loop {
            let seen = self.seen(record);
            match seen {
                Ok(Seen::Done | Seen::Surplus(_) | Seen::Failed | Seen::Unclear)
                | Err(Trouble::Impossible(_)) => return seen,
                Err(Trouble::Unanswered) => {
                    unanswered += 1;
                    if unanswered == UNANSWERED {
                        return seen;
                    }
                }
                Ok(ref partial) => {
                    looked += 1;
                    let most = if *partial == Seen::Absent { looks } else { LOOKS_UNDERWAY };
                    if looked >= most {
                        return seen;
                    }
                }
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Looks once.
    pub(super) fn seen(&self, record: &mut Record) -> Result<Seen, Trouble> {
        let facts = self.facts(record)?;
        tools::look(&self.wire, &record.step, &facts)
    }

    /// What an attempt is built on: read once, then kept with the record.
    pub(super) fn facts(&self, record: &mut Record) -> Result<serde_json::Value, Trouble> {
        if let Some(facts) = &record.facts {
            return Ok(facts.clone());
        }
        let facts = tools::facts(&self.wire, &record.step, Manner::Conditional)?;
        record.facts = Some(facts.clone());
        Ok(facts)
    }
}
