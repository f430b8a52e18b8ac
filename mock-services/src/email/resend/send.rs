//! A mail in the format of Resend's clients, and its validation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::email::address::MailAddress;
use crate::email::draft::MailDraft;
use crate::email::resend::error::{error, invalid, message_of, missing, unsupported_parameter};
use crate::service::Answer;

const MAX_MESSAGE_BYTES: usize = 40 * 1024 * 1024;
const MAX_RECIPIENTS: usize = 50;
const MAX_TAGS: usize = 75;
const MAX_EMAILS: usize = 100;

/// The properties of a mail that the service reads.
pub(in crate::email) const PROPERTIES: &[&str] = &[
    "from",
    "to",
    "cc",
    "bcc",
    "reply_to",
    "subject",
    "html",
    "text",
    "tags",
    "headers",
    "template",
    "attachments",
];
/// The properties that it refuses.
pub(in crate::email) const UNSUPPORTED: &[&str] = &["scheduled_at"];

/// One mail. Fields are read as any JSON value, because each invalid one has its own message. Of attachments
/// only the names are read.
#[derive(Deserialize)]
struct SendEmail {
    from: Option<Value>,
    to: Option<Value>,
    cc: Option<Value>,
    bcc: Option<Value>,
    reply_to: Option<Value>,
    subject: Option<Value>,
    html: Option<Value>,
    text: Option<Value>,
    tags: Option<Value>,
    headers: Option<Map<String, Value>>,
    template: Option<TemplateReference>,
    scheduled_at: Option<Value>,
    attachments: Option<Value>,
}

#[derive(Deserialize)]
struct TemplateReference {
    id: String,
}

/// The mail of a `POST /emails`.
pub(super) fn one(body: &[u8]) -> Result<Vec<Arc<MailDraft>>, Answer> {
    Ok(vec![read::<SendEmail>(body)?.draft()?])
}

/// A mail of a batch that is not sent although others are.
#[derive(Debug, Serialize)]
pub(in crate::email) struct LeftOut {
    index: usize,
    message: String,
}

/// The mails of a `POST /emails/batch`: all are sent or none.
pub(super) fn batch(body: &[u8]) -> Result<Vec<Arc<MailDraft>>, Answer> {
    bodies(body)?.into_iter().map(SendEmail::draft).collect()
}

/// The mails of a batch from which invalid mails are left out.
pub(super) fn permissive_batch(body: &[u8]) -> Result<(Vec<Arc<MailDraft>>, Vec<LeftOut>), Answer> {
    let (mut drafts, mut left_out) = (Vec::new(), Vec::new());
    for (index, body) in bodies(body)?.into_iter().enumerate() {
        match body.draft() {
            Ok(draft) => drafts.push(draft),
            // Resend would send it.
            Err(error) if error.missing_feature().is_some() => return Err(error),
            Err(error) => left_out.push(LeftOut { index, message: message_of(&error) }),
        }
    }
    Ok((drafts, left_out))
}

