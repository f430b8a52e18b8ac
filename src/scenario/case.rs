//! A case: one concrete instance of a scenario, with its matrix expanded and everything checked. Plain data.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use mock_services::BarrierOptions;
use mock_services::catalog::{self, ConfiguredService, ServedHost, ServiceDescription};
use mock_services::fault::Fault;
use mock_services::idempotency::{Idempotency, KeyPlace, Profile};
use mock_services::service::Fields;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use super::events::{EventSource, PlannedEvent};
use super::terms::{OperationTerm, OwnKey, Terms};
use crate::domain::{ControlOutcome, Decision, FindingKind, InterruptAction, MCP, ToolCards};

/// One concrete instance of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// Its id, which can be typed: `payment/lost-reply@keys=stripe,reply=drop`.
    pub id: String,
    /// The name of the scenario: its path below the folder of scenarios, without the extension.
    pub scenario: String,
    /// Its file, as the user names it.
    pub file: String,
    /// Whether it has the name of a shipped scenario and is not one of its cases.
    #[serde(skip)]
    pub replaces_shipped: bool,
    /// The line of the file to show first, from 1.
    pub line: usize,
    /// One sentence about it.
    pub about: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The names of the matrix and their values in this case, as in the id.
    pub variant: Vec<(String, String)>,
    /// The task of the subject.
    pub work: Work,
    /// The task of each caller, where they differ; one for each caller.
    pub each: Vec<Work>,
    /// The later tasks of the same subject, each in a new start on the same directory. A task that is
    /// delivered twice, one after another, is a turn with the same work.
    pub turns: Vec<Work>,
    /// The services, in the order of the file.
    pub services: Vec<ServiceSetup>,
    /// The faults.
    pub faults: Vec<Fault>,
    /// The number of copies of the subject that run at once. A task that is delivered twice together has two.
    pub callers: u32,
    /// The start barrier of the callers; `None` for a single caller.
    pub barrier: Option<BarrierOptions>,
    /// The callers in the order in which their requests are let in, one at a time; `None` if they are let in as they
    /// come. After the last of the list, each caller goes on until it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<u32>>,
    /// How the second of two deliveries overlaps with the first, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// The interrupts of the subject.
    pub interrupts: Vec<Interrupt>,
    /// The moment of a request of which the subject is told (`ARRIVAL_FILE`); no scenario file names one, but the cases of
    /// `certify --mcp` do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announced: Option<InterruptMoment>,
    /// What a person answers to questions of the subject. Other questions are approved if they fit an effect that
    /// is due, and denied if not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// What the scenario itself does before the subject is told of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub happens: Vec<Step>,
    /// The events that a sender brings to the subject, one after another. The subject gets the task only if an event is
    /// about the task, or about something that the subject itself does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PlannedEvent>,
    /// What scoring needs.
    pub terms: Terms,
    /// The controls, each with its expected outcome in this case.
    pub controls: Vec<ControlTerm>,
    /// The subject that was found to fail it, if it was found by a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// The time limit of one start of the subject.
    pub timeout: Duration,
    /// How the tools are described to agents that get them over MCP.
    #[serde(skip_serializing_if = "crate::domain::is_default")]
    pub mcp: ToolCards,
}

/// A subject that failed a case when the case was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Its name.
    pub subject: String,
    /// The digest of its program.
    pub digest: String,
    /// The worst finding.
    pub finding: FindingKind,
}

/// A task: as text, and as steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// The text.
    pub task: String,
    /// The same as steps, for the controls; agents can ignore them.
    pub steps: Vec<Step>,
}

impl Work {
    /// Whether there is no task: the subject must find by itself what it has accepted before.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.task.is_empty() && self.steps.is_empty()
    }
}

/// One step of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The full name of the operation.
    #[serde(rename = "do")]
    pub operation: String,
    /// Its fields.
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
    /// How it treats idempotency keys; `None` for the default of the service.
    pub idempotency: Option<Idempotency>,
    /// The hosts that it answers for where clients call real hosts, beside those of its real APIs and of its file.
    pub extra_hosts: Vec<ServedHost>,
}

