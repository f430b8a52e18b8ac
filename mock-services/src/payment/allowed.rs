//! The parameters that each endpoint knows, whether or not anything here depends on them: a real call must
//! not be refused. Those that would change what happens, and are not carried out, are listed apart: they are
//! refused as lacking.

/// What every endpoint knows.
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

/// What making, changing and confirming an intent have in common.
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

/// What making and changing an intent know beyond that.
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

/// What only making an intent knows.
pub(crate) const INTENT_CREATE: &[&str] =
    &["automatic_payment_methods", "confirm", "confirmation_method", "on_behalf_of"];

/// What confirming an intent knows, at once or later.
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

/// What only `POST /v1/subscriptions` knows.
pub(crate) const SUBSCRIPTION_CREATE: &[&str] =
    &["backdate_start_date", "currency", "customer", "trial_period_days"];

/// `DELETE /v1/subscriptions/{id}`.
pub(crate) const UNSUBSCRIBE: &[&str] = &["cancellation_details", "invoice_now", "prorate"];

/// Every list.
pub(crate) const LIST: &[&str] = &["created", "ending_before", "limit", "starting_after"];

/// Every search.
pub(crate) const SEARCH: &[&str] = &["limit", "page", "query"];

/// `POST /v1/payment_methods`.
pub(crate) const METHOD: &[&str] = &["allow_redisplay", "billing_details", "card", "metadata", "type"];

/// What only other kinds of payment methods, and copies of them, need.
pub(crate) const METHOD_LACKING: &[&str] = &[
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

/// What it knows beyond that and is not carried out.
pub(crate) const METHOD_UPDATE_LACKING: &[&str] = &["card", "link", "us_bank_account"];

/// `POST /v1/payment_methods/{id}/attach`.
pub(crate) const METHOD_ATTACH: &[&str] = &["customer"];

/// What it knows beyond that and is not carried out.
pub(crate) const METHOD_ATTACH_LACKING: &[&str] = &["customer_account"];

/// `POST /v1/tokens`.
pub(crate) const TOKEN: &[&str] = &["card"];

/// What stands for something else than a card.
pub(crate) const TOKEN_LACKING: &[&str] =
    &["account", "bank_account", "customer", "cvc_update", "person", "pii"];

/// What making, changing, confirming and capturing an intent know and is not carried out.
pub(crate) const INTENT_LACKING: &[&str] = &[
    "amount_to_confirm",
    "customer_account",
    "payment_method_options[card][capture_method]",
    "payment_method_options[card][installments]",
    "transfer_data[amount]",
];

/// What customers can have and is not carried out.
pub(crate) const CUSTOMER_LACKING: &[&str] = &["cash_balance", "tax_id_data", "test_clock"];

/// What subscriptions can have and is not carried out.
pub(crate) const SUBSCRIPTION_LACKING: &[&str] = &[
    "billing_cycle_anchor_config",
    "billing_schedules",
    "customer_account",
    "default_tax_rates",
    "pending_invoice_item_interval",
];
