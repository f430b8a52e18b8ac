//! `careful`: writes down what it means to do before it does it, goes under one key for one intent, lets one
//! of many callers act, looks before it repeats and after it was told of success, waits out what is late or
//! shown late, and says `unknown` when it is.

mod pursue;
mod watch;

use std::io;

use super::in_turn;
use crate::scenario::{ClaimedOutcome, Step};
use crate::subject::control::claim::Told;
use crate::subject::control::environment::Environment;
use crate::subject::control::intent::{identity, is_of_each_caller, task_identity};
use crate::subject::control::journal::{Journal, Record};
use crate::subject::control::shared::{Shared, Turn};
use crate::subject::control::starts;
use crate::subject::control::tools::Seen;
use crate::subject::control::wire::Wire;

/// What it has at hand.
struct Careful<'a> {
    wire: Wire<'a>,
    journal: Journal,
    shared: Shared,
    caller: String,
    /// Whether this is not the first start.
    restarted: bool,
    /// Whether the start before this one never came to its end.
    broken_off: bool,
    /// Whether this caller acts on what the callers of this task share. It is the same one for all steps: one
    /// that first waited and then wrote would come to a service after everybody else.
    leads: bool,
    steps: &'a [Step],
}

pub(super) fn run(environment: &Environment) -> Told {
    let (caller, journal) = (environment.caller(), Journal::new(environment.state_dir()));
    let start = starts::count(environment.state_dir().as_deref());
    let shared = Shared::new(environment.shared_dir(), &caller);
    let careful = Careful {
        wire: Wire::new(environment),
        leads: shared.turn(&task_identity(environment.steps())) == Turn::Mine,
        shared,
        caller,
        restarted: start > 1,
        broken_off: start > 1 && !journal.has_ended(start - 1),
        journal,
        steps: environment.steps(),
    };
    let told = in_turn(environment.steps(), |step| careful.step(step));
    careful.journal.end(start);
    told
}

impl Careful<'_> {
    fn step(&self, step: &Step) -> Told {
        let mut record = match self.record(step) {
            Ok(record) => record,
            // Nothing is attempted that could not be found again after a crash.
            Err(error) => return Told::not_done(format!("cannot write down what is to be done: {error}")),
        };
        if record.done {
            return Told::done("it was done, and seen to be, before");
        }
        let is_mine = is_of_each_caller(step) || (self.leads && self.shared.turn(&record.id) == Turn::Mine);
        if !is_mine {
            return self.after_another(&mut record);
        }
        let told = self.pursue(&mut record);
        self.shared.tell(&record.id, told.said);
        told
    }

    /// The record of the intent behind a step. What an earlier start began stays what it was, whatever the
    /// words are now.
    fn record(&self, step: &Step) -> io::Result<Record> {
        let id = identity(step, &self.caller);
        if self.restarted && !self.journal.knows(&id) {
            let others: Vec<String> = self.steps.iter().map(|other| identity(other, &self.caller)).collect();
            if let Some(record) = self.journal.begun_before(step, &others, self.broken_off) {
                return Ok(record);
            }
        }
        self.journal.open(&id, step)
    }

    /// Another caller acts on the intent: waits for it, unless there is nothing to wait for, and looks for
    /// itself.
    fn after_another(&self, record: &mut Record) -> Told {
        if self.seen(record) == Ok(Seen::Done) {
            return self.finished(record, "another caller did it");
        }
        let said = self.shared.wait(&record.id);
        match (self.watched(record, watch::LOOKS), said) {
            (Ok(Seen::Done | Seen::Surplus(_) | Seen::Underway), _) => {
                self.finished(record, "another caller did it")
            }
            (Ok(Seen::Unclear) | Err(_), Some(ClaimedOutcome::Done)) => {
                Told::done("another caller says that it is done")
            }
            (Ok(Seen::Absent | Seen::Failed), Some(ClaimedOutcome::NotDone)) => {
                Told::not_done("another caller could not do it")
            }
            _ => Told::unknown("another caller was at it, and what came of it cannot be seen"),
        }
    }

    /// Undoes what happened too often, and notes that it is done.
    fn mended(&self, record: &mut Record, surplus: &[Step]) -> Told {
        match in_turn(surplus, |step| self.step(step)) {
            told if told.said == ClaimedOutcome::Done => {
                self.finished(record, "it happened too often, and the surplus was undone")
            }
            told => Told::unknown(format!(
                "it happened too often, and the surplus was not undone: {}",
                told.message
            )),
        }
    }

    /// Notes that it is done.
    fn finished(&self, record: &mut Record, message: &str) -> Told {
        record.done = true;
        // It is done whether or not the note of it can be written; a restart would look again.
        let _ = self.journal.save(record);
        Told::done(message)
    }
}
