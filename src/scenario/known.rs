//! The operations of the services of a case, and the fields of their effects. Unknown names are reported
//! here, with a suggestion.

use std::sync::Arc;

use mock_services::catalog::{self, EffectDescription, ServiceDescription, is_match};
use mock_services::service::{Operation, OperationKind};
use yaml_reader::{Node, Reader, Span, listed, nearest, shown};

/// The services that a scenario can name.
#[derive(Debug, Clone)]
pub(super) struct KnownServices {
    pub(super) services: Vec<Arc<ServiceDescription>>,
}

impl Default for KnownServices {
    fn default() -> Self {
        KnownServices { services: catalog::services().to_vec() }
    }
}

impl KnownServices {
    /// Adds a service that a file declares; it replaces a shipped one of that name.
    pub(super) fn add(&mut self, service: ServiceDescription) {
        self.services.retain(|known| known.name != service.name);
        self.services.push(Arc::new(service));
    }

    pub(super) fn service(&self, name: &str) -> Option<&ServiceDescription> {
        self.services.iter().map(Arc::as_ref).find(|service| service.name == name)
    }

    /// The service to which an operation or an effect belongs, by its name.
    pub(super) fn service_of(&self, operation: &str) -> Option<&ServiceDescription> {
        self.service(operation.split_once('.')?.0)
    }

    /// The service that keeps records.
    pub(super) fn store(&self) -> Option<&ServiceDescription> {
        self.services.iter().map(Arc::as_ref).find(|service| service.is_store())
    }

    /// The service that says what is live.
    pub(super) fn with_live(&self) -> Option<&ServiceDescription> {
        self.services.iter().map(Arc::as_ref).find(|service| service.has_live())
    }

    /// All operations of these services.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.services.iter().flat_map(|service| &service.operations)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Operation> {
        self.operations().find(|operation| operation.name == name)
    }

    /// The operation that a value names; an unknown name is reported.
    pub(super) fn operation(&self, reader: &Reader, node: &Node) -> Option<&Operation> {
        let name = reader.text(node)?;
        self.named(reader, name, node.span)
    }

    /// The operation of that name; an unknown name is reported.
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

    /// The effect that a value names, with its fields; an unknown name is reported.
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
                    OperationKind::Read => format!("{name} is a read and has no effect"),
                    OperationKind::Write => format!("{name} has no effect of its own"),
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

    /// The effect of this name.
    pub(super) fn described_effect(&self, name: &str) -> Option<&EffectDescription> {
        self.services.iter().flat_map(|service| &service.effects).find(|effect| effect.name == name)
    }

    fn unknown(&self, reader: &Reader, name: &str, span: Span, what: &str, all: Vec<&str>) {
        let prefix = self.service_of(name).map(|service| format!("{}.", service.name));
        let among: Vec<&str> = match &prefix {
            Some(prefix) => {
                all.iter().copied().filter(|candidate| candidate.starts_with(prefix.as_str())).collect()
            }
            None => all.clone(),
        };
        let help = match (nearest(name, all), prefix) {
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

/// Whether a list of names contains the name; an entry that ends in `*` matches every name with that prefix.
pub(super) fn has_name(names: &[String], name: &str) -> bool {
    names.iter().any(|entry| is_match(entry, name))
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
