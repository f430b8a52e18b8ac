//! One mail as the client requested it, over any API, and its fields for faults and the ledger.

use std::collections::HashSet;
use std::sync::Arc;

use crate::email::address::MailAddress;
use crate::email::headers::OwnHeaders;
use crate::email::text::{differing, plain};
use crate::service::{Fields, Value};

/// The maximum number of tags of a mail, or of a request, that become fields, and of attachments that are
/// named.
const MAX_NAMED_TAGS: usize = 64;

/// A mail to send.
#[derive(Debug, Clone)]
pub(super) struct MailDraft {
    pub(super) from: MailAddress,
    pub(super) to: Vec<MailAddress>,
    pub(super) cc: Vec<MailAddress>,
    pub(super) bcc: Vec<MailAddress>,
    pub(super) reply_to: Vec<String>,
    pub(super) subject: String,
    pub(super) html: Option<Arc<str>>,
    pub(super) text: Option<Arc<str>>,
    pub(super) metadata: Vec<(String, String)>,
    pub(super) reference: Option<String>,
    pub(super) categories: Vec<String>,
    pub(super) template: Option<String>,
    /// The names of the attachments.
    pub(super) attachments: Vec<String>,
    /// The headers that the client wrote itself.
    pub(super) headers: OwnHeaders,
    /// Whom the headers name as recipients, and who does not get the mail. Set by [`MailDraft::finished`].
    pub(super) header_recipients: Vec<String>,
    /// The reply addresses of another owner than the sender. Set by [`MailDraft::finished`].
    pub(super) foreign_replies: Vec<String>,
    /// All recipients, each once. Set by [`MailDraft::finished`].
    pub(super) recipients: Vec<String>,
    /// The plain text for the ledger. Set by [`MailDraft::finished`].
    pub(super) body: String,
    /// The text and the HTML as plain text, if both exist and differ. Set by [`MailDraft::finished`].
    pub(super) parts: Option<(String, String)>,
}

impl MailDraft {
    /// A mail without recipients and content.
    pub(super) fn new(from: MailAddress, subject: String) -> Self {
        MailDraft {
            from,
            to: Vec::new(),
            cc: Vec::new(),
            bcc: Vec::new(),
            reply_to: Vec::new(),
            subject,
            html: None,
            text: None,
            metadata: Vec::new(),
            reference: None,
            categories: Vec::new(),
            template: None,
            attachments: Vec::new(),
            headers: OwnHeaders::default(),
            header_recipients: Vec::new(),
            foreign_replies: Vec::new(),
            recipients: Vec::new(),
            body: String::new(),
            parts: None,
        }
    }

    /// The mail with its derived fields. A recipient who is named twice gets it once.
    pub(super) fn finished(mut self) -> Arc<Self> {
        let mut seen = HashSet::new();
        let everyone = self.to.iter().chain(&self.cc).chain(&self.bcc).map(|address| &address.plain);
        self.recipients = everyone.filter(|plain| seen.insert(plain.as_str())).cloned().collect();
        let owner = owner_of(&self.from.plain);
        let replies = self
            .reply_to
            .iter()
            .map(|to| MailAddress::parse(to).map_or_else(|| to.to_lowercase(), |to| to.plain));
        self.foreign_replies = replies.filter(|to| owner_of(to) != owner).collect();
        let mut only_named: Vec<String> = Vec::new();
        for address in self.headers.recipients() {
            if !self.recipients.contains(&address) && !only_named.contains(&address) {
                only_named.push(address);
            }
        }
        self.header_recipients = only_named;
        self.body = plain(self.text.as_deref(), self.html.as_deref());
        self.parts = differing(self.text.as_deref(), self.html.as_deref());
        self.metadata.truncate(MAX_NAMED_TAGS);
        self.attachments.truncate(MAX_NAMED_TAGS);
        Arc::new(self)
    }

    /// The order that the mail is about, when a tag names it.
    fn order(&self) -> Option<&str> {
        let tag =
            |wanted| self.metadata.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        tag("order").or_else(|| tag("order_id"))
    }

    /// The ledger's fields of this mail to this recipient.
    pub(super) fn fields_for(&self, recipient: &str, message: &str) -> Fields {
        let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let (text, html) = self.parts.as_ref().map(|(text, html)| (text.as_str(), html.as_str())).unzip();
        let fields = Fields::new()
            .with("to", recipient)
            .with("from", self.from.plain.as_str())
            .with("subject", self.subject.as_str())
            .with("text", self.body.as_str())
            .with("message", message)
            .with_some("order", self.order())
            .with_some("reference", self.reference.as_deref())
            .with_some("template", self.template.as_deref())
            .with_some("attachments", some(&self.attachments))
            .with_some("foreign_reply_to", some(&self.foreign_replies))
            .with_some("reply_to", some(&self.reply_to))
            .with_some("header_recipients", some(&self.header_recipients))
            .with_some("categories", some(&self.categories))
            .with_some("plain", text)
            .with_some("html", html);
        let fields = self
            .metadata
            .iter()
            .fold(fields, |fields, (name, value)| fields.with(format!("metadata.{name}"), value.as_str()));
        self.headers
            .others()
            .fold(fields, |fields, (name, value)| fields.with(format!("header.{name}"), value))
    }
}

