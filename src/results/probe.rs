//! What the trials without faults before a run show of a subject, as plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::SmokeFailure;

/// What the probe found.
#[derive(Debug)]
pub struct ProbeResult {
    /// The families of operations, in the order of their names.
    pub families: Vec<ProbedFamily>,
    /// Whether its trials were sealed.
    pub sealed: bool,
    /// How long it took.
    pub took: Duration,
    /// The real hosts that the subject called, each with its service.
    pub hosts: Vec<(String, String)>,
    /// Those hosts whose keys are ignored because nobody says how their provider treats them, each with its service.
    pub hosts_without_profile: Vec<(String, String)>,
    /// Hosts outside of the trials to which it sent something.
    pub outside: Vec<String>,
    /// The services beside those of the tasks that it used, such as a language model.
    pub services: Vec<String>,
    /// Where its claims were found; `None` if it made none.
    pub claims: Option<&'static str>,
    /// How many of the selected cases run, and how many are skipped because of the probe.
    pub cases: (usize, usize),
    /// What follows for the run.
    pub derived: DerivedSettings,
    /// The same as options of the command line.
    pub options: String,
}

/// Cases that need the same operations, and how the trial without faults of one of them came out.
#[derive(Debug)]
pub struct ProbedFamily {
    /// The operations.
    pub operations: Vec<String>,
    /// What `can` must name so that its cases run.
    pub needed: Vec<String>,
    /// The case of the trial.
    pub case: String,
    /// How it came out.
    pub outcome: FamilyOutcome,
}

/// How the trial without faults of a family came out.
#[derive(Debug)]
pub enum FamilyOutcome {
    /// The effects are right.
    Right,
    /// The subject sent a request for it, and the trial came out wrong.
    Wrong {
        /// The cause, in one sentence.
        cause: String,
        /// Everything about the trial.
        failure: Box<SmokeFailure>,
    },
    /// The subject sent no request for it.
    NotAttempted {
        /// Everything about the trial.
        failure: Box<SmokeFailure>,
    },
}

/// Settings that follow from the probe, for what the user did not set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DerivedSettings {
    /// Whether the subject has to be sealed: its clients call real hosts.
    pub sealed: bool,
    /// The services to add to every case.
    pub services: Vec<String>,
    /// The operations that it has; empty if all.
    pub can: Vec<String>,
    /// How the real services treat keys: the service and the profile.
    pub assume: Vec<(String, String)>,
    /// Where its claim is read, as a word.
    pub claim: Option<String>,
    /// Whether a missing claim is only noted, although a service makes it: an agent that ends with an error makes none.
    pub claims_optional: bool,
    /// The time limit of one start.
    pub time: Option<Duration>,
}
