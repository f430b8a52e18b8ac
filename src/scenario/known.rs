//! What the services of a case can do: their operations, and the fields that their effects carry. Names that
//! do not exist are reported here, with what would be right.

use std::sync::{Arc, LazyLock};

use mock_services::custom::{Custom, TICKETS};
use mock_services::deploy::Deploy;
use mock_services::email::Email;
use mock_services::payment::Payment;
use mock_services::records::Records;
use mock_services::service::{Kind, Operation, Service};
use mock_services::yaml::{Kind as YamlKind, Node, Reader, Source, Span, listed, nearest, parse, shown};

use super::defaults;

/// The services that are there without a file of their own.
pub(super) const SHIPPED: [&str; 5] = ["payment", "email", "deploy", "records", "tickets"];

/// What the effects of the services that are built in carry by nature: where an intent names one of these
/// fields, an effect without it is not as asked. Beside them they carry the fields that [`defaults`] has a
/// usual value for, and every effect of a service can carry its [`LABELS`]. What is not here leaves no effect
/// of its own: a capture is a charge, and an intent moves nothing.
const NATURAL: [(&str, &[&str]); 19] = [
    ("payment.charge", CHARGE),
    ("payment.hold", CHARGE),
    ("payment.refund", &["amount", "currency", "customer", "charge", "payment_intent", "reason"]),
    ("payment.subscribe", SUBSCRIPTION),
    ("payment.upgrade", SUBSCRIPTION),
    ("payment.amend", SUBSCRIPTION),
    ("payment.unsubscribe", SUBSCRIPTION),
    ("payment.relabel", &["object", "charge", "payment_intent", "refund", "subscription", "customer"]),
    ("payment.customer", &["customer"]),
    ("payment.delete-customer", &["customer"]),
    ("email.send", &["to", "from", "subject", "text", "message"]),
    ("deploy.deploy", DEPLOYMENT),
    ("deploy.delete", DEPLOYMENT),
    (
        "deploy.status",
        &[
            "state",
            "environment",
            "version",
            "ref",
            "sha",
            "repo",
            "task",
            "description",
            "service",
            "deployment",
        ],
    ),
    ("deploy.lock", &["environment", "holder"]),
    ("deploy.take-lock", &["environment", "holder", "by"]),
    ("records.put", &["key", "value", "version", "previous_version"]),
    ("records.delete", &["key", "version"]),
    ("records.increment", &["counter", "by", "value"]),
];
const CHARGE: &[&str] = &["amount", "currency", "customer", "description", "charge", "payment_intent"];
const SUBSCRIPTION: &[&str] = &["customer", "price", "quantity", "items", "currency", "subscription"];
const DEPLOYMENT: &[&str] =
    &["environment", "version", "ref", "sha", "repo", "task", "description", "service", "deployment"];

/// The free-form labels that effects of a service can carry and may leave out. A name that ends in `.*`
/// stands for all that begin so.
const LABELS: [(&str, &[&str]); 3] = [
    ("payment", &["order", "metadata.*", "own_metadata.*"]),
    ("email", &["order", "reference", "reply_to", "metadata.*"]),
    ("deploy", &["order", "payload", "metadata.*"]),
];

/// A service and what it can do.
#[derive(Debug, Clone)]
pub(super) struct KnownService {
    pub(super) name: String,
    pub(super) operations: Vec<Operation>,
    /// The effects that it can leave.
    pub(super) effects: Vec<KnownEffect>,
}

/// An effect and the fields that it can carry.
#[derive(Debug, Clone)]
pub(super) struct KnownEffect {
    pub(super) name: String,
    pub(super) carried: Vec<String>,
    /// Those among them that every such effect has.
    pub(super) natural: Vec<String>,
}

impl KnownService {
    fn built_in(service: &impl Service) -> Self {
        let stem = format!("{}.", service.name());
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let labels = LABELS
            .iter()
            .filter(|(of, _)| *of == service.name())
            .flat_map(|(_, labels)| owned(labels))
            .collect::<Vec<_>>();
        let own = NATURAL.iter().filter(|(effect, _)| effect.starts_with(&stem));
        let effects = own
            .map(|(effect, natural)| {
                let usual = defaults::names(effect).filter(|name| !natural.contains(name)).map(str::to_owned);
                let natural: Vec<String> = owned(natural).into_iter().chain(usual).collect();
                let carried = natural.iter().cloned().chain(labels.clone()).collect();
                KnownEffect { name: (*effect).to_owned(), carried, natural }
            })
            .collect();
        KnownService { name: service.name().to_owned(), operations: service.operations().to_vec(), effects }
    }

    /// A service that a file declares.
    pub(super) fn custom(service: &Custom, file: &Source) -> Self {
        let tree = parse(file).ok();
        let declared = tree.as_ref().and_then(|tree| tree.get("operations"));
        let listed = |name: &str, key: &str| {
            declared.and_then(|all| all.get(name)?.get(key)).map(names_of).unwrap_or_default()
        };
        let plain = |operation: &Operation| {
            let name = operation.name.split_once('.').map(|(_, name)| name);
            name.unwrap_or_default().to_owned()
        };
        let natural = |operation: &Operation| {
            let name = plain(operation);
            ["required", "each", "set"].iter().flat_map(|key| listed(&name, key)).collect()
        };
        let carried = |operation: &Operation| {
            let own = operation.fields.iter().chain(&operation.identity).map(|name| name.to_string());
            let mut names: Vec<String> = own.chain(listed(&plain(operation), "set")).collect();
            let mut seen = Vec::new();
            names.retain(|name| {
                !seen.contains(name) && {
                    seen.push(name.clone());
                    true
                }
            });
            names
        };
        let writes = service.operations().iter().filter(|operation| operation.kind == Kind::Write);
        let effect = |operation: &Operation| KnownEffect {
            name: operation.name.to_string(),
            carried: carried(operation),
            natural: natural(operation),
        };
        let effects = writes.map(effect).collect();
        KnownService { name: service.name().to_owned(), operations: service.operations().to_vec(), effects }
    }
}

