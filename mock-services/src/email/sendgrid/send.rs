//! A mail in the format of SendGrid's clients: one content, and a personalization for each group of
//! recipients.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::email::address::MailAddress;
use crate::email::draft::MailDraft;
use crate::email::resend::{reference, reply_to_header};
use crate::email::sendgrid::error::{MailProblem, problem, problems, unsupported_parameter};
use crate::email::text::substituted;
use crate::service::Answer;

const MAX_MESSAGE_BYTES: usize = 30 * 1024 * 1024;
const MAX_RECIPIENTS: usize = 1000;
/// The maximum size of the custom arguments, and of everything else that is copied into each mail of a
/// request.
const MAX_ARGUMENT_BYTES: usize = 10_000;
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The properties that a body can have. An unknown one would let a client believe in an effect that does not
/// exist.
pub(in crate::email) const PROPERTIES: [&str; 18] = [
    "asm",
    "attachments",
    "batch_id",
    "categories",
    "content",
    "custom_args",
    "from",
    "headers",
    "ip_pool_name",
    "mail_settings",
    "personalizations",
    "reply_to",
    "reply_to_list",
    "sections",
    "send_at",
    "subject",
    "template_id",
    "tracking_settings",
];
const INVALID: &str = "Does not contain a valid address.";

/// The body of `POST /v3/mail/send`. Of attachments only the names are read.
#[derive(Deserialize)]
pub(super) struct SendMail {
    from: Option<Person>,
    reply_to: Option<Person>,
    #[serde(default)]
    reply_to_list: Vec<Person>,
    subject: Option<String>,
    #[serde(default)]
    personalizations: Vec<Personalization>,
    #[serde(default)]
    content: Vec<Content>,
    template_id: Option<String>,
    custom_args: Option<Map<String, Value>>,
    headers: Option<Map<String, Value>>,
    #[serde(default)]
    categories: Vec<String>,
    send_at: Option<i64>,
    #[serde(default)]
    attachments: Vec<Attachment>,
    mail_settings: Option<MailSettings>,
}

#[derive(Deserialize)]
struct Personalization {
    from: Option<Person>,
    #[serde(default)]
    to: Vec<Person>,
    #[serde(default)]
    cc: Vec<Person>,
    #[serde(default)]
    bcc: Vec<Person>,
    subject: Option<String>,
    custom_args: Option<Map<String, Value>>,
    headers: Option<Map<String, Value>>,
    substitutions: Option<BTreeMap<String, String>>,
    send_at: Option<i64>,
}

#[derive(Deserialize)]
struct Person {
    #[serde(default)]
    email: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    value: SharedText,
}

/// A text that all mails of a request share.
#[derive(Deserialize)]
#[serde(from = "String")]
struct SharedText(Arc<str>);

impl Default for SharedText {
    fn default() -> Self {
        SharedText(Arc::from(""))
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        SharedText(Arc::from(text))
    }
}

#[derive(Deserialize)]
struct Attachment {
    filename: Option<String>,
}

#[derive(Deserialize)]
struct MailSettings {
    sandbox_mode: Option<SandboxMode>,
    bcc: Option<BlindCopy>,
}

/// A copy of every mail of a request.
#[derive(Deserialize)]
struct BlindCopy {
    #[serde(default)]
    enable: bool,
    #[serde(default)]
    email: String,
}

#[derive(Deserialize)]
struct SandboxMode {
    #[serde(default)]
    enable: bool,
}

/// The mails of a body, one for each personalization, and whether they are only checked and not sent.
pub(super) fn drafts(body: &[u8], now: Timestamp) -> Result<(Vec<Arc<MailDraft>>, bool), Answer> {
    if body.len() > MAX_MESSAGE_BYTES {
        return Err(problem(413, "Payload Too Large"));
    }
    let mut wrong = unknown_properties(body);
    let body: SendMail = serde_json::from_slice(body).map_err(|_| problem(400, "Bad Request"))?;
    wrong.extend(body.problems());
    if !wrong.is_empty() {
        return Err(problems(wrong));
    }
    if body.is_scheduled(now) {
        return Err(unsupported_parameter("send_at"));
    }
    let sandbox = body
        .mail_settings
        .as_ref()
        .and_then(|settings| settings.sandbox_mode.as_ref())
        .is_some_and(|mode| mode.enable);
    Ok((body.personalizations.iter().filter_map(|personal| body.draft(personal)).collect(), sandbox))
}

fn unknown_properties(body: &[u8]) -> Vec<MailProblem> {
    // The caller refuses what is not an object.
    let names: BTreeMap<String, IgnoredAny> = serde_json::from_slice(body).unwrap_or_default();
    let unknown = names.into_keys().filter(|name| !PROPERTIES.contains(&name.as_str()));
    unknown.map(|name| MailProblem::plain(format!("Additional property {name} is not allowed"))).collect()
}

