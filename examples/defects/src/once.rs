//! Makes one effect happen exactly once, as long as the request that it is given is safe to send again: it has the
//! same key and the same body each time, or a condition. This part is right; the defects are in what the programs give
//! to it.

use std::time::Duration;

use crate::program::Outcome;
use crate::world::{NoReply, Reply, ReplyKind, Request, World, pause};

/// The largest number of attempts.
const MAX_ATTEMPTS: u32 = 4;
/// The longest time that it waits while a key or a lock is in use.
const MAX_BUSY: Duration = Duration::from_secs(3);
/// The pause while a key or a lock is in use and the service does not say how long.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// The number of reads without the effect after which it counts as absent: reads can lag.
const MAX_LOOKS: u32 = 12;
/// The number of reads without an answer after which nothing can be found out.
const MAX_UNANSWERED: u32 = 4;

/// What a read shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// The effect is there.
    Present,
    /// The effect is not there, or not yet visible.
    Absent,
    /// There was no usable answer.
    Unanswered,
}

impl Sight {
    /// What an answer shows; `None` is no answer.
    pub(crate) fn of(is_there: Option<bool>) -> Self {
        match is_there {
            Some(true) => Sight::Present,
            Some(false) => Sight::Absent,
            None => Sight::Unanswered,
        }
    }
}

/// What has happened to the attempts before this one.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tries {
    /// The number of this attempt, from 1.
    pub(crate) number: u32,
    /// How many attempts had no clear reply.
    pub(crate) unclear: u32,
    /// How many of them were answered with 5xx.
    pub(crate) failed: u32,
    /// How many of these were answered with 503.
    pub(crate) unavailable: u32,
    /// How many of them were answered with 429.
    pub(crate) limited: u32,
    /// How many of them had no reply at all.
    pub(crate) lost: u32,
    /// How many of them were answered with a success that could not be read.
    pub(crate) garbled: u32,
    /// How many keys cannot succeed any more, because the service has stored a failure for them.
    pub(crate) burned: u32,
    /// The status of each attempt before this one; 0 without a reply.
    pub(crate) statuses: [u16; MAX_ATTEMPTS as usize],
    /// How each of them without a reply ended.
    pub(crate) ends: [Option<NoReply>; MAX_ATTEMPTS as usize],
    /// What was read after the last unclear reply, where the program reads before it retries.
    pub(crate) last_look: Option<Sight>,
}

impl Tries {
    /// Whether one of the attempts was answered with this status.
    pub(crate) fn had(&self, status: u16) -> bool {
        self.statuses.contains(&status)
    }

    /// Keeps how the present attempt ended.
    fn note(&mut self, reply: &Reply) {
        let at = self.number.saturating_sub(1) as usize;
        if let (Some(status), Some(end)) = (self.statuses.get_mut(at), self.ends.get_mut(at)) {
            (*status, *end) = (reply.status, reply.end);
        }
    }

    /// The key for this attempt: the same for all, unless the service has stored a failure for it.
    pub(crate) fn key(&self, name: &str) -> String {
        if self.burned == 0 { name.to_owned() } else { format!("{name}-{}", self.burned + 1) }
    }
}

/// Sends until the effect is there. `look` reads once.
pub(crate) fn once(
    world: &World,
    request: impl Fn(&Tries) -> Request,
    look: impl Fn() -> Sight,
) -> (Outcome, Reply) {
    attempt(world, request, look, false)
}

/// As `once`, and reads once after each unclear reply, before it retries.
pub(crate) fn once_with_check(
    world: &World,
    request: impl Fn(&Tries) -> Request,
    look: impl Fn() -> Sight,
) -> (Outcome, Reply) {
    attempt(world, request, look, true)
}

fn attempt(
    world: &World,
    request: impl Fn(&Tries) -> Request,
    look: impl Fn() -> Sight,
    checks: bool,
) -> (Outcome, Reply) {
    let (mut tries, mut waited) = (Tries::default(), Duration::ZERO);
    loop {
        tries.number += 1;
        let reply = world.send(&request(&tries));
        tries.note(&reply);
        match reply.kind {
            // The service has executed it before.
            ReplyKind::Done if reply.is_replayed => return (Outcome::Done, reply),
            ReplyKind::Done => match look_patiently(&look) {
                Sight::Present | Sight::Unanswered => return (Outcome::Done, reply),
                Sight::Absent => {}
            },
            ReplyKind::Busy if waited < MAX_BUSY => {
                let wait = reply.retry_after.unwrap_or(BUSY_PAUSE);
                (waited, tries.number) = (waited + wait, tries.number - 1);
                std::thread::sleep(wait);
                continue;
            }
            ReplyKind::Refused | ReplyKind::Outdated | ReplyKind::Busy => {
                let outcome = match look_patiently(&look) {
                    Sight::Present => Outcome::Done,
                    _ if tries.unclear > 0 || reply.kind == ReplyKind::Busy => Outcome::Unknown,
                    _ => Outcome::NotDone,
                };
                return (outcome, reply);
            }
            ReplyKind::Limited | ReplyKind::Failed | ReplyKind::Garbled | ReplyKind::Lost => {
                tries.unclear += 1;
                tries.failed += u32::from(reply.kind == ReplyKind::Failed);
                tries.unavailable += u32::from(reply.status == 503);
                tries.limited += u32::from(reply.kind == ReplyKind::Limited);
                tries.lost += u32::from(reply.kind == ReplyKind::Lost);
                tries.garbled += u32::from(reply.kind == ReplyKind::Garbled);
                if reply.is_replayed && look_patiently(&look) == Sight::Absent {
                    tries.burned += 1;
                }
                if checks {
                    tries.last_look = Some(look());
                    if tries.last_look == Some(Sight::Present) {
                        return (Outcome::Done, reply);
                    }
                }
            }
        }
        if tries.number >= MAX_ATTEMPTS {
            let outcome = match look_patiently(&look) {
                Sight::Present => Outcome::Done,
                Sight::Absent => Outcome::NotDone,
                Sight::Unanswered => Outcome::Unknown,
            };
            return (outcome, reply);
        }
        reply.retry_after.map_or_else(pause, std::thread::sleep);
    }
}

/// Reads until the effect is there, or was absent often enough.
pub(crate) fn look_patiently(look: impl Fn() -> Sight) -> Sight {
    let (mut absent, mut unanswered) = (0, 0);
    loop {
        let seen = look();
        match seen {
            Sight::Present => return seen,
            Sight::Absent => absent += 1,
            Sight::Unanswered => unanswered += 1,
        }
        if absent == MAX_LOOKS || unanswered == MAX_UNANSWERED {
            return if absent == MAX_LOOKS { Sight::Absent } else { Sight::Unanswered };
        }
        pause();
    }
}
