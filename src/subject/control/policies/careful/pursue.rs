//! How one intent is pursued to its end: what each answer, together with what is seen after it, leads to.

use std::time::Duration;

use super::{Careful, watch};
use crate::subject::control::answer::{Class, Reply};
use crate::subject::control::claim::Told;
use crate::subject::control::journal::Record;
use crate::subject::control::tools::{self, Manner, Seen, Trouble};

/// How many attempts are made in one start, beside those that were told to come back.
const ATTEMPTS: u32 = 4;
/// How often it comes back to what is locked or still running.
const RETURNS: u32 = 8;
/// How often a change is built anew because somebody else was faster.
const REBUILDS: u32 = 200;
/// The longest that it is told to wait and does.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// What has happened in this start.
#[derive(Debug, Default)]
struct Tally {
    attempts: u32,
    returns: u32,
    rebuilds: u32,
    /// Whether an attempt went unanswered or was answered with a failure.
    doubted: bool,
    /// Whether the last attempt under this key failed.
    failed: bool,
}

/// What to do next.
enum Next {
    Stop(Told),
    /// The same, under the same key.
    Again,
    /// The same, under another key: this one leads to nothing.
    OtherKey,
    /// What is left of it, under another key.
    Rest(Box<crate::scenario::Step>),
    /// On what stands there now.
    Rebuild,
}

