//! The mailbox behind all three APIs: accepted messages and what became of each for each recipient. It
//! changes by effects alone.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::email::Api;
use crate::email::draft::Draft;
use crate::service::EffectFacts;

/// An accepted message.
#[derive(Debug)]
pub struct Message {
    /// Its id, as Resend writes it.
    pub(super) id: String,
    /// The id of the whole request, as SendGrid writes it.
    pub(super) token: String,
    /// How many recipients the request names before those of this message.
    pub(super) offset: usize,
    pub(super) api: Api,
    pub(super) at: Timestamp,
    pub(super) draft: Arc<Draft>,
}

impl Message {
    /// The id that the caller was told.
    pub(super) fn told(&self) -> String {
        match self.api {
            Api::Resend => self.id.clone(),
            Api::SendGrid => self.token.clone(),
            Api::Smtp => queue_id(&self.id),
        }
    }
}

/// A UUID as a mail server writes its queue.
pub(super) fn queue_id(uuid: &str) -> String {
    uuid.chars().filter(char::is_ascii_hexdigit).take(11).collect::<String>().to_ascii_uppercase()
}

/// A UUID in the 22 letters of SendGrid's ids.
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

/// What became of a message for one recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Accepted,
    Delivered,
    Bounced,
}

/// One change of the mailbox.
#[derive(Debug, Clone)]
pub enum Effect {
    /// The service has taken the message on; nobody has it yet.
    Accepted(Arc<Message>),
    /// One recipient has it.
    Delivered {
        /// What was delivered.
        message: Arc<Message>,
        /// Whose copy, by its place among the recipients.
        recipient: usize,
        /// When.
        at: Timestamp,
    },
    /// It came back from one recipient.
    Bounced {
        /// What came back.
        message: Arc<Message>,
        /// Whose copy, by its place among the recipients.
        recipient: usize,
        /// When.
        at: Timestamp,
    },
}

impl Effect {
    /// What the ledger says of it: a mail counts when somebody has it.
    pub(super) fn facts(&self) -> Option<EffectFacts> {
        let Effect::Delivered { message, recipient, .. } = self else { return None };
        let (id, to) = (message.told(), message.draft.recipients.get(*recipient)?);
        Some(EffectFacts { effect: "email.send".into(), fields: message.draft.fields_for(to, &id), id })
    }
}

/// All messages, the oldest first.
#[derive(Debug, Default)]
pub struct Mailbox {
    entries: Vec<Entry>,
    places: HashMap<String, usize>,
}

/// A message with its fates.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) message: Arc<Message>,
    pub(super) fates: Vec<(Status, Timestamp)>,
}

impl Mailbox {
    /// All entries, the newest first.
    pub(super) fn newest_first(&self) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        self.entries.iter().rev()
    }

    /// The entry with this id.
    pub(super) fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.places.get(id)?)
    }

    /// Commits one change. Accepting a message again changes nothing, so that the rest of a list can follow
    /// later.
    pub(super) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Accepted(message) => {
                self.entry(message);
            }
            Effect::Delivered { message, recipient, at } => {
                self.settle(message, *recipient, (Status::Delivered, *at))
            }
            Effect::Bounced { message, recipient, at } => {
                self.settle(message, *recipient, (Status::Bounced, *at))
            }
        }
    }

    fn settle(&mut self, message: &Arc<Message>, recipient: usize, fate: (Status, Timestamp)) {
        if let Some(slot) = self.entry(message).and_then(|entry| entry.fates.get_mut(recipient)) {
            *slot = fate;
        }
    }

    fn entry(&mut self, message: &Arc<Message>) -> Option<&mut Entry> {
        let place = *self.places.entry(message.id.clone()).or_insert_with(|| {
            let fates = vec![(Status::Accepted, message.at); message.draft.recipients.len()];
            self.entries.push(Entry { message: Arc::clone(message), fates });
            self.entries.len() - 1
        });
        self.entries.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_one_spelling_in_each_api() {
        assert_eq!(token("00000000-0000-0000-0000-000000000000"), "A".repeat(22));
        assert_eq!(token("ffffffff-ffff-ffff-ffff-ffffffffffff"), format!("{}w", "_".repeat(21)));
        assert_eq!(token("nonsense").len(), 22);
        assert_eq!(queue_id("0f2edc9b-3c28-4b8c-a6c6-fbfac80af72f"), "0F2EDC9B3C2");
    }
}
