//! The email service: one mailbox behind Resend's REST API, SendGrid's REST API and SMTP. A mail counts when
//! it is delivered; accepted and bounced are states that a read shows. It knows no clock, no socket and no
//! fault.

mod address;
mod delivery;
mod description;
mod draft;
mod mailbox;
mod resend;
mod sendgrid;
mod smtp;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use crate::idempotency::{Idempotency, Profile};
use crate::service::{
    Accepted, Answer, Context, Decision, EffectFacts, Fields, Operation, Recognized, Request, Service,
    Transport,
};

pub use delivery::{Delivery, EmailOptions};
pub(crate) use description::description;
use draft::{Draft, request_fields};
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
    /// A service that treats its mail so.
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

/// Over which of its APIs the service is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Resend,
    SendGrid,
    Smtp,
}

impl Api {
    fn of(request: &Request) -> Self {
        match api_name(request.method(), request.path()) {
            _ if request.envelope().is_some() => Api::Smtp,
            "sendgrid" => Api::SendGrid,
            _ => Api::Resend,
        }
    }
}

/// The name of the API that a request is meant for.
pub(crate) fn api_name(method: &str, path: &str) -> &'static str {
    match path {
        _ if method == Request::SMTP => "smtp",
        "/v3" => "sendgrid",
        path if path.starts_with("/v3/") => "sendgrid",
        _ => "resend",
    }
}

/// A request that was understood.
#[derive(Debug)]
pub struct Call(Asked);

#[derive(Debug)]
enum Asked {
    Send(Outgoing),
    ResendList(resend::Page),
    ResendGet(String),
    SendGridList(sendgrid::Search),
    SendGridGet(String),
}

impl Call {
    fn list(fields: Fields, asked: Asked) -> Recognized<Call> {
        Recognized { operation: LIST, fields, call: Call(asked) }
    }

    fn get(id: &str, asked: Asked) -> Recognized<Call> {
        Recognized { operation: GET, fields: Fields::new().with("id", id), call: Call(asked) }
    }
}

/// The mails of one request.
#[derive(Debug)]
struct Outgoing {
    api: Api,
    drafts: Vec<Arc<Draft>>,
    /// Whether the caller sent a list of mails and gets a list of ids.
    batch: bool,
    /// What is left out of a list that is sent without it; `None` where all or nothing is sent.
    left_out: Option<Vec<resend::LeftOut>>,
    /// Whether the mails are only checked.
    sandbox: bool,
}

impl Outgoing {
    fn new(api: Api, drafts: Vec<Arc<Draft>>) -> Self {
        Outgoing { api, drafts, batch: false, left_out: None, sandbox: false }
    }

    fn recognised(self) -> Recognized<Call> {
        // Nothing is sent from the sandbox, so that no fault of a sending may be used up by it.
        let operation = if self.sandbox { SANDBOX } else { SEND };
        Recognized { operation, fields: request_fields(&self.drafts), call: Call(Asked::Send(self)) }
    }

    /// The mails with their ids, which come from the request alone.
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
            let (token, place) =
                if self.api == Api::SendGrid { (token.clone(), offset) } else { (mailbox::token(&id), 0) };
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
            Api::Resend if self.batch => {
                resend::sent_batch(messages.iter().map(Arc::as_ref), self.left_out.as_deref())
            }
            Api::Resend => resend::sent(messages.iter().map(Arc::as_ref)),
            Api::SendGrid => sendgrid::sent(messages.first().map(Arc::as_ref)),
            Api::Smtp => {
                let queued = messages.first().map(|message| message.told()).unwrap_or_default();
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
                Ok(Outgoing::new(Api::Smtp, vec![draft]).recognised())
            }
            None if Api::of(request) == Api::SendGrid => sendgrid::recognize(request, context),
            None => resend::recognize(request),
        }
    }

    fn decide(&self, state: &Mailbox, call: &Call, context: &Context) -> Decision<Effect> {
        match &call.0 {
            Asked::Send(outgoing) => {
                let messages = outgoing.messages(context);
                let (effects, afterwards) = self.options.plan(&messages, context.now);
                Decision::Accept(Accepted {
                    operation: None,
                    effects,
                    afterwards,
                    answer: outgoing.answer(&messages),
                })
            }
            Asked::ResendList(page) => page.decide(state),
            Asked::ResendGet(id) => resend::get(id, state),
            Asked::SendGridList(search) => search.decide(state),
            Asked::SendGridGet(id) => sendgrid::get(id, state),
        }
    }

    fn apply(&self, state: &mut Mailbox, effect: &Effect) {
        state.apply(effect);
    }

    fn describe(&self, effect: &Effect) -> Option<EffectFacts> {
        effect.facts()
    }

    fn failure(&self, status: u16, request: &Request, _context: &Context) -> Answer {
        match Api::of(request) {
            Api::Resend => resend::failure(status),
            Api::SendGrid => sendgrid::failure(status),
            Api::Smtp => smtp::failure(status),
        }
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        match Api::of(request) {
            Api::Resend => resend::nowhere(request),
            Api::SendGrid => sendgrid::nowhere(request),
            Api::Smtp => None,
        }
    }

    fn unauthorized(&self, request: &Request, _context: &Context) -> Answer {
        match Api::of(request) {
            Api::Resend => resend::unauthorized(request),
            Api::SendGrid => sendgrid::unauthorized(request),
            Api::Smtp => smtp::unauthorized(),
        }
    }

    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context) {
        match Api::of(request) {
            Api::Resend => resend::add_standard_headers(answer, context),
            Api::SendGrid => sendgrid::add_standard_headers(answer, context),
            Api::Smtp => {}
        }
    }

    fn idempotency(&self) -> Idempotency {
        Idempotency::new(Profile::Resend)
    }

    /// Neither SendGrid nor SMTP has keys.
    fn honours_key(&self, request: &Request) -> bool {
        Api::of(request) == Api::Resend
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Smtp]
    }

    fn key_prefix(&self) -> &'static str {
        "re_"
    }
}
