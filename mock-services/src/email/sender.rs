//! How mail services send their events: SendGrid for mail over its API, and Resend, over Svix, for all other mail.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::EmailApi;
use super::mailbox::{Mailbox, MailboxEntry, Message, RecipientStatus};
use super::sendgrid::message_id;
use crate::sender::{
    EventSender, ReceivedCopy, Schedule, SentCopy, ecdsa, has_same_signature, svix_headers, svix_secret,
};
use crate::service::{Ids, ServiceEvent};

pub(super) const SENDERS: &[EventSender] = &[RESEND, SENDGRID];

const RESEND: EventSender = EventSender {
    name: "Resend",
    secret_variable: "RESEND_WEBHOOK_SECRET",
    secret: svix_secret,
    shown_secret: str::to_owned,
    schedule: Schedule::Svix,
    headers: svix_headers,
    time_header: "svix-timestamp",
    is_genuine: has_same_signature,
};

/// It delivers again for a day. Its pauses are not documented; these have the same length in total.
const SENDGRID: EventSender = EventSender {
    name: "SendGrid",
    secret_variable: "SENDGRID_WEBHOOK_PUBLIC_KEY",
    secret: |_| ecdsa::new_key(),
    shown_secret: ecdsa::public_key,
    schedule: Schedule::Svix,
    headers: sendgrid_headers,
    time_header: TIMESTAMP,
    is_genuine: is_of_sendgrid,
};

const SIGNATURE: &str = "X-Twilio-Email-Event-Webhook-Signature";
const TIMESTAMP: &str = "X-Twilio-Email-Event-Webhook-Timestamp";

fn sendgrid_headers(copy: &SentCopy<'_>) -> Vec<(&'static str, String)> {
    let at = copy.at.to_string();
    let signature = ecdsa::sign(copy.secret, &[&at, &copy.event.body]);
    vec![("User-Agent", "SendGrid Event API".to_owned()), (SIGNATURE, signature), (TIMESTAMP, at)]
}

fn is_of_sendgrid(_: &EventSender, copy: &ReceivedCopy<'_>) -> bool {
    let [signature, at] = [SIGNATURE, TIMESTAMP].map(|name| copy.header(&name.to_lowercase()));
    signature
        .zip(at)
        .is_some_and(|(signature, at)| ecdsa::is_signed(copy.shown_secret, signature, &[at, copy.body]))
}

/// The effects that they send events of.
pub(super) const SENT: &[&str] = &["email.send"];

/// One event for each recipient to whom a mail was delivered, oldest mail first.
pub(super) fn events(state: &Mailbox) -> Vec<ServiceEvent> {
    state.newest_first().rev().flat_map(delivered).collect()
}

fn delivered(entry: &MailboxEntry) -> Vec<ServiceEvent> {
    let message = &entry.message;
    let recipients = entry.statuses.iter().zip(&message.draft.recipients).enumerate();
    let arrived = recipients.filter(|(_, ((status, _), _))| *status == RecipientStatus::Delivered);
    arrived
        .map(|(place, ((_, at), to))| match message.api {
            EmailApi::SendGrid => of_sendgrid(message, place, to, *at),
            EmailApi::Resend | EmailApi::Smtp => of_resend(message, to, *at),
        })
        .collect()
}

fn of_resend(message: &Message, to: &str, at: Timestamp) -> ServiceEvent {
    let body = json!({
        "type": "email.delivered",
        "created_at": at.to_string(),
        "data": {
            "created_at": message.at.to_string(),
            "email_id": message.reported_id(),
            "from": message.draft.from.shown,
            "to": [to],
            "subject": message.draft.subject,
        }
    });
    event(message, to, (RESEND, "msg_", 27), "email.delivered", body.to_string())
}

/// The arguments of a mail are keys of its event. The body is a list, and ends with a line break.
fn of_sendgrid(message: &Message, place: usize, to: &str, at: Timestamp) -> ServiceEvent {
    let mut sent = event(message, to, (SENDGRID, "", 22), "delivered", String::new());
    let arguments =
        message.draft.metadata.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    let mut body: Map<String, Value> = arguments.collect();
    let own = json!({
        "email": to,
        "event": sent.kind,
        "timestamp": at.as_second(),
        "sg_event_id": sent.id,
        "sg_message_id": message_id(message, place),
        "smtp-id": format!("<{}@geopod-ismtpd-1>", message.token),
        "response": "250 OK",
    });
    body.extend(own.as_object().cloned().unwrap_or_default());
    sent.body = format!("{}\r\n", Value::from(vec![Value::Object(body)]));
    sent
}

/// An event of a mail, with an id of so many letters after its prefix.
fn event(
    message: &Message,
    to: &str,
    (sender, prefix, letters): (EventSender, &str, usize),
    kind: &str,
    body: String,
) -> ServiceEvent {
    let facts = message.facts_for(to);
    let id = Ids::new(0, &facts.id, 0, 0, 0).alphanumeric(to, letters).split_off(to.len());
    ServiceEvent {
        effect: facts.effect.into_owned(),
        fields: facts.fields,
        id: format!("{prefix}{id}"),
        kind: kind.to_owned(),
        body,
        sender: sender.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Fields;

    #[test]
    fn a_copy_of_sendgrid_is_genuine_only_with_its_own_key_time_and_body() {
        let (id, kind, body) = ("a".to_owned(), "delivered".to_owned(), "[{}]\r\n".to_owned());
        let (effect, fields, sender) = (String::new(), Fields::new(), SENDGRID.name);
        let event = ServiceEvent { effect, fields, id, kind, body, sender };
        let [right, wrong] = [1, 2].map(|seed| SENDGRID.secret_of(seed));
        let copy = SentCopy { event: &event, secret: &right, at: 12, earlier: 0, again: None };
        let lower = |copy: &SentCopy<'_>| {
            let headers = SENDGRID.all_headers(copy).into_iter();
            headers.map(|(name, value)| (name.to_lowercase(), value)).collect::<Vec<_>>()
        };
        let accepts = |headers: &[(String, String)], body: &str, secret: &str| {
            let shown_secret = &(SENDGRID.shown_secret)(secret);
            (SENDGRID.is_genuine)(&SENDGRID, &ReceivedCopy { headers, body, shown_secret })
        };
        let mut headers = lower(&copy);
        assert!(accepts(&headers, &event.body, &right));
        assert!(!accepts(&headers, &event.body, &wrong));
        assert!(!accepts(&headers, "[{}]", &right));
        assert!(!accepts(&lower(&SentCopy { secret: &wrong, ..copy }), &event.body, &right));
        headers.retain(|(name, _)| !name.ends_with("timestamp"));
        assert!(!accepts(&headers, &event.body, &right));
    }
}
