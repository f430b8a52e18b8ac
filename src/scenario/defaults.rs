//! What an effect is like unless somebody asks for something else: one unit, no trial, no attachment. An
//! intent that does not name such a field means the usual value; otherwise a subject could do far more than
//! it was asked for, and nothing that it was asked for would contradict.

use mock_services::service::{Fields, Value};

/// A field, its usual value, and another field by which an intent can say the same.
type Usual = (&'static str, &'static str, Option<&'static str>);

const SUBSCRIPTION: &[Usual] = &[
    ("quantity", "1", Some("items")),
    ("currency", "usd", None),
    ("trial_days", "0", None),
    ("cancel_at_period_end", "false", None),
    ("cancel_at", "none", None),
    ("collection_method", "charge_automatically", None),
    ("default_payment_method", "none", None),
    ("item_terms", "none", None),
    ("add_invoice_items", "none", None),
    ("application_fee_percent", "none", None),
    ("automatic_tax", "none", None),
    ("backdate_start_date", "none", None),
    ("billing_cycle_anchor", "none", None),
    ("billing_cycle_anchor_config", "none", None),
    ("billing_schedules", "none", None),
    ("billing_thresholds", "none", None),
    ("days_until_due", "none", None),
    ("default_source", "none", None),
    ("default_tax_rates", "none", None),
    ("discounts", "none", None),
    ("on_behalf_of", "none", None),
    ("pause_collection", "none", None),
    ("pending_invoice_item_interval", "none", None),
    ("proration_behavior", "create_prorations", None),
    ("proration_date", "none", None),
    ("transfer_data", "none", None),
    ("trial_settings", "none", None),
];
const CHARGE: &[Usual] = &[
    ("application_fee_amount", "none", None),
    ("on_behalf_of", "none", None),
    ("transfer_destination", "none", None),
];
const CUSTOMER: &[Usual] = &[
    ("balance", "as it was", None),
    ("email", "as it was", None),
    ("name", "as it was", None),
    ("phone", "as it was", None),
    ("address", "as it was", None),
    ("shipping", "as it was", None),
    ("preferred_locales", "as it was", None),
    ("tax_exempt", "as it was", None),
    ("default_source", "as it was", None),
    ("default_payment_method", "as it was", None),
];
const LABELS: &[Usual] = &[
    ("description", "as it was", None),
    ("new_customer", "as it was", None),
    ("receipt_email", "as it was", None),
    ("shipping", "as it was", None),
];

/// The fields of the effects that are built in which have a usual value.
const USUAL: [(&str, &[Usual]); 10] = [
    ("payment.charge", CHARGE),
    ("payment.hold", CHARGE),
    ("payment.subscribe", SUBSCRIPTION),
    ("payment.upgrade", SUBSCRIPTION),
    ("payment.amend", SUBSCRIPTION),
    ("payment.unsubscribe", &[("invoice_now", "false", None), ("prorate", "false", None)]),
    ("payment.customer", CUSTOMER),
    ("payment.relabel", LABELS),
    ("email.send", &[("attachments", "none", None), ("template", "none", None)]),
    (
        "deploy.deploy",
        &[
            ("service", "the whole environment", None),
            ("task", "deploy", None),
            ("transient_environment", "false", None),
            ("production_environment", "what its name says", None),
        ],
    ),
];

fn usual(effect: &str) -> &'static [Usual] {
    USUAL.iter().find(|(name, _)| *name == effect).map(|(_, usual)| *usual).unwrap_or_default()
}

/// The fields of an effect that have a usual value.
pub(super) fn names(effect: &str) -> impl Iterator<Item = &'static str> + use<> {
    usual(effect).iter().map(|(name, ..)| *name)
}

/// What is asked for beyond what is so anyway: an effect need not carry a field that has its usual value.
pub(super) fn without_usual(effect: &str, like: &Fields) -> Fields {
    let is_usual = |name: &str, wanted: &Value| {
        usual(effect).iter().any(|(usual, value, _)| *usual == name && wanted.meets(&Value::from(*value)))
    };
    let asked = like.iter().filter(|(name, wanted)| !is_usual(name, wanted));
    asked.fold(Fields::new(), |fields, (name, wanted)| fields.with(name, wanted.clone()))
}

/// The usual values of all that an intent on this effect does not name.
pub(super) fn unless_named(effect: &str, which: &Fields, like: &Fields) -> Fields {
    let is_named = |name: &str| which.get(name).is_some() || like.get(name).is_some();
    let open =
        usual(effect).iter().filter(|(name, _, other)| !is_named(name) && !other.is_some_and(is_named));
    open.fold(Fields::new(), |fields, (name, value, _)| fields.with(*name, Value::from(*value)))
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