/// The required order: `text/plain`, then `text/html`, then any other content.
fn rank(content: &Content) -> u8 {
    match content.kind.to_ascii_lowercase().as_str() {
        "text/plain" => 0,
        "text/html" => 1,
        _ => 2,
    }
}

impl SendMail {
    fn problems(&self) -> Vec<MailProblem> {
        let mut found = Vec::new();
        match &self.from {
            Some(from) if !from.email.is_empty() => {
                if from.address().is_none() {
                    found.push(MailProblem::new(INVALID, "from.email", "message.from"));
                }
            }
            _ => found.push(MailProblem::new(
                "The from object must be provided for every email send. It is an object that requires the \
                 email parameter, but may \
                 also contain a name parameter.  e.g. {\"email\" : \"example@example.com\"}  or {\"email\" : \
                 \"example@example.com\", \"name\" : \"Example Recipient\"}.",
                "from.email",
                "message.from",
            )),
        }
        self.problems_of_recipients(&mut found);
        let has_subject = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let subjects = has_subject(&self.subject)
            || self.personalizations.iter().all(|personal| has_subject(&personal.subject));
        if !subjects && self.template_id.is_none() {
            found.push(MailProblem::new(
                "The subject is required. You can get around this requirement if you use a template with a \
                 subject defined or if \
                 every personalization has a subject defined.",
                "subject",
                "message.subject",
            ));
        }
        if self.content.is_empty() && self.template_id.is_none() {
            found.push(MailProblem::new(
                "Unless a valid template_id is provided, the content parameter is required. There must be \
                 at least one defined \
                 content block. We typically suggest both text/plain and text/html blocks are included, but \
                 only one block is \
                 required.",
                "content",
                "message.content",
            ));
        }
        if !self.content.is_sorted_by_key(rank) {
            let message =
                "If present, text/plain must be first, followed by text/html, followed by any other content.";
            found.push(MailProblem::new(message, "content", "message.content"));
        }
        if let Some(empty) = self.content.iter().position(|content| content.value.0.is_empty()) {
            let message = "The content value must be a string at least one character in length.";
            found.push(MailProblem::new(message, format!("content.{empty}.value"), "message.content.value"));
        }
        if size(self.custom_args.as_ref()) > MAX_ARGUMENT_BYTES {
            let message = "The total size of custom arguments must be no more than 10,000 bytes.";
            found.push(MailProblem::new(message, "custom_args", "message.custom_args"));
        }
        if self.size_of_head() > MAX_HEAD_BYTES {
            found.push(MailProblem::new(
                "The total size of the message headers is too large.",
                "headers",
                "message.headers",
            ));
        }
        found
    }

    fn is_scheduled(&self, now: Timestamp) -> bool {
        let later = |at: &Option<i64>| at.is_some_and(|at| at > now.as_second());
        later(&self.send_at) || self.personalizations.iter().any(|personal| later(&personal.send_at))
    }

    fn size_of_head(&self) -> usize {
        let people =
            self.from.iter().chain(&self.reply_to).map(|person| person.name.as_ref().map_or(0, String::len));
        let texts = self.categories.iter().chain(&self.subject).chain(&self.template_id).map(String::len);
        people.chain(texts).sum::<usize>() + size(self.headers.as_ref())
    }

    fn problems_of_recipients(&self, found: &mut Vec<MailProblem>) {
        let (count, block) = (self.personalizations.len(), "-Personalizations-Errors");
        let recipients: usize =
            self.personalizations.iter().map(|personal| personal.everyone().count()).sum();
        if count == 0 {
            let message =
                "The personalizations field is required and must have at least one personalization.";
            found.push(MailProblem::new(message, "personalizations", block));
        }
        if count > MAX_RECIPIENTS {
            let message = format!(
                "The personalization block is limited to 1000 personalizations per API request. You have \
                 provided {count} \
                 personalizations. Please consider splitting this into multiple requests and resending your \
                 request."
            );
            return found.push(MailProblem::new(message, "personalizations", block));
        }
        if recipients > MAX_RECIPIENTS {
            let message = "There is a limit of 1000 total recipients (to + cc + bcc) per request.";
            return found.push(MailProblem::new(message, "personalizations", block));
        }
        for (index, personal) in self.personalizations.iter().enumerate() {
            personal.problems(index, found);
        }
    }

