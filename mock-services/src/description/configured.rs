//! A service with its options, ready to be started, and what it can know of the tasks of a scenario. Only the
//! service's own folder knows the type of its options.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use yaml_reader::{Key, Node, NodeKind, Source};

use super::{ServedHost, ServiceDescription, StoreKind, ToolDescription};
use crate::service::After;
use crate::service::Fields;
use crate::services::{Builder, ServiceOptions};

/// A service with its options, ready to be started.
pub trait ConfiguredService: fmt::Debug + Send + Sync {
    /// The options as JSON, in a form that does not depend on the version of Rust. Two services with the same
    /// JSON behave alike.
    fn configuration(&self) -> Value;

    /// Adds the service to the builder. The ids of what exists before the first request are derived from
    /// `seed`.
    fn add_to(&self, builder: Builder, seed: u64, options: ServiceOptions) -> Builder;

    /// The value of a record or a counter before the first request; `None` if it does not exist.
    fn stored(&self, _kind: StoreKind, _key: &str) -> Option<Value> {
        None
    }

    /// What is live at a place before the first request; `None` for nothing.
    fn live(&self, _place: &str) -> Option<String> {
        None
    }

    /// The hosts that the service itself names, beside those of its real APIs.
    fn hosts(&self) -> &[ServedHost] {
        &[]
    }

    /// The same service for a scenario with these tasks; `None` for a service that does not act on tasks.
    fn with_tasks(&self, _tasks: &[PlannedTask]) -> Option<Arc<dyn ConfiguredService>> {
        None
    }

    /// The same service where `tools` names the tool of the subject for each operation; `None` for a service
    /// that does not call tools. What the scenario names has priority.
    fn with_tools(&self, _tools: &[(String, String)]) -> Option<Arc<dyn ConfiguredService>> {
        None
    }

    /// The same service with a person who answers by this plan; `None` for a service that asks nobody, or whose options
    /// say what the person answers.
    fn with_answers(&self, _plan: &AnswerPlan) -> Option<Arc<dyn ConfiguredService>> {
        None
    }

    /// Where the file of a declared service says that its requests have their idempotency keys; `None` if it does not.
    fn own_key_place(&self) -> Option<String> {
        None
    }

    /// The description of a service that a file declares; `None` for a service that is written in Rust.
    fn own_description(&self) -> Option<ServiceDescription> {
        None
    }

    /// The file that declares the service; `None` for a service that is written in Rust.
    fn declaration(&self) -> Option<&Source> {
        None
    }
}

/// What a person answers to a question about a step, given the earlier questions of its caller: the decisions, in
/// order.
pub type AnswerPlan = Arc<dyn Fn(&PlannedStep, &[PlannedStep]) -> Vec<PlannedDecision> + Send + Sync>;

/// A decision of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedDecision {
    /// `approved`, `denied` or `expired`.
    pub decision: String,
    /// When it comes.
    pub time: DecisionTime,
}

/// When a decision of a person comes. One that changes another comes only when that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionTime {
    /// At once.
    Next,
    /// Later.
    After(After),
    /// After so many more questions of the same caller, whether the one before has been read or not.
    Questions(u32),
}

/// A task of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PlannedTask {
    /// Its text, as the subject gets it.
    pub text: String,
    /// Its steps, in order.
    pub steps: Vec<PlannedStep>,
    /// The requests to the services of the trial, for agents that have no tools of their own.
    #[serde(skip)]
    pub requests: Vec<PlannedRequest>,
}

/// A request to a service of the trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRequest {
    /// The name of the service.
    pub service: String,
    /// The tool that makes the request from arguments.
    pub tool: ToolDescription,
    /// Whether the service heeds an idempotency key of the request.
    pub takes_key: bool,
}

/// One step of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PlannedStep {
    /// The full name of the operation: `payment.charge`.
    pub operation: String,
    /// Its fields.
    pub fields: Fields,
    /// Nouns for its effect: `mail`.
    pub nouns: Vec<String>,
}

/// An effect that a task asks for.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedEffect<'a> {
    /// The name of the effect.
    pub effect: &'a str,
    /// The fields that it must have.
    pub fields: &'a [(Key, Node)],
    /// How often it is expected.
    pub times: u32,
}

impl ExpectedEffect<'_> {
    /// A field as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let (_, node) = self.fields.iter().find(|(key, _)| key.name == name)?;
        match &node.kind {
            NodeKind::Integer(number) => Some(number.to_string()),
            _ => node.as_text().map(str::to_owned),
        }
    }

    /// A field as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }
}

/// What must exist before the task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preparation {
    /// Options of the service.
    pub options: Vec<(&'static str, NodeKind)>,
    /// Fields of the expected effects that are known because of the preparation: the index of the effect, the
    /// field and its value.
    pub certain: Vec<(usize, &'static str, NodeKind)>,
}
