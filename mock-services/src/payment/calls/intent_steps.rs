//! What moves an intent on: `/confirm`, `/capture` and `/cancel` behind `POST /v1/payment_intents/{id}`.

use std::sync::Arc;

use super::charge::{approved, capturable, decline, fee, paid_to};
use super::expand::{Expand, Expands, Fresh};
use super::intent::{attach, relabelled, saved};
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::cards::Decline;
use crate::payment::effects::Change;
use crate::payment::errors::{Refused, doc_url, lacking_part, not_found, unexpected_state};
use crate::payment::metadata::MetadataChange;
use crate::payment::objects::{
    Charge, Expandable, Intent, LastPaymentError, NextAction, PaymentMethod, Shipping, Status,
};
use crate::payment::params::Params;
use crate::payment::source::{Instrument, declined};
use crate::payment::state::GIVEN_AT;
use crate::service::Fields;

/// How an intent is confirmed.
#[derive(Debug)]
pub(crate) struct Confirmation {
    /// Where whoever pays comes back to.
    return_url: Option<String>,
    /// Whether whoever pays is there and can be asked who they are.
    can_ask: bool,
}

impl Confirmation {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, Refused> {
        let is_away = params.raw("off_session").is_some_and(|value| value != "false");
        let must_not_ask = params.boolean("error_on_requires_action")?.unwrap_or(false);
        Ok(Confirmation { return_url: params.owned("return_url")?, can_ask: !is_away && !must_not_ask })
    }
}

/// A confirmation: the money is taken, or held.
#[derive(Debug)]
pub(crate) struct Confirm {
    id: String,
    confirmation: Confirmation,
    method: Option<Instrument>,
    capture_method: Option<&'static str>,
    receipt_email: Option<String>,
    shipping: Option<Box<Shipping>>,
    expand: Expand,
}

impl Confirm {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let known = [allowed::INTENT, allowed::INTENT_CONFIRM, allowed::COMMON];
        params.check_done(&known, allowed::INTENT_LACKING, "POST /v1/payment_intents/{id}/confirm")?;
        fields.set("payment_intent", id.as_str());
        Ok(Confirm {
            id,
            confirmation: Confirmation::read(params)?,
            method: Instrument::of_method(params)?,
            capture_method: params.choice("capture_method", &["automatic", "automatic_async", "manual"])?,
            receipt_email: params.owned("receipt_email")?,
            shipping: Shipping::read(params),
            expand: Expand::of::<Intent>(params)?,
        })
    }
}

impl Call for Confirm {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        if old.status == Status::Succeeded {
            let message = "You cannot confirm this PaymentIntent because it has already succeeded after being previously confirmed.";
            return Err(unexpected_state(message, old));
        }
        if !old.status.is_open() {
            let message = format!(
                "You cannot confirm this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of the \
                 following statuses may be confirmed: requires_confirmation, requires_payment_method, requires_action.",
                old.status.word()
            );
            return Err(unexpected_state(message, old));
        }
        let mut intent = Intent::clone(old);
        if let Some(method) = &self.method {
            attach(&mut intent, method, world)?;
        }
        intent.capture_method = self.capture_method.unwrap_or(intent.capture_method);
        intent.receipt_email = self.receipt_email.clone().or(intent.receipt_email);
        intent.shipping = self.shipping.clone().or(intent.shipping);
        confirmed(intent, &self.confirmation, &self.expand, world)
    }
}

