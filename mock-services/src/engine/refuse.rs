//! Refused requests, which are not attempts, and input that was refused before it became a request.

use super::job::{self, Job};
use super::{Engine, message, reason};
use crate::delivery::{AnswerDelivery, Delivery, Origin};
use crate::ledger::{Event, RefusedRequest};
use crate::service::{Answer, Context, Request, Service};

impl<S: Service> Engine<S> {
    /// Records input that was refused before it became a request, and what hapax does not have, if that is why.
    /// The status is 0 if none was sent.
    pub(crate) fn record_wire_refusal(
        &self,
        origin: Origin,
        method: &str,
        status: u16,
        reason: Option<&str>,
        unsupported: Option<&str>,
    ) {
        self.ledger().append(Event::Refused(Box::new(RefusedRequest {
            service: self.service().name().into(),
            operation: None,
            method: method.into(),
            path: "".into(),
            status,
            caller: origin.caller,
            connection: origin.connection,
            key: None,
            reason: reason.map(Into::into),
            unsupported: unsupported.map(Into::into),
            undecided: None,
            declared_answer: None,
            message: None,
            answer: None,
        })));
    }

    /// Records a refused request with the reason that its answer gives, and answers it. Without a job it was not
    /// recognized.
    pub(super) fn refusal(
        &self,
        job: Option<&Job<S>>,
        request: &Request,
        origin: Origin,
        context: &Context,
        mut answer: Answer,
    ) -> AnswerDelivery<'static> {
        let service = self.service();
        let reason = reason::reason(&answer);
        service.add_standard_headers(&mut answer, request, context);
        let keeps_messages = self.ledger().keeps_messages();
        self.ledger().append(Event::Refused(Box::new(RefusedRequest {
            service: service.name().into(),
            operation: job.map(|job| job.operation(service).name.as_ref().into()),
            method: job::shown(request.method()),
            path: job::shown(request.path()),
            status: answer.status,
            caller: origin.caller,
            connection: origin.connection,
            key: job::shown_key(
                service,
                request,
                self.rules_for(request).as_ref().unwrap_or(&self.idempotency),
            ),
            reason: reason.map(Into::into),
            unsupported: answer.missing_feature().map(Into::into),
            undecided: answer.undecided_because().map(Into::into),
            declared_answer: job.and_then(|job| service.declared_answer(&job.recognized.call)),
            message: keeps_messages.then(|| message::of_request(request)),
            answer: keeps_messages.then(|| message::of_answer(&answer)),
        })));
        AnswerDelivery { answer, how: Delivery::default(), pending: None }
    }
}
