//! The payment service in the catalog.

use std::sync::Arc;

use super::{Payment, configure, field_kinds};
use crate::description::{
    ApiDescription, ClientVariable, EffectDescription, FieldDescription, FieldRole, RealHost,
    ServiceDescription, Undoes, UsualValue, ValueForm,
};
use crate::idempotency::Profile;

const APIS: &[ApiDescription] =
    &[ApiDescription { name: "stripe", title: "the Stripe API", differs: "the only API of this service" }];

const VARIABLES: &[ClientVariable] = &[
    ClientVariable::key("STRIPE_API_KEY"),
    ClientVariable::key("STRIPE_SECRET_KEY"),
    ClientVariable::url("STRIPE_API_BASE"),
];

const HOSTS: &[RealHost] = &[RealHost {
    host: "api.stripe.com",
    setting: "Set the client's base address to HAPAX_PAYMENT_URL (Python: `stripe.api_base`; Node: `host`, \
              `port` and \
              `protocol`); Stripe's clients read no variable for it.",
    profile: Some(Profile::Stripe),
}];

const FIELDS: &[FieldDescription] = &[
    FieldDescription {
        whole_number: Some(
            "write it as a whole number in the smallest unit of the currency: 4999 for $49.99",
        ),
        ..FieldDescription::AMOUNT
    },
    FieldDescription::CURRENCY.form(ValueForm::AnyCase),
    FieldDescription::new("charge").role(FieldRole::Generated),
    FieldDescription::new("subscription").role(FieldRole::Generated),
];

const CHARGE: &[&str] = &["amount", "currency", "customer", "description", "charge", "payment_intent"];
/// What stands on the statement of the payer's card.
const STATEMENT: &[&str] = &["statement_descriptor", "statement_descriptor_suffix"];
const SUBSCRIPTION: &[&str] = &["customer", "price", "quantity", "items", "currency", "subscription"];
const LABELS: &[&str] = &["order", "metadata.*", "own_metadata.*"];

/// The writes that reads of charges, intents and refunds reveal.
const MONEY: &[&str] = &[
    "payment.charge",
    "payment.hold",
    "payment.capture",
    "payment.intent",
    "payment.refund",
    "payment.amend",
    "payment.no-change",
    "payment.relabel",
    "payment.delete-customer",
    "payment.method",
];

const REVEALS: &[(&str, &[&str])] = &[
    ("payment.get", MONEY),
    ("payment.list", MONEY),
    ("payment.search", MONEY),
    ("payment.methods", &["payment.method"]),
    ("payment.customers", &["payment.customer"]),
    ("payment.products", &["payment.product", "payment.update-product", "payment.delete-product"]),
    ("payment.prices", &["payment.price", "payment.update-price"]),
    ("payment.subscriptions", &["payment.subscribe", "payment.upgrade", "payment.unsubscribe"]),
];

/// Whether a read of one path can show what a write to another one changed. A direct charge has no intent, and
/// a balance does not say what changed it.
fn shows_path(read: &str, write: &str) -> bool {
    let kind = |path: &str| match path.trim_start_matches("/v1/").split('/').collect::<Vec<_>>()[..] {
        ["charges", _, "refund" | "refunds", ..] => "refunds".to_owned(),
        [kind, ..] => kind.to_owned(),
        [] => String::new(),
    };
    match (kind(write).as_str(), kind(read).as_str()) {
        (_, "balance" | "tokens") => false,
        ("charges", read) => read == "charges",
        ("payment_intents", read) => matches!(read, "charges" | "payment_intents"),
        ("refunds", read) => matches!(read, "refunds" | "charges" | "payment_intents"),
        _ => true,
    }
}

/// A card with which a payment is made, or that is attached, if it is not the one that every customer has.
const CARD: UsualValue = UsualValue::new("card", "that of the customer").or_any_if_named();
const CHARGE_VALUES: &[UsualValue] = &[
    CARD,
    UsualValue::new("application_fee_amount", "none"),
    UsualValue::new("on_behalf_of", "none"),
    UsualValue::new("transfer_destination", "none"),
    UsualValue::new("account", "none"),
    UsualValue::new("authorized", "none"),
    UsualValue::new("receipt_email", "none").or_named(),
    UsualValue::new("setup_future_usage", "none"),
    UsualValue::new("shipping", "none"),
];
const REFUND_VALUES: &[UsualValue] = &[
    UsualValue::new("account", "none"),
    UsualValue::new("instructions_email", "none").or_named(),
    UsualValue::new("reason", "none").or(&["duplicate", "requested_by_customer"]),
    UsualValue::new("refund_application_fee", "false"),
    UsualValue::new("reverse_transfer", "false"),
];
const ACCOUNT_VALUES: &[UsualValue] = &[UsualValue::new("account", "none")];
const METHOD_VALUES: &[UsualValue] = &[CARD, UsualValue::new("account", "none")];
const NEW_CUSTOMER_VALUES: &[UsualValue] =
    &[UsualValue::new("email", "none").or_named(), UsualValue::new("account", "none")];
