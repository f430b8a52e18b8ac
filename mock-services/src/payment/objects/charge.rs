//! A charge: money taken from a card, or held on it until it is captured.

use serde::{Serialize, Serializer};

use super::{CardSource, Customer, Expandable, Intent, Null, Object, PaymentMethodDetails, Shipping};
use crate::payment::cards::Decline;
use crate::payment::metadata::Metadata;
use crate::service::Ids;

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
    pub(crate) fraud_details: Nothing,
    pub(crate) invoice: Null,
    pub(crate) livemode: bool,
    pub(crate) metadata: Metadata,
    pub(crate) on_behalf_of: Option<String>,
    pub(crate) order: Null,
    pub(crate) outcome: &'static Outcome,
    pub(crate) paid: bool,
    pub(crate) payment_intent: Option<Expandable<Intent>>,
    pub(crate) payment_method: String,
    pub(crate) payment_method_details: PaymentMethodDetails,
    pub(crate) radar_options: Nothing,
    pub(crate) receipt_email: Option<String>,
    pub(crate) receipt_number: Null,
    pub(crate) receipt_url: Option<ReceiptUrl>,
    pub(crate) refunded: bool,
    pub(crate) review: Null,
    pub(crate) shipping: Option<Box<Shipping>>,
    pub(crate) source: Option<CardSource>,
    pub(crate) source_transfer: Null,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) statement_descriptor_suffix: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) transfer_data: Null,
    pub(crate) transfer_group: Option<String>,
    /// The account to which the money goes on.
    #[serde(skip)]
    pub(crate) paid_to: Option<Box<str>>,
}

/// Where a charge's receipt can be seen: made when it is written, because it is long and only ever shown.
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
pub(crate) struct Nothing {}

/// An address of which nothing is known. It takes no room in the many charges that have it.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct NoAddress {
    city: Null,
    country: Null,
    line1: Null,
    line2: Null,
    postal_code: Null,
    state: Null,
}

/// Who pays, as far as the card says.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct BillingDetails {
    address: NoAddress,
    email: Null,
    name: Null,
    phone: Null,
    tax_id: Null,
}

/// What the bank said.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Outcome {
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

impl Outcome {
    /// The bank agreed.
    pub(crate) const APPROVED: Outcome = Outcome {
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

    /// Stripe itself would not ask the bank.
    const BLOCKED: Outcome = Outcome {
        network_status: "not_sent_to_network",
        reason: Some("highest_risk_level"),
        risk_level: "highest",
        risk_score: 98,
        seller_message: "Stripe blocked this payment as too risky.",
        r#type: "blocked",
        ..Outcome::APPROVED
    };

    const fn declined(reason: &'static str) -> Outcome {
        Outcome {
            network_status: "declined_by_network",
            reason: Some(reason),
            seller_message: "The bank did not return any further details with this decline.",
            r#type: "issuer_declined",
            ..Outcome::APPROVED
        }
    }

    /// What became of a charge that was declined for this reason.
    fn of(reason: Decline) -> &'static Outcome {
        match reason {
            Decline::Generic => const { &Outcome::declined("generic_decline") },
            Decline::InsufficientFunds => const { &Outcome::declined("insufficient_funds") },
            Decline::Lost => const { &Outcome::declined("lost_card") },
            Decline::Stolen => const { &Outcome::declined("stolen_card") },
            Decline::Expired => const { &Outcome::declined("expired_card") },
            Decline::Cvc => const { &Outcome::declined("incorrect_cvc") },
            Decline::Processing => const { &Outcome::declined("processing_error") },
            Decline::Velocity => const { &Outcome::declined("card_velocity_exceeded") },
            Decline::Authentication => const { &Outcome::declined("authentication_required") },
            Decline::Fraudulent => &Outcome::BLOCKED,
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
    /// Whose card it was.
    pub(crate) fn customer(&self) -> Option<&str> {
        self.customer.as_ref().map(Expandable::id)
    }

    /// The intent that it belongs to.
    pub(crate) fn payment_intent(&self) -> Option<&str> {
        self.payment_intent.as_ref().map(Expandable::id)
    }

    /// Takes what is held, or a part of it; the rest is released.
    pub(crate) fn capture(&mut self, amount: i64, balance_transaction: String) {
        self.captured = true;
        self.amount_captured = amount;
        self.amount_refunded = self.amount.saturating_sub(amount);
        self.balance_transaction = Some(balance_transaction);
    }

    /// The same charge as the bank leaves it when it declines: no money was taken or held.
    pub(crate) fn failed(self, reason: Decline) -> Self {
        let (code, _, message) = reason.words();
        Charge {
            failure_code: Some(code),
            failure_message: Some(message),
            outcome: Outcome::of(reason),
            paid: false,
            receipt_url: None,
            status: "failed",
            ..self
        }
    }

    /// What can still be given back.
    pub(crate) fn refundable(&self) -> i64 {
        self.amount.saturating_sub(self.amount_refunded)
    }

    /// Gives back.
    pub(crate) fn refund(&mut self, amount: i64) {
        self.amount_refunded = self.amount_refunded.saturating_add(amount).min(self.amount);
        self.refunded = self.amount_refunded == self.amount;
    }
}
