//! What hapax sends to an agent over HTTP, and how its response is read. Plain data; sends nothing.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::{Answer, ClaimedOutcome};
use crate::subject::control::escaped;
use crate::subject::environment::{addresses, value_of};
use crate::subject::template::{StartValue, Template};
use crate::subject::{ReceivedEvent, ServiceAddress, Start};

/// The path of chat completions, after the version.
const CHAT_COMPLETIONS: &str = "/chat/completions";
/// The version in the path, where a URL has none.
const API_VERSION: &str = "/v1";

/// The request to an agent over HTTP, and where its response has the claim. By default the request has the body
/// of hapax, and the response is the claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HttpExchange {
    pub(in crate::subject) request: RequestTemplate,
    pub(in crate::subject) format: ExchangeFormat,
    pub(in crate::subject) claim: AnswerClaim,
}

/// The shape of the request and of the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(in crate::subject) enum ExchangeFormat {
    /// That of hapax.
    #[default]
    Plain,
    /// Chat completions.
    OpenAi,
}

impl ExchangeFormat {
    /// The words for formats in hapax.yaml.
    pub(in crate::subject) const WORDS: [(&'static str, ExchangeFormat); 1] =
        [("openai", ExchangeFormat::OpenAi)];
}

/// A request with placeholders; what it leaves out is as the format says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(in crate::subject) struct RequestTemplate {
    pub(in crate::subject) method: HttpMethod,
    /// Replaces the path of the URL.
    pub(in crate::subject) path: Option<Template>,
    pub(in crate::subject) headers: Vec<(String, Template)>,
    pub(in crate::subject) body: Option<BodyTemplate>,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(in crate::subject) enum HttpMethod {
    #[default]
    Post,
    Put,
    Patch,
    Get,
}

impl HttpMethod {
    pub(in crate::subject) const WORDS: [(&'static str, HttpMethod); 4] = [
        ("POST", HttpMethod::Post),
        ("PUT", HttpMethod::Put),
        ("PATCH", HttpMethod::Patch),
        ("GET", HttpMethod::Get),
    ];

    const fn as_str(self) -> &'static str {
        match self {
            HttpMethod::Post => "POST",
            HttpMethod::Put => "PUT",
            HttpMethod::Patch => "PATCH",
            HttpMethod::Get => "GET",
        }
    }
}

/// JSON whose texts have placeholders, so that every value is escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::subject) enum BodyTemplate {
    Literal(Value),
    Text(Template),
    List(Vec<BodyTemplate>),
    Map(BTreeMap<String, BodyTemplate>),
}

impl BodyTemplate {
    /// Whether it has the task, in words or for a machine.
    pub(in crate::subject) fn has_task(&self) -> bool {
        match self {
            BodyTemplate::Literal(_) => false,
            BodyTemplate::Text(text) => text.has(StartValue::Task) || text.has(StartValue::Steps),
            BodyTemplate::List(items) => items.iter().any(BodyTemplate::has_task),
            BodyTemplate::Map(entries) => entries.values().any(BodyTemplate::has_task),
        }
    }

    /// The value for a start. What refers to a service that the case does not have is left out.
    fn fill(&self, services: &[ServiceAddress], start: &Start) -> Option<Value> {
        match self {
            BodyTemplate::Literal(value) => Some(value.clone()),
            BodyTemplate::Text(text) if text.is_only(StartValue::Steps) => Some(steps(start)),
            BodyTemplate::Text(text) if text.is_only(StartValue::Answer) => {
                Some(Answer::list(start.answers.as_deref().unwrap_or_default()))
            }
            BodyTemplate::Text(text) => {
                text.fill_request(services, |value| Some(value_of(value, start))).map(Value::String)
            }
            BodyTemplate::List(items) => {
                Some(items.iter().filter_map(|item| item.fill(services, start)).collect())
            }
            BodyTemplate::Map(entries) => {
                let filled = entries
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), value.fill(services, start)?)));
                Some(Value::Object(filled.collect()))
            }
        }
    }
}

