//! What a program is, and how it ends.

use serde_json::{Value, json};

use crate::world::World;

/// A program with one defect, and its corrected twin.
pub(crate) struct Program {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What is wrong, and when it shows.
    pub(crate) about: &'static str,
    /// The task, for `--task`.
    pub(crate) task: &'static str,
    /// The expected effects, each for `--expect`.
    pub(crate) expect: &'static [&'static str],
    /// The number of callers that the defect needs.
    pub(crate) callers: u32,
    /// The schedule under which the defect shows.
    pub(crate) finds: &'static str,
    /// Both variants: `World::is_corrected` says which one.
    pub(crate) run: fn(&World) -> Outcome,
}

impl Program {
    /// The row of `--list`.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "about": self.about,
            "task": self.task,
            "expect": self.expect,
            "callers": self.callers,
            "finds": self.finds,
        })
    }
}

/// How a program ends: what it claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything happened.
    Done,
    /// Nothing happened, and nothing will.
    NotDone,
    /// It may have happened.
    Unknown,
}

impl Outcome {
    /// The word of the claim.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::NotDone => "not-done",
            Outcome::Unknown => "unknown",
        }
    }

    /// Goes on with the next step if this one is done.
    pub(crate) fn then(self, next: impl FnOnce() -> Outcome) -> Outcome {
        match (self, self == Outcome::Done) {
            (_, true) => match next() {
                // An earlier step is done, so `not-done` would not be true.
                Outcome::NotDone => Outcome::Unknown,
                other => other,
            },
            (outcome, false) => outcome,
        }
    }
}
