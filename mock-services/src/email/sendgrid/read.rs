//! Sent mail as SendGrid's email activity shows it: one record per recipient.

use jiff::Timestamp;
use serde::Serialize;

use crate::email::mailbox::{Mailbox, MailboxEntry, Message, RecipientStatus};
use crate::email::sendgrid::error::general;
use crate::email::sendgrid::query::{Condition, QueryField};
use crate::service::{Answer, Decision, Fields, Request};

/// A query and the maximum number of results.
#[derive(Debug)]
pub(in crate::email) struct Search {
    condition: Option<Condition>,
    limit: usize,
}

impl Search {
    pub(super) fn parse(request: &Request) -> Result<Self, Answer> {
        let limit = match request.query_value("limit") {
            None => 10,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=1000).contains(limit))
                .ok_or_else(|| general(400, Some("limit"), "limit must be between 1 and 1000"))?,
        };
        let condition = match request.query_value("query").filter(|query| !query.is_empty()) {
            None => None,
            Some(query) => {
                Some(Condition::parse(&query).ok_or_else(|| general(400, Some("query"), "invalid query"))?)
            }
        };
        Ok(Search { condition, limit })
    }

    pub(super) fn fields(&self) -> Fields {
        let mut fields = Fields::new().with("limit", i64::try_from(self.limit).unwrap_or_default());
        if let Some(condition) = &self.condition {
            condition.fields(&mut fields);
        }
        fields
    }

    /// Runs the search in this mailbox.
    pub(in crate::email) fn decide<Effect>(&self, mailbox: &Mailbox) -> Decision<Effect> {
        let records = mailbox.newest_first().flat_map(RecipientRecord::all);
        let found = records
            .filter(|record| self.condition.as_ref().is_none_or(|it| it.holds(&|field| record.value(field))));
        let messages = found.take(self.limit).map(RecipientRecord::summary).collect();
        Decision::read(Answer::json(200, &FoundMessages { messages }))
    }
}

/// Reads one record from this mailbox.
pub(in crate::email) fn get<Effect>(id: &str, mailbox: &Mailbox) -> Decision<Effect> {
    let token = id.split('.').next().unwrap_or(id);
    let mut records =
        mailbox.newest_first().filter(|entry| entry.message.token == token).flat_map(RecipientRecord::all);
    match records.find(|record| record.id() == id) {
        Some(record) => Decision::read(Answer::json(200, &record.details())),
        None => Decision::refuse(general(404, None, "resource not found")),
    }
}

#[derive(Serialize)]
struct FoundMessages {
    messages: Vec<MessageSummary>,
}

#[derive(Serialize)]
struct MessageSummary {
    from_email: String,
    msg_id: String,
    subject: String,
    to_email: String,
    status: &'static str,
    opens_count: u32,
    clicks_count: u32,
    last_event_time: String,
}

#[derive(Serialize)]
struct MessageDetails {
    from_email: String,
    msg_id: String,
    subject: String,
    to_email: String,
    status: &'static str,
    template_id: String,
    asm_group_id: u32,
    teammate: &'static str,
    api_key_id: &'static str,
    events: Vec<MessageEvent>,
    originating_ip: &'static str,
    categories: Vec<String>,
    unique_args: String,
    outbound_ip: &'static str,
    outbound_ip_type: &'static str,
}

#[derive(Serialize)]
struct MessageEvent {
    event_name: &'static str,
    processed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounce_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mx_server: Option<String>,
}

/// The id of a message to one of its recipients: that of the request, the server that accepted it, and the index of the
/// recipient.
pub(in crate::email) fn message_id(message: &Message, place: usize) -> String {
    let digits: String = message.id.chars().filter(char::is_ascii_hexdigit).collect();
    let part = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
    let (host, time) = (part(0..10), part(15..23).to_ascii_uppercase());
    format!(
        "{}.recvd-{host}-{}-1-{time}-{:X}.{}",
        message.token,
        part(10..15),
        place + 1,
        message.offset + place
    )
}

/// A message to one of its recipients.
struct RecipientRecord<'a> {
    entry: &'a MailboxEntry,
    place: usize,
    to: &'a str,
    status: RecipientStatus,
    at: Timestamp,
}

impl<'a> RecipientRecord<'a> {
    fn all(entry: &'a MailboxEntry) -> impl Iterator<Item = Self> {
        let pairs = entry.message.draft.recipients.iter().zip(&entry.statuses).enumerate();
        pairs.map(move |(place, (to, (status, at)))| RecipientRecord {
            entry,
            place,
            to,
            status: *status,
            at: *at,
        })
    }

    fn id(&self) -> String {
        message_id(&self.entry.message, self.place)
    }

    fn value(&self, field: &QueryField) -> Option<String> {
        let draft = &self.entry.message.draft;
        match field {
            QueryField::MessageId => Some(self.id()),
            QueryField::From => Some(draft.from.plain.clone()),
            QueryField::To => Some(self.to.to_owned()),
            QueryField::Subject => Some(draft.subject.clone()),
            QueryField::Status => Some(self.status().to_owned()),
            QueryField::Argument(name) => {
                draft.metadata.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
            }
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            RecipientStatus::Accepted => "processed",
            RecipientStatus::Delivered => "delivered",
            RecipientStatus::Bounced => "not_delivered",
        }
    }

    fn summary(self) -> MessageSummary {
        MessageSummary {
            from_email: self.entry.message.draft.from.plain.clone(),
            msg_id: self.id(),
            subject: self.entry.message.draft.subject.clone(),
            to_email: self.to.to_owned(),
            status: self.status(),
            opens_count: 0,
            clicks_count: 0,
            last_event_time: second(self.at),
        }
    }

    fn details(&self) -> MessageDetails {
        let draft = &self.entry.message.draft;
        let arguments: serde_json::Map<String, serde_json::Value> =
            draft.metadata.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        MessageDetails {
            from_email: draft.from.plain.clone(),
            msg_id: self.id(),
            subject: draft.subject.clone(),
            to_email: self.to.to_owned(),
            status: self.status(),
            template_id: draft.template.clone().unwrap_or_default(),
            asm_group_id: 0,
            teammate: "",
            api_key_id: "",
            events: self.events(),
            originating_ip: "198.51.100.17",
            categories: draft.categories.clone(),
            unique_args: serde_json::Value::Object(arguments).to_string(),
            outbound_ip: "149.72.126.143",
            outbound_ip_type: "shared",
        }
    }

    fn events(&self) -> Vec<MessageEvent> {
        let event = |event_name, at| MessageEvent {
            event_name,
            processed: second(at),
            reason: None,
            bounce_type: None,
            mx_server: None,
        };
        let mx_server = self.to.rsplit_once('@').map(|(_, domain)| format!("mx.{domain}"));
        let mut events = vec![event("processed", self.entry.message.at)];
        match self.status {
            RecipientStatus::Accepted => {}
            RecipientStatus::Delivered => {
                events.push(MessageEvent { mx_server, ..event("delivered", self.at) })
            }
            RecipientStatus::Bounced => {
                let reason = Some("550 5.1.1 The email account that you tried to reach does not exist");
                events.push(MessageEvent {
                    mx_server,
                    reason,
                    bounce_type: Some("hard"),
                    ..event("bounced", self.at)
                });
            }
        }
        events
    }
}

fn second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