/// Where a response has the claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(in crate::subject) struct AnswerClaim {
    /// A JSON pointer to the text of the answer; in a stream, to its part in each event.
    pub(in crate::subject) pointer: Option<String>,
    /// Texts in the answer, each with its outcome; the last that occurs counts.
    pub(in crate::subject) patterns: Vec<(String, ClaimedOutcome)>,
    /// Statuses, each with its outcome. A status that is listed counts, whatever the text is.
    pub(in crate::subject) statuses: Vec<(StatusRange, ClaimedOutcome)>,
}

impl AnswerClaim {
    /// Whether only the status counts.
    pub(in crate::subject) fn is_only_status(&self) -> bool {
        !self.statuses.is_empty() && self.pointer.is_none() && self.patterns.is_empty()
    }

    /// The outcome of a status; one status goes before a class of them.
    pub(in crate::subject) fn of_status(&self, status: u16) -> Option<ClaimedOutcome> {
        let listed = self.statuses.iter().filter(|(range, _)| range.contains(status));
        listed.min_by_key(|(range, _)| range.last - range.first).map(|(_, outcome)| *outcome)
    }
}

/// One status, or a class of them: `409`, `5xx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(in crate::subject) struct StatusRange {
    first: u16,
    last: u16,
}

impl StatusRange {
    /// Reads `409` or `5xx`.
    pub(in crate::subject) fn parse(text: &str) -> Option<Self> {
        if let Some(class) = text.strip_suffix("xx") {
            let class =
                class.parse::<u16>().ok().filter(|class| (1..=5).contains(class) && text.len() == 3)?;
            return Some(StatusRange { first: class * 100, last: class * 100 + 99 });
        }
        let status =
            text.parse::<u16>().ok().filter(|status| (100..600).contains(status) && text.len() == 3)?;
        Some(StatusRange { first: status, last: status })
    }

    const fn contains(self, status: u16) -> bool {
        self.first <= status && status <= self.last
    }
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentRequest {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
}

impl AgentRequest {
    /// The request for the status of the task, with the same headers.
    pub(super) fn for_status(&self, path: String) -> Self {
        let describes_body = |name: &str| name.eq_ignore_ascii_case("content-type");
        let headers = self.headers.iter().filter(|(name, _)| !describes_body(name)).cloned().collect();
        AgentRequest { method: HttpMethod::Get.as_str(), path, headers, body: None }
    }
}

impl AgentRequest {
    /// The request with an event.
    pub(super) fn with_event(path: String, event: &ReceivedEvent) -> Self {
        let (headers, body) = (event.headers.clone(), Some(event.body.clone()));
        AgentRequest { method: HttpMethod::Post.as_str(), path, headers, body }
    }
}

impl HttpExchange {
    /// The request for a start, to a URL with this path.
    pub(super) fn request(&self, path: &str, start: &Start) -> AgentRequest {
        let services = addresses(start);
        let RequestTemplate { method, path: own_path, headers, body } = &self.request;
        let escaped_value = |value| Some(escaped(&value_of(value, start)));
        let own_path = own_path.as_ref().and_then(|path| path.fill_request(&services, escaped_value));
        let path = own_path.unwrap_or_else(|| self.usual_path(path));
        let body = match body {
            Some(body) => body.fill(&services, start).map(|body| body.to_string()),
            None if *method == HttpMethod::Get => None,
            None => Some(self.usual_body(start)),
        };
        let accepted = if *self == HttpExchange::default() {
            "application/json"
        } else {
            "application/json, text/event-stream"
        };
        let content_type = body.as_ref().map(|_| ("Content-Type", "application/json"));
        let usual = content_type.into_iter().chain([("Accept", accepted)]);
        let usual = usual.filter(|(name, _)| !headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)));
        let own = headers.iter().filter_map(|(name, text)| {
            let value = text.fill_request(&services, |value| Some(value_of(value, start)))?;
            Some((name.clone(), value))
        });
        let headers = usual.map(|(name, value)| (name.to_owned(), value.to_owned())).chain(own).collect();
        AgentRequest { method: method.as_str(), path, headers, body }
    }

    /// The path of a request that names none: a base URL of chat completions leaves the end of the path out.
    fn usual_path(&self, path: &str) -> String {
        match self.format {
            ExchangeFormat::OpenAi if path == "/" => format!("{API_VERSION}{CHAT_COMPLETIONS}"),
            ExchangeFormat::OpenAi if path.trim_end_matches('/').ends_with(API_VERSION) => {
                format!("{}{CHAT_COMPLETIONS}", path.trim_end_matches('/'))
            }
            ExchangeFormat::OpenAi | ExchangeFormat::Plain => path.to_owned(),
        }
    }

    fn usual_body(&self, start: &Start) -> String {
        match self.format {
            ExchangeFormat::Plain => plain_body(start),
            ExchangeFormat::OpenAi => {
                let message = json!({ "role": "user", "content": start.task });
                let answer = |answers: &Vec<Answer>| {
                    let content = json!({ "answer": Answer::list(answers) }).to_string();
                    json!({ "role": "user", "content": content })
                };
                let messages: Vec<Value> =
                    [message].into_iter().chain(start.answers.as_ref().map(answer)).collect();
                json!({ "model": "agent", "messages": messages }).to_string()
            }
        }
    }

    /// The values of headers that do not depend on the trial, without the scheme of a credential.
    pub(crate) fn set_values(&self) -> Vec<(String, String)> {
        let constant = |(name, text): &(String, Template)| {
            let value = text.constant()?.split_whitespace().last()?.to_owned();
            Some((name.clone(), value))
        };
        self.request.headers.iter().filter_map(constant).collect()
    }
}

