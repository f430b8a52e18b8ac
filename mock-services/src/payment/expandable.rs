//! Which properties of each kind of object can be expanded, as Stripe's reference lists them.

/// What is under a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leads {
    /// An object of this kind, whose own properties are known.
    To(&'static str),
    /// Nothing, in this service: it is always `null`, and so it stays.
    Nothing,
    /// Something that is sent whole anyway.
    Here,
    /// An object that the service does not have.
    Lacking,
}

use Leads::{Here, Lacking, Nothing, To};

/// What a property of an object leads to; `None` where it cannot be expanded.
pub(crate) fn property(kind: &str, name: &str) -> Option<Leads> {
    let properties: &[(&str, Leads)] = match kind {
        "charge" => &[
            ("application", Nothing),
            ("application_fee", Nothing),
            ("balance_transaction", Lacking),
            ("customer", To("customer")),
            ("dispute", Nothing),
            ("failure_balance_transaction", Nothing),
            ("invoice", Nothing),
            ("on_behalf_of", Lacking),
            ("order", Nothing),
            ("payment_intent", To("payment_intent")),
            ("refunds", Lacking),
            ("review", Nothing),
            ("source_transfer", Nothing),
            ("transfer", Nothing),
            ("transfer_data", Nothing),
        ],
        "payment_intent" => &[
            ("application", Nothing),
            ("customer", To("customer")),
            ("invoice", Nothing),
            ("latest_charge", To("charge")),
            ("on_behalf_of", Lacking),
            ("payment_method", To("payment_method")),
            ("review", Nothing),
            ("source", Nothing),
            ("transfer_data", Nothing),
        ],
        "payment_method" => &[("customer", To("customer"))],
        "refund" => &[
            ("balance_transaction", Lacking),
            ("charge", To("charge")),
            ("failure_balance_transaction", Nothing),
            ("payment_intent", To("payment_intent")),
            ("source_transfer_reversal", Nothing),
            ("transfer_reversal", Nothing),
        ],
        "customer" => &[
            ("cash_balance", Lacking),
            ("default_source", Lacking),
            ("discount", Nothing),
            ("invoice_credit_balance", Lacking),
            ("invoice_settings", Lacking),
            ("sources", Lacking),
            ("subscriptions", Lacking),
            ("tax", Lacking),
            ("tax_ids", Lacking),
            ("test_clock", Nothing),
        ],
        "subscription" => &[
            ("application", Nothing),
            ("customer", To("customer")),
            ("default_payment_method", Lacking),
            ("default_source", Nothing),
            ("discounts", Lacking),
            ("items", Here),
            ("latest_invoice", Lacking),
            ("on_behalf_of", Nothing),
            ("pending_setup_intent", Nothing),
            ("plan", Lacking),
            ("schedule", Nothing),
            ("test_clock", Nothing),
            ("transfer_data", Nothing),
        ],
        _ => &[],
    };
    properties.iter().find(|(have, _)| *have == name).map(|(_, leads)| *leads)
}