impl Careful<'_> {
    pub(super) fn pursue(&self, record: &mut Record) -> Told {
        if let Some(told) = self.before_first(record) {
            return told;
        }
        let mut tally = Tally::default();
        loop {
            let reply = match self.attempt(record) {
                Ok(reply) => reply,
                Err(told) => return told,
            };
            let next = self.next(record, &reply, &mut tally);
            match next {
                Next::Stop(told) => return told,
                Next::Again => {}
                Next::OtherKey => (record.key, tally.failed) = (record.key + 1, false),
                Next::Rest(step) => (record.step, record.key) = (*step, record.key + 1),
                Next::Rebuild => (record.facts, record.key) = (None, record.key + 1),
            }
            wait(&reply);
        }
    }

    /// After a restart nothing is done before a look; nor is anything that may have been attempted.
    fn before_first(&self, record: &mut Record) -> Option<Told> {
        if !self.restarted && record.attempts == 0 {
            return None;
        }
        let maybe_sent = record.attempts > 0;
        match self.watched(record, watch::LOOKS) {
            Ok(Seen::Done | Seen::Underway) => Some(self.finished(record, "it was found to be done")),
            Ok(Seen::Surplus(surplus)) => Some(self.mended(record, &surplus)),
            Ok(Seen::Accepted) => Some(Told::unknown("it was accepted, and is not there")),
            Ok(Seen::Failed) => Some(Told::not_done("it came to nothing")),
            Ok(Seen::Partly(rest)) => {
                (record.step, record.key) = (*rest, record.key + 1);
                None
            }
            Ok(Seen::Absent) => None,
            Ok(Seen::Unclear) | Err(Trouble::Unanswered) if maybe_sent => {
                Some(Told::unknown("an earlier start may have done it, and that cannot be seen"))
            }
            Ok(Seen::Unclear) | Err(_) => None,
        }
    }

    /// One attempt, counted on the disk before it is sent.
    fn attempt(&self, record: &mut Record) -> Result<Reply, Told> {
        let facts = self.patiently(record)?;
        let ask = tools::write(&record.step, &facts, Manner::Conditional).map_err(impossible)?;
        record.attempts += 1;
        let noted = self.journal.save(record);
        noted.map_err(|error| Told::not_done(format!("cannot write down what is to be done: {error}")))?;
        Ok(self.wire.send(&ask.under(Some(&record.idempotency_key()))))
    }

    /// What the attempt is built on, asked for more than once where it is not answered.
    fn patiently(&self, record: &mut Record) -> Result<serde_json::Value, Told> {
        let mut facts = self.facts(record);
        for _ in 1..ATTEMPTS {
            if facts != Err(Trouble::Unanswered) {
                break;
            }
            std::thread::sleep(PAUSE);
            facts = self.facts(record);
        }
        facts.map_err(impossible)
    }

    fn next(&self, record: &mut Record, reply: &Reply, tally: &mut Tally) -> Next {
        if reply.class == Class::Outdated && !tally.doubted {
            tally.rebuilds += 1;
            let told = || Next::Stop(Told::not_done("others keep changing it"));
            return if tally.rebuilds > REBUILDS { told() } else { Next::Rebuild };
        }
        let looks = if reply.class == Class::Done || reply.is_doubtful() { watch::LOOKS } else { 1 };
        match self.watched(record, looks) {
            Ok(Seen::Done | Seen::Underway) => Next::Stop(self.finished(record, "it is there")),
            Ok(Seen::Surplus(surplus)) => Next::Stop(self.mended(record, &surplus)),
            Ok(Seen::Accepted) => Next::Stop(Told::unknown("it was accepted, and is not there")),
            Ok(Seen::Failed) => Next::Stop(Told::not_done("it came to nothing")),
            Ok(Seen::Partly(rest)) => again(tally, Next::Rest(rest)),
            Ok(Seen::Absent) => self.after_absence(record, reply, tally),
            Ok(Seen::Unclear) | Err(_) => self.unseen(record, reply, tally),
        }
    }

    /// It is not there, as far as one can see.
    fn after_absence(&self, record: &mut Record, reply: &Reply, tally: &mut Tally) -> Next {
        match reply.class {
            // The service kept that answer because it had done it; the reads are further behind than anybody
            // waits.
            Class::Done if reply.replayed => {
                Next::Stop(self.finished(record, "the service says that it had been done before"))
            }
            Class::Refused => Next::Stop(Told::not_done(refused(reply))),
            Class::Outdated => again(tally, Next::Rebuild),
            Class::KeyTaken => again(tally, Next::OtherKey),
            Class::InFlight | Class::Busy => {
                tally.returns += 1;
                match (tally.returns > RETURNS, reply.class) {
                    (false, _) => Next::Again,
                    (true, Class::InFlight) => Next::Stop(Told::unknown("it is still in flight")),
                    (true, _) => Next::Stop(Told::not_done("somebody else is at it")),
                }
            }
            // A second failure under one key may be the first one, kept: this key would never succeed.
            Class::Failed if tally.failed || reply.replayed => again(tally, Next::OtherKey),
            Class::Done | Class::Limited | Class::Failed | Class::Lost => {
                tally.failed = reply.class == Class::Failed;
                tally.doubted |= reply.is_doubtful();
                again(tally, Next::Again)
            }
        }
    }

    /// Nothing can be seen: what was answered whole is believed, and what is in doubt is not repeated.
    fn unseen(&self, record: &mut Record, reply: &Reply, tally: &mut Tally) -> Next {
        match reply.class {
            Class::Done => {
                Next::Stop(self.finished(record, "it was answered, and nothing speaks against it"))
            }
            Class::Refused if !tally.doubted => Next::Stop(Told::not_done(refused(reply))),
            Class::KeyTaken if !tally.doubted => again(tally, Next::OtherKey),
            Class::Busy if !tally.doubted && tally.returns < RETURNS => {
                tally.returns += 1;
                Next::Again
            }
            // The service says that the same under the same key is safe.
            _ if reply.may_repeat == Some(true) => {
                tally.doubted = true;
                again(tally, Next::Again)
            }
            _ => Next::Stop(Told::unknown("it may have happened, and that cannot be seen")),
        }
    }
}

/// Once more, unless it was tried often enough.
fn again(tally: &mut Tally, next: Next) -> Next {
    tally.attempts += 1;
    if tally.attempts < ATTEMPTS {
        next
    } else {
        Next::Stop(Told::not_done("it was tried often enough, and is not there"))
    }
}

fn impossible(trouble: Trouble) -> Told {
    match trouble {
        Trouble::Unanswered => Told::not_done("what has to be known first cannot be read"),
        Trouble::Impossible(why) => Told::not_done(why),
    }
}

fn refused(reply: &Reply) -> String {
    reply.status.map_or_else(|| "it was refused".to_owned(), |status| format!("it was refused with {status}"))
}

/// Leaves the service alone for as long as it asks, within reason.
fn wait(reply: &Reply) {
    let asked = reply.retry_after.map(Duration::from_secs).unwrap_or(PAUSE);
    std::thread::sleep(asked.min(LONGEST_WAIT));
}
