//! Hangs that hapax ended while the client was still waiting: the trial does not show what the client does
//! when its own timeout expires.

use mock_services::ledger::SilenceEnd;

use super::early_retry::passed;
use super::{FindingContext, entries_of};
use crate::score::verdict::{Finding, FindingKind};

/// The hangs that ended before the client's timeout, in one note.
pub(super) fn finding(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let is_ended =
        |silence: Option<SilenceEnd>| matches!(silence, Some(SilenceEnd::Released | SilenceEnd::Limit));
    let ended: Vec<_> = context
        .history
        .attempts
        .iter()
        .filter(|attempt| attempt.answer.is_some_and(|answer| is_ended(answer.silence)))
        .collect();
    let first = ended.first()?;
    let lasted = first.answer?.at.saturating_sub(first.at);
    let more = match ended.len() {
        1 => String::new(),
        count => format!(" This happened in {count} attempts."),
    };
    Some(Finding {
        message: format!(
            "Client timeout not reached: {} got no reply for {}, then hapax closed the \
             connection while the client was still waiting.{more}",
            first.name(),
            passed(lasted),
        ),
        fix: match first.answer?.silence {
            Some(SilenceEnd::Limit) => {
                "Give the client a timeout. If it has one, set `client_timeout` in hapax.yaml to that time, \
                 so that the trial waits for it."
            }
            Some(SilenceEnd::Caller | SilenceEnd::Released) | None => {
                "This shows a lost connection, not a timeout. To see what happens when the client's own \
                 timeout expires, run a case with `reply: {hang: until-timeout}`, and set `client_timeout` \
                 in hapax.yaml."
            }
        }
        .to_owned(),
        entries: ended.iter().flat_map(|attempt| entries_of(attempt)).collect(),
        ..Finding::new(FindingKind::TimeoutNotReached)
    })
}