/// The part of a mail address that names its owner: `acme.com` of `shop@mail.acme.com`.
fn owner_of(address: &str) -> String {
    let domain = address.rsplit('@').next().unwrap_or_default();
    let labels: Vec<&str> = domain.split('.').collect();
    let parts = match labels.as_slice() {
        // Such as `acme.co.uk`.
        [.., second, country] if country.len() == 2 && second.len() <= 3 => 3,
        _ => 2,
    };
    labels[labels.len().saturating_sub(parts)..].join(".")
}

/// The fields of a request to send these mails; where they differ, all values.
pub(super) fn request_fields(drafts: &[Arc<MailDraft>]) -> Fields {
    let mut seen = HashSet::new();
    let recipients =
        drafts.iter().flat_map(|draft| &draft.recipients).filter(|plain| seen.insert(plain.as_str()));
    let mut fields = Fields::new().with("to", recipients.cloned().collect::<Vec<_>>());
    let mut set = |name: String, values: &mut dyn Iterator<Item = &str>| {
        if let Some(value) = one_or_all(values) {
            fields.set(name, value);
        }
    };
    set("from".to_owned(), &mut drafts.iter().map(|draft| draft.from.plain.as_str()));
    set("subject".to_owned(), &mut drafts.iter().map(|draft| draft.subject.as_str()));
    set("text".to_owned(), &mut drafts.iter().map(|draft| draft.body.as_str()));
    set("order".to_owned(), &mut drafts.iter().filter_map(|draft| draft.order()));
    set("reference".to_owned(), &mut drafts.iter().filter_map(|draft| draft.reference.as_deref()));
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in drafts.iter().flat_map(|draft| &draft.metadata) {
        if names.len() < MAX_NAMED_TAGS && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let tags = drafts.iter().flat_map(|draft| &draft.metadata);
        set(
            format!("metadata.{name}"),
            &mut tags.filter(|(other, _)| other == name).map(|(_, value)| value.as_str()),
        );
    }
    fields
}

fn one_or_all(values: &mut dyn Iterator<Item = &str>) -> Option<Value> {
    let mut seen = HashSet::new();
    let distinct: Vec<&str> = values.filter(|value| seen.insert(*value)).collect();
    match distinct.as_slice() {
        [] => None,
        [one] => Some(Value::from(*one)),
        all => Some(Value::from(all.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(to: &[&str], subject: &str, tags: &[(&str, &str)]) -> MailDraft {
        MailDraft {
            to: to.iter().map(|to| MailAddress::bare(to)).collect(),
            metadata: tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..MailDraft::new(MailAddress::bare("shop@x.example"), subject.to_owned())
        }
    }

    #[test]
    fn a_recipient_who_is_named_twice_gets_the_mail_once() {
        let mut twice = draft(&["A@x.example", "b@x.example"], "s", &[]);
        twice.cc = vec![MailAddress::bare("a@X.example")];
        assert_eq!(twice.finished().recipients, ["a@x.example", "b@x.example"]);
    }

    #[test]
    fn an_effect_has_the_order_of_its_tags() {
        let fields =
            draft(&["a@x.example"], "s", &[("order_id", "o2")]).finished().fields_for("a@x.example", "m1");
        assert_eq!(fields.get("order"), Some(&Value::from("o2")));
        assert_eq!(fields.get("metadata.order_id"), Some(&Value::from("o2")));
        assert_eq!(fields.get("reference"), None);
    }

    #[test]
    fn an_effect_has_the_attachments_and_the_reply_address() {
        let plain = draft(&["a@x.example"], "s", &[]).finished().fields_for("a@x.example", "m1");
        assert_eq!(
            (plain.get("attachments"), plain.get("template"), plain.get("reply_to")),
            (None, None, None)
        );
        let mut more = draft(&["a@x.example"], "s", &[]);
        more.attachments = vec!["invoice.pdf".to_owned()];
        more.template = Some("t1".to_owned());
        more.reply_to = vec!["r@x.example".to_owned()];
        let fields = more.finished().fields_for("a@x.example", "m1");
        assert!(
            fields.meet(
                &Fields::new()
                    .with("attachments", "invoice.pdf")
                    .with("template", "t1")
                    .with("reply_to", "r@x.example")
            )
        );
    }

    #[test]
    fn a_reply_address_of_another_owner_than_the_sender_is_noted() {
        let foreign = |from: &str, reply_to: &str| {
            let mut mail = MailDraft::new(MailAddress::bare(from), String::new());
            mail.reply_to = vec![reply_to.to_owned()];
            mail.finished().foreign_replies.clone()
        };
        assert!(foreign("shop@mail.acme.com", "Support <support@acme.com>").is_empty());
        assert!(foreign("shop@acme.co.uk", "help@desk.acme.co.uk").is_empty());
        assert!(foreign("shop@localhost", "root@localhost").is_empty());
        assert_eq!(foreign("shop@acme.com", "Eve <Eve@evil.example>"), ["eve@evil.example"]);
        assert_eq!(foreign("shop@acme.co.uk", "eve@evil.co.uk"), ["eve@evil.co.uk"]);
    }

    #[test]
    fn a_request_for_several_mails_has_the_fields_of_all() {
        let drafts = [
            draft(&["a@x.example"], "s", &[("order", "o1")]),
            draft(&["b@x.example"], "s", &[("order", "o2")]),
        ];
        let fields = request_fields(&drafts.map(MailDraft::finished));
        assert_eq!(fields.get("subject"), Some(&Value::from("s")));
        assert!(
            fields.meet(
                &Fields::new().with("order", "o2").with("to", "a@x.example").with("metadata.order", "o1")
            )
        );
    }
}
