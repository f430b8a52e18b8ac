//! The values that fields of an effect have unless a request asks for others: one unit, no trial, no
//! attachment. An intent that does not name such a field means the usual value; otherwise a subject could do
//! far more than the task asks for without contradicting it.

use mock_services::catalog::{self, UsualValue};
use mock_services::service::{Fields, Value};

fn usual(effect: &str) -> &'static [UsualValue] {
    catalog::describe_effect(effect).map(|effect| effect.usual).unwrap_or_default()
}

/// The fields of an effect that have a usual value.
pub(super) fn names(effect: &str) -> impl Iterator<Item = &'static str> + use<> {
    usual(effect).iter().map(|usual| usual.field)
}

/// The expected fields without those that expect the usual value: an effect need not have such a field.
pub(super) fn without_usual(effect: &str, expected: &Fields) -> Fields {
    let is_usual = |name: &str, wanted: &Value| {
        usual(effect).iter().any(|usual| usual.field == name && wanted.meets(&Value::from(usual.value)))
    };
    let asked = expected.iter().filter(|(name, wanted)| !is_usual(name, wanted));
    asked.fold(Fields::new(), |fields, (name, wanted)| fields.with(name, wanted.clone()))
}

/// The usual values of the fields that an intent on this effect does not name.
pub(super) fn unless_named(effect: &str, selector: &Fields, expected: &Fields) -> Fields {
    let is_named = |name: &str| selector.get(name).is_some() || expected.get(name).is_some();
    let open = usual(effect)
        .iter()
        .filter(|usual| !is_named(usual.field) && !usual.also_named_by.is_some_and(is_named));
    open.fold(Fields::new(), |fields, usual| fields.with(usual.field, Value::from(usual.value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_value_that_is_expected_is_removed() {
        let expected = Fields::new()
            .with("price", "price_pro")
            .with("quantity", 1)
            .with("trial_days", 14)
            .with("cancel_at", "none");
        let asked = without_usual("payment.subscribe", &expected);
        assert_eq!(asked, Fields::new().with("price", "price_pro").with("trial_days", 14));
        let defaults = unless_named("payment.subscribe", &Fields::new(), &asked);
        assert!(
            defaults.get("quantity").is_some()
                && defaults.get("cancel_at").is_some()
                && defaults.get("trial_days").is_none()
        );
    }

    #[test]
    fn a_field_that_the_intent_names_has_no_usual_value() {
        let defaults =
            unless_named("payment.subscribe", &Fields::new(), &Fields::new().with("price", "price_pro"));
        assert_eq!(defaults.get("quantity"), Some(&Value::from("1")));
        assert_eq!(
            unless_named("payment.subscribe", &Fields::new().with("quantity", 5), &Fields::new())
                .get("quantity"),
            None
        );
        let items = Fields::new().with("items", vec!["a x 1".to_owned(), "b x 2".to_owned()]);
        assert_eq!(unless_named("payment.subscribe", &Fields::new(), &items).get("quantity"), None);
        assert!(unless_named("tickets.create", &Fields::new(), &Fields::new()).is_empty());
    }
}
