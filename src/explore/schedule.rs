//! A schedule: what is done to which calls, and in which order the callers are let in. It is what a trial of the search
//! is about, and what is written into a scenario file.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::cell::{Call, Cell, CellFamily};
use crate::scenario::Additions;

/// What is done to one call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Injection {
    /// The call.
    pub call: Call,
    /// What is done to it.
    pub cell: Cell,
}

impl Injection {
    /// What two injections with one cause have in common.
    pub(super) fn family(&self) -> (&Call, CellFamily) {
        (&self.call, self.cell.family(self.call.write))
    }
}

/// What happens in one trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Schedule {
    /// What is done to calls, in the order in which it was added.
    pub injections: Vec<Injection>,
    /// The callers in the order in which their requests are let in; the rest follows one after another.
    pub order: Vec<u32>,
    /// How often a caller in the order was left although it could go on.
    pub preemptions: u32,
    /// The number of callers.
    pub callers: u32,
}

impl Schedule {
    /// Nothing is done to anyone.
    pub(super) fn without_faults(callers: u32) -> Self {
        Schedule { callers, ..Schedule::default() }
    }

    /// How many things happen: injections, and leaving a caller.
    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.injections.len())
            .unwrap_or(u32::MAX)
            .saturating_add(u32::from(!self.order.is_empty()))
    }

    /// Whether one thing happens: an injection, or one preemption.
    pub(super) fn is_single(&self) -> bool {
        self.depth() <= 1 && self.preemptions <= 1
    }

    /// The same, with one more injection.
    pub(super) fn with(&self, call: &Call, cell: Cell) -> Self {
        let mut schedule = self.clone();
        schedule.injections.push(Injection { call: call.clone(), cell });
        schedule
    }

    /// How late it is tried: small is early.
    pub(super) fn lateness(&self) -> usize {
        let of_one = |injection: &Injection| {
            let Injection { call, cell } = injection;
            // The first calls and the first caller are as telling as the others, and more often reached.
            let of_caller = 2 * (call.caller as usize).saturating_sub(1);
            1 + cell.lateness() + of_caller + usize::from(call.attempt > 4) * 4
        };
        let injected: usize = self.injections.iter().map(of_one).sum();
        injected + self.preemptions as usize + self.order.len() / 8
    }

    /// What is known of it is used for a schedule that does the same.
    pub(super) fn key(&self) -> String {
        // Plain data written into memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// It in words.
    pub(super) fn words(&self) -> String {
        let mut parts: Vec<String> = self
            .injections
            .iter()
            .map(|injection| injection.cell.words(&injection.call, self.callers))
            .collect();
        if !self.order.is_empty() {
            let order = self.order.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            parts.push(format!("requests are let in in the order of callers {order}"));
        }
        if parts.is_empty() { "nothing fails".to_owned() } else { parts.join(", then ") }
    }

    /// A name for its file: what is done to which calls.
    pub(super) fn name(&self) -> String {
        const LONGEST: usize = 100;
        let one = |injection: &Injection| {
            let Injection { call, cell } = injection;
            let caller = if self.callers > 1 { format!("caller-{}-", call.caller) } else { String::new() };
            format!("{caller}{}-{}-{cell}", call.operation.replace('.', "-"), call.attempt)
        };
        let mut parts: Vec<String> = self.injections.iter().map(one).collect();
        if !self.order.is_empty() {
            parts.push(format!("order-{}", self.order.iter().map(u32::to_string).collect::<String>()));
        }
        let name = parts.join("-then-");
        if name.len() <= LONGEST {
            return name;
        }
        let digest = hex::encode(Sha256::digest(name.as_bytes()));
        format!("{}-{}", name.chars().take(LONGEST).collect::<String>(), &digest[..8])
    }

    /// It as a part of a scenario.
    pub(super) fn additions(&self) -> Additions {
        let mut added = Additions { about: "A schedule of a search.".to_owned(), ..Additions::default() };
        for injection in &self.injections {
            let yaml = injection.cell.yaml(&injection.call, self.callers);
            added.faults.extend(yaml.fault);
            added.interrupts.extend(yaml.interrupt);
        }
        if self.callers > 1 {
            let order = self.order.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            added.callers = format!("{{ count: {}, order: [{order}] }}", self.callers);
        }
        added
    }

    /// Whether another schedule does the same and more.
    pub(super) fn is_part_of(&self, other: &Schedule) -> bool {
        self.injections.iter().all(|injection| other.injections.contains(injection))
            && other.order.starts_with(&self.order)
    }

    /// Whether another schedule does the like and more.
    pub(super) fn explains(&self, other: &Schedule) -> bool {
        let has =
            |injection: &Injection| other.injections.iter().any(|more| more.family() == injection.family());
        self.injections.iter().all(has) && other.order.starts_with(&self.order)
    }
}
