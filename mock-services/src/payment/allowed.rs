//! The parameters that each endpoint accepts, including those without an effect here, so that a valid call is
//! not refused. Parameters that would change the result and are not implemented are listed separately and are
//! refused as unsupported.

/// The parameters of every endpoint.
pub(crate) const COMMON: &[&str] = &["expand"];

/// `POST /v1/charges`.
pub(crate) const CHARGE: &[&str] = &[
    "amount",
    "application_fee",
    "application_fee_amount",
    "capture",
    "card",
    "currency",
    "customer",
    "description",
    "destination",
    "metadata",
    "on_behalf_of",
    "radar_options",
    "receipt_email",
    "shipping",
    "source",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
];

/// `POST /v1/charges/{id}`.
pub(crate) const CHARGE_UPDATE: &[&str] =
    &["customer", "description", "fraud_details", "metadata", "receipt_email", "shipping", "transfer_group"];

/// `POST /v1/charges/{id}/capture`.
pub(crate) const CHARGE_CAPTURE: &[&str] = &[
    "amount",
    "application_fee",
    "application_fee_amount",
    "receipt_email",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
];

/// The parameters shared by creating, updating and confirming an intent.
pub(crate) const INTENT: &[&str] = &[
    "allowed_payment_method_types",
    "amount_details",
    "capture_method",
    "excluded_payment_method_types",
    "hooks",
    "payment_details",
    "payment_method",
    "payment_method_data",
    "payment_method_options",
    "payment_method_types",
    "radar_options",
    "receipt_email",
    "setup_future_usage",
    "shipping",
    "source",
];

/// Further parameters of creating and updating an intent.
pub(crate) const INTENT_WRITE: &[&str] = &[
    "amount",
    "application_fee_amount",
    "currency",
    "customer",
    "customer_account",
    "description",
    "metadata",
    "payment_method_configuration",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
];

/// Further parameters of creating an intent.
pub(crate) const INTENT_CREATE: &[&str] =
    &["automatic_payment_methods", "confirm", "confirmation_method", "on_behalf_of"];

/// Further parameters of confirming an intent, at once or later.
pub(crate) const INTENT_CONFIRM: &[&str] = &[
    "confirmation_token",
    "error_on_requires_action",
    "mandate",
    "mandate_data",
    "off_session",
    "return_url",
    "use_stripe_sdk",
];

/// `POST /v1/payment_intents/{id}/capture`.
pub(crate) const INTENT_CAPTURE: &[&str] = &[
    "amount_details",
    "amount_to_capture",
    "application_fee_amount",
    "final_capture",
    "hooks",
    "metadata",
    "payment_details",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
];

/// `POST /v1/payment_intents/{id}/cancel`.
pub(crate) const INTENT_CANCEL: &[&str] = &["cancellation_reason"];

/// `POST /v1/refunds`.
pub(crate) const REFUND: &[&str] = &[
    "amount",
    "charge",
    "currency",
    "customer",
    "instructions_email",
    "metadata",
    "origin",
    "payment_intent",
    "reason",
    "refund_application_fee",
    "reverse_transfer",
];

/// `POST /v1/charges/{id}/refunds`.
pub(crate) const CHARGE_REFUND: &[&str] = &[
    "amount",
    "instructions_email",
    "metadata",
    "payment_intent",
    "reason",
    "refund_application_fee",
    "reverse_transfer",
];

/// `POST /v1/customers` and `POST /v1/customers/{id}`.
pub(crate) const CUSTOMER: &[&str] = &[
    "address",
    "balance",
    "business_name",
    "cash_balance",
    "default_source",
    "description",
    "email",
    "individual_name",
    "invoice_prefix",
    "invoice_settings",
    "metadata",
    "name",
    "next_invoice_sequence",
    "payment_method",
    "phone",
    "preferred_locales",
    "shipping",
    "source",
    "tax",
    "tax_exempt",
    "tax_id_data",
    "test_clock",
    "validate",
];

/// `POST /v1/subscriptions` and `POST /v1/subscriptions/{id}`.
pub(crate) const SUBSCRIPTION: &[&str] = &[
    "add_invoice_items",
    "application_fee_percent",
    "automatic_tax",
    "billing_cycle_anchor",
    "billing_cycle_anchor_config",
    "billing_mode",
    "billing_schedules",
    "billing_thresholds",
    "cancel_at",
    "cancel_at_period_end",
    "cancellation_details",
    "collection_method",
    "customer_account",
    "days_until_due",
    "default_payment_method",
    "default_source",
    "default_tax_rates",
    "description",
    "discounts",
    "invoice_settings",
    "items",
    "metadata",
    "off_session",
    "on_behalf_of",
    "pause_collection",
    "payment_behavior",
    "payment_settings",
    "pending_invoice_item_interval",
    "proration_behavior",
    "proration_date",
    "transfer_data",
    "trial_end",
    "trial_from_plan",
    "trial_settings",
];