impl ServiceSetup {
    /// The hosts that the scenario and the file of the service name.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &ServedHost> {
        self.extra_hosts.iter().chain(self.service.hosts())
    }

    /// The description of the service; `None` if it is not known.
    pub(crate) fn description(&self) -> Option<Cow<'static, ServiceDescription>> {
        let own = self.service.own_description().map(Cow::Owned);
        own.or_else(|| catalog::find(&self.name).map(Cow::Borrowed))
    }

    /// Where its requests have their idempotency keys, if the user says it and no shipped profile.
    pub(crate) fn own_key(&self) -> Option<OwnKey> {
        let description = self.description()?;
        let rules = self.idempotency.as_ref().unwrap_or(&description.profile);
        let place = match rules.place()? {
            // The content and the id of what is made say themselves what a request is about.
            KeyPlace::Content | KeyPlace::Id => None,
            place if !rules.is_shipped() => Some(place.to_string()),
            _ => self.service.own_key_place(),
        };
        // Each host of such a service has keys of its own.
        let host = description.any_host.then(|| "host".to_owned());
        Some(OwnKey {
            service: self.name.clone(),
            place: place?,
            per_endpoint: rules.is_per_endpoint(),
            identity: rules.identity().iter().cloned().chain(host).collect(),
        })
    }
}

impl Case {
    /// Whether a sender brings events to the subject, and not only its task again.
    #[must_use]
    pub fn receives_events(&self) -> bool {
        self.events.iter().any(|event| event.source != EventSource::Task)
    }

    /// Whether the subject must get the services as MCP tools.
    #[must_use]
    pub fn requires_mcp(&self) -> bool {
        self.terms.requires.iter().any(|word| word == MCP)
    }

    /// How its services treat idempotency keys: the name of the service, or of the provider's host, and that of its
    /// profile. Services that the scenario leaves without keys are not among them.
    pub(crate) fn profiles(&self) -> Vec<(String, String)> {
        let works = std::iter::once(&self.work).chain(&self.each).chain(&self.turns);
        let steps = works.flat_map(|work| &work.steps).map(|step| &step.with);
        let effects = self.terms.intents.iter().flat_map(|intent| [&intent.selector, &intent.expected]);
        let named: Vec<&Fields> = steps.chain(effects).collect();
        let of_service = |setup: &ServiceSetup| -> Vec<(String, String)> {
            let of = |rules: &Idempotency| vec![(setup.name.clone(), rules.to_string())];
            match (&setup.idempotency, setup.description()) {
                (Some(rules), _) => of(rules),
                (None, Some(service)) if service.any_host => {
                    let hosts = named.iter().filter_map(|fields| fields.get("host")).map(ToString::to_string);
                    let known =
                        |host: String| Profile::of_host(&host).map(|profile| (host, profile.to_string()));
                    hosts.filter_map(known).collect()
                }
                (None, Some(service)) if service.profile.takes_keys() => of(&service.profile),
                (None, _) => Vec::new(),
            }
        };
        let mut profiles: Vec<(String, String)> = self.services.iter().flat_map(of_service).collect();
        profiles.sort();
        profiles.dedup();
        profiles
    }

    /// Whether both are the same, wherever they are written.
    pub(crate) fn is_same(&self, other: &Case) -> bool {
        let content =
            |case: &Case| serde_json::to_string(&Case { file: String::new(), line: 0, ..case.clone() }).ok();
        self.id == other.id && content(self).is_some_and(|one| Some(one) == content(other))
    }

    /// Whether the subject is restarted without its task.
    pub(crate) fn restarts_without_task(&self) -> bool {
        let is_without = |interrupt: &Interrupt| match &interrupt.then {
            Then::Restart { work: Some(work), .. } => work.is_none(),
            Then::Restart { work: None, .. } | Then::End => false,
        };
        self.interrupts.iter().any(is_without)
    }

