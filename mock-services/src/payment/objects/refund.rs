//! A refund of a charge.

use serde::Serialize;

use super::{Charge, Expandable, Intent, Null, Object};
use crate::payment::metadata::Metadata;

/// A refund.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Refund {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) amount: i64,
    pub(crate) balance_transaction: Option<String>,
    pub(crate) charge: Expandable<Charge>,
    pub(crate) created: i64,
    pub(crate) currency: &'static str,
    pub(crate) destination_details: DestinationDetails,
    pub(crate) metadata: Metadata,
    pub(crate) payment_intent: Option<Expandable<Intent>>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) receipt_number: Null,
    pub(crate) source_transfer_reversal: Null,
    pub(crate) status: &'static str,
    pub(crate) transfer_reversal: Null,
}

/// Where the money was refunded to.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DestinationDetails {
    pub(crate) card: CardDestination,
    pub(crate) r#type: &'static str,
}

/// The refund to a card.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CardDestination {
    pub(crate) reference_status: &'static str,
    pub(crate) reference_type: &'static str,
    pub(crate) r#type: &'static str,
}

impl Object for Refund {
    const KIND: &'static str = "refund";
    const URL: &'static str = "/v1/refunds";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Refund {
    /// The intent of the charge.
    pub(crate) fn payment_intent(&self) -> Option<&str> {
        self.payment_intent.as_ref().map(Expandable::id)
    }
}
