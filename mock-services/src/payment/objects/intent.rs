//! A payment intent: an amount to pay, and its status.

use std::sync::Arc;

use serde::Serialize;

use super::{Charge, Customer, Expandable, NextAction, Null, Object, PaymentMethod, ShippingDetails};
use crate::payment::metadata::Metadata;

/// A payment intent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Intent {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) amount: i64,
    pub(crate) amount_capturable: i64,
    pub(crate) amount_details: AmountDetails,
    pub(crate) amount_received: i64,
    pub(crate) application: Null,
    pub(crate) application_fee_amount: Option<i64>,
    pub(crate) automatic_payment_methods: Option<AutomaticPaymentMethods>,
    pub(crate) canceled_at: Option<i64>,
    pub(crate) cancellation_reason: Option<&'static str>,
    pub(crate) capture_method: &'static str,
    pub(crate) client_secret: String,
    pub(crate) confirmation_method: &'static str,
    pub(crate) created: i64,
    pub(crate) currency: &'static str,
    pub(crate) customer: Option<Expandable<Customer>>,
    pub(crate) customer_account: Null,
    pub(crate) description: Option<String>,
    pub(crate) excluded_payment_method_types: Null,
    pub(crate) last_payment_error: Option<LastPaymentError>,
    pub(crate) latest_charge: Option<Expandable<Charge>>,
    pub(crate) livemode: bool,
    pub(crate) metadata: Metadata,
    pub(crate) next_action: Option<NextAction>,
    pub(crate) on_behalf_of: Option<String>,
    pub(crate) payment_method: Option<Expandable<PaymentMethod>>,
    pub(crate) payment_method_configuration_details: Null,
    pub(crate) payment_method_options: PaymentMethodOptions,
    pub(crate) payment_method_types: Vec<String>,
    pub(crate) processing: Null,
    pub(crate) receipt_email: Option<String>,
    pub(crate) review: Null,
    pub(crate) setup_future_usage: Option<&'static str>,
    pub(crate) shipping: Option<Box<ShippingDetails>>,
    pub(crate) source: Null,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) statement_descriptor_suffix: Option<String>,
    pub(crate) status: IntentStatus,
    pub(crate) transfer_data: Null,
    pub(crate) transfer_group: Option<String>,
    /// The account that receives the money.
    #[serde(skip)]
    pub(crate) receiving_account: Option<Box<str>>,
    /// The payment method itself; Stripe only shows its id.
    #[serde(skip)]
    pub(crate) method: Option<Arc<PaymentMethod>>,
}

/// The status of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IntentStatus {
    /// It has no payment method, or its last one was declined.
    RequiresPaymentMethod,
    /// It can be confirmed.
    RequiresConfirmation,
    /// The payer must authenticate first.
    RequiresAction,
    /// The money is authorized, not captured.
    RequiresCapture,
    /// The money is captured.
    Succeeded,
    /// It was canceled.
    Canceled,
}

impl IntentStatus {
    /// Stripe's name of the status.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            IntentStatus::RequiresPaymentMethod => "requires_payment_method",
            IntentStatus::RequiresConfirmation => "requires_confirmation",
            IntentStatus::RequiresAction => "requires_action",
            IntentStatus::RequiresCapture => "requires_capture",
            IntentStatus::Succeeded => "succeeded",
            IntentStatus::Canceled => "canceled",
        }
    }

    /// Whether it can still be confirmed.
    pub(crate) fn is_open(self) -> bool {
        matches!(
            self,
            IntentStatus::RequiresPaymentMethod
                | IntentStatus::RequiresConfirmation
                | IntentStatus::RequiresAction
        )
    }
}

/// The parts of the amount.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct AmountDetails {
    tip: AmountTip,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct AmountTip {}

/// Whether Stripe chooses the payment methods.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct AutomaticPaymentMethods {
    pub(crate) allow_redirects: &'static str,
    pub(crate) enabled: bool,
}

/// The options of each type of payment method.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct PaymentMethodOptions {
    card: CardOptions,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct CardOptions {
    installments: Null,
    mandate_options: Null,
    network: Null,
    request_three_d_secure: &'static str,
}

impl Default for CardOptions {
    fn default() -> Self {
        CardOptions {
            installments: (),
            mandate_options: (),
            network: (),
            request_three_d_secure: "automatic",
        }
    }
}

/// Why the last confirmation failed.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LastPaymentError {
    pub(crate) charge: String,
    pub(crate) code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decline_code: Option<&'static str>,
    pub(crate) doc_url: String,
    pub(crate) message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) param: Option<&'static str>,
    pub(crate) payment_method: PaymentMethod,
    pub(crate) r#type: &'static str,
}

impl Object for Intent {
    const KIND: &'static str = "payment_intent";
    const URL: &'static str = "/v1/payment_intents";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Intent {
    /// The customer who pays.
    pub(crate) fn customer(&self) -> Option<&str> {
        self.customer.as_ref().map(Expandable::id)
    }

    /// Sets a payment method with which it can be confirmed.
    pub(crate) fn pay_with(&mut self, method: Arc<PaymentMethod>) {
        self.payment_method = Some(Expandable::new(&method.id));
        self.method = Some(method);
        self.next_action = None;
        self.status = IntentStatus::RequiresConfirmation;
    }
}
