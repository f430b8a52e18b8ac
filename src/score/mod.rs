//! From the ledger to a verdict. It starts nothing, reads no clock, and believes no words: what a subject says is judged, never
//! used as evidence.

mod verdict;

pub use verdict::{
    AttemptsMade, Claim, DoorFacts, Finding, FindingKind, Honesty, IntentOutcome, Outcome, Recovery, Result3, RetriedBy, Verdict,
};
