//! Which properties of each kind of object can be expanded, as Stripe's reference lists them.

/// What is under a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leads {
    /// An object of this kind, whose own properties are known.
    To(&'static str),
    /// An object that the service does not keep: its id, or nothing, stays in its place.
    Elsewhere,
}

use Leads::{Elsewhere, To};

/// What a property of an object leads to; `None` where it cannot be expanded.
pub(crate) fn property(kind: &str, name: &str) -> Option<Leads> {
    let properties: &[(&str, Leads)] = match kind {
        "charge" => &[
            ("application", Elsewhere),
            ("application_fee", Elsewhere),
            ("balance_transaction", Elsewhere),
            ("customer", To("customer")),
            ("dispute", Elsewhere),
            ("failure_balance_transaction", Elsewhere),
            ("invoice", Elsewhere),
            ("on_behalf_of", Elsewhere),
            ("order", Elsewhere),
            ("payment_intent", To("payment_intent")),
            ("refunds", Elsewhere),
            ("review", Elsewhere),
            ("source_transfer", Elsewhere),
            ("transfer", Elsewhere),
            ("transfer_data", Elsewhere),
        ],
        "payment_intent" => &[
            ("application", Elsewhere),
            ("customer", To("customer")),
            ("invoice", Elsewhere),
            ("latest_charge", To("charge")),
            ("on_behalf_of", Elsewhere),
            ("payment_method", To("payment_method")),
            ("review", Elsewhere),
            ("source", Elsewhere),
            ("transfer_data", Elsewhere),
        ],
        "payment_method" => &[("customer", To("customer"))],
        "refund" => &[
            ("balance_transaction", Elsewhere),
            ("charge", To("charge")),
            ("failure_balance_transaction", Elsewhere),
            ("payment_intent", To("payment_intent")),
            ("source_transfer_reversal", Elsewhere),
            ("transfer_reversal", Elsewhere),
        ],
        "customer" => &[
            ("cash_balance", Elsewhere),
            ("default_source", Elsewhere),
            ("discount", Elsewhere),
            ("invoice_credit_balance", Elsewhere),
            ("invoice_settings", Elsewhere),
            ("sources", Elsewhere),
            ("subscriptions", Elsewhere),
            ("tax", Elsewhere),
            ("tax_ids", Elsewhere),
            ("test_clock", Elsewhere),
        ],
        "subscription" => &[
            ("application", Elsewhere),
            ("customer", To("customer")),
            ("default_payment_method", Elsewhere),
            ("default_source", Elsewhere),
            ("discounts", Elsewhere),
            ("items", Elsewhere),
            ("latest_invoice", Elsewhere),
            ("on_behalf_of", Elsewhere),
            ("pending_setup_intent", Elsewhere),
            ("plan", Elsewhere),
            ("schedule", Elsewhere),
            ("test_clock", Elsewhere),
            ("transfer_data", Elsewhere),
        ],
        _ => &[],
    };
    properties.iter().find(|(have, _)| *have == name).map(|(_, leads)| *leads)
}