const NEW_PRICE_VALUES: &[UsualValue] =
    &[UsualValue::new("interval_count", "1"), UsualValue::new("account", "none")];
const SUBSCRIPTION_VALUES: &[UsualValue] = &[
    UsualValue::new("quantity", "1").or_named_by("items"),
    UsualValue::new("currency", "usd"),
    UsualValue::new("trial_days", "0"),
    UsualValue::new("cancel_at_period_end", "false"),
    UsualValue::new("cancel_at", "none"),
    UsualValue::new("collection_method", "charge_automatically"),
    UsualValue::new("default_payment_method", "none"),
    UsualValue::new("item_terms", "none"),
    UsualValue::new("add_invoice_items", "none"),
    UsualValue::new("application_fee_percent", "none"),
    UsualValue::new("automatic_tax", "none"),
    UsualValue::new("backdate_start_date", "none"),
    UsualValue::new("billing_cycle_anchor", "none"),
    UsualValue::new("billing_cycle_anchor_config", "none"),
    UsualValue::new("billing_schedules", "none"),
    UsualValue::new("billing_thresholds", "none"),
    UsualValue::new("days_until_due", "none"),
    UsualValue::new("default_source", "none"),
    UsualValue::new("default_tax_rates", "none"),
    UsualValue::new("discounts", "none"),
    UsualValue::new("on_behalf_of", "none"),
    UsualValue::new("pause_collection", "none"),
    UsualValue::new("pending_invoice_item_interval", "none"),
    UsualValue::new("proration_behavior", "create_prorations"),
    UsualValue::new("proration_date", "none"),
    UsualValue::new("transfer_data", "none"),
    UsualValue::new("trial_settings", "none"),
    UsualValue::new("account", "none"),
    UsualValue::new("invoice_settings", "none"),
    UsualValue::new("trial_from_plan", "none"),
];
const CANCELLATION_VALUES: &[UsualValue] = &[
    UsualValue::new("invoice_now", "false"),
    UsualValue::new("prorate", "false"),
    UsualValue::new("account", "none"),
];
const CUSTOMER_VALUES: &[UsualValue] = &[
    UsualValue::new("balance", "as it was"),
    UsualValue::new("email", "as it was"),
    UsualValue::new("name", "as it was"),
    UsualValue::new("phone", "as it was"),
    UsualValue::new("address", "as it was"),
    UsualValue::new("shipping", "as it was"),
    UsualValue::new("preferred_locales", "as it was"),
    UsualValue::new("tax_exempt", "as it was"),
    UsualValue::new("default_source", "as it was"),
    UsualValue::new("default_payment_method", "as it was"),
    UsualValue::new("account", "none"),
];
const PRODUCT_VALUES: &[UsualValue] = &[
    UsualValue::new("name", "as it was"),
    UsualValue::new("active", "as it was"),
    UsualValue::new("description", "as it was"),
    UsualValue::new("default_price", "as it was"),
    UsualValue::new("images", "as it was"),
    UsualValue::new("marketing_features", "as it was"),
    UsualValue::new("shippable", "as it was"),
    UsualValue::new("statement_descriptor", "as it was"),
    UsualValue::new("tax_code", "as it was"),
    UsualValue::new("unit_label", "as it was"),
    UsualValue::new("url", "as it was"),
    UsualValue::new("account", "none"),
];
const PRICE_VALUES: &[UsualValue] = &[
    UsualValue::new("active", "as it was"),
    UsualValue::new("lookup_key", "as it was"),
    UsualValue::new("tax_behavior", "as it was"),
    UsualValue::new("account", "none"),
];
const LABEL_VALUES: &[UsualValue] = &[
    UsualValue::new("description", "as it was"),
    UsualValue::new("new_customer", "as it was"),
    UsualValue::new("receipt_email", "as it was"),
    UsualValue::new("shipping", "as it was"),
    UsualValue::new("fraud_details", "as it was"),
    UsualValue::new("setup_future_usage", "as it was"),
    UsualValue::new("account", "none"),
];