    fn draft(&self, personal: &Personalization) -> Option<Arc<MailDraft>> {
        let from = personal.from.as_ref().or(self.from.as_ref())?.address()?;
        let values = personal.substitutions.as_ref().filter(|values| !values.is_empty());
        let filled = |text: &str| values.map(|values| substituted(text, values));
        let content = |kind: &str| {
            let block = self.content.iter().find(|content| content.kind.eq_ignore_ascii_case(kind))?;
            Some(filled(&block.value.0).map_or_else(|| Arc::clone(&block.value.0), Arc::from))
        };
        let addresses = |people: &[Person]| people.iter().filter_map(Person::address).collect();
        let own_subject = personal.subject.as_deref().filter(|subject| !subject.is_empty());
        let subject = own_subject.or(self.subject.as_deref()).unwrap_or_default();
        let mut draft = MailDraft::new(from, filled(subject).unwrap_or_else(|| subject.to_owned()));
        (draft.to, draft.cc, draft.bcc) =
            (addresses(&personal.to), addresses(&personal.cc), addresses(&personal.bcc));
        draft.reply_to = self
            .reply_to
            .iter()
            .chain(&self.reply_to_list)
            .filter_map(Person::address)
            .map(|address| address.shown)
            .collect();
        let headers = [self.headers.as_ref(), personal.headers.as_ref()];
        headers.iter().flatten().for_each(|headers| draft.headers.add_members(headers));
        draft.reply_to.extend(headers.into_iter().flatten().filter_map(reply_to_header));
        let copy = self.mail_settings.as_ref().and_then(|settings| settings.bcc.as_ref());
        let copy = copy.filter(|copy| copy.enable).and_then(|copy| MailAddress::parse(&copy.email));
        draft.bcc.extend(copy);
        (draft.text, draft.html) = (content("text/plain"), content("text/html"));
        draft.metadata = merged(self.custom_args.as_ref(), personal.custom_args.as_ref());
        draft.reference = personal
            .headers
            .as_ref()
            .and_then(reference)
            .or_else(|| self.headers.as_ref().and_then(reference));
        draft.categories.clone_from(&self.categories);
        draft.template.clone_from(&self.template_id);
        let attached = self.attachments.iter().map(|attachment| attachment.filename.clone());
        let others = self
            .content
            .iter()
            .filter(|content| rank(content) == 2)
            .map(|content| Some(content.kind.clone()));
        draft.attachments =
            attached.chain(others).map(|name| name.unwrap_or_else(|| "attachment".to_owned())).collect();
        Some(draft.finished())
    }
}

impl Personalization {
    fn everyone(&self) -> impl Iterator<Item = (&'static str, usize, &Person)> {
        [("to", &self.to), ("cc", &self.cc), ("bcc", &self.bcc)].into_iter().flat_map(|(field, people)| {
            people.iter().enumerate().map(move |(index, person)| (field, index, person))
        })
    }

    fn problems(&self, index: usize, found: &mut Vec<MailProblem>) {
        if self.to.is_empty() {
            let message = "The to array is required for all personalization objects, and must have at least \
                           one email object with a \
                valid email address.";
            found.push(MailProblem::new(
                message,
                format!("personalizations.{index}.to"),
                "message.personalizations.to",
            ));
        }
        if self.from.as_ref().is_some_and(|from| from.address().is_none()) {
            found.push(MailProblem::new(
                INVALID,
                format!("personalizations.{index}.from.email"),
                "message.from",
            ));
        }
        let mut seen = HashSet::new();
        for (field, place, person) in self.everyone() {
            let help = format!("message.personalizations.{field}");
            let Some(address) = person.address() else {
                found.push(MailProblem::new(
                    INVALID,
                    format!("personalizations.{index}.{field}.{place}.email"),
                    &help,
                ));
                continue;
            };
            if let Some(twice) = seen.replace(address.plain) {
                let message = format!(
                    "Each email address in the personalization block should be unique between to, cc, and \
                     bcc. We found the first \
                     duplicate instance of [{twice}] in the personalizations.{index}.{field} field."
                );
                return found.push(MailProblem::new(
                    message,
                    format!("personalizations.{index}"),
                    "message.recipient-errors",
                ));
            }
        }
    }
}

impl Person {
    fn address(&self) -> Option<MailAddress> {
        let plain = MailAddress::parse(&self.email).filter(|_| !self.email.contains('<'))?;
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        Some(match name {
            Some(name) => MailAddress { shown: format!("{name} <{}>", plain.shown), plain: plain.plain },
            None => plain,
        })
    }
}

fn size(map: Option<&Map<String, Value>>) -> usize {
    map.and_then(|map| serde_json::to_string(map).ok()).map_or(0, |json| json.len())
}

/// The custom arguments of the request, overridden by those of the personalization.
fn merged(all: Option<&Map<String, Value>>, own: Option<&Map<String, Value>>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs = all.into_iter().chain(own).flatten().map(|(name, value)| (name.clone(), text(value)));
    pairs.collect::<BTreeMap<_, _>>().into_iter().collect()
}
