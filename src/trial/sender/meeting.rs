//! Copies that come at once meet: the first write of each that is about the event is held until every other copy has come
//! to one, too, has been answered, or waits for a lock of one that is held. So no verdict depends on how fast each is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mock_services::{Held, MockServices, MomentKind};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::subject::SupervisorId;
use crate::trial::locked_out;

/// How long copies that come at once wait for each other, where the first comes soon.
const MEET_WITHIN: Duration = Duration::from_secs(10);
/// How many times as long as the first copy the others can take to come to their write. One that takes longer waits for
/// something that is not seen from outside.
const SLOWER: u32 = 4;

pub(super) struct Meeting {
    shared: Arc<MeetingState>,
    tasks: Vec<JoinHandle<()>>,
}

struct MeetingState {
    answered: Mutex<Vec<usize>>,
    changed: Notify,
}

impl Meeting {
    /// Holds requests of these operations until `count` deliveries have come to one or are answered.
    pub(super) fn begin(
        services: &MockServices,
        operations: Vec<String>,
        supervisors: Vec<SupervisorId>,
        count: usize,
        limit: Duration,
    ) -> Self {
        let shared = Arc::new(MeetingState { answered: Mutex::default(), changed: Notify::new() });
        let mut names: Vec<&str> = operations.iter().filter_map(|name| name.split('.').next()).collect();
        names.sort_unstable();
        names.dedup();
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let mut tasks: Vec<JoinHandle<()>> = names
            .into_iter()
            .filter_map(|service| services.listen(service, MomentKind::Arrived))
            .map(|mut listener| {
                let (arrived, operations) = (arrived.clone(), operations.clone());
                tokio::spawn(async move {
                    while let Some(held) = listener.recv().await {
                        if operations.contains(&held.moment.operation) && arrived.send(held).is_err() {
                            break;
                        }
                    }
                })
            })
            .collect();
        tasks.push(tokio::spawn(Arc::clone(&shared).hold(arrivals, supervisors, count, limit)));
        Meeting { shared, tasks }
    }

    /// A delivery to this caller, from 0, is answered.
    pub(super) fn answered(&self, lane: usize) {
        self.shared.answered.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
        self.shared.changed.notify_one();
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl MeetingState {
    async fn hold(
        self: Arc<Self>,
        mut arrivals: mpsc::UnboundedReceiver<Held>,
        supervisors: Vec<SupervisorId>,
        count: usize,
        limit: Duration,
    ) {
        let mut held: Vec<Held> = Vec::new();
        let begun = Instant::now();
        let mut deadline = begun + limit;
        let answered = || self.answered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        while held.len() + answered().len() < count {
            let (holders, absent) = split(&supervisors[..count.min(supervisors.len())], &held, &answered());
            let locked_out = async {
                if holders.is_empty() || absent.is_empty() {
                    std::future::pending::<()>().await;
                }
                locked_out::until_all_locked_out(&holders, &absent).await;
            };
            tokio::select! {
                Some(one) = arrivals.recv() => {
                    if held.is_empty() {
                        deadline = begun + (begun.elapsed() * SLOWER).max(MEET_WITHIN).min(limit);
                    }
                    held.push(one);
                }
                () = self.changed.notified() => {}
                () = locked_out => break,
                () = sleep_until(deadline) => break,
            }
        }
        drop(held);
        // Everything that comes later goes on at once.
        while let Some(one) = arrivals.recv().await {
            drop(one);
        }
    }
}

/// The supervisors of the callers that are held, and of those that have neither come nor been answered.
fn split(
    supervisors: &[SupervisorId],
    held: &[Held],
    answered: &[usize],
) -> (Vec<SupervisorId>, Vec<SupervisorId>) {
    let is_held = |lane: usize| held.iter().any(|held| held.moment.caller as usize == lane + 1);
    let (mut holders, mut absent) = (Vec::new(), Vec::new());
    for (lane, supervisor) in supervisors.iter().enumerate() {
        if is_held(lane) {
            holders.push(supervisor.clone());
        } else if !answered.contains(&lane) {
            absent.push(supervisor.clone());
        }
    }
    (holders, absent)
}