/// The catalog's description of the payment service.
pub(crate) fn description() -> ServiceDescription {
    ServiceDescription {
        effects: effects(),
        reveals: ServiceDescription::revealed(REVEALS),
        shows_path,
        apis: APIS,
        api_of: |_, _| Some("stripe"),
        variables: VARIABLES,
        senders: &[super::sender::SENDER],
        sent_effects: super::sender::SENT.iter().map(|effect| (*effect).to_owned()).collect(),
        hosts: HOSTS,
        step_fields: &[("payment.charge", "card")],
        kinds: field_kinds::KINDS,
        fields: FIELDS,
        tools: Arc::new(super::tools::all),
        endpoints: Arc::new(super::reference::endpoints),
        real_endpoints: super::reference::real_endpoints,
        about: "Charges, payment intents, refunds, customers, subscriptions, payment methods, products and \
                prices, as in Stripe's API."
            .to_owned(),
        not_there: &[
            "Webhooks are sent in scenarios with `events`.",
            "Invoices, taxes, discounts and prorations are not computed, and a subscription makes no charge. \
             `latest_invoice` is an id that cannot be read.",
            "Cards are the only payment methods.",
            "These parameters are accepted and not compared with the task: notes and texts that only the seller sees \
             (the description and the metadata of a customer or a product, `transfer_group`, `radar_options`, \
             `cancellation_details`), how a payment is authenticated (`off_session`, `mandate_data`, `return_url`, \
             `payment_method_options`, `payment_behavior`, `payment_settings`).",
        ],
        options: configure::OPTIONS.fields(),
        prepare: configure::prepare,
        ..ServiceDescription::new(&Payment::default(), |reader, map| Arc::new(configure::read(reader, map)))
    }
}

