//! Values of the fields of effects. Services record some in one form (mail addresses and hosts in lower case, paths
//! without a slash at their end), while a scenario can write them in another. And a field has its usual value unless a
//! request asks for another: one unit, no trial, no attachment. An intent that does not name such a field means the
//! usual value; otherwise a subject could do far more than the task asks for without contradicting it.

use mock_services::catalog::{self, UsualValue, ValueForm};
use mock_services::service::{Fields, Value};

/// The fields of an operation or an effect, in the form in which the service records them.
pub(super) fn in_recorded_form(operation: &str, fields: &Fields) -> Fields {
    fields.iter().fold(Fields::new(), |all, (name, value)| {
        all.with(name.to_owned(), value_in_recorded_form(operation, name, value.clone()))
    })
}

/// The value of one field, in the form in which the service records it. Names of branches are recorded as they are.
pub(super) fn value_in_recorded_form(operation: &str, name: &str, value: Value) -> Value {
    let form = catalog::field(operation, name).form.filter(|form| *form != ValueForm::GitRef);
    match (form, value) {
        (Some(form), Value::Text(text)) => Value::Text(form.canonical(&text).into()),
        (Some(form), Value::List(texts)) => {
            Value::List(texts.iter().map(|text| form.canonical(text)).collect())
        }
        (_, value) => value,
    }
}

fn usual(effect: &str) -> &'static [UsualValue] {
    catalog::describe_effect(effect).map(|effect| effect.usual).unwrap_or_default()
}

/// The fields of an effect that have a usual value.
pub(super) fn usual_names(effect: &str) -> impl Iterator<Item = &'static str> + use<> {
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
pub(super) fn usual_unless_named(effect: &str, selector: &Fields, expected: &Fields) -> Fields {
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
    fn mail_addresses_hosts_and_paths_have_the_form_of_the_service() {
        let fields = Fields::new().with("to", "Ann@Example.com").with("subject", "Hello");
        assert_eq!(
            in_recorded_form("email.send", &fields),
            Fields::new().with("to", "ann@example.com").with("subject", "Hello")
        );
        assert_eq!(in_recorded_form("shop.send", &fields), fields);
        let list = Fields::new().with("to", vec!["A@x.example".to_owned()]);
        assert_eq!(
            in_recorded_form("email.send", &list),
            Fields::new().with("to", vec!["a@x.example".to_owned()])
        );
        let web = Fields::new().with("host", "API.example.com").with("path", "/v1/orders/");
        let recorded = Fields::new().with("host", "api.example.com").with("path", "/v1/orders");
        assert_eq!(in_recorded_form("web.post", &web), recorded);
    }

    #[test]
    fn a_usual_value_that_is_expected_is_removed() {
        let expected = Fields::new()
            .with("price", "price_pro")
            .with("quantity", 1)
            .with("trial_days", 14)
            .with("cancel_at", "none");
        let asked = without_usual("payment.subscribe", &expected);
        assert_eq!(asked, Fields::new().with("price", "price_pro").with("trial_days", 14));
        let defaults = usual_unless_named("payment.subscribe", &Fields::new(), &asked);
        assert!(
            defaults.get("quantity").is_some()
                && defaults.get("cancel_at").is_some()
                && defaults.get("trial_days").is_none()
        );
    }

    #[test]
    fn a_field_that_the_intent_names_has_no_usual_value() {
        let defaults = usual_unless_named(
            "payment.subscribe",
            &Fields::new(),
            &Fields::new().with("price", "price_pro"),
        );
        assert_eq!(defaults.get("quantity"), Some(&Value::from("1")));
        assert_eq!(
            usual_unless_named("payment.subscribe", &Fields::new().with("quantity", 5), &Fields::new())
                .get("quantity"),
            None
        );
        let items = Fields::new().with("items", vec!["a x 1".to_owned(), "b x 2".to_owned()]);
        assert_eq!(usual_unless_named("payment.subscribe", &Fields::new(), &items).get("quantity"), None);
        assert!(usual_unless_named("tickets.create", &Fields::new(), &Fields::new()).is_empty());
    }
}
