//! A case: one concrete instance of a scenario, with its matrix expanded and everything checked. Plain data.

use std::sync::Arc;
use std::time::Duration;

use mock_services::BarrierOptions;
use mock_services::catalog::ConfiguredService;
use mock_services::fault::Fault;
use mock_services::idempotency::Idempotency;
use mock_services::service::Fields;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use super::terms::Terms;
use crate::domain::{ControlOutcome, InterruptAction};

/// The controls that hapax ships, by name.
pub const CONTROLS: [&str; 11] = [
    "naive",
    "sdk-retry",
    "keyed",
    "verify-first",
    "careful",
    "timid",
    "constant-key",
    "overclaimer",
    "racer",
    "storm",
    "onlooker",
];

/// One concrete instance of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// Its id, which can be typed: `payment/lost-reply@keys=stripe,reply=drop`.
    pub id: String,
    /// The scenario's name: its path below the folder of scenarios, without the ending.
    pub scenario: String,
    /// The file it stands in, as the user would name it.
    pub file: String,
    /// The line of the file at which readers should look first, from 1.
    pub line: usize,
    /// What it is about, in a sentence.
    pub about: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The names of the matrix and what stands for each here, as in the id.
    pub variant: Vec<(String, String)>,
    /// What is to be done.
    pub work: Work,
    /// What each caller is to do instead, where they differ; as many as there are callers.
    pub each: Vec<Work>,
    /// What the same subject is to do afterwards, each in a new start on the same directory. A task that is
    /// delivered twice, one after another, is a turn with the same work.
    pub turns: Vec<Work>,
    /// The services, in the order of the file.
    pub services: Vec<ServiceSetup>,
    /// The faults.
    pub faults: Vec<Fault>,
    /// How many copies of the subject run at once. A task that is delivered twice together has two.
    pub callers: u32,
    /// Where they meet; there is none for a single caller.
    pub door: Option<BarrierOptions>,
    /// What strikes the subject, and when.
    pub interrupts: Vec<Interrupt>,
    /// What a verdict is measured by.
    pub terms: Terms,
    /// The controls that this case is meant to tell apart, and what each comes to.
    pub controls: Vec<ControlTerm>,
    /// How long one start of the subject may take.
    pub timeout: Duration,
}

/// Something to do: in words, and the same for a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// In words.
    pub task: String,
    /// For a machine; agents need not look at it.
    pub steps: Vec<Step>,
}

/// One step of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The full name of the operation.
    #[serde(rename = "do")]
    pub operation: String,
    /// With what.
    #[serde(default)]
    pub with: Fields,
}

/// A service of the case.
#[derive(Debug, Clone)]
pub struct ServiceSetup {
    /// Its name: `payment`.
    pub name: String,
    /// The service with its options.
    pub service: Arc<dyn ConfiguredService>,
    /// How it treats keys; its own way where nothing is said.
    pub idempotency: Option<Idempotency>,
}

impl Serialize for ServiceSetup {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ServiceSetup", 3)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("configuration", &self.service.configuration())?;
        let idempotency = self.idempotency.map(|rules| (rules.profile.name(), rules.lifetime));
        fields.serialize_field("idempotency", &idempotency)?;
        fields.end()
    }
}

/// Something that strikes the subject at a moment of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    /// When.
    pub when: InterruptMoment,
    /// What strikes.
    pub blow: InterruptAction,
    /// What comes after it.
    pub then: Then,
    /// Whether a trial may pass in which it did not strike.
    pub optional: bool,
}

/// A moment of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InterruptMoment {
    /// How far the attempt has come.
    pub reached: Reached,
    /// The full name of the operation.
    pub operation: String,
    /// Which attempt of that operation (and of that caller, where one is named), from 1.
    pub attempt: u32,
    /// Whose attempt; anyone's where there is none.
    pub caller: Option<u32>,
}

/// How far an attempt has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Reached {
    /// It has come in, and nothing is committed.
    Received,
    /// It is committed, and nothing is sent.
    Committed,
    /// It is answered: strikes when that caller's next request comes in, or at its end.
    Replied,
}

/// What comes after the blow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Then {
    /// The subject is started again on the same directory.
    Restart {
        /// What it is to do then; the same where there is none.
        work: Option<Work>,
        /// How long after its end.
        after: Duration,
    },
    /// Nothing more: the caller has ended. After `cancel`, `stop` and `freeze` it may still finish by itself.
    End,
}

/// A control and what it comes to in this case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ControlTerm {
    /// The control's name.
    pub control: String,
    /// What it comes to.
    pub is: ControlOutcome,
}
