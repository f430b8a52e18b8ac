//! A service together with the file that declares it: what the catalog says of it, and how it is started.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Custom, Deed, Make, Rule};
use crate::catalog::{ConfiguredService, EffectDescription, OptionType, ServiceDescription};
use crate::service::{Kind, Operation, Service};
use crate::services::{Builder, ServiceOptions};
use crate::yaml::{Problems, Source};

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
    /// Every problem of the file.
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

    /// What the catalog says of the service.
    #[must_use]
    pub fn description(&self) -> ServiceDescription {
        let configured = Arc::new(self.clone());
        let all = self.service.operations.iter().zip(&self.service.rules);
        let writes = all.clone().filter(|(operation, _)| operation.kind == Kind::Write);
        let reads = all.filter_map(|(operation, rule)| match rule.deed {
            Deed::Get { maker } | Deed::List { maker, .. } => {
                Some((operation.name.to_string(), self.writes_of(maker)))
            }
            Deed::Make(_) | Deed::Change { .. } => None,
        });
        ServiceDescription {
            effects: writes.map(|(operation, rule)| self.effect(operation, rule)).collect(),
            reveals: reads.collect(),
            options: vec![("file", OptionType::Text)],
            ..ServiceDescription::new(&self.service, move |_, _| configured.clone())
        }
    }

    /// The operations that make and change the items of one operation.
    fn writes_of(&self, wanted: usize) -> Vec<String> {
        let is_of = |(place, rule): &(usize, &Rule)| match rule.deed {
            Deed::Make(_) => *place == wanted,
            Deed::Change { maker, .. } => maker == wanted,
            Deed::Get { .. } | Deed::List { .. } => false,
        };
        let writes = self.service.rules.iter().enumerate().filter(is_of);
        writes.map(|(place, _)| self.service.operations[place].name.to_string()).collect()
    }

    fn effect(&self, operation: &Operation, rule: &Rule) -> EffectDescription {
        let (each, set, maker) = match &rule.deed {
            Deed::Make(Make { each, set, .. }) => (each.clone(), set.as_slice(), None),
            Deed::Change { set, maker, .. } => (None, set.as_slice(), Some(*maker)),
            Deed::Get { .. } | Deed::List { .. } => (None, &[][..], None),
        };
        let set = || set.iter().map(|(name, _)| name.clone());
        let named = operation.fields.iter().chain(&operation.identity).map(|name| name.to_string());
        EffectDescription {
            name: operation.name.to_string(),
            natural: unique(rule.required.iter().cloned().chain(each).chain(set())),
            carried: unique(named.chain(set())),
            needs: maker.map(|maker| self.service.operations[maker].name.to_string()),
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

    fn declaration(&self) -> Option<&Source> {
        Some(&self.source)
    }
}
