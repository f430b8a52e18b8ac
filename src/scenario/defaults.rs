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

/// What is asked for beyond what is so anyway: an effect need not carry a field that has its usual value.
pub(super) fn without_usual(effect: &str, like: &Fields) -> Fields {
    let is_usual = |name: &str, wanted: &Value| {
        usual(effect).iter().any(|usual| usual.field == name && wanted.meets(&Value::from(usual.value)))
    };
    let asked = like.iter().filter(|(name, wanted)| !is_usual(name, wanted));
    asked.fold(Fields::new(), |fields, (name, wanted)| fields.with(name, wanted.clone()))
}

/// The usual values of all that an intent on this effect does not name.
pub(super) fn unless_named(effect: &str, which: &Fields, like: &Fields) -> Fields {
    let is_named = |name: &str| which.get(name).is_some() || like.get(name).is_some();
    let open = usual(effect)
        .iter()
        .filter(|usual| !is_named(usual.field) && !usual.also_named_by.is_some_and(is_named));
    open.fold(Fields::new(), |fields, usual| fields.with(usual.field, Value::from(usual.value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_ask_for_what_is_usual_is_to_ask_for_nothing_else() {
        let like = Fields::new()
            .with("price", "price_pro")
            .with("quantity", 1)
            .with("trial_days", 14)
            .with("cancel_at", "none");
        let asked = without_usual("payment.subscribe", &like);
        assert_eq!(asked, Fields::new().with("price", "price_pro").with("trial_days", 14));
        let defaults = unless_named("payment.subscribe", &Fields::new(), &asked);
        assert!(
            defaults.get("quantity").is_some()
                && defaults.get("cancel_at").is_some()
                && defaults.get("trial_days").is_none()
        );
    }

    #[test]
    fn what_an_intent_names_has_no_usual_value() {
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
