//! Cases in memory: the text of a scenario, read as any scenario is, with the plan of the driver as its task.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use mock_services::catalog;
use mock_services::yaml::{Problems, Source, write_duration};
use serde::{Deserialize, Serialize};

use super::questions::McpQuestion;
use crate::mcp::client::{DriverPlan, DriverStep, Handshake};
use crate::scenario::{Case, read_scenario};

/// The name of the scenarios in problems.
const FILE: &str = "MCP battery";
/// The largest number of steps that a plan waits for, with some room.
const LONGEST_PLAN: u32 = 8;

/// One kind of trial: what the driver does, and what fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TrialSetup {
    /// The question that it asks.
    pub(super) question: McpQuestion,
    /// The steps of each start.
    pub(super) starts: Vec<Vec<DriverStep>>,
    /// The fault of the first attempt: the operation, what is committed, and the reply.
    pub(super) fault: Option<(String, Cow<'static, str>, Cow<'static, str>)>,
    /// The operation after whose commit everything is killed and started again.
    pub(super) kill_at: Option<String>,
    /// The number of callers.
    pub(super) callers: u32,
    /// The operation at which the callers meet.
    pub(super) meet: Option<String>,
}

impl TrialSetup {
    pub(super) fn new(question: McpQuestion, starts: Vec<Vec<DriverStep>>) -> Self {
        TrialSetup { question, starts, fault: None, kill_at: None, callers: 1, meet: None }
    }
}

/// What all cases share.
#[derive(Debug, Clone)]
pub(super) struct CaseMaker {
    /// The services, each with its settings as YAML.
    pub(super) services: Vec<(String, String)>,
    /// How the driver connects.
    pub(super) handshake: Handshake,
    /// How long the server can take for each request.
    pub(super) timeout: Duration,
    /// Where the driver writes lists of tools.
    pub(super) list_folder: PathBuf,
    /// A text that is another one in every run.
    pub(super) run: String,
}

/// The service that answers for any host, if there is one.
#[must_use]
pub fn any_host_service() -> Option<&'static str> {
    catalog::services().iter().find(|service| service.any_host).map(|service| service.name.as_str())
}

/// The services that stand in for the backend where the user names none. A key that the server sends counts.
pub(super) fn default_services() -> Vec<(String, String)> {
    let any = any_host_service().map(|name| (name.to_owned(), "{ idempotency: stripe }".to_owned()));
    any.into_iter().collect()
}

impl CaseMaker {
    /// A case. `name` is for its id.
    pub(super) fn case(&self, name: &str, setup: &TrialSetup) -> Result<Case, Problems> {
        let text = self.text(setup);
        let mut cases = read_scenario(&Source::new(FILE, text.as_str()), &format!("mcp/{}", typeable(name)))?;
        let mut case = cases.swap_remove(0);
        let plan = DriverPlan {
            handshake: self.handshake,
            timeout: self.timeout,
            list_folder: Some(self.list_folder.clone()),
            run: self.run.clone(),
            starts: setup.starts.clone(),
        };
        // Plain data written into memory cannot fail.
        case.work.task = serde_json::to_string(&plan).unwrap_or_default();
        Ok(case)
    }

    fn text(&self, setup: &TrialSetup) -> String {
        let mut text = format!("about: An MCP server is asked {}.\ntask: call\nservices:\n", setup.question);
        // Writing into a string cannot fail.
        for (name, settings) in &self.services {
            let _ = writeln!(text, "  {name}: {settings}");
        }
        if let Some((operation, commit, reply)) = &setup.fault {
            let _ = writeln!(
                text,
                "faults:\n  - {{ on: {operation}, where: any, attempt: 1, commit: {commit}, reply: {reply} }}"
            );
        }
        if let Some(operation) = &setup.kill_at {
            let _ = writeln!(
                text,
                "interrupts:\n  - {{ when: {{ committed: {operation}, attempt: 1 }}, do: kill, \
                 then: restart }}"
            );
        }
        if setup.callers > 1 {
            let meet =
                setup.meet.as_ref().map(|operation| format!(", meet: {operation}")).unwrap_or_default();
            let within = write_duration(self.timeout);
            let _ = writeln!(text, "callers: {{ count: {}{meet}, within: {within} }}", setup.callers);
        }
        let limit = write_duration(self.timeout.saturating_mul(LONGEST_PLAN) + Duration::from_secs(30));
        let _ =
            writeln!(text, "expect: {{ effects: [], claim: [done, not-done, unknown] }}\ntimeout: {limit}");
        text
    }
}

/// A name for a case id: letters, digits and hyphens.
fn typeable(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}
