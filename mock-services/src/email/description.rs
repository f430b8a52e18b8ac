//! The email service in the catalog, and its options in a scenario.

use std::sync::Arc;

use serde_json::Value;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, words_of};
use yaml_reader::{Key, Map, Node, NodeKind, Reader};

use super::{Email, EmailOptions, MailDelivery, api_name};
use crate::description::{
    AFTER, ApiDescription, ClientVariable, ConfiguredService, EffectDescription, FieldDescription, FieldKind,
    FieldKinds, RealHost, ServiceDescription, UsualValue, ValueForm, read_after,
};
use crate::idempotency::Profile;
use crate::service::After;
use crate::services::{Builder, ServiceOptions};

const APIS: &[ApiDescription] = &[
    ApiDescription {
        name: "resend",
        title: "the Resend API",
        differs: "which takes idempotency keys and answers with HTTP statuses",
    },
    ApiDescription {
        name: "sendgrid",
        title: "the SendGrid API",
        differs: "which has no idempotency keys and answers with HTTP statuses",
    },
    ApiDescription {
        name: "smtp",
        title: "SMTP",
        differs: "which has no idempotency keys and answers with SMTP codes",
    },
];

const VARIABLES: &[ClientVariable] = &[
    ClientVariable::url("RESEND_API_URL"),
    ClientVariable::url("RESEND_BASE_URL"),
    ClientVariable::key("RESEND_API_KEY"),
    ClientVariable::key("SENDGRID_API_KEY"),
];

const SENDGRID_SETTING: &str = "Give the client HAPAX_EMAIL_URL (Python: `host=`; Node: \
     `client.setDefaultRequest(\"baseUrl\", …)` after `setApiKey`).";
const HOSTS: &[RealHost] = &[
    RealHost {
        host: "api.resend.com",
        setting: "Let RESEND_API_URL (Python) or RESEND_BASE_URL (Node) reach the client; both are set to \
                  the mock. Or \
                  give it HAPAX_EMAIL_URL.",
        profile: Some(Profile::Resend),
    },
    RealHost { host: "api.sendgrid.com", setting: SENDGRID_SETTING, profile: Some(Profile::None) },
    RealHost { host: "api.eu.sendgrid.com", setting: SENDGRID_SETTING, profile: Some(Profile::None) },
];

const SENT: &[&str] = &["email.send", "email.sandbox"];
const REVEALS: &[(&str, &[&str])] = &[("email.list", SENT), ("email.get", SENT)];

const SEND_VALUES: &[UsualValue] = &[
    UsualValue::new("attachments", "none"),
    UsualValue::new("template", "none"),
    UsualValue::new("foreign_reply_to", "none").or_named(),
    UsualValue::new("header_recipients", "none").or_named(),
];

const KINDS: FieldKinds = &[
    (
        FieldKind::WhoAndHowMuch,
        &["to", "from", "attachments", "template", "foreign_reply_to", "header_recipients"],
    ),
    (
        FieldKind::Label,
        &["message", "order", "reference", "reply_to", "categories", "metadata.*", "header.*"],
    ),
    (FieldKind::Text, &["subject", "text", "plain", "html"]),
];

const FIELDS: &[FieldDescription] = &[
    FieldDescription { advice: Some("recipient"), ..FieldDescription::TO }.form(ValueForm::AnyCase),
    FieldDescription::new("from").form(ValueForm::AnyCase),
];

