//! Tells the start barrier which callers cannot come, because they wait for a lock of a caller that waits
//! there.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use mock_services::{AwaitedCallers, MockServices};

use crate::subject::SupervisorId;

/// The time between two looks at the processes of the callers. A caller that does anything in this time is
/// not taken for one that waits.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Watches the callers; it never ends. Without `/proc` the barrier opens when its time is over.
pub(super) async fn watch(services: &MockServices, supervisors: &[SupervisorId]) -> Infallible {
    let mut last = None;
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let awaited = services.awaited_callers();
        let now = match &awaited {
            Some(awaited) => look(awaited, supervisors).await,
            None => None,
        };
        if let Some(AwaitedCallers { absent, .. }) = awaited.filter(|_| now.is_some() && now == last) {
            services.callers_locked_out(&absent);
        }
        last = now;
    }
}

#[cfg(target_os = "linux")]
async fn look(
    awaited: &AwaitedCallers,
    supervisors: &[SupervisorId],
) -> Option<crate::subject::locked_out::LockedOut> {
    use crate::subject::locked_out::{self, CallerProcesses};

    let processes = |callers: &BTreeSet<u32>| -> Option<CallerProcesses> {
        let of = |caller: &u32| {
            let index = usize::try_from(*caller).ok()?.checked_sub(1)?;
            Some((*caller, supervisors.get(index)?.get()?))
        };
        callers.iter().map(of).collect()
    };
    let (held, absent) = (processes(&awaited.held)?, processes(&awaited.absent)?);
    tokio::task::spawn_blocking(move || locked_out::look(&held, &absent)).await.ok()?
}

#[cfg(not(target_os = "linux"))]
async fn look(_awaited: &AwaitedCallers, _supervisors: &[SupervisorId]) -> Option<BTreeSet<u32>> {
    None
}
