//! `POST /v1/refunds`, `POST /v1/refunds/{id}`, and `/v1/charges/{id}/refunds`.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::read::Shared;
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::described::Labels;
use crate::payment::effects::{Change, GivenBack};
use crate::payment::errors::{Problem, Refused, no_such, not_found};
use crate::payment::list::{List, Page};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::{Currency, at_least_one};
use crate::payment::objects::{CardDestination, Charge, DestinationDetails, Expandable, Object, Refund};
use crate::payment::params::Params;
use crate::service::Fields;

const REASONS: &[&str] = &["duplicate", "fraudulent", "requested_by_customer"];

/// A refund that is to be made.
#[derive(Debug)]
pub(crate) struct Create {
    of: Of,
    amount: Option<i64>,
    reason: Option<&'static str>,
    metadata: MetadataChange,
    expand: Expand,
}

/// What is refunded.
#[derive(Debug)]
enum Of {
    Charge(String),
    /// A charge that the path names, not a parameter.
    ChargeOfPath(String),
    Intent(String),
}

impl Create {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::REFUND, allowed::COMMON])?;
        let of = match (params.owned("charge")?, params.owned("payment_intent")?) {
            (Some(charge), None) => {
                fields.set("charge", charge.as_str());
                Of::Charge(charge)
            }
            (None, Some(intent)) => {
                fields.set("payment_intent", intent.as_str());
                Of::Intent(intent)
            }
            (Some(_), Some(_)) => {
                let message = "You may only specify one of these parameters: charge, payment_intent.";
                return Err(Box::new(Problem::invalid(message).param("charge")));
            }
            (None, None) => {
                let message = "One of the following params should be provided for this request: payment_intent or charge.";
                return Err(Box::new(Problem::invalid(message).code("parameter_missing")));
            }
        };
        Create::read_rest(of, params, fields)
    }

    /// Reads the parameters of a refund of the charge that the path names.
    pub(crate) fn read_of_charge(
        id: String,
        params: &Params<'_>,
        fields: &mut Fields,
    ) -> Result<Self, Refused> {
        params.check(&[allowed::CHARGE_REFUND, allowed::COMMON])?;
        fields.set("charge", id.as_str());
        Create::read_rest(Of::ChargeOfPath(id), params, fields)
    }

    fn read_rest(of: Of, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let amount = params.integer("amount")?;
        if amount.is_some_and(|amount| amount < 1) {
            return Err(Box::new(at_least_one("amount")));
        }
        let (reason, metadata) = (params.choice("reason", REASONS)?, MetadataChange::read(params)?);
        if let Some(amount) = amount {
            fields.set("amount", amount);
        }
        if let Some(reason) = reason {
            fields.set("reason", reason);
        }
        metadata.describe(fields);
        Ok(Create { of, amount, reason, metadata, expand: Expand::of::<Refund>(params)? })
    }

    fn charge<'a>(&self, world: &World<'a>) -> Result<&'a Arc<Charge>, Refused> {
        match &self.of {
            Of::Charge(id) | Of::ChargeOfPath(id) => {
                let charge = world.state.charges.get(id).ok_or_else(|| match &self.of {
                    Of::ChargeOfPath(_) => not_found("charge", id),
                    _ => no_such("charge", id, "charge"),
                })?;
                match charge.payment_intent().filter(|_| charge.paid && !charge.captured && !charge.refunded)
                {
                    None => Ok(charge),
                    Some(intent) => {
                        let message = format!(
                            "Charge {id} has not been captured. You can cancel the PaymentIntent {intent} instead of refunding it."
                        );
                        Err(Box::new(Problem::invalid(message).param("charge").begun()))
                    }
                }
            }
            Of::Intent(id) => {
                let intent = world
                    .state
                    .intents
                    .get(id)
                    .ok_or_else(|| no_such("payment_intent", id, "payment_intent"))?;
                let charge =
                    intent.latest_charge.as_ref().and_then(|charge| world.state.charges.get(charge.id()));
                charge.filter(|charge| charge.captured).ok_or_else(|| {
                    let message =
                        format!("This PaymentIntent ({id}) does not have a successful charge to refund.");
                    Box::new(Problem::invalid(message).param("payment_intent").begun())
                })
            }
        }
    }
}

