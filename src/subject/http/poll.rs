//! Asks an agent that accepts its task first and answers later: 202 with the URL of a status, which hapax reads
//! until the task has ended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::sleep;
use yaml_reader::shown;

use super::client::{AgentAnswer, AnswerContent, Target, send};
use super::exchange::AgentRequest;
use crate::subject::sealed::Gateway;
use crate::subject::start::{AcceptedAt, AcceptedTask};

/// The first pause between two requests for the status.
const FIRST_INTERVAL: Duration = Duration::from_millis(50);
/// The longest.
const MAX_INTERVAL: Duration = Duration::from_secs(1);
/// The members of a response that can have the URL of the status.
const URL_MEMBERS: [&str; 2] = ["status_url", "url"];
/// The members of a status that can say that the task has not ended.
const STATE_MEMBERS: [&str; 2] = ["status", "state"];
/// The states of a task that has not ended, in lower case and with `_` between words.
const PENDING_STATES: [&str; 11] = [
    "pending",
    "queued",
    "scheduled",
    "submitted",
    "starting",
    "started",
    "running",
    "working",
    "processing",
    "in_progress",
    "retry",
];

/// How hapax connects to an agent: in its own network, if it is sealed.
pub(super) struct Connector {
    pub(super) target: Target,
    pub(super) gateway: Option<Arc<Gateway>>,
}

impl Connector {
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        match &self.gateway {
            Some(gateway) => gateway.connect(self.target.port()).await,
            None => self.target.connect().await,
        }
    }
}

/// Why an agent that accepted its task gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// It did not answer, or its answer cannot be read.
    Broken(String),
    /// Its status is where hapax does not ask for it.
    Elsewhere(String),
}

impl From<String> for NoAnswer {
    fn from(why: String) -> Self {
        NoAnswer::Broken(why)
    }
}

/// Sends the request and returns the final answer. `is_accepted` is set while there is no connection on which the
/// agent could hear that hapax cancels; `task` is set for the starts after this one.
pub(super) async fn ask(
    agent: &Connector,
    line: TcpStream,
    request: &AgentRequest,
    canceled: Option<oneshot::Receiver<()>>,
    is_accepted: &AtomicBool,
    task: &AcceptedTask,
) -> Result<AgentAnswer, NoAnswer> {
    let answer = send(&agent.target, line, request, canceled).await?;
    if answer.status != 202 {
        return Ok(answer);
    }
    let Some(url) = status_url(&answer) else {
        task.set(AcceptedAt::Watched);
        return Ok(answer);
    };
    is_accepted.store(true, Ordering::Relaxed);
    let path = status_path(agent, &url, &request.path)?;
    task.set(AcceptedAt::Status(path.clone()));
    let answer = ask_for_status(agent, request, path).await?;
    is_accepted.store(false, Ordering::Relaxed);
    Ok(answer)
}

/// Reads the status of an accepted task until the task has ended.
pub(super) async fn ask_for_status(
    agent: &Connector,
    request: &AgentRequest,
    mut path: String,
) -> Result<AgentAnswer, NoAnswer> {
    let mut interval = FIRST_INTERVAL;
    loop {
        sleep(interval).await;
        interval = (interval * 2).min(MAX_INTERVAL);
        let line = agent.connect().await.map_err(|error| format!("cannot ask for its status: {error}"))?;
        let answer = send(&agent.target, line, &request.for_status(path.clone()), None).await?;
        match (is_pending(&answer), &answer.location) {
            (true, Some(url)) => path = status_path(agent, url, &path)?,
            (true, None) => {}
            (false, Some(url)) if matches!(answer.status, 302 | 303 | 307 | 308) => {
                path = status_path(agent, url, &path)?;
            }
            (false, _) => return Ok(answer),
        }
    }
}

fn status_path(agent: &Connector, url: &str, from: &str) -> Result<String, NoAnswer> {
    agent.target.path_of(url, from).map_err(|why| {
        NoAnswer::Elsewhere(format!(
            "its status is at `{}`, where hapax does not ask for it: {why}; answer 202 with a `Location` at the \
             address of the agent",
            shown(url)
        ))
    })
}

/// The URL of the status that an agent gives when it accepts a task. A claim is an answer, not a status.
fn status_url(accepted: &AgentAnswer) -> Option<String> {
    let in_body = || {
        let body = object(accepted).filter(|body| body.get("outcome").is_none())?;
        URL_MEMBERS.iter().find_map(|name| body.get(name)?.as_str().map(str::to_owned))
    };
    accepted.location.clone().or_else(in_body).filter(|url| !url.is_empty())
}

/// Whether the task has not ended: 202, or a success whose state says so.
fn is_pending(answer: &AgentAnswer) -> bool {
    if !(200..300).contains(&answer.status) {
        return false;
    }
    let has_pending_state = |body: &Value| {
        let states = STATE_MEMBERS.iter().filter_map(|name| body.get(name)?.as_str());
        let mut words = states.map(|state| state.trim().to_lowercase().replace(['-', ' '], "_"));
        body.get("outcome").is_none() && words.any(|word| PENDING_STATES.contains(&word.as_str()))
    };
    answer.status == 202 || object(answer).is_some_and(|body| has_pending_state(&body))
}

fn object(answer: &AgentAnswer) -> Option<Value> {
    match &answer.content {
        AnswerContent::Body(body) => serde_json::from_str(body).ok().filter(Value::is_object),
        AnswerContent::Events(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, location: Option<&str>, body: &str) -> AgentAnswer {
        let location = location.map(str::to_owned);
        AgentAnswer { status, location, content: AnswerContent::Body(body.to_owned()) }
    }

    #[test]
    fn the_status_of_an_accepted_task_is_found() {
        let url = |location, body| status_url(&answer(202, location, body));
        assert_eq!(url(Some("/1"), "{\"url\": \"/2\"}").as_deref(), Some("/1"));
        assert_eq!(url(None, "{\"url\": \"/2\", \"status_url\": \"/3\"}").as_deref(), Some("/3"));
        assert_eq!(url(None, "{\"url\": \"/2\"}").as_deref(), Some("/2"));
        for body in ["", "{}", "{\"url\": 5}", "{\"outcome\": \"done\", \"url\": \"/2\"}", "[\"url\"]"] {
            assert_eq!(url(None, body), None, "{body}");
        }
    }

    #[test]
    fn a_task_is_pending_until_its_state_is_another() {
        for (status, body) in
            [(202, ""), (200, "{\"status\": \"In-Progress\"}"), (200, "{\"state\": \"PENDING\"}")]
        {
            assert!(is_pending(&answer(status, None, body)), "{status} {body}");
        }
        for (status, body) in [
            (200, "{\"status\": \"succeeded\"}"),
            (200, "{\"status\": \"running\", \"outcome\": \"done\"}"),
            (200, "running"),
            (500, "{\"status\": \"running\"}"),
        ] {
            assert!(!is_pending(&answer(status, None, body)), "{status} {body}");
        }
    }
}