fn bodies(body: &[u8]) -> Result<Vec<SendEmail>, Answer> {
    let bodies = read::<Vec<SendEmail>>(body)?;
    if bodies.is_empty() || bodies.len() > MAX_EMAILS {
        return Err(invalid(&format!("The batch must contain between 1 and {MAX_EMAILS} emails.")));
    }
    Ok(bodies)
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Answer> {
    if body.len() > MAX_MESSAGE_BYTES {
        return Err(error(413, "validation_error", "The email size exceeds the maximum of 40MB."));
    }
    serde_json::from_slice(body).map_err(|_| error(400, "validation_error", "The request body is not valid."))
}

impl SendEmail {
    fn draft(self) -> Result<Arc<MailDraft>, Answer> {
        let from = self.from.filter(is_given).ok_or_else(|| missing("from"))?;
        let from = from.as_str().and_then(MailAddress::parse).ok_or_else(|| malformed("from"))?;
        let to = addresses("to", self.to)?;
        if to.is_empty() {
            return Err(missing("to"));
        }
        let subject = text("subject", self.subject)?;
        if subject.is_none() && self.template.is_none() {
            return Err(missing("subject"));
        }
        let subject = subject.unwrap_or_default();
        if subject.contains(['\n', '\r']) {
            return Err(invalid("The `\\n` is not allowed in the `subject` field."));
        }
        let (html, text) = (text("html", self.html)?, text("text", self.text)?);
        if html.is_none() && text.is_none() && self.template.is_none() {
            return Err(invalid("Missing `html` or `text` field."));
        }
        if self.scheduled_at.is_some_and(|at| is_given(&at)) {
            return Err(unsupported_parameter("scheduled_at"));
        }
        let mut draft = MailDraft::new(from, subject);
        draft.to = to;
        draft.cc = addresses("cc", self.cc)?;
        draft.bcc = addresses("bcc", self.bcc)?;
        draft.reply_to =
            addresses("reply_to", self.reply_to)?.into_iter().map(|address| address.shown).collect();
        draft.reply_to.extend(self.headers.iter().flat_map(reply_to_header));
        (draft.html, draft.text) = (html.map(Arc::from), text.map(Arc::from));
        draft.metadata = tags(self.tags)?;
        draft.reference = self.headers.as_ref().and_then(reference);
        self.headers.iter().for_each(|headers| draft.headers.add_members(headers));
        draft.template = self.template.map(|template| template.id);
        draft.attachments = attachments(self.attachments)?;
        Ok(draft.finished())
    }
}

/// `null` and the empty string count as absent.
fn is_given(value: &Value) -> bool {
    !(value.is_null() || value.as_str().is_some_and(str::is_empty))
}

fn malformed(field: &str) -> Answer {
    invalid(&format!(
        "Invalid `{field}` field. The email address needs to follow the `email@example.com` or `Name \
         <email@example.com>` format."
    ))
}

fn text(field: &str, value: Option<Value>) -> Result<Option<String>, Answer> {
    match value.filter(is_given) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(&format!("The `{field}` field must be a `string`."))),
    }
}

fn addresses(field: &str, value: Option<Value>) -> Result<Vec<MailAddress>, Answer> {
    let parsed = |value: &Value| value.as_str().and_then(MailAddress::parse).ok_or_else(|| malformed(field));
    match value.filter(is_given) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) if values.len() > MAX_RECIPIENTS => Err(invalid(&format!(
            "The `{field}` field must not contain more than {MAX_RECIPIENTS} recipients."
        ))),
        Some(Value::Array(values)) => values.iter().map(parsed).collect(),
        Some(value) => Ok(vec![parsed(&value)?]),
    }
}

/// The names of the attachments; an attachment without a name gets the name of its source.
fn attachments(value: Option<Value>) -> Result<Vec<String>, Answer> {
    let Some(value) = value.filter(is_given) else { return Ok(Vec::new()) };
    let Value::Array(attachments) = value else {
        return Err(invalid("The `attachments` field must be an `array`."));
    };
    let named = |attachment: &Value| {
        let name = ["filename", "path"].iter().find_map(|name| attachment.get(name)?.as_str());
        name.unwrap_or("attachment").to_owned()
    };
    Ok(attachments.iter().map(named).collect())
}

fn tags(value: Option<Value>) -> Result<Vec<(String, String)>, Answer> {
    let Some(value) = value.filter(is_given) else { return Ok(Vec::new()) };
    let Value::Array(tags) = value else { return Err(invalid("The `tags` field must be an `array`.")) };
    if tags.len() > MAX_TAGS {
        return Err(invalid(&format!("The `tags` field must not contain more than {MAX_TAGS} tags.")));
    }
    let plain = |text: &str| {
        (1..=256).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    let parsed = |tag: &Value| {
        let (name, value) = (tag.get("name")?.as_str()?, tag.get("value")?.as_str()?);
        (plain(name) && plain(value)).then(|| (name.to_owned(), value.to_owned()))
    };
    let refusal = || invalid("Tags should only contain ASCII letters, numbers, underscores, or dashes.");
    tags.iter().map(|tag| parsed(tag).ok_or_else(refusal)).collect()
}

/// The reply address in the headers of a mail.
pub(in crate::email) fn reply_to_header(headers: &Map<String, Value>) -> Option<String> {
    let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("Reply-To"))?;
    value.as_str().map(str::to_owned)
}

