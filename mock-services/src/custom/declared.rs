//! A service together with the file that declares it: its description in the catalog, and how it is started.

use std::sync::Arc;

use serde_json::{Value, json};
use yaml_reader::shape::{MapShape, Shape, optional};
use yaml_reader::{Problems, Source};

use super::{CreateItems, Custom, FieldPlace, OperationAction, OperationRule, tools};
use crate::description::{ConfiguredService, EffectDescription, ServedHost, ServiceDescription};
use crate::sender::DECLARED;
use crate::service::{Operation, OperationKind, Service};
use crate::services::{Builder, ServiceOptions};

static OPTIONS: MapShape<1> = MapShape::new([optional("file", Shape::Text)]);

/// A service and the file that declares it.
#[derive(Debug, Clone)]
pub struct DeclaredService {
    source: Source,
    service: Custom,
}

impl DeclaredService {
    /// Reads and checks a service file.
    ///
    /// # Errors
    ///
    /// Every problem in the file.
    pub fn from_source(source: &Source) -> Result<Self, Problems> {
        Ok(DeclaredService { source: source.clone(), service: Custom::from_source(source)? })
    }

    /// The name of the service.
    #[must_use]
    pub fn name(&self) -> &str {
        self.service.name()
    }

    /// The file that declares it.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The catalog's description of the service.
    #[must_use]
    pub fn description(&self) -> ServiceDescription {
        let configured = Arc::new(self.clone());
        let with_tools = self.service.clone();
        let with_endpoints = self.service.clone();
        let all = self.service.operations.iter().zip(&self.service.rules);
        let writes = all.clone().filter(|(operation, _)| operation.kind == OperationKind::Write);
        let reads = all.filter_map(|(operation, rule)| match rule.action {
            OperationAction::Get { creator } | OperationAction::List { creator, .. } => {
                Some((operation.name.to_string(), self.writes_of(creator)))
            }
            OperationAction::Create(_) | OperationAction::Change { .. } => None,
        });
        ServiceDescription {
            effects: writes.map(|(operation, rule)| self.effect(operation, rule)).collect(),
            reveals: reads.collect(),
            senders: if self.service.sends.is_empty() { &[] } else { &[DECLARED] },
            sent_effects: self.service.sends.clone(),
            options: OPTIONS.fields(),
            has_bodies: self.service.has_bodies(),
            about: self.service.about().unwrap_or_default().to_owned(),
            endpoints: Arc::new(move || with_endpoints.endpoints()),
            tools: Arc::new(move || tools::all(&with_tools)),
            ..ServiceDescription::new(&self.service, move |_, _| configured.clone())
        }
    }

    /// The operations that create and change the items of one operation.
    fn writes_of(&self, wanted: usize) -> Vec<String> {
        let is_of = |(index, rule): &(usize, &OperationRule)| match rule.action {
            OperationAction::Create(_) => *index == wanted,
            OperationAction::Change { creator, .. } => creator == wanted,
            OperationAction::Get { .. } | OperationAction::List { .. } => false,
        };
        let writes = self.service.rules.iter().enumerate().filter(is_of);
        writes.map(|(index, _)| self.service.operations[index].name.to_string()).collect()
    }

    fn effect(&self, operation: &Operation, rule: &OperationRule) -> EffectDescription {
        let (each, set, creator) = match &rule.action {
            OperationAction::Create(CreateItems { each, set, .. }) => (each.clone(), set.as_slice(), None),
            OperationAction::Change { set, creator, .. } => (None, set.as_slice(), Some(*creator)),
            OperationAction::Get { .. } | OperationAction::List { .. } => (None, &[][..], None),
        };
        let set = || set.iter().map(|(name, _)| name.clone());
        let named = operation.fields.iter().chain(&operation.identity).map(|name| name.to_string());
        EffectDescription {
            name: operation.name.to_string(),
            natural: unique(rule.required.iter().cloned().chain(each).chain(set())),
            carried: unique(named.chain(set())),
            needs: creator.map(|creator| self.service.operations[creator].name.to_string()),
            ..EffectDescription::default()
        }
    }
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

impl ConfiguredService for DeclaredService {
    fn configuration(&self) -> Value {
        json!({ "file": self.source.text() })
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        builder.service(self.service.clone(), options)
    }

    fn hosts(&self) -> &[ServedHost] {
        &self.service.hosts
    }

    fn own_description(&self) -> Option<ServiceDescription> {
        Some(self.description())
    }

    fn own_key_place(&self) -> Option<String> {
        self.service.key.as_ref().map(FieldPlace::written)
    }

    fn declaration(&self) -> Option<&Source> {
        Some(&self.source)
    }
}
