//! The description of a service: what hapax knows of it, except what the service itself does. The folder of
//! each service has a function that returns one; the catalog has them all and exports these types.

mod clients;
mod configured;
mod effect;
mod endpoint;
mod field;
mod hosts;
mod kind;
mod options;
mod tool;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use yaml_reader::shape::Field;
use yaml_reader::{Map, Reader, Source};

pub use clients::{ApiDescription, ClientValue, ClientVariable, RealHost};
pub use configured::{
    AnswerPlan, ConfiguredService, DecisionTime, ExpectedEffect, PlannedDecision, PlannedRequest,
    PlannedStep, PlannedTask, Preparation,
};
pub use effect::{
    ApprovalPart, EffectDescription, EffectImpact, LiveChange, StoreChange, StoreKind, StoredValue, Undoes,
    UsualValue,
};
pub use endpoint::{EndpointDescription, RealEndpoint};
pub(crate) use field::short_ref;
pub use field::{FieldDescription, FieldExamples, FieldRole, PhrasePart, ValueForm};
pub use hosts::{ServedHost, ServedHostError, is_glob_match, is_match, read_served_hosts};
pub use kind::{FieldKind, FieldKinds};
pub use options::{AFTER, AFTER_DEFINITION, read_after, read_texts};
pub use tool::{
    ArgumentError, KEY_ARGUMENT, ParameterPlace, ParameterType, ServiceRequest, ToolBody, ToolDescription,
    ToolParameter,
};

use crate::idempotency::{Idempotency, KeyPlace};
use crate::sender::EventSender;
use crate::service::{Operation, OperationKind, Service, Transport};

/// Reads the options of a service from the map of a scenario; an empty map is the service without options.
pub type Configure = Arc<dyn Fn(&Reader, &mut Map<'_, '_>) -> Arc<dyn ConfiguredService> + Send + Sync>;

/// Makes the tools of a service. They are made only where they are used.
pub type ToolList = Arc<dyn Fn() -> Vec<ToolDescription> + Send + Sync>;

/// Makes the list of the endpoints of a service.
pub type EndpointList = Arc<dyn Fn() -> Vec<EndpointDescription> + Send + Sync>;

