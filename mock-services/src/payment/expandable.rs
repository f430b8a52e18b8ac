//! Which properties of each type of object can be expanded, as in Stripe's reference.

/// What a property contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PropertyContent {
    /// An object of this type, whose own properties are known.
    To(&'static str),
    /// Always `null` in this service, expanded or not.
    Nothing,
    /// An object that is always sent in full.
    Here,
    /// An object that the service does not have.
    Lacking,
}

use PropertyContent::{Here, Lacking, Nothing, To};

/// What a property of an object contains; `None` when it cannot be expanded.
pub(crate) fn property(kind: &str, name: &str) -> Option<PropertyContent> {
    let properties: &[(&str, PropertyContent)] = match kind {
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
            ("invoice_settings", To("customer_invoice_settings")),
            ("sources", Lacking),
            ("subscriptions", Lacking),
            ("tax", Lacking),
            ("tax_ids", Lacking),
            ("test_clock", Nothing),
        ],
        "customer_invoice_settings" => &[("default_payment_method", To("payment_method"))],
        "product" => &[("default_price", To("price")), ("tax_code", Lacking)],
        "price" => &[("currency_options", Lacking), ("product", To("product")), ("tiers", Lacking)],
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
    properties.iter().find(|(other, _)| *other == name).map(|(_, leads)| *leads)
}