/// Further parameters of `POST /v1/subscriptions`.
pub(crate) const SUBSCRIPTION_CREATE: &[&str] =
    &["backdate_start_date", "currency", "customer", "trial_period_days"];

/// `DELETE /v1/subscriptions/{id}`.
pub(crate) const UNSUBSCRIBE: &[&str] = &["cancellation_details", "invoice_now", "prorate"];

/// The parameters of every list.
pub(crate) const LIST: &[&str] = &["created", "ending_before", "limit", "starting_after"];

/// The parameters of every search.
pub(crate) const SEARCH: &[&str] = &["limit", "page", "query"];

/// `POST /v1/payment_methods`.
pub(crate) const METHOD: &[&str] = &["allow_redisplay", "billing_details", "card", "metadata", "type"];

/// Unsupported: other types of payment methods, and copies of them.
pub(crate) const METHOD_UNSUPPORTED: &[&str] = &[
    "acss_debit",
    "affirm",
    "afterpay_clearpay",
    "alipay",
    "au_becs_debit",
    "bacs_debit",
    "bancontact",
    "boleto",
    "card[networks]",
    "cashapp",
    "customer",
    "customer_balance",
    "eps",
    "fpx",
    "ideal",
    "interac_present",
    "klarna",
    "konbini",
    "link",
    "p24",
    "payment_method",
    "paypal",
    "pix",
    "radar_options",
    "revolut_pay",
    "sepa_debit",
    "sofort",
    "us_bank_account",
    "wechat_pay",
];

/// `POST /v1/payment_methods/{id}`.
pub(crate) const METHOD_UPDATE: &[&str] = &["allow_redisplay", "billing_details", "metadata"];

/// Unsupported parameters of the same endpoint.
pub(crate) const METHOD_UPDATE_UNSUPPORTED: &[&str] = &["card", "link", "us_bank_account"];

/// `POST /v1/payment_methods/{id}/attach`.
pub(crate) const METHOD_ATTACH: &[&str] = &["customer"];

/// Unsupported parameters of the same endpoint.
pub(crate) const METHOD_ATTACH_UNSUPPORTED: &[&str] = &["customer_account"];

/// `POST /v1/products` and `POST /v1/products/{id}`.
pub(crate) const PRODUCT: &[&str] = &[
    "active",
    "description",
    "images",
    "marketing_features",
    "metadata",
    "name",
    "shippable",
    "statement_descriptor",
    "tax_code",
    "unit_label",
    "url",
];

/// Further parameters of creating a product.
pub(crate) const PRODUCT_CREATE: &[&str] = &["default_price_data", "id", "type"];

/// Further parameters of updating a product.
pub(crate) const PRODUCT_UPDATE: &[&str] = &["default_price"];

/// Unsupported for products.
pub(crate) const PRODUCT_UNSUPPORTED: &[&str] = &[
    "default_price_data[currency_options]",
    "default_price_data[custom_unit_amount]",
    "package_dimensions",
    "tax_details",
];

/// `POST /v1/prices`.
pub(crate) const PRICE: &[&str] = &[
    "active",
    "billing_scheme",
    "currency",
    "lookup_key",
    "metadata",
    "nickname",
    "product",
    "product_data",
    "recurring",
    "tax_behavior",
    "transfer_lookup_key",
    "unit_amount",
    "unit_amount_decimal",
];

/// Unsupported: prices that are not a fixed amount in one currency.
pub(crate) const PRICE_UNSUPPORTED: &[&str] =
    &["currency_options", "custom_unit_amount", "tiers", "tiers_mode", "transform_quantity"];

/// `POST /v1/prices/{id}`.
pub(crate) const PRICE_UPDATE: &[&str] =
    &["active", "lookup_key", "metadata", "nickname", "tax_behavior", "transfer_lookup_key"];

/// Unsupported when updating a price.
pub(crate) const PRICE_UPDATE_UNSUPPORTED: &[&str] = &["currency_options"];

/// `POST /v1/tokens`.
pub(crate) const TOKEN: &[&str] = &["card"];

/// Unsupported: tokens for anything but a card.
pub(crate) const TOKEN_UNSUPPORTED: &[&str] =
    &["account", "bank_account", "customer", "cvc_update", "person", "pii"];

/// Unsupported when creating, updating, confirming and capturing an intent.
pub(crate) const INTENT_UNSUPPORTED: &[&str] = &[
    "amount_to_confirm",
    "customer_account",
    "payment_method_options[card][capture_method]",
    "payment_method_options[card][installments]",
    "transfer_data[amount]",
];

/// Unsupported for customers.
pub(crate) const CUSTOMER_UNSUPPORTED: &[&str] = &["cash_balance", "tax_id_data", "test_clock"];

/// Unsupported for subscriptions.
pub(crate) const SUBSCRIPTION_UNSUPPORTED: &[&str] = &[
    "billing_cycle_anchor_config",
    "billing_schedules",
    "customer_account",
    "default_tax_rates",
    "pending_invoice_item_interval",
];
