//! A card in Stripe's three formats: as a source, as the details of a charge, and as a payment method. Only
//! the card itself is stored; its many other keys are added when it is serialized.

use compact_str::CompactString;
use serde::{Serialize, Serializer};

use super::{Billing, BillingDetails, Customer, Expandable, Null, Object};
use crate::payment::cards::Card;
use crate::payment::metadata::Metadata;

const EXP_MONTH: u8 = 8;
const EXP_YEAR: u16 = 2030;

/// A card as the `source` of a charge.
#[derive(Debug, Clone)]
pub(crate) struct CardSource {
    /// The card's id.
    pub(crate) id: String,
    /// The customer who owns it.
    pub(crate) customer: Option<CompactString>,
    /// The card.
    pub(crate) card: Card,
}

/// How a charge was paid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaymentMethodDetails {
    /// The card.
    pub(crate) card: Card,
    /// The authorized amount.
    pub(crate) amount: i64,
}

/// A payment method.
#[derive(Debug, Clone)]
pub(crate) struct PaymentMethod {
    /// Its id.
    pub(crate) id: String,
    /// The card.
    pub(crate) card: Card,
    /// The creation time.
    pub(crate) created: i64,
    /// The customer who owns it.
    pub(crate) customer: Option<Expandable<Customer>>,
    /// Whether it is attached to its customer, not only used once.
    pub(crate) attached: bool,
    /// The owner and the billing address.
    pub(crate) billing: Option<Box<Billing>>,
    /// Whether it may be displayed to its owner again.
    pub(crate) redisplay: &'static str,
    /// The client's metadata.
    pub(crate) metadata: Metadata,
}

impl PaymentMethod {
    /// A payment method without a customer.
    pub(crate) fn new(id: String, card: Card, created: i64) -> Self {
        let (billing, metadata) = (None, Metadata::default());
        PaymentMethod {
            id,
            card,
            created,
            customer: None,
            attached: false,
            billing,
            redisplay: "unspecified",
            metadata,
        }
    }

    /// The same payment method, used for this customer.
    pub(crate) fn of_customer(self, customer: &str) -> Self {
        PaymentMethod { customer: Some(Expandable::new(customer)), ..self }
    }
}

