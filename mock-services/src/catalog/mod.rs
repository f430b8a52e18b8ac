//! The catalog: one description for each service that hapax ships. Everything that hapax knows of a service,
//! except what the service itself does, is in its description: the fields of its effects, which read reveals
//! which write, the nouns of reports, its real clients, its APIs and its options. A service that a YAML file
//! declares has a description of the same type.

mod lookup;
mod reference;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

pub use crate::built_in::built_in;
pub use crate::description::{
    ApiDescription, ArgumentError, ClientValue, ClientVariable, Configure, ConfiguredService,
    EffectDescription, EffectImpact, EndpointDescription, EndpointList, ExpectedEffect, KEY_ARGUMENT,
    OptionType, ParameterPlace, ParameterType, PlannedStep, PlannedTask, Preparation, RealEndpoint, RealHost,
    ServedHost, ServedHostError, ServiceDescription, ServiceRequest, StoreChange, StoreKind, StoredValue,
    ToolBody, ToolDescription, ToolList, ToolParameter, Undoes, UsualValue, ValueForm, is_match, read_after,
    read_served_hosts, read_texts,
};
pub use lookup::{
    api_of, apis, describe_effect, effect_made_by, impact, nouns, past_tense, reveals, store_change,
    value_form,
};

#[cfg(test)]
pub(crate) use reference::listed_like_routed;
pub use reference::reference;

use crate::custom::DeclaredService;
use crate::yaml::Source;

/// The services that come as a YAML file: the name of the file, and its text.
const DECLARED: [(&str, &str); 1] = [("tickets.yaml", crate::custom::TICKETS)];

static SERVICES: LazyLock<Vec<Arc<ServiceDescription>>> = LazyLock::new(|| {
    let declared = DECLARED.iter().filter_map(|(name, text)| {
        let service = DeclaredService::from_source(&Source::new(*name, *text)).ok()?;
        Some(Arc::new(service.description()))
    });
    built_in().iter().cloned().chain(declared).collect()
});

/// All services that hapax ships: those that are written in Rust, then those that a shipped file declares.
#[must_use]
pub fn services() -> &'static [Arc<ServiceDescription>] {
    &SERVICES
}

/// The names of all services that hapax ships.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    services().iter().map(|service| service.name.as_str())
}

/// The shipped service of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static ServiceDescription> {
    services().iter().map(Arc::as_ref).find(|service| service.name == name)
}

/// Whether this is the text of a service file that hapax ships.
#[must_use]
pub fn is_shipped_declaration(text: &str) -> bool {
    DECLARED.iter().any(|(_, shipped)| *shipped == text)
}
