//! `POST /v1/refunds`, `POST /v1/refunds/{id}`, and `/v1/charges/{id}/refunds`.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::read::SharedObject;
use super::{ApiCall, CallContext, CallOutcome};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effect_fields::{LabelUpdate, is_own_address};
use crate::payment::effects::{PaymentChange, RefundedCharge};
use crate::payment::errors::{PaymentError, Refused, no_such, not_found};
use crate::payment::list::{ListObject, PageRequest};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::{Currency, below_one};
use crate::payment::objects::{CardDestination, Charge, DestinationDetails, Expandable, Object, Refund};
use crate::payment::params::Params;
use crate::service::Fields;

const REASONS: &[&str] = &["duplicate", "fraudulent", "requested_by_customer"];

/// A refund to create.
#[derive(Debug)]
pub(crate) struct CreateRefund {
    target: RefundTarget,
    amount: Option<i64>,
    reason: Option<&'static str>,
    instructions_email: Option<String>,
    /// Whether a transfer is reversed, and whether the fee of the platform is refunded.
    takes_back: [(&'static str, bool); 2],
    metadata: MetadataChange,
    expand: Expand,
}

/// What is refunded.
#[derive(Debug)]
enum RefundTarget {
    Charge(String),
    /// The charge in the path.
    ChargeOfPath(String),
    Intent(String),
}

impl CreateRefund {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::REFUND, allowed::COMMON])?;
        let target = match (params.owned("charge")?, params.owned("payment_intent")?) {
            (Some(charge), None) => {
                fields.set("charge", charge.as_str());
                RefundTarget::Charge(charge)
            }
            (None, Some(intent)) => {
                fields.set("payment_intent", intent.as_str());
                RefundTarget::Intent(intent)
            }
            (Some(_), Some(_)) => {
                let message = "You may only specify one of these parameters: charge, payment_intent.";
                return Err(Box::new(PaymentError::invalid(message).param("charge")));
            }
            (None, None) => {
                let message = "One of the following params should be provided for this request: \
                               payment_intent or charge.";
                return Err(Box::new(PaymentError::invalid(message).code("parameter_missing")));
            }
        };
        CreateRefund::read_rest(target, params, fields)
    }

    /// Reads the parameters of a refund of the charge in the path.
    pub(crate) fn read_of_charge(
        id: String,
        params: &Params<'_>,
        fields: &mut Fields,
    ) -> Result<Self, Refused> {
        params.check(&[allowed::CHARGE_REFUND, allowed::COMMON])?;
        fields.set("charge", id.as_str());
        CreateRefund::read_rest(RefundTarget::ChargeOfPath(id), params, fields)
    }

    fn read_rest(target: RefundTarget, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let amount = params.integer("amount")?;
        if amount.is_some_and(|amount| amount < 1) {
            return Err(Box::new(below_one("amount")));
        }
        let (reason, metadata) = (params.choice("reason", REASONS)?, MetadataChange::read(params)?);
        if let Some(amount) = amount {
            fields.set("amount", amount);
        }
        if let Some(reason) = reason {
            fields.set("reason", reason);
        }
        metadata.describe(fields);
        let flag = |name: &'static str| Ok::<_, Refused>((name, params.boolean(name)?.unwrap_or(false)));
        Ok(CreateRefund {
            target,
            amount,
            reason,
            instructions_email: params.owned("instructions_email")?,
            takes_back: [flag("reverse_transfer")?, flag("refund_application_fee")?],
            metadata,
            expand: Expand::read::<Refund>(params)?,
        })
    }

    /// What the request asks for besides the money, as far as it is not what the customer has anyway.
    fn noticed(&self, charge: &Charge, context: &CallContext<'_>) -> Fields {
        let customer = charge.customer().and_then(|id| context.state.customer(context.options, id));
        let address = self.instructions_email.as_deref();
        let address = address.filter(|address| !is_own_address(customer.as_deref(), address));
        let mut fields = Fields::new().with_some("instructions_email", address);
        for (name, _) in self.takes_back.iter().filter(|(_, asked)| *asked) {
            fields.set(*name, true);
        }
        fields
    }

    fn charge<'a>(&self, context: &CallContext<'a>) -> Result<&'a Arc<Charge>, Refused> {
        match &self.target {
            RefundTarget::Charge(id) | RefundTarget::ChargeOfPath(id) => {
                let charge = context.state.charges.get(id).ok_or_else(|| match &self.target {
                    RefundTarget::ChargeOfPath(_) => not_found("charge", id),
                    _ => no_such("charge", id, "charge"),
                })?;
                match charge.payment_intent().filter(|_| charge.paid && !charge.captured && !charge.refunded)
                {
                    None => Ok(charge),
                    Some(intent) => {
                        let message = format!(
                            "Charge {id} has not been captured. You can cancel the PaymentIntent {intent} \
                             instead of refunding it."
                        );
                        Err(Box::new(PaymentError::invalid(message).param("charge").executed()))
                    }
                }
            }
            RefundTarget::Intent(id) => {
                let intent = context
                    .state
                    .intents
                    .get(id)
                    .ok_or_else(|| no_such("payment_intent", id, "payment_intent"))?;
                let charge =
                    intent.latest_charge.as_ref().and_then(|charge| context.state.charges.get(charge.id()));
                charge.filter(|charge| charge.captured).ok_or_else(|| {
                    let message =
                        format!("This PaymentIntent ({id}) does not have a successful charge to refund.");
                    Box::new(PaymentError::invalid(message).param("payment_intent").executed())
                })
            }
        }
    }
}

