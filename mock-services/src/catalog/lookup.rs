//! Lookups in the catalog by the name of an operation or an effect. A service that a user declares is not in
//! the catalog; for it these functions return general values.

use yaml_reader::shown;

use super::{
    ApiDescription, EffectDescription, EffectImpact, FieldDescription, FieldKind, LiveChange, PhrasePart,
    ServiceDescription, StoreChange, built_in, find,
};
use crate::service::{Fields, Value};

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

/// Whether a read of one path can show what a write to another path of the same service changed.
#[must_use]
pub fn shows_path(service: &str, read: &str, write: &str) -> bool {
    find(service).is_none_or(|service| (service.shows_path)(read, write))
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

/// Whether a model generates the answers of an operation.
#[must_use]
pub fn is_generated(operation: &str) -> bool {
    let operations = service_of(operation).into_iter().flat_map(|service| &service.operations);
    operations.into_iter().any(|known| known.name == operation && known.generates)
}

/// How an effect changes a record or a counter; `None` if it changes none.
#[must_use]
pub fn store_change(effect: &str) -> Option<StoreChange> {
    describe_effect(effect)?.store
}

/// How an effect changes what is live at a place; `None` if it does not.
#[must_use]
pub fn live_change(effect: &str) -> Option<LiveChange> {
    describe_effect(effect)?.live
}

/// The fields of a service's operations and effects that are described, the most important first: those that
/// all services share, then those that are particular to the service.
pub fn fields(operation: &str) -> impl Iterator<Item = &'static FieldDescription> {
    let own = service_of(operation).map(|service| service.fields).unwrap_or_default();
    let find =
        |fields: &'static [FieldDescription], name: &str| fields.iter().find(|field| field.name == name);
    let common = FieldDescription::COMMON.iter().map(move |field| find(own, field.name).unwrap_or(field));
    common.chain(own.iter().filter(move |field| find(FieldDescription::COMMON, field.name).is_none()))
}

/// The description of this field of an operation or effect.
#[must_use]
pub fn field(operation: &str, name: &str) -> &'static FieldDescription {
    let own = service_of(operation).map(|service| service.fields).unwrap_or_default();
    let mut all = own.iter().chain(FieldDescription::COMMON);
    all.find(|field| field.name == name).unwrap_or(&FieldDescription::UNKNOWN)
}

/// What a field of an operation or effect says; `None` for a field that is not described.
#[must_use]
pub fn field_kind(operation: &str, name: &str) -> Option<FieldKind> {
    service_of(operation)?.kind_of(name)
}

/// An effect of a service with an API of its own that has this field by nature, so that the field is always
/// read from the request itself: `payment.charge` for `amount`. Fields that the API leaves free, such as
/// metadata, are not native, and a service that answers for any host has none.
#[must_use]
pub fn effect_with_native_field(name: &str) -> Option<&'static str> {
    let services = built_in().iter().filter(|service| !service.any_host);
    let mut effects = services.flat_map(|service| &service.effects);
    effects.find(|effect| effect.natural.iter().any(|have| have == name)).map(|effect| effect.name.as_str())
}

/// The names of the fields that a timeline shows first, in order.
#[must_use]
pub fn first_fields(operation: &str) -> Vec<&'static str> {
    fields(operation).filter(|field| field.is_first).map(|field| field.name).collect()
}

/// The phrase that tells one effect from others, part by part.
#[must_use]
pub fn phrase(effect: &str) -> &'static [PhrasePart] {
    service_of(effect).map_or(PhrasePart::COMMON, |service| service.phrase)
}

/// The amount of money of an effect and its currency, if it has both.
#[must_use]
pub fn money<'f>(effect: &str, values: &'f Fields) -> Option<(i64, &'f str)> {
    fields(effect).find_map(|field| match (values.get(field.name)?, values.get(field.currency?)?) {
        (Value::Number(amount), Value::Text(currency)) => Some((*amount, currency.as_str())),
        _ => None,
    })
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
