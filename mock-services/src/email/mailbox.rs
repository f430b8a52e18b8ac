//! The mailbox behind all three APIs: accepted messages, and the status of each for each recipient. Only
//! effects change it.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::email::EmailApi;
use crate::email::draft::MailDraft;
use crate::service::EffectFacts;

/// An accepted message.
#[derive(Debug)]
pub struct Message {
    /// Its id in Resend's format.
    pub(super) id: String,
    /// The id of the whole request in SendGrid's format.
    pub(super) token: String,
    /// The number of recipients of the request that precede those of this message.
    pub(super) offset: usize,
    pub(super) api: EmailApi,
    pub(super) at: Timestamp,
    pub(super) draft: Arc<MailDraft>,
}

impl Message {
    /// The ledger's facts of this message to this recipient.
    pub(super) fn facts_for(&self, to: &str) -> EffectFacts {
        let id = self.reported_id();
        EffectFacts { effect: "email.send".into(), fields: self.draft.fields_for(to, &id), id }
    }

    /// The id in the response to the client.
    pub(super) fn reported_id(&self) -> String {
        match self.api {
            EmailApi::Resend => self.id.clone(),
            EmailApi::SendGrid => self.token.clone(),
            EmailApi::Smtp => queue_id(&self.id),
        }
    }
}

/// A UUID as a mail server writes a queue id.
pub(super) fn queue_id(uuid: &str) -> String {
    uuid.chars().filter(char::is_ascii_hexdigit).take(11).collect::<String>().to_ascii_uppercase()
}

/// A UUID as one of SendGrid's 22-character ids.
pub(super) fn token(uuid: &str) -> String {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bits: u128 =
        uuid.chars().filter_map(|c| c.to_digit(16)).fold(0, |bits, digit| bits << 4 | u128::from(digit));
    let mut token = String::with_capacity(22);
    for _ in 0..22 {
        let top = usize::try_from(bits >> 122).unwrap_or_default();
        token.push(char::from(SYMBOLS[top % 64]));
        bits <<= 6;
    }
    token
}

/// The status of a message for one recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecipientStatus {
    Accepted,
    Delivered,
    Bounced,
}

/// One change of the mailbox.
#[derive(Debug, Clone)]
pub enum Effect {
    /// The service accepted the message; it is not delivered yet.
    Accepted(Arc<Message>),
    /// The message was delivered to one recipient.
    Delivered {
        /// The delivered message.
        message: Arc<Message>,
        /// The index of the recipient.
        recipient: usize,
        /// The time of the delivery.
        at: Timestamp,
    },
    /// The message to one recipient bounced.
    Bounced {
        /// The bounced message.
        message: Arc<Message>,
        /// The index of the recipient.
        recipient: usize,
        /// The time of the bounce.
        at: Timestamp,
    },
}

impl Effect {
    /// The ledger's facts: a mail counts when it is delivered.
    pub(super) fn facts(&self) -> Option<EffectFacts> {
        let Effect::Delivered { message, recipient, .. } = self else { return None };
        Some(message.facts_for(message.draft.recipients.get(*recipient)?))
    }

    /// What the request asked for: one mail to each recipient, whatever becomes of it.
    pub(super) fn asked(&self) -> Vec<EffectFacts> {
        let Effect::Accepted(message) = self else { return Vec::new() };
        message.draft.recipients.iter().map(|to| message.facts_for(to)).collect()
    }
}

/// All messages, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Mailbox {
    entries: Vec<MailboxEntry>,
    places: HashMap<String, usize>,
}

/// A message and its status for each recipient.
#[derive(Debug, Clone)]
pub(super) struct MailboxEntry {
    pub(super) message: Arc<Message>,
    pub(super) statuses: Vec<(RecipientStatus, Timestamp)>,
}

impl Mailbox {
    /// All entries, newest first.
    pub(super) fn newest_first(&self) -> impl DoubleEndedIterator<Item = &MailboxEntry> + ExactSizeIterator {
        self.entries.iter().rev()
    }

    /// The entry with this id.
    pub(super) fn get(&self, id: &str) -> Option<&MailboxEntry> {
        self.entries.get(*self.places.get(id)?)
    }

    /// Commits one change. Accepting a message a second time changes nothing, so that the rest of a list can
    /// be committed later.
    pub(super) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Accepted(message) => {
                self.entry(message);
            }
            Effect::Delivered { message, recipient, at } => {
                self.settle(message, *recipient, (RecipientStatus::Delivered, *at))
            }
            Effect::Bounced { message, recipient, at } => {
                self.settle(message, *recipient, (RecipientStatus::Bounced, *at))
            }
        }
    }

    fn settle(&mut self, message: &Arc<Message>, recipient: usize, status: (RecipientStatus, Timestamp)) {
        if let Some(slot) = self.entry(message).and_then(|entry| entry.statuses.get_mut(recipient)) {
            *slot = status;
        }
    }

    fn entry(&mut self, message: &Arc<Message>) -> Option<&mut MailboxEntry> {
        let place = *self.places.entry(message.id.clone()).or_insert_with(|| {
            let statuses = vec![(RecipientStatus::Accepted, message.at); message.draft.recipients.len()];
            self.entries.push(MailboxEntry { message: Arc::clone(message), statuses });
            self.entries.len() - 1
        });
        self.entries.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_one_form_in_each_api() {
        assert_eq!(token("00000000-0000-0000-0000-000000000000"), "A".repeat(22));
        assert_eq!(token("ffffffff-ffff-ffff-ffff-ffffffffffff"), format!("{}w", "_".repeat(21)));
        assert_eq!(token("nonsense").len(), 22);
        assert_eq!(queue_id("0f2edc9b-3c28-4b8c-a6c6-fbfac80af72f"), "0F2EDC9B3C2");
    }
}