/// How much goes back.
fn owed(charge: &Charge, asked: Option<i64>) -> Result<i64, Refused> {
    if !charge.paid {
        let message = format!("Charge {} cannot be refunded because it failed.", charge.id);
        return Err(Box::new(Problem::invalid(message).param("charge").begun()));
    }
    let left = charge.refundable();
    if charge.refunded || left == 0 {
        let message = format!("Charge {} has already been refunded.", charge.id);
        return Err(Box::new(Problem::invalid(message).code("charge_already_refunded").begun()));
    }
    match asked {
        Some(amount) if amount > left => {
            let currency = Currency::known(charge.currency);
            let than =
                if charge.amount_refunded > 0 { "unrefunded amount on charge" } else { "charge amount" };
            let message = format!(
                "Refund amount ({}) is greater than {than} ({})",
                currency.show(amount),
                currency.show(left)
            );
            Err(Box::new(Problem::invalid(message).param("amount").begun()))
        }
        Some(amount) if amount < left && !charge.captured => {
            let message = "You cannot partially refund an uncaptured charge. Instead, capture the charge for an amount less than \
                           the original amount";
            Err(Box::new(Problem::invalid(message).param("amount").begun()))
        }
        Some(amount) => Ok(amount),
        None => Ok(left),
    }
}

impl Call for Create {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let charge = self.charge(world)?;
        let amount = owed(charge, self.amount)?;
        let card = CardDestination {
            reference_status: "pending",
            reference_type: "acquirer_reference_number",
            r#type: "refund",
        };
        let refund = Arc::new(Refund {
            id: world.id("re_3", 23),
            object: "refund",
            amount,
            balance_transaction: charge.captured.then(|| world.id("txn_3", 23)),
            charge: Expandable::of(&charge.id),
            created: world.now(),
            currency: charge.currency,
            destination_details: DestinationDetails { card, r#type: "card" },
            metadata: self.metadata.fresh(),
            payment_intent: charge.payment_intent().map(Expandable::of),
            reason: self.reason,
            receipt_number: (),
            source_transfer_reversal: (),
            status: "succeeded",
            transfer_reversal: (),
        });
        let mut after = Charge::clone(charge);
        after.refund(amount);
        let fresh = Fresh { charge: Some(Arc::new(after)), intent: None };
        let answer = answers::made(Arc::clone(&refund).expanded(&self.expand, world, &fresh));
        let back = Arc::new(GivenBack {
            refund,
            labels: charge.metadata.clone(),
            customer: charge.customer().map(str::to_owned),
        });
        let change = if charge.captured { Change::Refunded(back) } else { Change::Released(back) };
        Ok(Outcome { answer, changes: vec![change] })
    }
}

/// A change of a refund's papers.
#[derive(Debug)]
pub(crate) struct Update {
    id: String,
    metadata: MetadataChange,
    expand: Expand,
}

impl Update {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[&["metadata"], allowed::COMMON])?;
        let metadata = MetadataChange::read(params)?;
        fields.set("refund", id.as_str());
        metadata.describe(fields);
        Ok(Update { id, metadata, expand: Expand::of::<Refund>(params)? })
    }
}

impl Call for Update {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.refunds.get(&self.id).ok_or_else(|| not_found("refund", &self.id))?;
        let refund = Arc::new(Refund { metadata: self.metadata.over(&old.metadata)?, ..Refund::clone(old) });
        let answer = answers::made(Arc::clone(&refund).expanded(&self.expand, world, &Fresh::default()));
        let charge = world.state.charges.get(old.charge.id());
        let labels = Labels {
            object: "refund",
            id: &old.id,
            customer: charge.and_then(|charge| charge.customer()),
            old: &old.metadata,
            new: &refund.metadata,
            seen: Vec::new(),
        };
        let relabelled = labels.relabelled();
        Ok(Outcome {
            answer,
            changes: std::iter::once(Change::RefundSaved(refund)).chain(relabelled).collect(),
        })
    }
}

/// The refunds of one charge.
#[derive(Debug)]
pub(crate) struct OfCharge {
    charge: String,
    page: Page,
    expand: Expand,
}

impl OfCharge {
    /// Reads the parameters.
    pub(crate) fn read(charge: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::LIST, allowed::COMMON])?;
        fields.set("object", Refund::KIND);
        fields.set("charge", charge.as_str());
        Ok(OfCharge { charge, page: Page::read(params)?, expand: Expand::of_list::<Refund>(params)? })
    }
}

impl Call for OfCharge {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let charge =
            world.state.charges.get(&self.charge).ok_or_else(|| not_found("charge", &self.charge))?;
        let (found, has_more) =
            self.page.of(world.state.refunds.rows(), |refund| refund.charge.id() == charge.id)?;
        let data = found
            .into_iter()
            .map(|refund| Shared(Arc::clone(refund).expanded(&self.expand, world, &Fresh::default())));
        let url = format!("/v1/charges/{}/refunds", charge.id);
        Ok(Outcome::read(answers::ok(&List::new(url, data.collect(), has_more))))
    }
}