    /// Adds a shipped service that the scenario does not have.
    pub(crate) fn add_service(&mut self, setup: &ServiceSetup) {
        let description = catalog::find(&setup.name);
        self.terms.operations.extend(description.into_iter().flat_map(OperationTerm::from_service));
        self.services.push(setup.clone());
    }
}

impl Serialize for ServiceSetup {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ServiceSetup", 4)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("configuration", &self.service.configuration())?;
        fields.serialize_field("idempotency", &self.idempotency)?;
        fields.serialize_field("hosts", &self.extra_hosts)?;
        fields.end()
    }
}

/// Two deliveries that overlap: the first caller is frozen when its request has arrived, the second gets the same task,
/// and when it has ended or waits for the first, the first continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// The full name of the operation of the request.
    pub operation: String,
    /// The number of the request of that operation, from 1.
    pub attempt: u32,
    /// How long the first is frozen at most.
    pub within: Duration,
}

/// What a person answers to a question of the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    /// The full name of the operation.
    pub operation: String,
    /// The fields that select the questions.
    #[serde(rename = "where")]
    pub selector: Fields,
    /// The answers, one after another; none if nobody answers.
    pub answers: Vec<PlannedAnswer>,
}

/// One answer of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedAnswer {
    /// What the person decides.
    pub decision: Decision,
    /// How often the answer comes.
    pub times: u32,
    /// Whether it comes to that many workers at once, instead of one after another.
    pub together: bool,
    /// When it comes.
    pub after: AnswerDelay,
}

impl PlannedAnswer {
    /// An answer that comes once, at once.
    #[must_use]
    pub const fn once(decision: Decision) -> Self {
        PlannedAnswer { decision, times: 1, together: false, after: AnswerDelay::None }
    }
}

/// When an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum AnswerDelay {
    /// At once.
    None,
    /// After this time.
    Time(Duration),
    /// After so many more questions of the subject.
    Questions(u32),
    /// After so many more requests to the service that was asked. A subject that has ended gets it at once.
    Requests(u32),
}

/// An interrupt of the subject at a moment of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    /// When.
    pub when: InterruptMoment,
    /// What it does.
    pub action: InterruptAction,
    /// What follows.
    pub then: Then,
    /// Whether a trial can pass in which it did not happen.
    pub optional: bool,
}

/// A moment of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InterruptMoment {
    /// The stage of the attempt.
    pub reached: Reached,
    /// The full name of the operation.
    pub operation: String,
    /// The number of the attempt of that operation (and of that caller, if it is set), from 1.
    pub attempt: u32,
    /// The caller of the attempt; `None` for any caller.
    pub caller: Option<u32>,
}

/// A stage of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Reached {
    /// It is received, and nothing is committed.
    Received,
    /// It is committed, and nothing is sent.
    Committed,
    /// Its reply is complete in the socket of the caller, and the caller has not acted on it.
    Replied,
}

impl Reached {
    /// All of them, in order.
    pub const ALL: [Reached; 3] = [Reached::Received, Reached::Committed, Reached::Replied];

    /// Its key in `when`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Reached::Received => "received",
            Reached::Committed => "committed",
            Reached::Replied => "replied",
        }
    }
}

/// What follows an interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Then {
    /// The subject is started again, on the same directory unless it says otherwise.
    Restart {
        /// Its task, which can be [`Work::is_none`]; `None` for the same task.
        work: Option<Work>,
        /// The time between its end and the restart.
        after: Duration,
        /// Whether its state directory is empty then, as on another machine.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        empty_state: bool,
        /// Whether the clock that it reads is then a day ahead.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        next_day: bool,
    },
    /// The caller is not started again. After `cancel`, `stop` and `freeze` it may still finish by itself.
    End,
}

/// A control and its expected outcome in this case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ControlTerm {
    /// The control's name.
    pub control: String,
    /// The expected outcome.
    pub is: ControlOutcome,
}
