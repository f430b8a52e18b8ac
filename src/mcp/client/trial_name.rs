//! The name of a trial, which the driver puts into the arguments of calls.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::plan::{KEY_PLACEHOLDER, TRIAL_PLACEHOLDER};

/// The number of hexadecimal digits, which is that of the last part of a UUID.
const DIGITS: usize = 12;

/// The names that stand for the placeholders of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TrialName {
    name: String,
    key: String,
}

impl TrialName {
    /// The names of a trial of a run.
    pub(super) fn new(trial: &str, run: &str) -> Self {
        let digits = |what: &str| {
            let mut digits = hex::encode(Sha256::digest(format!("{what} {trial} {run}")));
            digits.truncate(DIGITS);
            digits
        };
        TrialName { name: digits("name"), key: digits("key") }
    }

    /// How often the name is in a text.
    pub(super) fn count_in(&self, text: &str) -> usize {
        text.matches(&self.name).count()
    }

    /// The arguments with the names in place of the placeholders.
    pub(super) fn fill(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        arguments.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect()
    }

    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                Value::String(text.replace(TRIAL_PLACEHOLDER, &self.name).replace(KEY_PLACEHOLDER, &self.key))
            }
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(entries) => Value::Object(self.fill(entries)),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_name_is_counted_and_the_key_is_not() {
        let trial = TrialName::new("5d1c0f0e6a1b2c3d", "");
        let arguments = json!({
            "title": "note {{trial}}", "tags": ["{{trial}}"], "key": "hapax-1-{{trial-key}}", "size": 3
        });
        let filled = trial.fill(arguments.as_object().unwrap());
        let text = serde_json::to_string(&filled).unwrap();
        assert_eq!(trial.count_in(&text), 2, "{text}");
        assert!(!text.contains("{{"), "{text}");
        assert_eq!(filled["key"].as_str().unwrap().len(), "hapax-1-".len() + DIGITS);
    }

    #[test]
    fn another_trial_and_another_run_have_other_names() {
        let one = TrialName::new("5d1c0f0e6a1b2c3d", "1");
        assert_ne!(one, TrialName::new("5d1c0f0e6a1b2c3e", "1"));
        assert_ne!(one, TrialName::new("5d1c0f0e6a1b2c3d", "2"));
        assert_eq!(one, TrialName::new("5d1c0f0e6a1b2c3d", "1"));
    }
}
