//! The texts in an event: one list of the kinds of events and of what each has, for everything that copies or
//! changes texts.

use std::borrow::Cow;

use super::entry::{Event, Received};
use crate::service::Fields;

/// What each text of an event is replaced by. The event itself lives for `'a`, what replaces its texts for
/// `'b`.
pub(super) trait EventTexts<'a, 'b> {
    /// A text that the ledger or the service wrote: the name of a service, an operation or an effect. Nothing
    /// that a caller sent is in it.
    fn own(&mut self, text: &'a str) -> Cow<'b, str>;

    /// The text of the member of this name, which can have something in it that a caller sent.
    fn sent(&mut self, member: &'static str, text: &'a str) -> Cow<'b, str>;

    /// A request or an answer as text.
    fn message(&mut self, text: &'a str) -> Cow<'b, str>;

    /// The fields of a request, of an effect or of a note.
    fn fields(&mut self, fields: &'a Fields) -> Cow<'b, Fields>;
}

impl Event<'_> {
    /// The same event with copies of everything that it borrows.
    #[must_use]
    pub fn to_owned_event(&self) -> Event<'static> {
        self.with_texts(&mut CopiedTexts)
    }

    /// The same event with other texts.
    pub(super) fn with_texts<'a, 'b>(&'a self, texts: &mut impl EventTexts<'a, 'b>) -> Event<'b> {
        match self {
            Event::Opened { format, seed, plan } => Event::Opened {
                format: *format,
                seed: *seed,
                plan: plan.as_ref().map(|plan| texts.own(plan)),
            },
            Event::Received(received) => Event::Received(received.with_texts(texts)),
            Event::Refused {
                service,
                operation,
                method,
                path,
                status,
                caller,
                connection,
                key,
                reason,
                unsupported,
                undecided,
                message,
                answer,
            } => Event::Refused {
                service: texts.own(service),
                operation: operation.as_ref().map(|operation| texts.own(operation)),
                method: texts.sent("method", method),
                path: texts.sent("path", path),
                status: *status,
                caller: *caller,
                connection: *connection,
                key: key.as_ref().map(|key| texts.sent("key", key)),
                reason: reason.as_ref().map(|reason| texts.sent("reason", reason)),
                unsupported: unsupported.as_ref().map(|what| texts.sent("unsupported", what)),
                undecided: undecided.as_ref().map(|why| texts.sent("undecided", why)),
                message: message.as_ref().map(|message| texts.message(message)),
                answer: answer.as_ref().map(|answer| texts.message(answer)),
            },
            Event::Fault { attempt, fault, commit, reply, status, drawn } => Event::Fault {
                attempt: *attempt,
                fault: *fault,
                commit: *commit,
                reply: *reply,
                status: *status,
                drawn: drawn.as_ref().map(|time| texts.own(time)),
            },
            Event::Committed { attempt, effect, id, fields, timing } => Event::Committed {
                attempt: *attempt,
                effect: texts.own(effect),
                id: texts.sent("id", id),
                fields: texts.fields(fields),
                timing: *timing,
            },
            Event::Withheld { attempt, effect, id, fields } => Event::Withheld {
                attempt: *attempt,
                effect: texts.own(effect),
                id: texts.sent("id", id),
                fields: texts.fields(fields),
            },
            Event::Lapsed { attempt, status } => Event::Lapsed { attempt: *attempt, status: *status },
            Event::Unsent { attempt, bytes } => Event::Unsent { attempt: *attempt, bytes: *bytes },
            Event::Replied {
                attempt,
                reply,
                status,
                bytes,
                whole,
                replay,
                retry_after,
                silence,
                message,
            } => Event::Replied {
                attempt: *attempt,
                reply: *reply,
                status: *status,
                bytes: *bytes,
                whole: *whole,
                replay: *replay,
                retry_after: *retry_after,
                silence: *silence,
                message: message.as_ref().map(|message| texts.message(message)),
            },
            Event::Closed { service, connection, caller, by } => Event::Closed {
                service: texts.own(service),
                connection: *connection,
                caller: *caller,
                by: *by,
            },
            Event::Barrier { caller, event } => Event::Barrier { caller: *caller, event: *event },
            Event::Noted { name, caller, fields } => {
                Event::Noted { name: texts.sent("name", name), caller: *caller, fields: texts.fields(fields) }
            }
            Event::End { count } => Event::End { count: *count },
        }
    }
}

impl Received<'_> {
    fn with_texts<'a, 'b>(&'a self, texts: &mut impl EventTexts<'a, 'b>) -> Received<'b> {
        Received {
            attempt: self.attempt,
            operation: texts.own(&self.operation),
            method: texts.sent("method", &self.method),
            path: texts.sent("path", &self.path),
            fields: texts.fields(&self.fields),
            key: self.key.as_ref().map(|key| texts.sent("key", key)),
            replay: self.replay,
            caller: self.caller,
            connection: self.connection,
            repeats: self.repeats,
            client: texts.fields(&self.client),
            message: self.message.as_ref().map(|message| texts.message(message)),
        }
    }
}

/// Copies of the texts.
struct CopiedTexts;

impl<'a> EventTexts<'a, 'static> for CopiedTexts {
    fn own(&mut self, text: &'a str) -> Cow<'static, str> {
        Cow::Owned(text.to_owned())
    }

    fn sent(&mut self, _member: &'static str, text: &'a str) -> Cow<'static, str> {
        Cow::Owned(text.to_owned())
    }

    fn message(&mut self, text: &'a str) -> Cow<'static, str> {
        Cow::Owned(text.to_owned())
    }

    fn fields(&mut self, fields: &'a Fields) -> Cow<'static, Fields> {
        Cow::Owned(fields.clone())
    }
}