impl Object for PaymentMethod {
    const KIND: &'static str = "payment_method";
    const URL: &'static str = "/v1/payment_methods";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

/// The name of a card's network, and a fingerprint for its cards.
fn network(card: Card) -> (&'static str, &'static str) {
    match card.brand {
        "visa" => ("Visa", "Xt5EWLLDS7FJjR1c"),
        "mastercard" => ("MasterCard", "BL35fEFVcTTS5wpE"),
        "amex" => ("American Express", "8Yd1hlP6JlRhMX2K"),
        "discover" => ("Discover", "4zxDX6Jm4uK6cKs2"),
        "diners" => ("Diners Club", "hX2fMbBw1fJYl1kd"),
        "jcb" => ("JCB", "t1Nb8kQp8lKJcb2V"),
        "unionpay" => ("UnionPay", "q9Un1onPayFJ3kLw"),
        _ => ("Unknown", "Zk3wQmN0dVr7sT1y"),
    }
}

impl Serialize for CardSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CardSourceJson<'a> {
            id: &'a str,
            object: &'static str,
            address_city: Null,
            address_country: Null,
            address_line1: Null,
            address_line1_check: Null,
            address_line2: Null,
            address_state: Null,
            address_zip: Null,
            address_zip_check: Null,
            allow_redisplay: &'static str,
            brand: &'static str,
            country: &'static str,
            customer: Option<&'a str>,
            cvc_check: Null,
            dynamic_last4: Null,
            exp_month: u8,
            exp_year: u16,
            fingerprint: &'static str,
            funding: &'static str,
            last4: &'a str,
            metadata: Metadata,
            name: Null,
            regulated_status: &'static str,
            tokenization_method: Null,
            wallet: Null,
        }
        let (brand, fingerprint) = network(self.card);
        CardSourceJson {
            id: &self.id,
            object: "card",
            address_city: (),
            address_country: (),
            address_line1: (),
            address_line1_check: (),
            address_line2: (),
            address_state: (),
            address_zip: (),
            address_zip_check: (),
            allow_redisplay: "unspecified",
            brand,
            country: "US",
            customer: self.customer.as_deref(),
            cvc_check: (),
            dynamic_last4: (),
            exp_month: EXP_MONTH,
            exp_year: EXP_YEAR,
            fingerprint,
            funding: "credit",
            last4: self.card.last4(),
            metadata: Metadata::default(),
            name: (),
            regulated_status: "unregulated",
            tokenization_method: (),
            wallet: (),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct CardChecks {
    address_line1_check: Null,
    address_postal_code_check: Null,
    cvc_check: Null,
}

const UNCHECKED: CardChecks =
    CardChecks { address_line1_check: (), address_postal_code_check: (), cvc_check: () };

#[derive(Serialize)]
struct Availability {
    status: &'static str,
}

const UNAVAILABLE: Availability = Availability { status: "unavailable" };

impl Serialize for PaymentMethodDetails {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct PaymentDetailsJson<'a> {
            card: ChargedCardJson<'a>,
            r#type: &'static str,
        }
        #[derive(Serialize)]
        struct ChargedCardJson<'a> {
            amount_authorized: i64,
            authorization_code: Null,
            brand: &'static str,
            checks: CardChecks,
            country: &'static str,
            exp_month: u8,
            exp_year: u16,
            extended_authorization: Availability,
            fingerprint: &'static str,
            funding: &'static str,
            incremental_authorization: Availability,
            installments: Null,
            last4: &'a str,
            mandate: Null,
            multicapture: Availability,
            network: &'static str,
            network_token: NetworkToken,
            network_transaction_id: &'static str,
            overcapture: Overcapture,
            regulated_status: &'static str,
            three_d_secure: Null,
            wallet: Null,
        }
        #[derive(Serialize)]
        struct NetworkToken {
            used: bool,
        }
        #[derive(Serialize)]
        struct Overcapture {
            maximum_amount_capturable: i64,
            status: &'static str,
        }
        let card = ChargedCardJson {
            amount_authorized: self.amount,
            authorization_code: (),
            brand: self.card.brand,
            checks: UNCHECKED,
            country: "US",
            exp_month: EXP_MONTH,
            exp_year: EXP_YEAR,
            extended_authorization: Availability { status: "disabled" },
            fingerprint: network(self.card).1,
            funding: "credit",
            incremental_authorization: UNAVAILABLE,
            installments: (),
            last4: self.card.last4(),
            mandate: (),
            multicapture: UNAVAILABLE,
            network: self.card.brand,
            network_token: NetworkToken { used: false },
            network_transaction_id: "104102967012971",
            overcapture: Overcapture { maximum_amount_capturable: self.amount, status: "unavailable" },
            regulated_status: "unregulated",
            three_d_secure: (),
            wallet: (),
        };
        PaymentDetailsJson { card, r#type: "card" }.serialize(serializer)
    }
}

impl Serialize for PaymentMethod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct PaymentMethodJson<'a> {
            id: &'a str,
            object: &'static str,
            allow_redisplay: &'static str,
            billing_details: Owner<'a>,
            card: MethodCardJson<'a>,
            created: i64,
            customer: Option<&'a Expandable<Customer>>,
            livemode: bool,
            metadata: &'a Metadata,
            r#type: &'static str,
        }
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Owner<'a> {
            Known(&'a Billing),
            Unknown(BillingDetails),
        }
        #[derive(Serialize)]
        struct MethodCardJson<'a> {
            brand: &'static str,
            checks: CardChecks,
            country: &'static str,
            display_brand: &'static str,
            exp_month: u8,
            exp_year: u16,
            fingerprint: &'static str,
            funding: &'static str,
            generated_from: Null,
            last4: &'a str,
            networks: Networks,
            regulated_status: &'static str,
            three_d_secure_usage: Supported,
            wallet: Null,
        }
        #[derive(Serialize)]
        struct Networks {
            available: [&'static str; 1],
            preferred: Null,
        }
        #[derive(Serialize)]
        struct Supported {
            supported: bool,
        }
        let card = MethodCardJson {
            brand: self.card.brand,
            checks: UNCHECKED,
            country: "US",
            display_brand: self.card.brand,
            exp_month: EXP_MONTH,
            exp_year: EXP_YEAR,
            fingerprint: network(self.card).1,
            funding: "credit",
            generated_from: (),
            last4: self.card.last4(),
            networks: Networks { available: [self.card.brand], preferred: () },
            regulated_status: "unregulated",
            three_d_secure_usage: Supported { supported: true },
            wallet: (),
        };
        PaymentMethodJson {
            id: &self.id,
            object: "payment_method",
            allow_redisplay: self.redisplay,
            billing_details: self
                .billing
                .as_deref()
                .map_or_else(|| Owner::Unknown(BillingDetails::default()), Owner::Known),
            card,
            created: self.created,
            customer: self.customer.as_ref(),
            livemode: false,
            metadata: &self.metadata,
            r#type: "card",
        }
        .serialize(serializer)
    }
}
