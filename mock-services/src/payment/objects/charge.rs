//! A charge: money captured from a card, or authorized until it is captured.

use serde::{Serialize, Serializer};

use super::{CardSource, Customer, Expandable, Intent, Null, Object, PaymentMethodDetails, ShippingDetails};
use crate::payment::cards::Decline;
use crate::payment::metadata::Metadata;
use crate::service::{Fields, Ids};

/// A charge.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Charge {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) amount: i64,
    pub(crate) amount_captured: i64,
    pub(crate) amount_refunded: i64,
    pub(crate) application: Null,
    pub(crate) application_fee: Null,
    pub(crate) application_fee_amount: Option<i64>,
    pub(crate) balance_transaction: Option<String>,
    pub(crate) billing_details: BillingDetails,
    pub(crate) calculated_statement_descriptor: Option<&'static str>,
    pub(crate) captured: bool,
    pub(crate) created: i64,
    pub(crate) currency: &'static str,
    pub(crate) customer: Option<Expandable<Customer>>,
    pub(crate) description: Option<String>,
    pub(crate) destination: Null,
    pub(crate) dispute: Null,
    pub(crate) disputed: bool,
    pub(crate) failure_balance_transaction: Null,
    pub(crate) failure_code: Option<&'static str>,
    pub(crate) failure_message: Option<&'static str>,
    pub(crate) fraud_details: EmptyObject,
    pub(crate) invoice: Null,
    pub(crate) livemode: bool,
    pub(crate) metadata: Metadata,
    pub(crate) on_behalf_of: Option<String>,
    pub(crate) order: Null,
    pub(crate) outcome: &'static ChargeOutcome,
    pub(crate) paid: bool,
    pub(crate) payment_intent: Option<Expandable<Intent>>,
    pub(crate) payment_method: String,
    pub(crate) payment_method_details: PaymentMethodDetails,
    pub(crate) radar_options: EmptyObject,
    pub(crate) receipt_email: Option<String>,
    pub(crate) receipt_number: Null,
    pub(crate) receipt_url: Option<ReceiptUrl>,
    pub(crate) refunded: bool,
    pub(crate) review: Null,
    pub(crate) shipping: Option<Box<ShippingDetails>>,
    pub(crate) source: Option<CardSource>,
    pub(crate) source_transfer: Null,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) statement_descriptor_suffix: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) transfer_data: Null,
    pub(crate) transfer_group: Option<String>,
    /// The account that receives the money.
    #[serde(skip)]
    pub(crate) receiving_account: Option<Box<str>>,
    /// What the payer notices besides the money, by field of the effect.
    #[serde(skip)]
    pub(crate) noticed: Option<Box<Fields>>,
}

/// The URL of a charge's receipt. It is built when it is serialized, because it is long and only displayed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceiptUrl(pub(crate) Ids);

impl Serialize for ReceiptUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const BEGIN: &[u8; 44] = b"https://pay.stripe.com/receipts/payment/CAca";
        let mut url = [0; BEGIN.len() + 64];
        let (begin, rest) = url.split_at_mut(BEGIN.len());
        begin.copy_from_slice(BEGIN);
        self.0.fill("CAca", rest);
        // Letters and digits are ASCII.
        serializer.serialize_str(std::str::from_utf8(&url).unwrap_or_default())
    }
}

/// An object without keys.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct EmptyObject {}

/// An address without any data. It takes no memory in the many charges that have it.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct NoAddress {
    city: Null,
    country: Null,
    line1: Null,
    line2: Null,
    postal_code: Null,
    state: Null,
}

/// The payer, as far as the card data says.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct BillingDetails {
    address: NoAddress,
    email: Null,
    name: Null,
    phone: Null,
    tax_id: Null,
}

