//! What is known of one service.

use std::fmt;
use std::sync::Arc;

use super::{
    Api, ClientValue, ClientVariable, ConfiguredService, EffectDescription, ExpectedEffect, OptionType,
    Preparation, RealHost, StoreKind,
};
use crate::idempotency::Profile;
use crate::service::{Kind, Operation, Service, Transport};
use crate::yaml::{Map, Reader, Source};

/// Reads the options of a service from the map of a scenario; an empty map gives the service without options.
pub type Configure = Arc<dyn Fn(&Reader, &mut Map<'_, '_>) -> Arc<dyn ConfiguredService> + Send + Sync>;

/// What is known of one service.
#[derive(Clone)]
pub struct ServiceDescription {
    /// Its name: `payment`.
    pub name: String,
    /// What it can do.
    pub operations: Vec<Operation>,
    /// The effects that it can leave.
    pub effects: Vec<EffectDescription>,
    /// For each read, the writes of which it shows whether they have happened.
    pub reveals: Vec<(String, Vec<String>)>,
    /// How it treats idempotency keys where a scenario does not say.
    pub profile: Profile,
    /// What it is spoken to over.
    pub transports: &'static [Transport],
    /// Its APIs; none where it has a single one without a name.
    pub apis: &'static [Api],
    /// The name of the API through which a request came, by its method and path.
    pub api_of: fn(method: &str, path: &str) -> Option<&'static str>,
    /// The variables that its real clients read.
    pub variables: &'static [ClientVariable],
    /// The hosts of the real APIs that it stands for.
    pub hosts: &'static [RealHost],
    /// Fields that only a step can have: the operation and the field.
    pub step_fields: &'static [(&'static str, &'static str)],
    /// Fields of which several texts mean the same value.
    pub value_forms: &'static [(&'static str, ValueForm)],
    /// Its options in a scenario, for the JSON Schema; [`ServiceDescription::configure`] reads them.
    pub options: Vec<(&'static str, OptionType)>,
    /// Reads its options.
    pub configure: Configure,
    /// What must exist before a task that is to make these effects.
    pub prepare: fn(&[ExpectedEffect<'_>]) -> Preparation,
}

/// When two texts mean the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// When they differ only in upper and lower case: mail addresses.
    AnyCase,
    /// When they name the same branch or tag: `v1.4.2` and `refs/tags/v1.4.2`.
    GitRef,
}

impl ValueForm {
    /// The one text for all texts that mean the same value.
    #[must_use]
    pub fn canonical(self, text: &str) -> String {
        match self {
            ValueForm::AnyCase => text.to_lowercase(),
            ValueForm::GitRef => short_ref(text).to_owned(),
        }
    }
}

/// The name of a branch or a tag without the folders of git: `v1.4.2` of `refs/tags/v1.4.2`.
pub(crate) fn short_ref(name: &str) -> &str {
    let stems = ["refs/heads/", "refs/tags/", "heads/", "tags/"];
    stems.iter().find_map(|stem| name.strip_prefix(stem)).filter(|rest| !rest.is_empty()).unwrap_or(name)
}

impl ServiceDescription {
    /// What the service itself says, and how its options are read. The rest is filled in with
    /// `ServiceDescription { effects, ..ServiceDescription::new(…) }`.
    pub fn new<S: Service>(
        service: &S,
        configure: impl Fn(&Reader, &mut Map<'_, '_>) -> Arc<dyn ConfiguredService> + Send + Sync + 'static,
    ) -> Self {
        ServiceDescription {
            name: service.name().to_owned(),
            operations: service.operations().to_vec(),
            effects: Vec::new(),
            reveals: Vec::new(),
            profile: service.idempotency().profile,
            transports: service.transports(),
            apis: &[],
            api_of: |_, _| None,
            variables: &[],
            hosts: &[],
            step_fields: &[],
            value_forms: &[],
            options: Vec::new(),
            configure: Arc::new(configure),
            prepare: |_| Preparation::default(),
        }
    }

    /// The table of [`ServiceDescription::reveals`] from texts that the program contains.
    #[must_use]
    pub fn revealed(table: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let owned = |writes: &[&str]| writes.iter().map(|write| (*write).to_owned()).collect();
        table.iter().map(|(read, writes)| ((*read).to_owned(), owned(writes))).collect()
    }

    /// The service without options.
    #[must_use]
    pub fn unconfigured(&self) -> Arc<dyn ConfiguredService> {
        let reader = Reader::new(&Source::new("", ""));
        let mut map = Map::empty(&reader);
        let configured = (self.configure)(&reader, &mut map);
        map.finish();
        configured
    }

    /// The effect of this name.
    #[must_use]
    pub fn effect(&self, name: &str) -> Option<&EffectDescription> {
        self.effects.iter().find(|effect| effect.name == name)
    }

    /// Whether the read shows whether the write has happened. A read that is not described shows all of them.
    #[must_use]
    pub fn does_reveal(&self, read: &str, write: &str) -> bool {
        match self.reveals.iter().find(|(name, _)| name == read) {
            Some((_, writes)) => writes.iter().any(|name| name == write),
            None => true,
        }
    }

    /// Whether it also takes messages over SMTP.
    #[must_use]
    pub fn takes_smtp(&self) -> bool {
        self.transports.contains(&Transport::Smtp)
    }

    /// Whether it has records or counters.
    #[must_use]
    pub fn is_store(&self) -> bool {
        self.effects.iter().any(|effect| effect.store.is_some())
    }

    /// The effects that change records or counters.
    pub fn store_effects(&self, kind: StoreKind) -> impl Iterator<Item = &EffectDescription> {
        self.effects.iter().filter(move |effect| effect.store.is_some_and(|store| store.kind == kind))
    }

    /// The variables of real clients for the service at this URL with this key.
    pub fn client_variables<'a>(
        &'a self,
        url: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = (String, String)> + 'a {
        self.variables.iter().map(move |variable| {
            let value = match variable.value {
                ClientValue::Url => url,
                ClientValue::Key => key,
            };
            (variable.name.to_owned(), value.to_owned())
        })
    }

    /// What is wrong with the description: names that the service does not have, reads that reveal nothing
    /// that is known. Empty where it is consistent.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let stem = format!("{}.", self.name);
        let is_write = |name: &str| {
            self.operations.iter().any(|operation| operation.name == name && operation.kind == Kind::Write)
        };
        for operation in &self.operations {
            if !operation.name.starts_with(&stem) {
                problems.push(format!("the operation {} does not begin with {stem}", operation.name));
            }
            let is_described = self.reveals.iter().any(|(read, _)| *read == operation.name);
            if operation.kind == Kind::Read && !is_described {
                problems.push(format!("`reveals` says nothing of the read {}", operation.name));
            }
        }
        for effect in &self.effects {
            if !is_write(&effect.name) {
                problems.push(format!("the effect {} is not a write of the service", effect.name));
            }
            let others = effect.needs.iter().map(String::as_str).chain(effect.made_by.iter().copied());
            for name in others.chain(effect.undoes.iter().map(|undoes| undoes.effect)) {
                if !is_write(name) {
                    problems.push(format!("{} names {name}, which is not a write", effect.name));
                }
            }
        }
        for (read, writes) in &self.reveals {
            let is_read = self
                .operations
                .iter()
                .any(|operation| operation.name == *read && operation.kind == Kind::Read);
            if !is_read {
                problems.push(format!("`reveals` names {read}, which is not a read of the service"));
            }
            for write in writes.iter().filter(|write| !is_write(write)) {
                problems.push(format!("{read} reveals {write}, which is not a write of the service"));
            }
        }
        for (operation, field) in self.step_fields {
            if !is_write(operation) {
                problems.push(format!("the step field {field} is of {operation}, which is not a write"));
            }
        }
        problems
    }
}

impl fmt::Debug for ServiceDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceDescription").field("name", &self.name).finish_non_exhaustive()
    }
}
