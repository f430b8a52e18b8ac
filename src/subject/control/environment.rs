//! Reads the environment variables of a subject. No other part of a control reads variables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mock_services::examples;

use super::receiver::ControlEvent;
use crate::domain::Decision;
use crate::scenario::Step;

/// The variable with the timeout of a control's clients for a reply, in seconds.
pub(in crate::subject) const TIMEOUT_VARIABLE: &str = "HAPAX_CLIENT_TIMEOUT";
/// The timeout in cases that wait for it, and elsewhere.
const SHORT_TIMEOUT: Duration = Duration::from_secs(10);
const LONG_TIMEOUT: Duration = Duration::from_secs(30);

/// The timeout of a control in a case that delays its requests by this time at most; `is_awaited` if a request
/// of it has no reply before. It is much longer than any fault and than callers wait for each other, so that
/// no verdict depends on the speed of the machine.
pub(in crate::subject) fn client_timeout(longest_delay: Duration, is_awaited: bool) -> Duration {
    if is_awaited && longest_delay <= SHORT_TIMEOUT / 2 { SHORT_TIMEOUT } else { LONG_TIMEOUT }
}

/// Whether a variable is read: those of hapax, and what verifies the signatures of the senders of events.
fn is_read(name: &str) -> bool {
    name.starts_with("HAPAX_") || name.ends_with("_SECRET") || name.ends_with("_WEBHOOK_PUBLIC_KEY")
}

/// The environment of a subject.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    steps: Vec<Step>,
    /// How its calls of MCP tools are made.
    pub(super) mcp_client: McpClient,
}

/// How a control makes the calls of MCP tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum McpClient {
    /// In the form of 2026-07-28, in which closing the connection cancels a call.
    #[default]
    Closing,
    /// In an earlier form, with a notification when it gives up a call.
    Telling,
    /// In an earlier form, without one.
    Silent,
}

/// Why the environment is not that of a subject.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// There are no steps.
    #[error("HAPAX_STEPS is not set; a control is started by `hapax run --subject NAME` or `hapax selftest`")]
    NoSteps,
    /// The steps cannot be read.
    #[error(
        "cannot read HAPAX_STEPS: {0}; write it as [{example}]",
        example = examples::STEP_JSON
    )]
    Steps(#[from] serde_json::Error),
}

/// The address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) url: String,
    pub(super) key: String,
}

