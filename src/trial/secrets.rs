//! The values that are hidden in the ledger and the report: of variables that are passed on, of those that `env` in
//! hapax.yaml sets, of headers of the request to an agent, and secrets of the command. A value that the scenario names
//! is not secret.

use std::collections::HashSet;

use mock_services::ledger::Ledger;
use mock_services::service::{Fields, Value};

use crate::scenario::Case;
use crate::subject::{Subject, SubjectKind, command_secrets, is_secret_name};

/// A longer value is hidden, regardless of its name.
const MAX_PLAIN_LENGTH: usize = 20;

/// Hides the secret values of variables and of the command. A word that the scenario uses is not secret: hiding
/// `production` would hide the environment of a deployment.
pub(super) fn hide(ledger: &Ledger, case: &Case, subject: &Subject) {
    let named = named_values(case);
    named.iter().for_each(|value| ledger.show_value(value));
    let variables = subject.settings.passed_values().into_iter().chain(subject.settings.set_values());
    let variables = variables.filter(|(name, value)| is_secret(name, value)).map(|(_, value)| value);
    let in_command = match &subject.kind {
        SubjectKind::Command { program } | SubjectKind::Http { command: Some(program), .. } => {
            command_secrets(program)
        }
        SubjectKind::Http { command: None, .. } | SubjectKind::Control(_) => Vec::new(),
    };
    let headers = match &subject.kind {
        SubjectKind::Http { exchange, .. } => exchange.set_values(),
        SubjectKind::Command { .. } | SubjectKind::Control(_) => Vec::new(),
    };
    let headers = headers.into_iter().filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value);
    for value in variables.chain(headers).chain(in_command.into_iter().map(|secret| secret.value)) {
        if !named.contains(&value) {
            ledger.hide_value(&value);
        }
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    value.len() > MAX_PLAIN_LENGTH || is_secret_name(name)
}

/// The values that stand in the scenario.
fn named_values(case: &Case) -> HashSet<String> {
    let works = std::iter::once(&case.work).chain(&case.each).chain(&case.turns);
    let in_work = works.flat_map(|work| &work.steps).map(|step| &step.with);
    let in_intents = case.terms.intents.iter().flat_map(|intent| [&intent.selector, &intent.expected]);
    let mut named: HashSet<String> = in_work.chain(in_intents).flat_map(values).collect();
    for record in &case.terms.records {
        named.insert(record.key.clone());
        add_texts(&record.value, &mut named);
        add_texts(&record.start, &mut named);
    }
    for invariant in &case.terms.invariants {
        named.extend(invariant.keys.iter().cloned());
        invariant.starts.iter().for_each(|start| add_texts(start, &mut named));
    }
    for due in &case.terms.live {
        named.insert(due.place.clone());
        named.extend(due.value.iter().chain(&due.start).cloned());
    }
    named
}

fn values(fields: &Fields) -> impl Iterator<Item = String> {
    fields.iter().flat_map(|(_, value)| match value {
        Value::List(texts) => texts.clone(),
        plain => vec![plain.to_string()],
    })
}

/// The value of a record as text, and all texts in it.
fn add_texts(value: &serde_json::Value, named: &mut HashSet<String>) {
    match value {
        serde_json::Value::String(text) => {
            named.insert(text.clone());
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| add_texts(item, named)),
        serde_json::Value::Object(entries) => entries.values().for_each(|item| add_texts(item, named)),
        _ => {}
    }
    named.insert(value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_telling_name_or_a_long_value_is_secret() {
        assert!(is_secret("OPENAI_API_KEY", "short"));
        assert!(is_secret("DATABASE", "postgres://user:word@host/db"));
        assert!(!is_secret("NODE_ENV", "production"));
    }
}