/// The catalog's description of the email service.
pub(crate) fn description() -> ServiceDescription {
    let send = EffectDescription {
        past_tense: Some("mailed"),
        ..EffectDescription::new("email.send", &["to", "from", "subject", "text", "message"])
            .usual(SEND_VALUES)
            .steady(&["from", "reply_to"])
            .labels(&["plain", "html", "order", "reference", "categories", "metadata.*", "header.*"])
            .noun("mail", "mails")
            .told_apart_by(&["to", "subject"])
            .impact("a mail was sent", "a mail was not sent")
    };
    ServiceDescription {
        effects: vec![send],
        reveals: ServiceDescription::revealed(REVEALS),
        apis: APIS,
        api_of: |method, path| Some(api_name(method, path)),
        variables: VARIABLES,
        senders: super::sender::SENDERS,
        sent_effects: super::sender::SENT.iter().map(|effect| (*effect).to_owned()).collect(),
        hosts: HOSTS,
        step_fields: &[("email.send", "via"), ("email.send", "occurrence")],
        kinds: KINDS,
        fields: FIELDS,
        tools: Arc::new(super::tools::all),
        endpoints: Arc::new(super::reference::endpoints),
        real_endpoints: super::reference::real_endpoints,
        about: "Mail over Resend's and SendGrid's APIs and over SMTP.".to_owned(),
        not_there: &[
            "Webhooks are sent in scenarios with `events`: by SendGrid for mail over its API, by Resend for all other mail.",
            "Mail cannot be scheduled.",
            "The task need not name `from` and `reply_to`. They must be the same in all attempts at a mail, and a reply \
             address must belong to the sender or be named by the task (`foreign_reply_to`). Whoever the headers To, Cc and \
             Bcc name without getting the mail must be named by the task (`header_recipients`). HTML beside another text \
             (`html`, `plain`), categories and other headers (`header.*`) are compared with what the task names. Display \
             names, tracking and unsubscribe groups are not compared.",
            "Domains, contacts, templates and suppression lists cannot be managed. A template is only a name.",
        ],
        options: OPTIONS.fields(),
        ..ServiceDescription::new(&Email::default(), |reader, map| Arc::new(read_options(reader, map)))
    }
}

static OPTIONS: MapShape<2> = MapShape::new([
    optional("delivery", DELIVERY),
    optional("addresses", Shape::MapOf(&Shape::Any, &DELIVERY, Count::ANY)),
]);
const DELIVERY: Shape = Shape::OneOf(&[Shape::Words(|| words_of(&DELIVERY_WORDS)), DELIVERY_MAP.shape()]);
const DELIVERY_WORDS: [(&str, MailDelivery); 4] = [
    ("now", MailDelivery::Now),
    ("never", MailDelivery::Never),
    ("later", MailDelivery::After(After::Settled)),
    ("bounced", MailDelivery::Bounced(After::Requests(0))),
];
static DELIVERY_MAP: MapShape<2> = MapShape::new([optional("later", AFTER), optional("bounced", AFTER)])
    .needs(Rule::OneOf(&["later", "bounced"]));

fn read_options(reader: &Reader, map: &mut Map<'_, '_>) -> EmailOptions {
    let [delivery, addresses] = map.fields(&OPTIONS);
    let delivery = delivery.and_then(|node| read_delivery(reader, node));
    let addresses = addresses.and_then(|node| reader.entries(node)).unwrap_or_default();
    let one = |(key, node): &(Key, Node)| Some((key.name.clone(), read_delivery(reader, node)?));
    EmailOptions {
        delivery: delivery.unwrap_or_default(),
        addresses: addresses.iter().filter_map(one).collect(),
    }
}

fn read_delivery(reader: &Reader, node: &Node) -> Option<MailDelivery> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        return reader.one_of(node, &DELIVERY_WORDS);
    }
    let [later, bounced] = reader.fields(node, "a delivery", &DELIVERY_MAP)?;
    match (later, bounced) {
        (Some(after), None) => read_after(reader, after).map(MailDelivery::After),
        (None, Some(after)) => read_after(reader, after).map(MailDelivery::Bounced),
        _ => {
            let help = "for example {later: {requests: 2}} or {bounced: 2s}";
            reader.report_with_help(node.place(), "a delivery is either `later` or `bounced`", help);
            None
        }
    }
}

impl ConfiguredService for EmailOptions {
    fn configuration(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        builder.service(Email::new(self.clone()), options)
    }
}
