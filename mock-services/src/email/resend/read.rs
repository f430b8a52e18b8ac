//! Sent mail as Resend shows it: one by id, or a page of the list, newest first.

use serde::Serialize;

use crate::email::mailbox::{Mailbox, MailboxEntry, RecipientStatus};
use crate::email::resend::error::{error, invalid, no_email};
use crate::service::{Answer, Decision, Fields, Request};

/// The part of the list that a request asks for.
#[derive(Debug)]
pub(in crate::email) struct ListPage {
    limit: usize,
    after: Option<String>,
    before: Option<String>,
}

impl ListPage {
    pub(super) fn parse(request: &Request) -> Result<Self, Answer> {
        let limit = match request.query_value("limit") {
            None => 20,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=100).contains(limit))
                .ok_or_else(|| invalid("The `limit` parameter must be a number between 1 and 100."))?,
        };
        let (after, before) = (request.query_value("after"), request.query_value("before"));
        if after.is_some() && before.is_some() {
            return Err(invalid("The `after` and `before` parameters cannot be used together."));
        }
        for cursor in [&after, &before].into_iter().flatten() {
            check_id(cursor)?;
        }
        Ok(ListPage { limit, after, before })
    }

    pub(super) fn fields(&self) -> Fields {
        Fields::new()
            .with("limit", i64::try_from(self.limit).unwrap_or_default())
            .with_some("after", self.after.as_deref())
            .with_some("before", self.before.as_deref())
    }

    /// Reads the page from this mailbox.
    pub(in crate::email) fn decide<Effect>(&self, mailbox: &Mailbox) -> Decision<Effect> {
        let count = mailbox.newest_first().len();
        let Some(cursor) = self.after.as_ref().or(self.before.as_ref()) else {
            return self.answer(mailbox, 0..self.limit.min(count), count > self.limit);
        };
        let Some(place) = mailbox.newest_first().position(|entry| entry.message.id == *cursor) else {
            return Decision::refuse(no_email());
        };
        if self.after.is_some() {
            let end = (place + 1).saturating_add(self.limit).min(count);
            return self.answer(mailbox, place + 1..end, end < count);
        }
        let start = place.saturating_sub(self.limit);
        self.answer(mailbox, start..place, start > 0)
    }

    fn answer<Effect>(
        &self,
        mailbox: &Mailbox,
        range: std::ops::Range<usize>,
        has_more: bool,
    ) -> Decision<Effect> {
        let data = mailbox.newest_first().skip(range.start).take(range.len()).map(ListedEmail::new).collect();
        Decision::read(Answer::json(200, &EmailList { object: "list", has_more, data }))
    }
}

/// Reads one mail from this mailbox.
pub(in crate::email) fn get<Effect>(id: &str, mailbox: &Mailbox) -> Decision<Effect> {
    match mailbox.get(id) {
        Some(entry) => Decision::read(Answer::json(200, &EmailView::new(entry))),
        None => Decision::refuse(no_email()),
    }
}

/// Checks that an id is a UUID.
pub(super) fn check_id(id: &str) -> Result<(), Answer> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let shape = id.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if shape && id.split('-').all(digits) {
        Ok(())
    } else {
        Err(error(422, "invalid_parameter", "The `id` must be a valid UUID."))
    }
}

#[derive(Serialize)]
struct EmailList<'a> {
    object: &'static str,
    has_more: bool,
    data: Vec<ListedEmail<'a>>,
}

#[derive(Serialize)]
struct ListedEmail<'a> {
    id: &'a str,
    message_id: String,
    to: Vec<&'a str>,
    from: &'a str,
    created_at: String,
    subject: &'a str,
    bcc: Option<Vec<&'a str>>,
    cc: Option<Vec<&'a str>>,
    reply_to: Option<Vec<&'a str>>,
    last_event: &'static str,
    scheduled_at: Option<()>,
}

#[derive(Serialize)]
struct EmailView<'a> {
    object: &'static str,
    id: &'a str,
    message_id: String,
    to: Vec<&'a str>,
    from: &'a str,
    created_at: String,
    subject: &'a str,
    html: Option<&'a str>,
    text: Option<&'a str>,
    bcc: Vec<&'a str>,
    cc: Vec<&'a str>,
    reply_to: Vec<&'a str>,
    last_event: &'static str,
    scheduled_at: Option<()>,
    tags: Vec<EmailTag<'a>>,
}

#[derive(Serialize)]
struct EmailTag<'a> {
    name: &'a str,
    value: &'a str,
}

impl<'a> ListedEmail<'a> {
    fn new(entry: &'a MailboxEntry) -> Self {
        let email = EmailView::new(entry);
        let some = |list: Vec<&'a str>| (!list.is_empty()).then_some(list);
        ListedEmail {
            id: email.id,
            message_id: email.message_id,
            to: email.to,
            from: email.from,
            created_at: email.created_at,
            subject: email.subject,
            bcc: some(email.bcc),
            cc: some(email.cc),
            reply_to: some(email.reply_to),
            last_event: email.last_event,
            scheduled_at: None,
        }
    }
}

impl<'a> EmailView<'a> {
    fn new(entry: &'a MailboxEntry) -> Self {
        let (message, draft) = (&entry.message, &entry.message.draft);
        let shown = |list: &'a [crate::email::address::MailAddress]| {
            list.iter().map(|address| address.shown.as_str()).collect()
        };
        EmailView {
            object: "email",
            id: &message.id,
            message_id: format!(
                "<0100{:012x}-{}-000000@email.amazonses.com>",
                message.at.as_millisecond(),
                message.id
            ),
            to: shown(&draft.to),
            from: &draft.from.shown,
            created_at: message.at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string(),
            subject: &draft.subject,
            html: draft.html.as_deref(),
            text: draft.text.as_deref(),
            bcc: shown(&draft.bcc),
            cc: shown(&draft.cc),
            reply_to: draft.reply_to.iter().map(String::as_str).collect(),
            last_event: last_event(entry),
            scheduled_at: None,
            tags: draft.metadata.iter().map(|(name, value)| EmailTag { name, value }).collect(),
        }
    }
}

/// One status for all recipients: delivered when all copies are, bounced when one is.
fn last_event(entry: &MailboxEntry) -> &'static str {
    let mut statuses = entry.statuses.iter().map(|(status, _)| *status);
    if statuses.clone().any(|status| status == RecipientStatus::Bounced) {
        "bounced"
    } else if statuses.all(|status| status == RecipientStatus::Delivered) {
        "delivered"
    } else {
        "sent"
    }
}