impl Environment {
    /// Reads variables; ignores those that do not start with `HAPAX_` and are not the secret of a sender.
    ///
    /// # Errors
    /// When the steps are missing or invalid.
    pub fn read(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, EnvironmentError> {
        let variables: BTreeMap<_, _> = variables.into_iter().filter(|(name, _)| is_read(name)).collect();
        let steps = variables.get("HAPAX_STEPS").ok_or(EnvironmentError::NoSteps)?;
        let steps = serde_json::from_str(steps)?;
        Ok(Environment { variables, steps, mcp_client: McpClient::default() })
    }

    /// The same environment, with another client of MCP tools.
    pub(super) fn with_mcp_client(&self, mcp_client: McpClient) -> Self {
        Environment { mcp_client, ..self.clone() }
    }

    /// The steps of the task.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The text of the task.
    pub(super) fn task(&self) -> &str {
        self.text("HAPAX_TASK").unwrap_or_default()
    }

    /// Whether it was started without a task, after it had accepted one.
    pub(super) fn has_no_task(&self) -> bool {
        self.task().is_empty() && self.steps.is_empty()
    }

    /// What a person answered: the id of each question, and the decision.
    pub(super) fn answers(&self) -> Vec<(String, Decision)> {
        let answers: Vec<serde_json::Value> =
            self.text("HAPAX_ANSWER").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let one = |answer: &serde_json::Value| {
            let decision = answer.get("decision")?.as_str()?.parse().ok()?;
            Some((answer.get("id")?.as_str()?.to_owned(), decision))
        };
        answers.iter().filter_map(one).collect()
    }

    /// The same environment with other steps.
    pub(super) fn with_steps(&self, steps: &[Step]) -> Self {
        Environment { steps: steps.to_vec(), ..self.clone() }
    }

    /// The event that it was started for, if it was.
    pub(super) fn event(&self) -> Option<ControlEvent> {
        ControlEvent::read(&std::fs::read_to_string(self.path("HAPAX_EVENT_FILE")?).ok()?)
    }

    /// The secret of a sender.
    pub(super) fn secret(&self, variable: &str) -> Option<&str> {
        self.text(variable)
    }

    /// The directory of this caller.
    pub(super) fn state_dir(&self) -> Option<PathBuf> {
        self.path("HAPAX_STATE_DIR")
    }

    /// The directory of all callers.
    pub(super) fn shared_dir(&self) -> Option<PathBuf> {
        self.path("HAPAX_SHARED_DIR")
    }

    /// The file for the claim.
    pub(super) fn result(&self) -> Option<PathBuf> {
        self.path("HAPAX_RESULT")
    }

    /// The timeout of its clients for a reply.
    pub(super) fn client_timeout(&self) -> Duration {
        let seconds = self.text(TIMEOUT_VARIABLE).and_then(|text| text.parse().ok());
        seconds.map_or(LONG_TIMEOUT, Duration::from_secs)
    }

    /// The name of this caller, reduced to letters and digits, so that it can be part of a file name.
    pub(super) fn caller(&self) -> String {
        let name = self.text("HAPAX_CALLER").unwrap_or_default();
        name.chars().filter(char::is_ascii_alphanumeric).collect()
    }

    /// The address of a service, if the trial has it.
    pub(super) fn service(&self, name: &str) -> Option<Address> {
        let stem = name.to_uppercase().replace('-', "_");
        let url = self.text(&format!("HAPAX_{stem}_URL"))?.trim_end_matches('/').to_owned();
        let key = self.text(&format!("HAPAX_{stem}_KEY")).unwrap_or_default().to_owned();
        Some(Address { url, key })
    }

    /// The URL of the MCP endpoint, if the trial has one.
    pub(super) fn mcp_url(&self) -> Option<&str> {
        self.text("HAPAX_MCP_URL")
    }

    /// Host and port of the mail server, if the trial has one.
    pub(super) fn mail_server(&self) -> Option<String> {
        let url = self.text("HAPAX_SMTP_URL")?;
        let address = url.strip_prefix("smtp://").unwrap_or(url);
        Some(address.rsplit_once('@').map_or(address, |(_, host)| host).trim_end_matches('/').to_owned())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, EnvironmentError> {
        Environment::read(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn an_environment_without_valid_steps_is_refused() {
        assert!(matches!(read(&[]), Err(EnvironmentError::NoSteps)));
        for steps in ["", "{}", "[{}]", "[{\"do\": 1}]", "[{\"do\": \"a.b\", \"with\": {\"x\": {}}}]"] {
            assert!(matches!(read(&[("HAPAX_STEPS", steps)]), Err(EnvironmentError::Steps(_))), "{steps}");
        }
    }

    #[test]
    fn addresses_are_read_from_the_variables() {
        let environment = read(&[
            ("HAPAX_STEPS", "[]"),
            ("HAPAX_PAYMENT_URL", "http://127.0.0.1:1/"),
            ("HAPAX_PAYMENT_KEY", "k"),
            ("HAPAX_SMTP_URL", "smtp://user:secret@127.0.0.1:25/"),
            ("HAPAX_CALLER", "../7f"),
        ])
        .unwrap();
        let payment = environment.service("payment").unwrap();
        assert_eq!((payment.url.as_str(), payment.key.as_str()), ("http://127.0.0.1:1", "k"));
        assert_eq!(environment.mail_server().as_deref(), Some("127.0.0.1:25"));
        assert_eq!(environment.caller(), "7f");
        assert_eq!(environment.service("email"), None);
    }
}
