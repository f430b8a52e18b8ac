//! Events that a receiver did not acknowledge, although nothing kept it from it.

use super::FindingContext;
use crate::score::deliveries::{self, Acknowledgments};
use crate::score::verdict::{Finding, FindingKind};

/// The most copies that are named.
const MAX_NAMED: usize = 3;

/// The finding fails if the receiver took no event at all; one that missed some gets them again, and is only noted.
pub(super) fn finding(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let history = context.history;
    let Acknowledgments { taken, missed } = deliveries::acknowledgments(history);
    if missed.is_empty() || deliveries::nobody_receives(history).is_some() {
        return None;
    }
    let named = missed.iter().take(MAX_NAMED).map(|(copy, answer)| {
        let answered = match answer.event.status {
            0 => "not answered".to_owned(),
            status => format!("answered {status}"),
        };
        format!("{} was {answered}", deliveries::words(copy.event))
    });
    let named = super::sentence(&named.collect::<Vec<_>>().join("; "));
    let all = taken + missed.len();
    let head = match taken {
        0 if all == 1 => "The only event that reached the subject was not acknowledged".to_owned(),
        0 => format!("None of {all} copies of events was acknowledged"),
        _ => format!("{} of {all} copies of events were not acknowledged", missed.len()),
    };
    Some(Finding {
        message: format!("{head}, although no fault kept the subject from it. {named}."),
        fix: "Answer 2xx (a command: exit with status 0) when the event was taken, also when it was handled before, and \
              when there is nothing to do about it: a sender sends everything else again, and gives up in the end."
            .to_owned(),
        entries: missed.iter().flat_map(|(copy, answer)| [copy.n, answer.n]).collect(),
        ..Finding::where_required(FindingKind::Unacknowledged, taken == 0)
    })
}
