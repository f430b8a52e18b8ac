//! The steps of an existing charge: `POST /v1/charges/{id}` and `POST /v1/charges/{id}/capture`.

use std::sync::Arc;

use super::{fee, receiving_account, saved_charge};
use crate::payment::allowed;
use crate::payment::calls::expand::Expand;
use crate::payment::calls::{ApiCall, CallContext, CallOutcome, set};
use crate::payment::effect_fields::{LabelUpdate, differs, noticed};
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{Charge, Expandable, ShippingDetails};
use crate::payment::params::Params;
use crate::service::Fields;

/// The capture of an authorized charge.
#[derive(Debug)]
pub(crate) struct CaptureCharge {
    id: String,
    amount: Option<i64>,
    fee: Option<i64>,
    receiving_account: Option<Box<str>>,
    receipt_email: Option<String>,
    expand: Expand,
}

impl CaptureCharge {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::CHARGE_CAPTURE, allowed::COMMON])?;
        let amount = params.integer("amount")?;
        fields.set("charge", id.as_str());
        if let Some(amount) = amount {
            fields.set("amount", amount);
        }
        Ok(CaptureCharge {
            id,
            amount,
            fee: fee(params)?,
            receiving_account: receiving_account(params),
            receipt_email: params.owned("receipt_email")?,
            expand: Expand::read::<Charge>(params)?,
        })
    }
}

impl ApiCall for CaptureCharge {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let held = context.state.charges.get(&self.id).ok_or_else(|| not_found("charge", &self.id))?;
        if !held.paid {
            let message = format!("Charge {} cannot be captured because it failed.", held.id);
            return Err(Box::new(PaymentError::invalid(message).executed()));
        }
        if let Some(intent) = held.payment_intent() {
            let message = format!(
                "This charge was created by the PaymentIntent {intent} and cannot be captured directly. \
                 Capture the PaymentIntent \
                 instead."
            );
            return Err(Box::new(PaymentError::invalid(message).executed()));
        }
        let ended = if held.captured {
            Some(("charge_already_captured", "captured"))
        } else if held.refunded {
            Some(("charge_already_refunded", "refunded"))
        } else {
            None
        };
        if let Some((code, word)) = ended {
            let message = format!("Charge {} has already been {word}.", held.id);
            return Err(Box::new(PaymentError::invalid(message).code(code).executed()));
        }
        let amount = capture_amount(self.amount, held.amount, held.currency, "amount")?;
        let mut charge = Charge::clone(held);
        charge.capture(amount, context.id("txn_3", 23));
        charge.application_fee_amount = self.fee.or(charge.application_fee_amount);
        charge.receiving_account = self.receiving_account.clone().or(charge.receiving_account);
        if self.receipt_email.is_some() {
            charge.receipt_email.clone_from(&self.receipt_email);
            let terms = (charge.receipt_email.as_deref(), &charge.shipping);
            charge.noticed = noticed(context, charge.customer(), terms, None);
        }
        Ok(saved_charge(Arc::new(charge), true, &self.expand, context))
    }
}

/// The amount to capture.
pub(crate) fn capture_amount(
    asked: Option<i64>,
    held: i64,
    currency: &'static str,
    param: &'static str,
) -> Result<i64, Refused> {
    match asked {
        None => Ok(held),
        Some(amount) if amount < 1 => Err(Box::new(crate::payment::money::below_one(param))),
        Some(amount) if amount > held => {
            let currency = Currency::known(currency);
            let message = format!(
                "The requested capture amount ({}) is greater than the amount that was authorized ({}).",
                currency.show(amount),
                currency.show(held)
            );
            Err(Box::new(PaymentError::invalid(message).code("amount_too_large").param(param).executed()))
        }
        Some(amount) => Ok(amount),
    }
}

/// An update of a charge's metadata and description.
#[derive(Debug)]
pub(crate) struct UpdateCharge {
    id: String,
    customer: Option<String>,
    description: Option<Option<String>>,
    receipt_email: Option<Option<String>>,
    transfer_group: Option<Option<String>>,
    shipping: Option<Box<ShippingDetails>>,
    /// The report of a fraud, or that there is none.
    fraud_details: Option<String>,
    metadata: MetadataChange,
    expand: Expand,
}

impl UpdateCharge {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::CHARGE_UPDATE, allowed::COMMON])?;
        let call = UpdateCharge {
            customer: params.owned("customer")?,
            description: params.clearable("description")?,
            receipt_email: params.clearable("receipt_email")?,
            transfer_group: params.clearable("transfer_group")?,
            shipping: ShippingDetails::read(params),
            fraud_details: params.inside("fraud_details").next().map(|(_, _, report)| report.to_owned()),
            metadata: MetadataChange::read(params)?,
            expand: Expand::read::<Charge>(params)?,
            id,
        };
        fields.set("charge", call.id.as_str());
        call.metadata.describe(fields);
        Ok(call)
    }
}

impl ApiCall for UpdateCharge {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = context.state.charges.get(&self.id).ok_or_else(|| not_found("charge", &self.id))?;
        let mut charge = Charge::clone(old);
        if let Some(customer) = &self.customer {
            context
                .state
                .wallet(context.options, customer)
                .ok_or_else(|| no_such("customer", customer, "customer"))?;
            charge.customer = Some(Expandable::new(customer));
        }
        set(&mut charge.description, &self.description);
        set(&mut charge.receipt_email, &self.receipt_email);
        set(&mut charge.transfer_group, &self.transfer_group);
        charge.shipping = self.shipping.clone().or(charge.shipping);
        charge.metadata = self.metadata.applied_to(&charge.metadata)?;
        let label_change = label_change(old, &charge, self.fraud_details.as_ref());
        let mut outcome = saved_charge(Arc::new(charge), false, &self.expand, context);
        outcome.changes.extend(label_change);
        Ok(outcome)
    }
}

/// The change of a charge's labels, if the update changes any; none for a failed charge.
fn label_change(old: &Charge, new: &Charge, fraud_details: Option<&String>) -> Option<PaymentChange> {
    let customer = |charge: &Charge| charge.customer().map(str::to_owned);
    let seen = [
        differs("new_customer", customer(old).as_ref(), customer(new).as_ref()),
        differs("description", old.description.as_ref(), new.description.as_ref()),
        differs("receipt_email", old.receipt_email.as_ref(), new.receipt_email.as_ref()),
        differs("shipping", shipping_text(&old.shipping).as_ref(), shipping_text(&new.shipping).as_ref()),
        differs("fraud_details", None, fraud_details),
    ];
    let labels = LabelUpdate {
        object: "charge",
        id: &old.id,
        customer: old.customer(),
        old: &old.metadata,
        new: &new.metadata,
        seen: seen.into_iter().flatten().collect(),
    };
    labels.change().filter(|_| old.paid)
}

/// A shipping address as one text.
pub(crate) fn shipping_text(shipping: &Option<Box<ShippingDetails>>) -> Option<String> {
    shipping.as_ref().and_then(|shipping| serde_json::to_string(shipping).ok())
}