/// The bank's response.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct ChargeOutcome {
    advice_code: Null,
    network_advice_code: Null,
    network_decline_code: Null,
    network_status: &'static str,
    reason: Option<&'static str>,
    risk_level: &'static str,
    risk_score: u8,
    seller_message: &'static str,
    r#type: &'static str,
}

impl ChargeOutcome {
    /// The bank approved.
    pub(crate) const APPROVED: ChargeOutcome = ChargeOutcome {
        advice_code: (),
        network_advice_code: (),
        network_decline_code: (),
        network_status: "approved_by_network",
        reason: None,
        risk_level: "normal",
        risk_score: 32,
        seller_message: "Payment complete.",
        r#type: "authorized",
    };

    /// Stripe blocked the charge without asking the bank.
    const BLOCKED: ChargeOutcome = ChargeOutcome {
        network_status: "not_sent_to_network",
        reason: Some("highest_risk_level"),
        risk_level: "highest",
        risk_score: 98,
        seller_message: "Stripe blocked this payment as too risky.",
        r#type: "blocked",
        ..ChargeOutcome::APPROVED
    };

    const fn declined(reason: &'static str) -> ChargeOutcome {
        ChargeOutcome {
            network_status: "declined_by_network",
            reason: Some(reason),
            seller_message: "The bank did not return any further details with this decline.",
            r#type: "issuer_declined",
            ..ChargeOutcome::APPROVED
        }
    }

    /// The outcome of a charge that was declined for this reason.
    fn for_decline(reason: Decline) -> &'static ChargeOutcome {
        match reason {
            Decline::Generic => const { &ChargeOutcome::declined("generic_decline") },
            Decline::InsufficientFunds => const { &ChargeOutcome::declined("insufficient_funds") },
            Decline::Lost => const { &ChargeOutcome::declined("lost_card") },
            Decline::Stolen => const { &ChargeOutcome::declined("stolen_card") },
            Decline::Expired => const { &ChargeOutcome::declined("expired_card") },
            Decline::Cvc => const { &ChargeOutcome::declined("incorrect_cvc") },
            Decline::Processing => const { &ChargeOutcome::declined("processing_error") },
            Decline::Velocity => const { &ChargeOutcome::declined("card_velocity_exceeded") },
            Decline::Authentication => const { &ChargeOutcome::declined("authentication_required") },
            Decline::Fraudulent => &ChargeOutcome::BLOCKED,
        }
    }
}

impl Object for Charge {
    const KIND: &'static str = "charge";
    const URL: &'static str = "/v1/charges";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Charge {
    /// The customer who was charged.
    pub(crate) fn customer(&self) -> Option<&str> {
        self.customer.as_ref().map(Expandable::id)
    }

    /// The intent of the charge.
    pub(crate) fn payment_intent(&self) -> Option<&str> {
        self.payment_intent.as_ref().map(Expandable::id)
    }

    /// Captures all or a part of the authorized amount; the rest is released.
    pub(crate) fn capture(&mut self, amount: i64, balance_transaction: String) {
        self.captured = true;
        self.amount_captured = amount;
        self.amount_refunded = self.amount.saturating_sub(amount);
        self.balance_transaction = Some(balance_transaction);
    }

    /// The charge after the bank declined it: no money was captured or authorized.
    pub(crate) fn failed(self, reason: Decline) -> Self {
        let (code, _, message) = reason.words();
        Charge {
            failure_code: Some(code),
            failure_message: Some(message),
            outcome: ChargeOutcome::for_decline(reason),
            paid: false,
            receipt_url: None,
            status: "failed",
            ..self
        }
    }

    /// The amount that can still be refunded.
    pub(crate) fn refundable(&self) -> i64 {
        self.amount.saturating_sub(self.amount_refunded)
    }

    /// Refunds an amount.
    pub(crate) fn refund(&mut self, amount: i64) {
        self.amount_refunded = self.amount_refunded.saturating_add(amount).min(self.amount);
        self.refunded = self.amount_refunded == self.amount;
    }
}
