//! The tools of the payment service, for agents that get tools and not Stripe's API.

use crate::description::{ParameterType, ToolDescription};

const CHARGE: &str = "The id of the charge: ch_…";
const INTENT: &str = "The id of the payment intent: pi_…";
const SUBSCRIPTION: &str = "The id of the subscription: sub_…";
const CUSTOMER: &str = "The id of the customer: cus_…";
const LABELS: &str =
    "Labels that are stored with the object, for example the order id: {\"order\": \"ord_1\"}.";
const LIMIT: &str = "The maximum number of results, from 1 to 100; 10 by default.";
const ITEMS: &str = "The items, each with `price` and optionally `quantity`; to change an existing item, also \
                     its `id`.";

/// All tools.
pub(super) fn all() -> Vec<ToolDescription> {
    let mut all = money();
    all.extend(subscriptions());
    all
}

fn money() -> Vec<ToolDescription> {
    use ParameterType::{Flag, Integer, Labels, Text};
    vec![
        ToolDescription::new(
            "payment_create_charge",
            "payment.charge",
            "POST",
            "/v1/charges",
            "Charges a customer or a card. Each call moves money; a second call charges again, unless both \
             calls have the same idempotency key.",
        )
        .form()
        .keyed()
        .required("amount", Integer, "The amount in the smallest unit of the currency, for example cents.")
        .required("currency", Text, "The three-letter code of the currency: usd.")
        .optional("customer", Text, CUSTOMER)
        .optional("source", Text, "A card or a token, if the customer's default is not used.")
        .optional("description", Text, "A text that is stored with the charge.")
        .optional("capture", Flag, "false: only authorize the amount, to be captured later. true by default.")
        .optional("metadata", Labels, LABELS),
        ToolDescription::new(
            "payment_create_token",
            "payment.method",
            "POST",
            "/v1/tokens",
            "Exchanges a card for a token, which can be charged once. No money moves.",
        )
        .form()
        .required("card", Labels, "The card: {\"number\", \"exp_month\", \"exp_year\", \"cvc\"}."),
        ToolDescription::new(
            "payment_capture_charge",
            "payment.capture",
            "POST",
            "/v1/charges/{charge}/capture",
            "Captures an authorized charge: the money moves. A charge can be captured once.",
        )
        .form()
        .keyed()
        .path("charge", CHARGE)
        .optional("amount", Integer, "The part to capture; the whole amount by default."),
        ToolDescription::new(
            "payment_capture_payment_intent",
            "payment.capture",
            "POST",
            "/v1/payment_intents/{payment_intent}/capture",
            "Captures an authorized payment intent: the money moves. An intent can be captured once.",
        )
        .form()
        .keyed()
        .path("payment_intent", INTENT)
        .optional("amount_to_capture", Integer, "The part to capture; the whole amount by default."),
        ToolDescription::new(
            "payment_create_refund",
            "payment.refund",
            "POST",
            "/v1/refunds",
            "Refunds a charge or a payment intent, in whole or in part. A second call for a part refunds that \
             part again, unless both calls have the same idempotency key.",
        )
        .form()
        .keyed()
        .optional("charge", Text, "The id of the charge to refund; or give `payment_intent`.")
        .optional("payment_intent", Text, "The id of the payment intent to refund; or give `charge`.")
        .optional("amount", Integer, "The part to refund, in the smallest unit; the rest by default.")
        .optional("reason", Text, "duplicate, fraudulent or requested_by_customer.")
        .optional("metadata", Labels, LABELS),
        read("payment_get_charge", "payment.get", "/v1/charges/{charge}", "Returns one charge.")
            .path("charge", CHARGE),
        read("payment_list_charges", "payment.list", "/v1/charges", "Lists charges, the newest first.")
            .query("customer", Text, "Only charges of this customer.")
            .query("payment_intent", Text, "Only charges of this payment intent.")
            .query("limit", Integer, LIMIT)
            .query("starting_after", Text, "The id of the last charge of the page before."),
        read(
            "payment_search_charges",
            "payment.search",
            "/v1/charges/search",
            "Searches charges in Stripe's query language. A new charge can be missing for a while.",
        )
        .parameter(
            crate::description::ToolParameter::new(
                "query",
                Text,
                crate::description::ParameterPlace::Query("query".to_owned()),
                "The query, for example metadata['order']:'ord_1'.",
            )
            .required(),
        )
        .query("limit", Integer, LIMIT),
        read(
            "payment_get_payment_intent",
            "payment.get",
            "/v1/payment_intents/{payment_intent}",
            "Returns one payment intent.",
        )
        .path("payment_intent", INTENT),
        read("payment_list_refunds", "payment.list", "/v1/refunds", "Lists refunds, the newest first.")
            .query("charge", Text, "Only refunds of this charge.")
            .query("payment_intent", Text, "Only refunds of this payment intent.")
            .query("limit", Integer, LIMIT),
        read("payment_list_customers", "payment.customers", "/v1/customers", "Lists customers.")
            .query("email", Text, "Only customers with this email address.")
            .query("limit", Integer, LIMIT),
    ]
}

fn subscriptions() -> Vec<ToolDescription> {
    use ParameterType::{Integer, Labels, Objects, Text};
    vec![
        ToolDescription::new(
            "payment_create_subscription",
            "payment.subscribe",
            "POST",
            "/v1/subscriptions",
            "Starts a subscription of a customer. A second call starts a second subscription, unless both \
             calls have the same idempotency key.",
        )
        .form()
        .keyed()
        .required("customer", Text, CUSTOMER)
        .required("items", Objects, ITEMS)
        .optional("metadata", Labels, LABELS),
        ToolDescription::new(
            "payment_update_subscription",
            "payment.upgrade",
            "POST",
            "/v1/subscriptions/{subscription}",
            "Changes the items of a subscription: another plan or another quantity.",
        )
        .form()
        .keyed()
        .destructive()
        .path("subscription", SUBSCRIPTION)
        .optional("items", Objects, ITEMS)
        .optional("metadata", Labels, LABELS),
        ToolDescription::new(
            "payment_cancel_subscription",
            "payment.unsubscribe",
            "DELETE",
            "/v1/subscriptions/{subscription}",
            "Cancels a subscription at once.",
        )
        .destructive()
        .repeatable()
        .path("subscription", SUBSCRIPTION),
        read(
            "payment_get_subscription",
            "payment.subscriptions",
            "/v1/subscriptions/{subscription}",
            "Returns one subscription.",
        )
        .path("subscription", SUBSCRIPTION),
        read(
            "payment_list_subscriptions",
            "payment.subscriptions",
            "/v1/subscriptions",
            "Lists subscriptions, the newest first.",
        )
        .query("customer", Text, "Only subscriptions of this customer.")
        .query("status", Text, "Only subscriptions with this status; `all` includes canceled ones.")
        .query("limit", Integer, LIMIT),
    ]
}

fn read(name: &str, operation: &str, path: &str, about: &str) -> ToolDescription {
    ToolDescription::new(name, operation, "GET", path, about)
}
