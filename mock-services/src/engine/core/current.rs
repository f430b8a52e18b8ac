//! What a read shows now of the object that an earlier request made.

use serde_json::Value;

use super::Core;
use crate::engine::job::Job;
use crate::engine::keys::made_id;
use crate::service::{Answer, Decision, OperationKind, Request, Service};

/// The states of an object that is no longer open.
const CLOSED: [&str; 6] = ["resolved", "closed", "canceled", "cancelled", "completed", "done"];

impl<S: Service> Core<S> {
    /// The object that an answer is about, as it is now; `None` if it cannot be read.
    pub(super) fn latest(&self, job: &Job<S>, first: &Answer) -> Option<Answer> {
        match self.read_again(job, first)? {
            Decision::Accept(accepted) => Some(accepted.answer),
            Decision::Refuse(_) => None,
        }
    }

    /// Whether the object that an answer is about is gone, or is shown as closed.
    pub(super) fn is_closed(&self, job: &Job<S>, first: &Answer) -> bool {
        match self.read_again(job, first) {
            Some(Decision::Accept(accepted)) => {
                let mut body = Vec::new();
                accepted.answer.write_body(&mut body);
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let status = body.get("status").and_then(Value::as_str);
                status.is_some_and(|status| CLOSED.contains(&status))
            }
            Some(Decision::Refuse(_)) => true,
            None => false,
        }
    }

    /// Reads what an answer is about: the path of a `POST` with the id of what it made, otherwise the path itself.
    fn read_again(&self, job: &Job<S>, first: &Answer) -> Option<Decision<S::Effect>> {
        let service = &self.setting.service;
        let path = job.request.path().trim_end_matches('/');
        let path = match job.request.method() {
            "POST" => format!("{path}/{}", made_id(first)?),
            _ => path.to_owned(),
        };
        let headers =
            job.request.headers().filter(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        let request =
            headers.fold(Request::new("GET", &path), |request, (name, value)| request.header(name, value));
        let context = self.context(job, 0);
        let recognized = service.recognize(&request, &context).ok()?;
        let is_read = service.operations()[recognized.operation].kind == OperationKind::Read;
        is_read.then(|| service.decide(&self.state, &recognized.call, &context))
    }
}