/// Confirms an intent that can be: asks the bank, and takes or holds the money.
pub(crate) fn confirmed(
    mut intent: Intent,
    confirmation: &Confirmation,
    expand: &Expand,
    world: &World<'_>,
) -> Result<Outcome, Refused> {
    // As of old, a customer's default source stands in where no payment method is named.
    if intent.method.is_none()
        && let Some(wallet) =
            intent.customer().and_then(|customer| world.state.wallet(world.options, customer))
        && let Some((id, card)) = wallet.card
    {
        let known = world.state.methods.get(&id).cloned();
        let made = PaymentMethod {
            customer: intent.customer().map(Expandable::of),
            ..PaymentMethod::new(id, card, GIVEN_AT)
        };
        intent.pay_with(known.unwrap_or_else(|| Arc::new(made)));
    }
    let Some(method) = intent.method.clone() else {
        let message = "You cannot confirm this PaymentIntent because it's missing a payment method. You can either update the \
                       PaymentIntent with a payment method and then confirm it again, or confirm it again directly with a payment \
                       method or ConfirmationToken.";
        let refusal = unexpected_state(message, &intent);
        // One that this very call makes is there whatever becomes of its confirmation.
        let is_new = world.state.intents.get(&intent.id).is_none();
        return Err(if is_new {
            Box::new(refusal.leaving(vec![Change::IntentSaved(Arc::new(intent))]))
        } else {
            refusal
        });
    };
    match decline(method.card, intent.customer(), world) {
        None => {}
        Some(Decline::Authentication) if confirmation.can_ask => {
            let return_url = confirmation.return_url.as_deref();
            intent.next_action =
                Some(NextAction::authenticate(world.id("src_1", 23), &intent.client_secret, return_url));
            intent.status = Status::RequiresAction;
            return Ok(saved(intent, expand, world));
        }
        Some(reason) => return Err(turned_down(intent, reason, &method, world)),
    }
    let mut charge = charge_of(&intent, &method, world);
    let hold = intent.capture_method == "manual";
    if hold {
        intent.status = Status::RequiresCapture;
        intent.amount_capturable = intent.amount;
    } else {
        intent.status = Status::Succeeded;
        intent.amount_received = intent.amount;
        charge.capture(intent.amount, world.id("txn_3", 23));
    }
    (intent.last_payment_error, intent.next_action) = (None, None);
    intent.latest_charge = Some(Expandable::of(&charge.id));
    Ok(moved(charge, intent, !hold, expand, world))
}

fn moved(charge: Charge, intent: Intent, money_moved: bool, expand: &Expand, world: &World<'_>) -> Outcome {
    let (charge, intent) = (Arc::new(charge), Arc::new(intent));
    let fresh = Fresh { charge: Some(Arc::clone(&charge)), intent: Some(Arc::clone(&intent)) };
    let answer = answers::made(Arc::clone(&intent).expanded(expand, world, &fresh));
    let charged = if money_moved { Change::Charged(charge) } else { Change::ChargeSaved(charge) };
    Outcome { answer, changes: vec![charged, Change::IntentSaved(intent)] }
}

/// The charge that an intent makes, held until it is captured.
fn charge_of(intent: &Intent, method: &PaymentMethod, world: &World<'_>) -> Charge {
    Charge {
        application_fee_amount: intent.application_fee_amount,
        customer: intent.customer().map(Expandable::of),
        description: intent.description.clone(),
        metadata: intent.metadata.clone(),
        on_behalf_of: intent.on_behalf_of.clone(),
        payment_intent: Some(Expandable::of(&intent.id)),
        receipt_email: intent.receipt_email.clone(),
        shipping: intent.shipping.clone(),
        statement_descriptor: intent.statement_descriptor.clone(),
        statement_descriptor_suffix: intent.statement_descriptor_suffix.clone(),
        transfer_group: intent.transfer_group.clone(),
        paid_to: intent.paid_to.clone(),
        ..approved(world, intent.amount, intent.currency, method.card, method.id.clone())
    }
}

/// The refusal of a declined card. Stripe keeps the intent, which can be confirmed with another card, and the
/// charge that failed.
fn turned_down(mut intent: Intent, reason: Decline, method: &PaymentMethod, world: &World<'_>) -> Refused {
    let charge = Arc::new(charge_of(&intent, method, world).failed(reason));
    let (code, decline_code, message) = reason.words();
    intent.last_payment_error = Some(LastPaymentError {
        charge: charge.id.clone(),
        code,
        decline_code,
        doc_url: doc_url(code),
        message,
        param: reason.param(),
        payment_method: method.clone(),
        r#type: "card_error",
    });
    intent.latest_charge = Some(Expandable::of(&charge.id));
    (intent.payment_method, intent.method, intent.next_action) = (None, None, None);
    intent.status = Status::RequiresPaymentMethod;
    let refusal = declined(reason).charge(&charge.id).intent(intent.clone()).method(method.clone());
    Box::new(refusal.leaving(vec![Change::ChargeSaved(charge), Change::IntentSaved(Arc::new(intent))]))
}

