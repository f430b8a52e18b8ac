//! The email service: one mailbox behind Resend's REST API, SendGrid's REST API and SMTP. A mail counts when
//! it is delivered; accepted and bounced are states that a read shows. The module uses no clock, no socket
//! and no fault.

mod address;
mod delivery;
mod description;
mod draft;
mod headers;
mod mailbox;
mod reference;
mod resend;
mod sender;
mod sendgrid;
mod smtp;
#[cfg(test)]
mod tests;
mod text;
mod tools;

use std::sync::Arc;

use crate::idempotency::{Idempotency, Profile};
use crate::service::{
    Accepted, Answer, Context, Decision, EffectFacts, Fields, Operation, Recognized, Request, Service,
    ServiceEvent, Transport,
};

pub use delivery::{EmailOptions, MailDelivery};
pub(crate) use description::description;
use draft::{MailDraft, request_fields};
use mailbox::Message;
pub use mailbox::{Effect, Mailbox};

const SEND: usize = 0;
const SANDBOX: usize = 1;
const LIST: usize = 2;
const GET: usize = 3;

/// The email service.
#[derive(Debug)]
pub struct Email {
    options: EmailOptions,
    operations: [Operation; 4],
}

impl Email {
    /// A service with these options.
    #[must_use]
    pub fn new(options: EmailOptions) -> Self {
        let send = ["to", "from", "subject", "text", "order", "reference", "metadata.*"];
        let list = ["limit", "after", "before", "id", "to", "from", "subject", "status", "metadata.*"];
        let operations = [
            Operation::write("email.send", &send, &["to", "subject"]).on_list(),
            Operation::write("email.sandbox", &send, &[]),
            Operation::read("email.list", &list),
            Operation::read("email.get", &["id"]),
        ];
        Email { options, operations }
    }
}

impl Default for Email {
    fn default() -> Self {
        Email::new(EmailOptions::default())
    }
}

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmailApi {
    Resend,
    SendGrid,
    Smtp,
}

impl EmailApi {
    fn from_request(request: &Request) -> Self {
        match api_name(request.method(), request.path()) {
            _ if request.envelope().is_some() => EmailApi::Smtp,
            "sendgrid" => EmailApi::SendGrid,
            _ => EmailApi::Resend,
        }
    }
}

/// The name of the API that a request belongs to.
pub(crate) fn api_name(method: &str, path: &str) -> &'static str {
    match path {
        _ if method == Request::SMTP => "smtp",
        "/v3" => "sendgrid",
        path if path.starts_with("/v3/") => "sendgrid",
        _ => "resend",
    }
}

/// A request that the service understood.
#[derive(Debug)]
pub struct Call(EmailAction);

#[derive(Debug)]
enum EmailAction {
    Send(OutgoingMail),
    ResendList(resend::ListPage),
    ResendGet(String),
    SendGridList(sendgrid::Search),
    SendGridGet(String),
}

impl Call {
    fn list(fields: Fields, action: EmailAction) -> Recognized<Call> {
        Recognized { operation: LIST, fields, call: Call(action) }
    }

    fn get(id: &str, action: EmailAction) -> Recognized<Call> {
        Recognized { operation: GET, fields: Fields::new().with("id", id), call: Call(action) }
    }
}

/// The mails of one request.
#[derive(Debug)]
struct OutgoingMail {
    api: EmailApi,
    drafts: Vec<Arc<MailDraft>>,
    /// Whether the client sent a list of mails and gets a list of ids.
    batch: bool,
    /// The invalid mails of a batch that is sent without them; `None` when all mails or none are sent.
    left_out: Option<Vec<resend::LeftOut>>,
    /// Whether the mails are only checked, not sent.
    sandbox: bool,
}

impl OutgoingMail {
    fn new(api: EmailApi, drafts: Vec<Arc<MailDraft>>) -> Self {
        OutgoingMail { api, drafts, batch: false, left_out: None, sandbox: false }
    }

    fn into_recognized(self) -> Recognized<Call> {
        // The sandbox sends nothing, so it must not use up a fault on sending.
        let operation = if self.sandbox { SANDBOX } else { SEND };
        Recognized { operation, fields: request_fields(&self.drafts), call: Call(EmailAction::Send(self)) }
    }