/// The effects of the service. An operation that is not listed has no effect of its own: a capture is a
/// charge, and an intent moves no money.
fn effects() -> Vec<EffectDescription> {
    let charge = EffectDescription {
        past_tense: Some("charged"),
        made_by: &["payment.capture"],
        ..EffectDescription::new("payment.charge", CHARGE)
            .usual(CHARGE_VALUES)
            .steady(STATEMENT)
            .noun("charge", "charges")
            .impact("the customer paid", "the customer was not charged")
    };
    let hold = EffectDescription {
        fix_unintended: Some(
            "Capture or cancel every authorization before the task is over, also after a lost reply or a \
             restart.",
        ),
        ..EffectDescription::new("payment.hold", CHARGE)
            .usual(CHARGE_VALUES)
            .steady(STATEMENT)
            .noun("open hold", "open holds")
    };
    let released = EffectDescription {
        of: Some("payment.hold"),
        ..EffectDescription::new("payment.released-hold", CHARGE)
            .usual(CHARGE_VALUES)
            .labels(STATEMENT)
            .accepted_for_own(&["customer", "amount", "currency"])
            .step_of(&["payment.charge", "payment.hold"])
            .noun("released hold", "released holds")
    };
    let declined = EffectDescription {
        of: Some("payment.charge"),
        fix_unintended: Some("Charge only the customers of the task: a declined charge is seen, too."),
        ..EffectDescription::new("payment.declined", CHARGE)
            .usual(CHARGE_VALUES)
            .labels(STATEMENT)
            .accepted_for_own(&["customer", "amount", "currency"])
            .step_of(&["payment.charge", "payment.hold"])
            .noun("declined charge", "declined charges")
    };
    let new_customer = EffectDescription {
        of: Some("payment.customer"),
        fix_unintended: Some("Use the customer of the task, and create no other one."),
        ..EffectDescription::new("payment.new-customer", &["customer"])
            .usual(NEW_CUSTOMER_VALUES)
            .labels(&["name", "phone"])
            .accepted_for_own(&["customer", "email"])
            .noun("new customer", "new customers")
    };
    let method = EffectDescription {
        fix_unintended: Some("Attach a card only to the customer of the task."),
        ..EffectDescription::new("payment.method", &["payment_method", "customer"])
            .usual(METHOD_VALUES)
            .accepted_for_own(&["customer"])
            .noun("attached card", "attached cards")
    };
    let detached = EffectDescription {
        of: Some("payment.method"),
        fix_unintended: Some("Leave the cards of customers as they are, unless the task is about them."),
        ..EffectDescription::new("payment.detached-method", &["payment_method", "customer"])
            .usual(ACCOUNT_VALUES)
            .noun("detached card", "detached cards")
    };
    let refunded = &["amount", "currency", "customer", "charge", "payment_intent", "reason"];
    let refund = EffectDescription {
        past_tense: Some("refunded"),
        undoes: Some(Undoes {
            effect: "payment.charge",
            by: &["charge", "payment_intent"],
            amount: "amount",
        }),
        fix_unintended: Some(
            "Refund only what the task asks for; a duplicate is undone only by giving back all of it.",
        ),
        ..EffectDescription::new("payment.refund", refunded)
            .usual(REFUND_VALUES)
            .steady(&["reason"])
            .noun("refund", "refunds")
            .impact("the customer was refunded", "the customer was not refunded")
    };
    let subscribe = subscription("payment.subscribe", "subscription", "subscriptions")
        .impact("the customer was subscribed", "the customer was not subscribed");
    let of_subscription = |effect: EffectDescription| needing(effect, "payment.subscribe");
    let upgrade = of_subscription(subscription(
        "payment.upgrade",
        "change of a subscription",
        "changes of a subscription",
    ));
    let amend = of_subscription(subscription(
        "payment.amend",
        "change of a subscription's terms",
        "changes of a subscription's terms",
    ));
    let unsubscribe = of_subscription(
        EffectDescription::new("payment.unsubscribe", SUBSCRIPTION)
            .usual(CANCELLATION_VALUES)
            .noun("canceled subscription", "canceled subscriptions"),
    );
    let labeled = &["object", "charge", "payment_intent", "refund", "subscription", "customer"];
    let relabel = needing(
        EffectDescription::new("payment.relabel", labeled)
            .usual(LABEL_VALUES)
            .noun("change of a label", "changes of a label"),
        "payment.charge",
    );
    let customer = EffectDescription::new("payment.customer", &["customer"])
        .usual(CUSTOMER_VALUES)
        .noun("change of a customer", "changes of a customer");
    let delete_customer = EffectDescription::new("payment.delete-customer", &["customer"])
        .usual(ACCOUNT_VALUES)
        .noun("deletion of a customer", "deletions of a customer");
    // A product and its price can be a step of another task. They count only in a scenario that names them.
    let product = EffectDescription::new("payment.product", &["product", "name", "active"])
        .usual(ACCOUNT_VALUES)
        .labels(&["description"])
        .noun("product", "products")
        .cost();
    let price =
        EffectDescription::new("payment.price", &["price", "product", "unit_amount", "currency", "active"])
            .usual(NEW_PRICE_VALUES)
            .labels(&["interval", "lookup_key", "nickname"])
            .noun("price", "prices")
            .cost();
    let delete_product = EffectDescription {
        counts_with: Some("payment.product"),
        ..EffectDescription::new("payment.delete-product", &["product", "name"])
            .usual(ACCOUNT_VALUES)
            .noun("deletion of a product", "deletions of a product")
            .cost()
    };
    let update_product = EffectDescription::new("payment.update-product", &["product"])
        .usual(PRODUCT_VALUES)
        .noun("change of a product", "changes of a product");
    let update_price = EffectDescription::new("payment.update-price", &["price"])
        .usual(PRICE_VALUES)
        .noun("change of a price", "changes of a price");
    let all = [
        charge,
        hold,
        released,
        declined,
        refund,
        subscribe,
        upgrade,
        amend,
        unsubscribe,
        relabel,
        customer,
        delete_customer,
        new_customer,
        method,
        detached,
        product,
        update_product,
        delete_product,
        price,
        update_price,
    ];
    all.into_iter().map(|effect| effect.labels(LABELS)).collect()
}

fn subscription(name: &str, one: &'static str, several: &'static str) -> EffectDescription {
    EffectDescription::new(name, SUBSCRIPTION)
        .usual(SUBSCRIPTION_VALUES)
        .noun(one, several)
        .told_apart_by(&["customer", "price"])
}

fn needing(effect: EffectDescription, needs: &str) -> EffectDescription {
    EffectDescription { needs: Some(needs.to_owned()), ..effect }
}
