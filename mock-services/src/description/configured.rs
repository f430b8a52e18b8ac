//! A service with its options, ready to be started. Only the service's own folder knows their type.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use yaml_reader::Source;

use super::{PlannedTask, ServedHost, ServiceDescription, StoreKind};
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

    /// Whether a claim that the service makes for a subject is judged: one that is wrong on purpose is not.
    fn has_judged_claims(&self) -> bool {
        true
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