/// The amount to refund.
fn refund_amount(charge: &Charge, requested: Option<i64>) -> Result<i64, Refused> {
    if !charge.paid {
        let message = format!("Charge {} cannot be refunded because it failed.", charge.id);
        return Err(Box::new(PaymentError::invalid(message).param("charge").executed()));
    }
    let left = charge.refundable();
    if charge.refunded || left == 0 {
        let message = format!("Charge {} has already been refunded.", charge.id);
        return Err(Box::new(PaymentError::invalid(message).code("charge_already_refunded").executed()));
    }
    match requested {
        Some(amount) if amount > left => {
            let currency = Currency::known(charge.currency);
            let than =
                if charge.amount_refunded > 0 { "unrefunded amount on charge" } else { "charge amount" };
            let message = format!(
                "Refund amount ({}) is greater than {than} ({})",
                currency.show(amount),
                currency.show(left)
            );
            Err(Box::new(PaymentError::invalid(message).param("amount").executed()))
        }
        Some(amount) if amount < left && !charge.captured => {
            let message = "You cannot partially refund an uncaptured charge. Instead, capture the charge \
                           for an amount less than \
                           the original amount";
            Err(Box::new(PaymentError::invalid(message).param("amount").executed()))
        }
        Some(amount) => Ok(amount),
        None => Ok(left),
    }
}

impl ApiCall for CreateRefund {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let charge = self.charge(context)?;
        let amount = refund_amount(charge, self.amount)?;
        let card = CardDestination {
            reference_status: "pending",
            reference_type: "acquirer_reference_number",
            r#type: "refund",
        };
        let refund = Arc::new(Refund {
            id: context.id("re_3", 23),
            object: "refund",
            amount,
            balance_transaction: charge.captured.then(|| context.id("txn_3", 23)),
            charge: Expandable::new(&charge.id),
            created: context.now(),
            currency: charge.currency,
            destination_details: DestinationDetails { card, r#type: "card" },
            metadata: self.metadata.on_new_object(),
            payment_intent: charge.payment_intent().map(Expandable::new),
            reason: self.reason,
            receipt_number: (),
            source_transfer_reversal: (),
            status: "succeeded",
            transfer_reversal: (),
        });
        let mut after = Charge::clone(charge);
        after.refund(amount);
        let fresh = Fresh { charge: Some(Arc::new(after)), ..Fresh::default() };
        let answer = answers::created(Arc::clone(&refund).expanded(&self.expand, context, &fresh));
        let back = Arc::new(RefundedCharge {
            refund,
            labels: charge.metadata.clone(),
            customer: charge.customer().map(str::to_owned),
            noticed: self.noticed(charge, context),
        });
        let change =
            if charge.captured { PaymentChange::Refunded(back) } else { PaymentChange::Released(back) };
        Ok(CallOutcome { answer, changes: vec![change] })
    }
}

/// An update of a refund's metadata.
#[derive(Debug)]
pub(crate) struct UpdateRefund {
    id: String,
    metadata: MetadataChange,
    expand: Expand,
}

impl UpdateRefund {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[&["metadata"], allowed::COMMON])?;
        let metadata = MetadataChange::read(params)?;
        fields.set("refund", id.as_str());
        metadata.describe(fields);
        Ok(UpdateRefund { id, metadata, expand: Expand::read::<Refund>(params)? })
    }
}

impl ApiCall for UpdateRefund {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = context.state.refunds.get(&self.id).ok_or_else(|| not_found("refund", &self.id))?;
        let refund =
            Arc::new(Refund { metadata: self.metadata.applied_to(&old.metadata)?, ..Refund::clone(old) });
        let answer = answers::created(Arc::clone(&refund).expanded(&self.expand, context, &Fresh::default()));
        let charge = context.state.charges.get(old.charge.id());
        let labels = LabelUpdate {
            object: "refund",
            id: &old.id,
            customer: charge.and_then(|charge| charge.customer()),
            old: &old.metadata,
            new: &refund.metadata,
            seen: Vec::new(),
        };
        let label_change = labels.change();
        Ok(CallOutcome {
            answer,
            changes: std::iter::once(PaymentChange::RefundSaved(refund)).chain(label_change).collect(),
        })
    }
}

/// The refunds of one charge.
#[derive(Debug)]
pub(crate) struct ListChargeRefunds {
    charge: String,
    page: PageRequest,
    expand: Expand,
}

impl ListChargeRefunds {
    /// Reads the parameters.
    pub(crate) fn read(charge: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::LIST, allowed::COMMON])?;
        fields.set("object", Refund::KIND);
        fields.set("charge", charge.as_str());
        Ok(ListChargeRefunds {
            charge,
            page: PageRequest::read(params)?,
            expand: Expand::of_list::<Refund>(params)?,
        })
    }
}

impl ApiCall for ListChargeRefunds {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let charge =
            context.state.charges.get(&self.charge).ok_or_else(|| not_found("charge", &self.charge))?;
        let (found, has_more) =
            self.page.of(context.state.refunds.rows(), |refund| refund.charge.id() == charge.id)?;
        let data = found.into_iter().map(|refund| {
            SharedObject(Arc::clone(refund).expanded(&self.expand, context, &Fresh::default()))
        });
        let url = format!("/v1/charges/{}/refunds", charge.id);
        Ok(CallOutcome::read(answers::ok(&ListObject::new(url, data.collect(), has_more))))
    }
}