/// The description of one service.
#[derive(Clone)]
pub struct ServiceDescription {
    /// Its name: `payment`.
    pub name: String,
    /// Its operations.
    pub operations: Vec<Operation>,
    /// Its effects.
    pub effects: Vec<EffectDescription>,
    /// For each read, the writes that it reveals: it shows whether they have happened.
    pub reveals: Vec<(String, Vec<String>)>,
    /// Whether a read of one path can show what a write to another path changed, where
    /// [`ServiceDescription::reveals`] allows it.
    pub shows_path: fn(read: &str, write: &str) -> bool,
    /// How it treats idempotency keys if a scenario does not say.
    pub profile: Idempotency,
    /// The protocols that it accepts.
    pub transports: &'static [Transport],
    /// Its APIs; none if it has a single API without a name.
    pub apis: &'static [ApiDescription],
    /// The name of the API that a request with this method and path uses.
    pub api_of: fn(method: &str, path: &str) -> Option<&'static str>,
    /// The variables that its real clients read.
    pub variables: &'static [ClientVariable],
    /// How it sends its events, if it does: one for each of its APIs that do.
    pub senders: &'static [EventSender],
    /// The effects that it sends events of.
    pub sent_effects: Vec<String>,
    /// The hosts of the real APIs that it mocks.
    pub hosts: &'static [RealHost],
    /// Whether it answers for every host that no other service of a trial answers for.
    pub any_host: bool,
    /// Whether requests of its API have bodies.
    pub has_bodies: bool,
    /// An effect and its field that can be the claim of a subject without a claim of its own: `done`,
    /// `not-done` or `unknown`.
    pub claim_field: Option<(&'static str, &'static str)>,
    /// Whether a subject can add it to every case that does not have it: `web: {}` in hapax.yaml.
    pub can_be_added: bool,
    /// Fields that only a step can have: the operation and the field.
    pub step_fields: &'static [(&'static str, &'static str)],
    /// What its fields say.
    pub kinds: FieldKinds,
    /// The fields that are particular to it, the most important first.
    pub fields: &'static [FieldDescription],
    /// The phrase that tells one of its effects from others, part by part.
    pub phrase: &'static [PhrasePart],
    /// Its options in a scenario, which [`ServiceDescription::configure`] reads.
    pub options: &'static [Field],
    /// Its tools, for agents that get tools and not its API.
    pub tools: ToolList,
    /// What it is, in one sentence, for its reference.
    pub about: String,
    /// What it does not have, in sentences, for its reference.
    pub not_there: &'static [&'static str],
    /// Its endpoints, for its reference.
    pub endpoints: EndpointList,
    /// All endpoints of the real APIs that it mocks, also those that it does not have.
    pub real_endpoints: fn() -> Vec<RealEndpoint>,
    /// Reads its options.
    pub configure: Configure,
    /// What must exist before a task with these effects.
    pub prepare: fn(&[ExpectedEffect<'_>]) -> Preparation,
}

impl ServiceDescription {
    /// A description with what the service itself says and the function that reads its options. Set the other
    /// fields with `ServiceDescription { effects, ..ServiceDescription::new(…) }`.
    pub fn new<S: Service>(
        service: &S,
        configure: impl Fn(&Reader, &mut Map<'_, '_>) -> Arc<dyn ConfiguredService> + Send + Sync + 'static,
    ) -> Self {
        ServiceDescription {
            name: service.name().to_owned(),
            operations: service.operations().to_vec(),
            effects: Vec::new(),
            reveals: Vec::new(),
            shows_path: |_, _| true,
            profile: service.idempotency(),
            transports: service.transports(),
            apis: &[],
            api_of: |_, _| None,
            variables: &[],
            senders: &[],
            sent_effects: Vec::new(),
            hosts: &[],
            any_host: false,
            has_bodies: true,
            can_be_added: false,
            claim_field: None,
            step_fields: &[],
            kinds: FieldKind::COMMON,
            fields: &[],
            phrase: PhrasePart::COMMON,
            options: &[],
            tools: Arc::new(Vec::new),
            about: String::new(),
            not_there: &[],
            endpoints: Arc::new(Vec::new),
            real_endpoints: Vec::new,
            configure: Arc::new(configure),
            prepare: |_| Preparation::default(),
        }
    }

    /// Whether a tool of the service writes.
    #[must_use]
    pub fn is_write(&self, tool: &ToolDescription) -> bool {
        let mut operations = self.operations.iter();
        operations.any(|operation| operation.name == tool.operation && operation.kind == OperationKind::Write)
    }

    /// How the service treats the keys of calls of a tool, where a scenario can choose it for all APIs of the service;
    /// `None` if it ignores them.
    #[must_use]
    pub fn key_rules<'r>(
        &'r self,
        tool: &ToolDescription,
        chosen: Option<&'r Idempotency>,
    ) -> Option<&'r Idempotency> {
        let takes_keys = self.is_write(tool) && tool.method != "DELETE";
        let own = tool.key.is_some().then_some(&self.profile);
        chosen.or(own).filter(|rules| takes_keys && rules.takes_keys())
    }

    /// The table of [`ServiceDescription::reveals`] from string literals.
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

    /// What a field of its operations and effects says; `None` for a field that it does not describe.
    #[must_use]
    pub fn kind_of(&self, field: &str) -> Option<FieldKind> {
        FieldKind::find(self.kinds, field)
    }

    /// The fields of its effects and of the requests of its writes, each once. A name that ends in `.*` includes all
    /// fields with that prefix.
    #[must_use]
    pub fn field_names(&self) -> BTreeSet<&str> {
        let writes = self.operations.iter().filter(|operation| operation.kind == OperationKind::Write);
        let requested = writes.flat_map(|operation| operation.fields.iter().map(AsRef::as_ref));
        requested
            .chain(self.effects.iter().flat_map(|effect| effect.carried.iter().map(String::as_str)))
            .collect()
    }

    /// Whether the read reveals the write. A read that is not described reveals all writes.
    #[must_use]
    pub fn does_reveal(&self, read: &str, write: &str) -> bool {
        match self.reveals.iter().find(|(name, _)| name == read) {
            Some((_, writes)) => writes.iter().any(|name| name == write),
            None => true,
        }
    }

    /// Whether it also accepts messages over SMTP.
    #[must_use]
    pub fn takes_smtp(&self) -> bool {
        self.transports.contains(&Transport::Smtp)
    }

    /// Why requests of the service cannot have an idempotency key at a place, and what to do; `None` if they can.
    #[must_use]
    pub fn key_place_problem(&self, place: &KeyPlace) -> Option<(String, &'static str)> {
        let name = &self.name;
        match place {
            KeyPlace::Body(_) if !self.has_bodies => Some((
                format!("the key cannot be in the body: no request of `{name}` has one"),
                "put it in a header or in the query: header.Idempotency-Key, query.key",
            )),
            KeyPlace::Mime(header) if !self.takes_smtp() => Some((
                format!("`{name}` takes no messages over SMTP, so there is no `mime.{header}`"),
                "write `key: header.Idempotency-Key`, or choose a profile with a header",
            )),
            _ => None,
        }
    }

    /// Whether it has records or counters.
    #[must_use]
    pub fn is_store(&self) -> bool {
        self.effects.iter().any(|effect| effect.store.is_some())
    }

    /// Whether it says what is live at a place.
    #[must_use]
    pub fn has_live(&self) -> bool {
        self.effects.iter().any(|effect| effect.live.is_some())
    }

    /// The effects that change records or counters.
    pub fn store_effects(&self, kind: StoreKind) -> impl Iterator<Item = &EffectDescription> {
        self.effects.iter().filter(move |effect| effect.store.is_some_and(|store| store.kind == kind))
    }

    /// The variables in which real clients of the service find their key.
    pub fn key_variables(&self) -> impl Iterator<Item = &'static str> {
        self.variables
            .iter()
            .filter(|variable| variable.value == ClientValue::Key)
            .map(|variable| variable.name)
    }

    /// The variables of real clients for the service at this URL with this key.
    pub fn client_variables<'a>(
        &'a self,
        url: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = (String, String)> + 'a {
        self.variables.iter().map(move |variable| {
            let value = match variable.value {
                ClientValue::Url => url.to_owned(),
                ClientValue::UrlWithPath(path) => format!("{}{path}", url.trim_end_matches('/')),
                ClientValue::Key => key.to_owned(),
                ClientValue::Fixed(text) => text.to_owned(),
            };
            (variable.name.to_owned(), value)
        })
    }

    /// The inconsistencies of the description: names that the service does not have, reads that are not
    /// described.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let stem = format!("{}.", self.name);
        let is_write = |name: &str| {
            self.operations
                .iter()
                .any(|operation| operation.name == name && operation.kind == OperationKind::Write)
        };
        for operation in &self.operations {
            if !operation.name.starts_with(&stem) {
                problems.push(format!("the operation {} does not begin with {stem}", operation.name));
            }
            let is_described = self.reveals.iter().any(|(read, _)| *read == operation.name);
            if operation.kind == OperationKind::Read && !is_described {
                problems.push(format!("`reveals` does not describe the read {}", operation.name));
            }
        }
        for effect in &self.effects {
            if !is_write(effect.of.unwrap_or(&effect.name)) {
                problems.push(format!("the effect {} is not a write of the service", effect.name));
            }
            let others = effect.needs.iter().map(String::as_str).chain(effect.made_by.iter().copied());
            for name in others.chain(effect.undoes.iter().map(|undoes| undoes.effect)) {
                if !is_write(name) {
                    problems.push(format!("{} names {name}, which is not a write", effect.name));
                }
            }
        }
        problems.extend(self.kind_problems());
        for (read, writes) in &self.reveals {
            let is_read = self
                .operations
                .iter()
                .any(|operation| operation.name == *read && operation.kind == OperationKind::Read);
            if !is_read {
                problems.push(format!("`reveals` names {read}, which is not a read of the service"));
            }
            for write in writes.iter().filter(|write| !is_write(write)) {
                problems.push(format!("{read} reveals {write}, which is not a write of the service"));
            }
        }
        for tool in (self.tools)() {
            if !self.operations.iter().any(|operation| operation.name == tool.operation) {
                problems
                    .push(format!("the tool {} is of {}, which does not exist", tool.name, tool.operation));
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

impl ServiceDescription {
    /// The fields without a kind, and the effects that can have a field of [`FieldKind::WhoAndHowMuch`] for which
    /// nothing says when its value is wrong. A service that a file declares has only the common kinds.
    fn kind_problems(&self) -> Vec<String> {
        if self.unconfigured().declaration().is_some() {
            return Vec::new();
        }
        let without = self.field_names().into_iter().filter(|field| self.kind_of(field).is_none());
        let mut problems: Vec<String> =
            without.map(|field| format!("the field {field} has no kind")).collect();
        for effect in self.effects.iter().filter(|effect| effect.approval.is_none()) {
            let operation = self.operations.iter().find(|operation| operation.name == effect.name);
            let identifies = |field: &str| {
                operation.is_some_and(|operation| operation.identity.iter().any(|name| name == field))
            };
            let open = effect.carried.iter().filter(|field| {
                self.kind_of(field) == Some(FieldKind::WhoAndHowMuch)
                    && !effect.judges(field)
                    && !identifies(field)
            });
            problems.extend(open.map(|field| {
                format!("{field} of {} says who or how much, and has no usual value", effect.name)
            }));
        }
        problems
    }
}

impl fmt::Debug for ServiceDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceDescription").field("name", &self.name).finish_non_exhaustive()
    }
}
