//! The values of variables that are hidden in the ledger and the report: of variables that are passed on, and
//! of those that `env` in hapax.yaml sets.

use mock_services::ledger::Ledger;

use crate::scenario::Case;
use crate::subject::Subject;

/// Parts of names whose values are secret.
const SECRET_NAME_PARTS: [&str; 9] =
    ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "DSN"];
/// A longer value is hidden, regardless of its name.
const MAX_PLAIN_LENGTH: usize = 20;

/// Hides the secret values of variables. A word that the scenario uses is not secret: hiding `production`
/// would hide the environment of a deployment.
pub(super) fn hide(ledger: &Ledger, case: &Case, subject: &Subject) {
    for (name, value) in subject.settings.passed_values().into_iter().chain(subject.settings.set_values()) {
        if is_secret(&name, &value) && !occurs(case, &value) {
            ledger.hide_value(&value);
        }
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    value.len() > MAX_PLAIN_LENGTH || is_secret_name(name)
}

/// Whether the name of a variable says that its value is secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
}

fn occurs(case: &Case, value: &str) -> bool {
    let works = std::iter::once(&case.work).chain(&case.each).chain(&case.turns);
    let in_work = works
        .flat_map(|work| &work.steps)
        .any(|step| step.with.iter().any(|(_, have)| have.to_string() == value));
    let fields =
        case.terms.intents.iter().flat_map(|intent| intent.selector.iter().chain(intent.expected.iter()));
    in_work || fields.into_iter().any(|(_, have)| have.to_string() == value)
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