fn steps(start: &Start) -> Value {
    serde_json::from_str(&start.steps).unwrap_or_default()
}

/// The body of a request that has no template.
pub(super) fn plain_body(start: &Start) -> String {
    let services: Map<String, Value> = start
        .services
        .iter()
        .map(|service| {
            let mut about = json!({ "url": service.url, "key": service.key });
            if let Some(smtp) = &service.smtp {
                about["smtp"] = json!(smtp.url);
                if let Some(url) = &smtp.tls_url {
                    about["smtps"] = json!(url);
                }
                if let Some(trust) = &smtp.trust {
                    about["ca_file"] = json!(trust.ca);
                }
            }
            (service.name.clone(), about)
        })
        .collect();
    let (task, trial, caller) = (&start.task, &start.trial, &start.name);
    let mut body = json!({
        "task": task, "steps": steps(start), "services": services, "trial": trial, "caller": caller
    });
    if let Some(url) = &start.mcp {
        body["mcp"] = url.as_str().into();
    }
    if let Some(answers) = &start.answers {
        body["answer"] = Answer::list(answers);
    }
    body.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{AcceptedTask, Hide, Limits, SupervisorId};

    const TASK: &str = "Charge \"cus_42\"\n100 % & more é";

    fn start() -> Start {
        let payment = ServiceAddress {
            name: "payment".into(),
            url: "http://127.0.0.1:4001".into(),
            smtp: None,
            key: "sk_1".into(),
        };
        Start {
            trial: "t1".into(),
            name: "c1".into(),
            caller: 1,
            start: 1,
            resumes: false,
            answers: None,
            event: None,
            deliveries: None,
            webhook_secrets: Vec::new(),
            task: TASK.into(),
            steps: "[{\"do\":\"payment.charge\"}]".into(),
            services: vec![payment],
            mcp: Some("http://127.0.0.1:4009/mcp".into()),
            state_dir: "/state".into(),
            shared_dir: "/shared".into(),
            machine: crate::subject::Machine::named(),
            first_process: 300,
            result: "/result".into(),
            proxy: String::new(),
            limits: Limits::default(),
            client_timeout: std::time::Duration::ZERO,
            hide: Hide::default(),
            before_stop: None,
            rate: None,
            before_time_up: None,
            intercepted: None,
            sealed: None,
            supervisor: SupervisorId::default(),
            accepted: AcceptedTask::default(),
        }
    }

    fn text(text: &str) -> Template {
        Template::parse_request(text).unwrap()
    }

    #[test]
    fn every_text_of_a_body_is_filled_and_escaped() {
        let entry = |name: &str, value| (name.to_owned(), value);
        let entries = [
            entry("prompt", BodyTemplate::Text(text("do: ${task}"))),
            entry("steps", BodyTemplate::Text(text("${steps}"))),
            entry("ids", BodyTemplate::List(vec![BodyTemplate::Text(text("${trial} ${caller} $${task}"))])),
            entry("key", BodyTemplate::Text(text("${payment.key} ${mcp.port}"))),
            entry("deploy", BodyTemplate::Text(text("${deploy.url}"))),
            entry("depth", BodyTemplate::Literal(json!(2))),
        ];
        let body = BodyTemplate::Map(entries.into_iter().collect());
        let request = RequestTemplate { body: Some(body), ..RequestTemplate::default() };
        let sent = HttpExchange { request, ..HttpExchange::default() }.request("/run", &start());
        assert_eq!((sent.method, sent.path.as_str()), ("POST", "/run"));
        let sent: Value = serde_json::from_str(&sent.body.unwrap()).unwrap();
        let expected = json!({
            "prompt": format!("do: {TASK}"),
            "steps": [{ "do": "payment.charge" }],
            "ids": ["t1 c1 ${task}"],
            "key": "sk_1 4009",
            "depth": 2,
        });
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_task_in_the_path_is_one_part_of_it() {
        let path = Some(text("/run?task=${task}&trial=${trial}"));
        let request = RequestTemplate { method: HttpMethod::Get, path, ..RequestTemplate::default() };
        let sent = HttpExchange { request, ..HttpExchange::default() }.request("/", &start());
        let task = "Charge%20%22cus_42%22%0A100%20%25%20%26%20more%20%C3%A9";
        assert_eq!((sent.path, sent.body), (format!("/run?task={task}&trial=t1"), None));
    }

    #[test]
    fn headers_replace_the_usual_ones_and_those_of_the_body_are_not_sent_for_a_status() {
        let headers = vec![
            ("accept".to_owned(), text("text/plain")),
            ("Authorization".to_owned(), text("Bearer abc")),
            ("X-Key".to_owned(), text("${payment.key}")),
            ("X-Deploy".to_owned(), text("${deploy.key}")),
        ];
        let request = RequestTemplate { headers, ..RequestTemplate::default() };
        let exchange = HttpExchange { request, ..HttpExchange::default() };
        let sent = exchange.request("/run", &start());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = [pair("accept", "text/plain"), pair("Authorization", "Bearer abc"), pair("X-Key", "sk_1")];
        assert_eq!(sent.headers[0], pair("Content-Type", "application/json"));
        assert_eq!(sent.headers[1..], own);
        assert_eq!(sent.for_status("/1".to_owned()).headers, own);
        assert_eq!(exchange.set_values(), [pair("accept", "text/plain"), pair("Authorization", "abc")]);
    }

    #[test]
    fn chat_completions_are_below_the_base_url() {
        let exchange = HttpExchange { format: ExchangeFormat::OpenAi, ..HttpExchange::default() };
        for (path, expected) in [
            ("/", "/v1/chat/completions"),
            ("/v1", "/v1/chat/completions"),
            ("/api/v1/", "/api/v1/chat/completions"),
            ("/chat", "/chat"),
        ] {
            assert_eq!(exchange.request(path, &start()).path, expected, "{path}");
        }
        let body: Value = serde_json::from_str(&exchange.request("/", &start()).body.unwrap()).unwrap();
        assert_eq!(body["messages"], json!([{ "role": "user", "content": TASK }]));
    }
}