fn names_of(node: &Node) -> Vec<String> {
    match &node.kind {
        YamlKind::Map(entries) => entries.iter().map(|(key, _)| key.name.clone()).collect(),
        YamlKind::List(items) => items
            .iter()
            .filter_map(|item| match &item.kind {
                YamlKind::Text(name) => Some(name.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

static BUILT_IN: LazyLock<Vec<Arc<KnownService>>> = LazyLock::new(|| {
    let tickets = Source::new("tickets.yaml", TICKETS);
    let mut all = vec![
        KnownService::built_in(&Payment::default()),
        KnownService::built_in(&Email::default()),
        KnownService::built_in(&Deploy::default()),
        KnownService::built_in(&Records::default()),
    ];
    all.extend(Custom::from_source(&tickets).ok().map(|custom| KnownService::custom(&custom, &tickets)));
    all.into_iter().map(Arc::new).collect()
});

/// The services that a scenario can name.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) services: Vec<Arc<KnownService>>,
}

impl Default for Known {
    fn default() -> Self {
        Known { services: BUILT_IN.clone() }
    }
}

impl Known {
    /// Adds a service that a file declares; it takes the place of a shipped one of that name.
    pub(super) fn add(&mut self, service: KnownService) {
        self.services.retain(|have| have.name != service.name);
        self.services.push(Arc::new(service));
    }

    pub(super) fn service(&self, name: &str) -> Option<&KnownService> {
        self.services.iter().map(Arc::as_ref).find(|service| service.name == name)
    }

    /// The service to which an operation or an effect belongs, by its name.
    pub(super) fn service_of(&self, operation: &str) -> Option<&KnownService> {
        self.service(operation.split_once('.')?.0)
    }

    /// Everything that these services can do.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.services.iter().flat_map(|service| &service.operations)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Operation> {
        self.operations().find(|operation| operation.name == name)
    }

    /// The operation that a value names; what is wrong with it is reported.
    pub(super) fn operation(&self, reader: &Reader, node: &Node) -> Option<&Operation> {
        let name = reader.text(node)?;
        self.named(reader, name, node.span)
    }

    /// The operation of that name; where there is none, that is reported.
    pub(super) fn named(&self, reader: &Reader, name: &str, span: Span) -> Option<&Operation> {
        let found = self.find(name);
        if found.is_none() {
            self.unknown(
                reader,
                name,
                span,
                "operation",
                self.operations().map(|operation| operation.name.as_ref()).collect(),
            );
        }
        found
    }

    /// What an effect carries; where no service leaves it, that is reported.
    pub(super) fn effect(&self, reader: &Reader, node: &Node) -> Option<(&str, &[String])> {
        let name = reader.text(node)?;
        let effects = || self.services.iter().flat_map(|service| &service.effects);
        if let Some(effect) = effects().find(|effect| effect.name == name) {
            return Some((&effect.name, &effect.carried));
        }
        match self.find(name) {
            Some(operation) => {
                let of_service = self.service_of(name).into_iter().flat_map(|service| &service.effects);
                let others = listed(of_service.map(|effect| effect.name.as_str()));
                let message = match operation.kind {
                    Kind::Read => format!("{name} is a read and leaves no effect"),
                    Kind::Write => format!("{name} leaves no effect of its own"),
                };
                reader.report_with_help(node.span, message, format!("it can be {others}"));
            }
            None => self.unknown(
                reader,
                name,
                node.span,
                "effect",
                effects().map(|effect| effect.name.as_str()).collect(),
            ),
        }
        None
    }

    /// The fields that every effect of this name has.
    pub(super) fn natural(&self, effect: &str) -> Vec<String> {
        let mut effects = self.services.iter().flat_map(|service| &service.effects);
        effects.find(|known| known.name == effect).map(|known| known.natural.clone()).unwrap_or_default()
    }

    fn unknown(&self, reader: &Reader, name: &str, span: Span, what: &str, all: Vec<&str>) {
        let stem = self.service_of(name).map(|service| format!("{}.", service.name));
        let among: Vec<&str> = match &stem {
            Some(stem) => {
                all.iter().copied().filter(|candidate| candidate.starts_with(stem.as_str())).collect()
            }
            None => all.clone(),
        };
        let help = match (nearest(name, all), stem) {
            (Some(near), _) => format!("did you mean `{near}`? it can be {}", listed(among)),
            (None, Some(_)) => format!("it can be {}", listed(among)),
            (None, None) => {
                let services = listed(self.services.iter().map(|service| service.name.as_str()));
                format!("it begins with the name of a service, which can be {services}")
            }
        };
        reader.report_with_help(span, format!("there is no {what} `{}`", shown(name)), help);
    }
}

/// Whether a list of names has the name; one that ends in `.*` stands for all that begin so.
pub(super) fn has_name(names: &[String], name: &str) -> bool {
    names.iter().any(|have| match have.strip_suffix('*') {
        Some(stem) => name.starts_with(stem),
        None => have == name,
    })
}

#[cfg(test)]
mod tests;
