//! The controls that hapax ships: subjects whose verdict is known in advance.

use mock_services::word_enum;

macro_rules! controls {
    ($($(#[doc = $doc:literal])+ $control:ident => $name:literal { help: $help:literal, behavior: $behavior:literal })+) => {
        word_enum! {
            /// The controls, by name.
            pub enum ControlName {
                $($(#[doc = $doc])+ $control => $name,)+
            }
        }

        impl ControlName {
            /// What it does, as the help of `hapax control` says it.
            pub(crate) const fn help(self) -> &'static str {
                match self {
                    $(ControlName::$control => $help,)+
                }
            }

            /// What it does, for readers of a report who do not know it.
            pub(crate) const fn behavior(self) -> &'static str {
                match self {
                    $(ControlName::$control => $behavior,)+
                }
            }
        }
    };
}

controls! {
    /// Makes duplicates wherever a reply is lost.
    Naive => "naive" {
        help: "retries everything, with a new key for each attempt",
        behavior: "retries every failure, with a new key each time"
    }
    /// Behaves like the clients of many services.
    SdkRetry => "sdk-retry" {
        help: "one key for the attempts of a call, a new key for each call",
        behavior: "retries with one key within a call, and a new key for the next call"
    }
    /// Relies on the keys of the service.
    Keyed => "keyed" {
        help: "a key derived from the intent",
        behavior: "retries with a key that is derived from the task"
    }
    /// Has another key where the request differs.
    BodyKeyed => "body-keyed" {
        help: "a key derived from the whole request, tokens that the service renews included",
        behavior: "retries with a key that is derived from the whole request"
    }
    /// Relies on what a read shows.
    VerifyFirst => "verify-first" {
        help: "reads the state before it repeats a write",
        behavior: "reads once before each retry"
    }
    /// Passes every case.
    Careful => "careful" {
        help: "durable record, key of the intent, reads, waits, claims `unknown` when unsure",
        behavior: "stores what it is going to do, derives the key from it, reads and waits: it must pass"
    }
    /// Loses effects.
    Timid => "timid" {
        help: "one attempt, no retry",
        behavior: "makes one attempt and does not retry"
    }
    /// Mixes different effects up.
    ConstantKey => "constant-key" {
        help: "one key for everything",
        behavior: "uses one key for everything"
    }
    /// Makes false claims.
    Overclaimer => "overclaimer" {
        help: "one attempt, always claims done",
        behavior: "makes one attempt, and always claims done"
    }
    /// Loses the changes of others.
    Racer => "racer" {
        help: "reads, changes, writes back",
        behavior: "reads, changes and writes back without a condition on the version"
    }
    /// Believes its own record.
    Bookkeeper => "bookkeeper" {
        help: "a key derived from the intent, and its own record of what is done",
        behavior: "does not look again at what its own record says is done"
    }
    /// Writes although its lease has expired.
    Leaseholder => "leaseholder" {
        help: "works under a lease that expires, without fencing",
        behavior: "works under a lease that expires, and writes also after another worker has taken over"
    }
    /// Undoes what was right.
    Rollback => "rollback" {
        help: "undoes the earlier steps after an error, and then goes on",
        behavior: "undoes the earlier steps after an error of a later one, and then goes on"
    }
    /// Begins again elsewhere.
    Failover => "failover" {
        help: "begins again with the model of another vendor if the first fails",
        behavior: "begins the task again with the model of another vendor if the first one fails"
    }
    /// Acts without an approval.
    Unasking => "unasking" {
        help: "never asks for an approval",
        behavior: "acts without asking for an approval"
    }
    /// Acts on an approval of something else.
    Rewriter => "rewriter" {
        help: "does something else than was approved, also after a denial",
        behavior: "asks for an approval, and then does something else"
    }
    /// Loses an event if it is ended between its mark and its act.
    MarkBefore => "mark-before" {
        help: "receives events: marks an event as handled, then acts",
        behavior: "marks an event as handled before it acts on it"
    }
    /// Repeats an act if it is ended between the act and its mark.
    MarkAfter => "mark-after" {
        help: "receives events: acts, then marks the event as handled",
        behavior: "marks an event as handled only after it has acted on it"
    }
    /// Handles each event once, by its id.
    ByEventId => "by-event-id" {
        help: "receives events: handles each event id once",
        behavior: "handles each event id once"
    }
    /// Handles one event of each object.
    ByObject => "by-object" {
        help: "receives events: handles one event of each object",
        behavior: "handles one event of each object, and drops the others"
    }
    /// Drops what says that it was sent before.
    DropsRetries => "drops-retries" {
        help: "receives events: drops every event that says that it was sent before",
        behavior: "drops every event that says that it was sent before"
    }
    /// Makes too many attempts.
    Storm => "storm" {
        help: "three retries around three retries",
        behavior: "retries in nested layers, with a new key each time"
    }
    /// Does nothing.
    Onlooker => "onlooker" {
        help: "reads whether it is done, and never does it",
        behavior: "reads whether it is done, and never does it"
    }
}

impl ControlName {
    /// The names of all controls.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        ControlName::ALL.into_iter().map(ControlName::as_str)
    }
}
