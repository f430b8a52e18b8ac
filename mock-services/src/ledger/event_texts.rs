//! The parts of an event that can have something in them that a caller sent: one list of the kinds of events
//! and of what each has.

use compact_str::CompactString;

use super::entry::{Event, Received, RefusedRequest};
use crate::service::Fields;

/// A part of an event that can have something in it that a caller sent. The names of services, operations and
/// effects are not among them.
pub(super) enum SentPart<'e> {
    /// The member of this name.
    Member(&'static str, &'e mut CompactString),
    /// A request or an answer as text.
    Message(&'e mut String),
    /// The fields of a request, of an effect or of a note.
    Fields(&'e mut Fields),
}

impl Event {
    /// Calls `visit` with each of these parts.
    pub(super) fn sent_parts(&mut self, visit: &mut impl FnMut(SentPart<'_>)) {
        match self {
            Event::Received(received) => received.sent_parts(visit),
            Event::Refused(refused) => refused.sent_parts(visit),
            Event::Committed { id, fields, .. } | Event::Withheld { id, fields, .. } => {
                visit(SentPart::Member("id", id));
                visit(SentPart::Fields(fields));
            }
            Event::Reverted { id, .. } => visit(SentPart::Member("id", id)),
            Event::Replied { message, .. } => {
                if let Some(message) = message {
                    visit(SentPart::Message(message));
                }
            }
            Event::Noted { name, fields, .. } => {
                visit(SentPart::Member("name", name));
                visit(SentPart::Fields(fields));
            }
            Event::Opened { .. }
            | Event::Fault { .. }
            | Event::Lapsed { .. }
            | Event::Unsent { .. }
            | Event::Closed { .. }
            | Event::Barrier { .. }
            | Event::End { .. } => {}
        }
    }
}

impl Received {
    fn sent_parts(&mut self, visit: &mut impl FnMut(SentPart<'_>)) {
        visit(SentPart::Member("method", &mut self.method));
        visit(SentPart::Member("path", &mut self.path));
        visit(SentPart::Fields(&mut self.fields));
        if let Some(key) = &mut self.key {
            visit(SentPart::Member("key", key));
        }
        visit(SentPart::Fields(&mut self.client));
        if let Some(message) = &mut self.message {
            visit(SentPart::Message(message));
        }
    }
}

impl RefusedRequest {
    fn sent_parts(&mut self, visit: &mut impl FnMut(SentPart<'_>)) {
        visit(SentPart::Member("method", &mut self.method));
        visit(SentPart::Member("path", &mut self.path));
        let optional = [
            ("key", &mut self.key),
            ("reason", &mut self.reason),
            ("unsupported", &mut self.unsupported),
            ("undecided", &mut self.undecided),
        ];
        for (name, member) in optional {
            if let Some(member) = member {
                visit(SentPart::Member(name, member));
            }
        }
        for message in [&mut self.message, &mut self.answer].into_iter().flatten() {
            visit(SentPart::Message(message));
        }
    }
}