    /// The mails with their ids, which depend only on the request.
    fn messages(&self, context: &Context) -> Vec<Arc<Message>> {
        if self.sandbox {
            return Vec::new();
        }
        let token = mailbox::token(&context.ids.uuid("message"));
        let mut offset = 0;
        let numbered = self.drafts.iter().enumerate().map(|(index, draft)| {
            let id = if index == 0 {
                context.ids.uuid("message")
            } else {
                context.ids.uuid(&format!("message-{index}"))
            };
            // Only SendGrid has one id for a whole request.
            let (token, place) = if self.api == EmailApi::SendGrid {
                (token.clone(), offset)
            } else {
                (mailbox::token(&id), 0)
            };
            offset += draft.recipients.len();
            Arc::new(Message {
                id,
                token,
                offset: place,
                api: self.api,
                at: context.now,
                draft: Arc::clone(draft),
            })
        });
        numbered.collect()
    }

    fn answer(&self, messages: &[Arc<Message>]) -> Answer {
        match self.api {
            EmailApi::Resend if self.batch => {
                resend::sent_batch(messages.iter().map(Arc::as_ref), self.left_out.as_deref())
            }
            EmailApi::Resend => resend::sent(messages.iter().map(Arc::as_ref)),
            EmailApi::SendGrid => sendgrid::sent(messages.first().map(Arc::as_ref)),
            EmailApi::Smtp => {
                let queued = messages.first().map(|message| message.reported_id()).unwrap_or_default();
                smtp::reply(250, &format!("2.0.0 Ok: queued as {queued}"))
            }
        }
    }
}

impl Service for Email {
    type State = Mailbox;
    type Effect = Effect;
    type Call = Call;

    fn name(&self) -> &str {
        "email"
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn recognize(&self, request: &Request, context: &Context) -> Result<Recognized<Call>, Answer> {
        match request.envelope() {
            Some(envelope) => {
                let draft = smtp::draft(envelope, request.bytes())?;
                Ok(OutgoingMail::new(EmailApi::Smtp, vec![draft]).into_recognized())
            }
            None if EmailApi::from_request(request) == EmailApi::SendGrid => {
                sendgrid::recognize(request, context)
            }
            None => resend::recognize(request),
        }
    }

    fn decide(&self, state: &Mailbox, call: &Call, context: &Context) -> Decision<Effect> {
        match &call.0 {
            EmailAction::Send(outgoing) => {
                let messages = outgoing.messages(context);
                let (effects, afterwards) = self.options.plan(&messages, context.now);
                Decision::Accept(Accepted {
                    operation: None,
                    effects,
                    afterwards,
                    answer: outgoing.answer(&messages),
                })
            }
            EmailAction::ResendList(page) => page.decide(state),
            EmailAction::ResendGet(id) => resend::get(id, state),
            EmailAction::SendGridList(search) => search.decide(state),
            EmailAction::SendGridGet(id) => sendgrid::get(id, state),
        }
    }

    fn apply(&self, state: &mut Mailbox, effect: &Effect) {
        state.apply(effect);
    }

    fn describe(&self, effect: &Effect) -> Option<EffectFacts> {
        effect.facts()
    }

    fn asked_effects(&self, effect: &Effect) -> Vec<EffectFacts> {
        effect.asked()
    }

    fn events(&self, state: &Mailbox) -> Vec<ServiceEvent> {
        sender::events(state)
    }

    fn failure(&self, status: u16, request: &Request, _context: &Context) -> Answer {
        match EmailApi::from_request(request) {
            EmailApi::Resend => resend::failure(status),
            EmailApi::SendGrid => sendgrid::failure(status),
            EmailApi::Smtp => smtp::failure(status),
        }
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        match EmailApi::from_request(request) {
            EmailApi::Resend => resend::unknown_path(request),
            EmailApi::SendGrid => sendgrid::unknown_path(request),
            EmailApi::Smtp => None,
        }
    }

    fn unauthorized(&self, request: &Request, _context: &Context) -> Answer {
        match EmailApi::from_request(request) {
            EmailApi::Resend => resend::unauthorized(request),
            EmailApi::SendGrid => sendgrid::unauthorized(request),
            EmailApi::Smtp => smtp::unauthorized(),
        }
    }

    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context) {
        match EmailApi::from_request(request) {
            EmailApi::Resend => resend::add_standard_headers(answer, context),
            EmailApi::SendGrid => sendgrid::add_standard_headers(answer, context),
            EmailApi::Smtp => {}
        }
    }

    fn idempotency(&self) -> Idempotency {
        Idempotency::new(Profile::Resend)
    }

    /// SendGrid and SMTP have no idempotency keys.
    fn honors_key(&self, request: &Request) -> bool {
        EmailApi::from_request(request) == EmailApi::Resend
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Smtp]
    }

    fn key_prefix(&self) -> &'static str {
        "re_"
    }
}
