//! What the trials without faults before a run show of a subject, as plain data.

use std::sync::Arc;
use std::time::Duration;

use mock_services::catalog;
use mock_services::ledger::Entry;
use mock_services::service::Fields;
use serde::{Deserialize, Serialize};

use super::{CaseReport, SmokeFailure};
use crate::scenario::Case;

/// How the id of a case begins that has a trial of the probe.
pub const PROBED: &str = "probe/";

/// A trial of the probe in which the subject did or claimed something that no later trial takes back. It is a case of the
/// report with this trial alone.
#[derive(Debug, Clone)]
pub struct ProbedCase {
    /// The case, without faults and under its own id.
    pub case: Arc<Case>,
    /// What the report says of it.
    pub report: CaseReport,
    /// The ledger of its trial.
    pub entries: Vec<Entry>,
}

/// What the effect that a subject makes whatever it is asked would be as a task of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTask {
    /// The effect: `payment.charge`.
    pub effect: String,
    /// The fields that identify it, and their values.
    pub fields: Vec<(String, String)>,
}

/// How many fields of the effect are named.
const MAX_FIELDS: usize = 3;

impl OwnTask {
    /// The task whose effect this is; `None` if no service has such an effect.
    #[must_use]
    pub fn of_effect(effect: &str, fields: &Fields) -> Option<Self> {
        let service = effect.split('.').next().unwrap_or_default();
        let natural = &catalog::find(service)?.effect(effect)?.natural;
        let is_plain = |text: &str| !text.is_empty() && !text.contains([',', '"', '\'', '[', '\n']);
        let named = natural.iter().filter_map(|name| Some((name, fields.get(name)?.to_string())));
        let named = named.filter(|(_, value)| is_plain(value)).take(MAX_FIELDS);
        let fields = named.map(|(name, value)| (name.to_string(), value)).collect();
        Some(OwnTask { effect: effect.to_owned(), fields })
    }
}

/// What the probe found.
#[derive(Debug)]
pub struct ProbeResult {
    /// The families of operations, in the order of their names.
    pub families: Vec<ProbedFamily>,
    /// How many trials it took.
    pub trials: usize,
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
    /// Trials that are cases of the report, because a later trial does not take back what they show.
    pub wrong: Vec<ProbedCase>,
    /// The effect that it made in the trials of all families, whatever they asked for.
    pub own_task: Option<OwnTask>,
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

/// How the trials without faults of a family came out.
#[derive(Debug)]
pub enum FamilyOutcome {
    /// The effects are right.
    Right,
    /// Something was wrong.
    Wrong {
        /// The cause, in one sentence.
        cause: String,
        /// Everything about the trial.
        failure: Box<SmokeFailure>,
    },
    /// The effects are right, and other operations made them: a charge, and not the capture of a hold.
    DoneOtherwise {
        /// Everything about the trial.
        failure: Box<SmokeFailure>,
    },
    /// The subject attempted nothing, and does not claim otherwise.
    Declined {
        /// What it said last; may be empty.
        words: String,
        /// Everything about the trial.
        failure: Box<SmokeFailure>,
    },
    /// The subject ended without a claim before it attempted anything, twice.
    CouldNotStart {
        /// How it ended.
        how: String,
        /// Everything about the trial.
        failure: Box<SmokeFailure>,
    },
}

impl FamilyOutcome {
    /// Whether the family is one of what the subject does, right or wrong.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, FamilyOutcome::Right | FamilyOutcome::Wrong { .. })
    }

    /// Everything about its trial, if that did not come out right.
    #[must_use]
    pub fn into_failure(self) -> Option<SmokeFailure> {
        match self {
            FamilyOutcome::Right => None,
            FamilyOutcome::Wrong { failure, .. }
            | FamilyOutcome::DoneOtherwise { failure }
            | FamilyOutcome::Declined { failure, .. }
            | FamilyOutcome::CouldNotStart { failure, .. } => Some(*failure),
        }
    }
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
