//! Lookups in the catalog by the name of an operation or an effect. A service that a user declares is not in
//! the catalog; for it these functions return general values.

use yaml_reader::shown;

use super::{
    ApiDescription, EffectDescription, EffectImpact, ServiceDescription, StoreChange, ValueForm, built_in,
    find,
};

fn service_of(name: &str) -> Option<&'static ServiceDescription> {
    find(name.split('.').next().unwrap_or_default())
}

/// The description of the effect of this name.
#[must_use]
pub fn describe_effect(name: &str) -> Option<&'static EffectDescription> {
    service_of(name)?.effect(name)
}

/// Whether a read shows whether a write has happened: both belong to one service, and the read returns what
/// the write changes. A declared service can differ between scenarios, so each of its reads counts for each
/// of its writes.
#[must_use]
pub fn reveals(read: &str, write: &str) -> bool {
    let (Some((service, _)), Some((other, _))) = (read.split_once('.'), write.split_once('.')) else {
        return false;
    };
    service == other
        && built_in()
            .iter()
            .find(|known| known.name == service)
            .is_none_or(|known| known.does_reveal(read, write))
}

/// The singular and the plural noun of an effect, in findings and reports.
#[must_use]
pub fn nouns(effect: &str) -> (String, String) {
    match describe_effect(effect).and_then(|effect| effect.noun) {
        Some((one, several)) => (one.to_owned(), several.to_owned()),
        None => (format!("effect {}", shown(effect)), format!("effects {}", shown(effect))),
    }
}

/// What an effect means to the people that it is about, if its description says so.
#[must_use]
pub fn impact(effect: &str) -> Option<EffectImpact> {
    describe_effect(effect)?.impact
}

/// The verb of an effect in the past tense: `charged`.
#[must_use]
pub fn past_tense(effect: &str) -> Option<&'static str> {
    describe_effect(effect)?.past_tense
}

/// The effect of an operation: the one of the same name, or another one. A capture has the effect of a
/// charge.
#[must_use]
pub fn effect_made_by(operation: &str) -> &str {
    let effects = service_of(operation).into_iter().flat_map(|service| &service.effects);
    let mut others = effects.filter(|effect| effect.made_by.contains(&operation));
    others.next().map_or(operation, |effect| effect.name.as_str())
}

/// How an effect changes a record or a counter; `None` if it changes none.
#[must_use]
pub fn store_change(effect: &str) -> Option<StoreChange> {
    describe_effect(effect)?.store
}

/// When two texts in this field of an operation or effect mean the same value; `None` if only equal texts
/// do.
#[must_use]
pub fn value_form(operation: &str, field: &str) -> Option<ValueForm> {
    let forms = service_of(operation)?.value_forms;
    forms.iter().find(|(name, _)| *name == field).map(|(_, form)| *form)
}

/// The APIs of a service; none if it has a single API without a name, as declared services have.
#[must_use]
pub fn apis(service: &str) -> &'static [ApiDescription] {
    find(service).map(|service| service.apis).unwrap_or_default()
}

/// The API of the service that a request used.
#[must_use]
pub fn api_of(service: &str, method: &str, path: &str) -> Option<&'static ApiDescription> {
    let service = find(service)?;
    let name = (service.api_of)(method, path)?;
    service.apis.iter().find(|api| api.name == name)
}
