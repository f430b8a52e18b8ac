//! The catalog: one description for each service. Everything that hapax knows of a service beside what the
//! service itself does is in its description: the fields of its effects, which read reveals which write, the
//! nouns of reports, its real clients, its APIs and its options. A service that a YAML file declares has a
//! description of the same type.

mod clients;
mod configured;
mod description;
mod effect;
pub mod examples;
mod lookup;
mod options;
mod preparation;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

pub use clients::{Api, ClientValue, ClientVariable, RealHost};
pub use configured::ConfiguredService;
pub(crate) use description::short_ref;
pub use description::{Configure, ServiceDescription, ValueForm};
pub use effect::{EffectDescription, StoreChange, StoreKind, StoredValue, Undoes, UsualValue};
pub use lookup::{
    api_of, apis, describe_effect, effect_made_by, nouns, past_tense, reveals, store_change, value_form,
};
pub use options::{OptionType, read_after, read_texts};
pub use preparation::{ExpectedEffect, Preparation};

use crate::custom::DeclaredService;
use crate::yaml::Source;

/// The services that are written in Rust. A new one is added here.
const BUILT_IN: [fn() -> ServiceDescription; 4] = [
    crate::payment::description,
    crate::email::description,
    crate::deploy::description,
    crate::records::description,
];

/// The services that come as a YAML file: the name of the file, and its text.
const DECLARED: [(&str, &str); 1] = [("tickets.yaml", crate::custom::TICKETS)];

static BUILT_IN_SERVICES: LazyLock<Vec<Arc<ServiceDescription>>> =
    LazyLock::new(|| BUILT_IN.iter().map(|description| Arc::new(description())).collect());

static SERVICES: LazyLock<Vec<Arc<ServiceDescription>>> = LazyLock::new(|| {
    let declared = DECLARED.iter().filter_map(|(name, text)| {
        let service = DeclaredService::from_source(&Source::new(*name, *text)).ok()?;
        Some(Arc::new(service.description()))
    });
    BUILT_IN_SERVICES.iter().cloned().chain(declared).collect()
});

/// The services that are written in Rust, in the order of the catalog.
#[must_use]
pub fn built_in() -> &'static [Arc<ServiceDescription>] {
    &BUILT_IN_SERVICES
}

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