/// The client's own id of a mail, from its headers.
pub(in crate::email) fn reference(headers: &Map<String, Value>) -> Option<String> {
    let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("X-Entity-Ref-ID"))?;
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent(change: &Value) -> Result<Arc<MailDraft>, (u16, String, String)> {
        let mut body =
            json!({"from": "Shop <shop@x.example>", "to": "ann@x.example", "subject": "Hi", "text": "Hello"});
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        one(body.to_string().as_bytes()).map(|mut drafts| drafts.remove(0)).map_err(|answer| {
            let error: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!(error["statusCode"], answer.status);
            (
                answer.status,
                error["name"].as_str().unwrap().to_owned(),
                error["message"].as_str().unwrap().to_owned(),
            )
        })
    }

    #[test]
    fn a_mail_is_read_with_all_its_fields() {
        let draft = sent(&json!({
            "to": ["Ann@x.example", "Bob <bob@x.example>"], "cc": "c@x.example", "bcc": ["d@x.example"],
            "reply_to": "r@x.example",
            "html": "<p>Hello</p>", "text": null, "tags": [{"name": "order", "value": "o1"}],
            "headers": {"x-entity-ref-id": "e1"},
            "attachments": [{"filename": "a", "content": "AAAA"}],
        }))
        .unwrap();
        assert_eq!(draft.recipients, ["ann@x.example", "bob@x.example", "c@x.example", "d@x.example"]);
        assert_eq!((draft.body.as_str(), draft.reference.as_deref()), ("Hello", Some("e1")));
        assert_eq!(draft.metadata, [("order".to_owned(), "o1".to_owned())]);
        assert_eq!(draft.reply_to, ["r@x.example"]);
        assert_eq!(draft.attachments, ["a"]);
    }

    #[test]
    fn each_invalid_field_has_its_own_message() {
        for (change, name, message) in [
            (json!({"from": null}), "missing_required_field", "Missing `from` field."),
            (json!({"to": []}), "missing_required_field", "Missing `to` field."),
            (json!({"subject": ""}), "missing_required_field", "Missing `subject` field."),
            (json!({"text": ""}), "validation_error", "Missing `html` or `text` field."),
            (json!({"from": "shop"}), "validation_error", "Invalid `from` field."),
            (json!({"to": ["a@x.example", 7]}), "validation_error", "Invalid `to` field."),
            (json!({"cc": "nobody"}), "validation_error", "Invalid `cc` field."),
            (json!({"to": vec!["a@x.example"; 51]}), "validation_error", "The `to` field must not"),
            (json!({"html": 7}), "validation_error", "The `html` field must be a `string`."),
            (json!({"subject": "a\nb"}), "validation_error", "The `\\n` is not allowed"),
            (
                json!({"tags": [{"name": "a b", "value": "c"}]}),
                "validation_error",
                "Tags should only contain",
            ),
            (json!({"scheduled_at": "in 1 hour"}), "validation_error", "hapax does not have `scheduled_at`"),
        ] {
            let (status, other, text) = sent(&change).unwrap_err();
            assert_eq!(
                (status, other.as_str(), text.starts_with(message)),
                (422, name, true),
                "{change}: {text}"
            );
        }
    }

    #[test]
    fn a_template_replaces_subject_and_body() {
        let draft =
            sent(&json!({"subject": null, "text": null, "template": {"id": "t1", "variables": {"a": 1}}}))
                .unwrap();
        assert_eq!((draft.template.as_deref(), draft.subject.as_str()), (Some("t1"), ""));
    }

    #[test]
    fn a_body_that_is_not_a_mail_is_refused() {
        for body in [&b""[..], b"[]", b"\xff", b"{\"from\":", &b"[".repeat(100_000)] {
            assert_eq!(one(body).unwrap_err().status, 400);
        }
        assert_eq!(batch(b"[]").unwrap_err().status, 422);
        assert_eq!(batch(br#"[{"from":"a@x.example"}]"#).unwrap_err().status, 422);
    }
}
