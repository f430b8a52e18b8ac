//! Questions to the catalog by the name of an operation or an effect. What a service of the user's own does is
//! not in the catalog; the answers for it are the general ones.

use super::{Api, EffectDescription, ServiceDescription, StoreChange, ValueForm, built_in, find};
use crate::yaml::shown;

fn service_of(name: &str) -> Option<&'static ServiceDescription> {
    find(name.split('.').next().unwrap_or_default())
}

/// What is known of the effect of this name.
#[must_use]
pub fn describe_effect(name: &str) -> Option<&'static EffectDescription> {
    service_of(name)?.effect(name)
}

/// Whether a read shows whether a write has happened: both belong to one service, and the read is about what
/// the write changes. A service that a file declares can be another one in every scenario, so that each of its
/// reads counts for each of its writes.
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

/// One of an effect and several of it, in findings and reports.
#[must_use]
pub fn nouns(effect: &str) -> (String, String) {
    match describe_effect(effect).and_then(|effect| effect.noun) {
        Some((one, several)) => (one.to_owned(), several.to_owned()),
        None => (format!("effect {}", shown(effect)), format!("effects {}", shown(effect))),
    }
}

/// What an effect did, in the past tense: `charged`.
#[must_use]
pub fn past_tense(effect: &str) -> Option<&'static str> {
    describe_effect(effect)?.past_tense
}

/// The effect that an operation makes: that of its own name, or another one, as a capture makes a charge.
#[must_use]
pub fn effect_made_by(operation: &str) -> &str {
    let effects = service_of(operation).into_iter().flat_map(|service| &service.effects);
    let mut others = effects.filter(|effect| effect.made_by.contains(&operation));
    others.next().map_or(operation, |effect| effect.name.as_str())
}

/// How an effect changes a record or a counter; `None` where it changes none.
#[must_use]
pub fn store_change(effect: &str) -> Option<StoreChange> {
    describe_effect(effect)?.store
}

/// When two texts in this field of an operation or effect mean the same value; `None` where only equal texts
/// do.
#[must_use]
pub fn value_form(operation: &str, field: &str) -> Option<ValueForm> {
    let forms = service_of(operation)?.value_forms;
    forms.iter().find(|(name, _)| *name == field).map(|(_, form)| *form)
}

/// The APIs of a service; none where it has a single one without a name, as services of one's own have.
#[must_use]
pub fn apis(service: &str) -> &'static [Api] {
    find(service).map(|service| service.apis).unwrap_or_default()
}

/// The API of the service through which this request came.
#[must_use]
pub fn api_of(service: &str, method: &str, path: &str) -> Option<&'static Api> {
    let service = find(service)?;
    let name = (service.api_of)(method, path)?;
    service.apis.iter().find(|api| api.name == name)
}
