//! What the callers of a trial waited for, from its ledger. Pure.

use std::collections::HashMap;

use mock_services::ledger::{BarrierEvent, Entry, Event};

use crate::domain::SubjectEvent;
use crate::results::WaitTimes;

/// Adds what the callers of a trial waited for.
pub(super) fn add(waited: &mut WaitTimes, entries: &[Entry]) {
    // In microseconds; what a caller waits for begins once and ends once.
    let (mut barriers, mut hangs, mut replies, mut restarts, mut running) = (0, 0, 0, 0, 0);
    let mut at_barrier: HashMap<u32, u64> = HashMap::new();
    let mut attempts: HashMap<u64, u64> = HashMap::new();
    let (mut started, mut ended): (HashMap<_, u64>, HashMap<_, u64>) = (HashMap::new(), HashMap::new());
    for Entry { at, event, .. } in entries {
        let since = |begun: Option<u64>| begun.map_or(0, |begun| at.saturating_sub(begun));
        match event {
            Event::Barrier { caller, event: BarrierEvent::Held } => {
                at_barrier.insert(*caller, *at);
            }
            Event::Barrier { caller, event: BarrierEvent::Admitted | BarrierEvent::GaveUp } => {
                barriers += since(at_barrier.remove(caller));
            }
            Event::Received(received) => {
                attempts.insert(received.attempt, *at);
            }
            Event::Replied { attempt, silence, .. } => {
                let time = since(attempts.remove(attempt));
                *if silence.is_some() { &mut hangs } else { &mut replies } += time;
            }
            Event::Noted { caller, .. } => match SubjectEvent::from_event(event) {
                Ok(Some(SubjectEvent::Started(_))) => {
                    restarts += since(ended.remove(caller));
                    started.insert(*caller, *at);
                }
                Ok(Some(SubjectEvent::Ended(_))) => {
                    running += since(started.remove(caller));
                    ended.insert(*caller, *at);
                }
                _ => {}
            },
            _ => {}
        }
    }
    let subject = u64::saturating_sub(running, barriers + hangs + replies);
    for (sum, time) in [
        (&mut waited.barriers_ms, barriers),
        (&mut waited.hangs_ms, hangs),
        (&mut waited.replies_ms, replies),
        (&mut waited.restarts_ms, restarts),
        (&mut waited.subject_ms, subject),
    ] {
        *sum += time / 1000;
    }
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;
    use mock_services::ledger::SilenceEnd;
    use mock_services::service::Fields;

    use super::*;
    use crate::domain::StartEnd;
    use crate::score::testing::{LedgerScript, Sees};

    #[test]
    fn each_time_is_counted_once_and_the_rest_is_that_of_the_subject() {
        let mut script = LedgerScript::new();
        script.started(1);
        script.add(Event::Barrier { caller: 1, event: BarrierEvent::Held });
        script.wait(99).add(Event::Barrier { caller: 1, event: BarrierEvent::Admitted });
        let hanging = script.received("payment.charge", None, &Fields::new());
        script.wait(499).add(Event::Replied {
            attempt: hanging,
            reply: ReplyKind::Hang,
            status: None,
            bytes: 0,
            whole: false,
            replay: false,
            retry_after: None,
            silence: Some(SilenceEnd::Caller),
            message: None,
        });
        script.wait(50);
        let delayed = script.received("payment.charge", None, &Fields::new());
        script.wait(19).replied(delayed, Sees::Ok);
        script.ended(1, StartEnd::Signaled(9));
        script.wait(1_999).started(2);
        script.wait(9).ended(2, StartEnd::Exited(0));
        let mut waited = WaitTimes { barriers_ms: 1, ..WaitTimes::default() };
        add(&mut waited, &script.end());
        assert_eq!(
            waited,
            WaitTimes {
                barriers_ms: 101,
                hangs_ms: 500,
                replies_ms: 20,
                restarts_ms: 2_000,
                // From each start to its end: 674 and 10.
                subject_ms: 674 + 10 - 620,
            }
        );
    }
}
