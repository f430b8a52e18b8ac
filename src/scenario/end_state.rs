//! What a case expects of the state of its services besides single records: rules over several records or counters, and
//! what is live at the end. Plain data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule over the numbers in several records or counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Invariant {
    /// The keys of the records, or the names of the counters.
    pub keys: Vec<String>,
    /// Whether they are counters.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub counter: bool,
    /// Their values at the start, in the same order; `null` for one that did not exist.
    pub starts: Vec<serde_json::Value>,
    /// Whether their sum at the end must be that of the start.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub sum_stays: bool,
    /// Where their sum must be after each write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<NumberRange>,
    /// Where each of them must be after each write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<NumberRange>,
}

/// The numbers between two bounds, both of which are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumberRange {
    /// The least number; `None` for no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<i64>,
    /// The greatest number; `None` for no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<i64>,
}

/// What must be live at one place at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveDue {
    /// The place: `production`, or `production/web` for a part of it.
    pub place: String,
    /// What must be live there; `None` for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What was live there at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
}

impl NumberRange {
    /// Whether a number is in it.
    #[must_use]
    pub fn contains(self, number: i128) -> bool {
        self.least.is_none_or(|least| number >= i128::from(least))
            && self.most.is_none_or(|most| number <= i128::from(most))
    }
}

impl std::fmt::Display for NumberRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.least, self.most) {
            (Some(least), Some(most)) if least == most => write!(f, "{least}"),
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("any number"),
        }
    }
}