/// Taking what an intent holds.
#[derive(Debug)]
pub(crate) struct Capture {
    id: String,
    amount: Option<i64>,
    fee: Option<i64>,
    paid_to: Option<Box<str>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl Capture {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_intents/{id}/capture";
        params.check_done(&[allowed::INTENT_CAPTURE, allowed::COMMON], allowed::INTENT_LACKING, ENDPOINT)?;
        if params.boolean("final_capture")? == Some(false) {
            return Err(lacking_part("`final_capture=false`", ENDPOINT, "final_capture"));
        }
        let (amount, metadata) = (params.integer("amount_to_capture")?, MetadataChange::read(params)?);
        fields.set("payment_intent", id.as_str());
        if let Some(amount) = amount {
            fields.set("amount", amount);
        }
        metadata.describe(fields);
        let (fee, paid_to) = (fee(params)?, paid_to(params));
        Ok(Capture { id, amount, fee, paid_to, metadata, expand: Expand::of::<Intent>(params)? })
    }
}

impl Call for Capture {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        let held = old.latest_charge.as_ref().and_then(|charge| world.state.charges.get(charge.id()));
        let (Status::RequiresCapture, Some(held)) = (old.status, held) else {
            let why = if old.status == Status::Succeeded && old.capture_method == "manual" {
                "it has already been captured.".to_owned()
            } else {
                format!(
                    "it has a status of {}. Only a PaymentIntent with one of the following statuses may be captured: \
                     requires_capture.",
                    old.status.word()
                )
            };
            return Err(unexpected_state(
                format!("This PaymentIntent could not be captured because {why}"),
                old,
            ));
        };
        let amount = capturable(self.amount, old.amount_capturable, old.currency, "amount_to_capture")?;
        let (mut charge, mut intent) = (Charge::clone(held), Intent::clone(old));
        charge.capture(amount, world.id("txn_3", 23));
        charge.application_fee_amount = self.fee.or(charge.application_fee_amount);
        charge.paid_to = self.paid_to.clone().or(charge.paid_to);
        intent.status = Status::Succeeded;
        intent.amount_capturable = 0;
        intent.amount_received = amount;
        intent.metadata = self.metadata.over(&intent.metadata)?;
        let relabelled = relabelled(old, &intent);
        let mut outcome = moved(charge, intent, true, &self.expand, world);
        outcome.changes.extend(relabelled);
        Ok(outcome)
    }
}

/// Giving an intent up.
#[derive(Debug)]
pub(crate) struct Cancel {
    id: String,
    reason: Option<&'static str>,
    expand: Expand,
}

impl Cancel {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::INTENT_CANCEL, allowed::COMMON])?;
        fields.set("payment_intent", id.as_str());
        let reasons = &["duplicate", "fraudulent", "requested_by_customer", "abandoned"];
        Ok(Cancel {
            id,
            reason: params.choice("cancellation_reason", reasons)?,
            expand: Expand::of::<Intent>(params)?,
        })
    }
}

impl Call for Cancel {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        if matches!(old.status, Status::Succeeded | Status::Canceled) {
            let message = format!(
                "You cannot cancel this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of the \
                 following statuses may be canceled: requires_payment_method, requires_capture, requires_reauthorization, \
                 requires_confirmation, requires_action, processing.",
                old.status.word()
            );
            return Err(unexpected_state(message, old));
        }
        let mut intent = Intent::clone(old);
        intent.status = Status::Canceled;
        intent.next_action = None;
        intent.amount_capturable = 0;
        intent.canceled_at = Some(world.now());
        intent.cancellation_reason = self.reason;
        let held = old.latest_charge.as_ref().and_then(|charge| world.state.charges.get(charge.id()));
        let mut outcome = saved(intent, &self.expand, world);
        if let Some(held) = held.filter(|held| held.paid && !held.captured) {
            let mut charge = Charge::clone(held);
            charge.refund(held.amount);
            outcome.changes.push(Change::ChargeSaved(Arc::new(charge)));
        }
        Ok(outcome)
    }
}
