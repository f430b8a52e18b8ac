//! A service with its options, ready to be started. Only the service's own folder knows their type.

use std::fmt;

use serde_json::Value;

use super::StoreKind;
use crate::services::{Builder, ServiceOptions};
use crate::yaml::Source;

/// A service with its options, ready to be started.
pub trait ConfiguredService: fmt::Debug + Send + Sync {
    /// The options as JSON, in a form that is the same in every version of Rust: two services with the same
    /// value behave alike.
    fn configuration(&self) -> Value;

    /// Adds the service to those that are started together. The ids of what exists before the first request
    /// come from `seed`.
    fn add_to(&self, builder: Builder, seed: u64, options: ServiceOptions) -> Builder;

    /// The value that a record or a counter has before the first request; `None` where there is none.
    fn stored(&self, _kind: StoreKind, _key: &str) -> Option<Value> {
        None
    }

    /// The file that declares the service; `None` for one that is written in Rust.
    fn declaration(&self) -> Option<&Source> {
        None
    }
}
