//! The steps of an intent: `/confirm`, `/capture` and `/cancel` after `POST /v1/payment_intents/{id}`.

use std::sync::Arc;

use super::{FUTURE_USAGE, label_change, saved_intent, set_payment_method};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::calls::charge::steps::capture_amount;
use crate::payment::calls::charge::{approved_charge, decline, fee, receiving_account};
use crate::payment::calls::expand::{Expand, Expands, Fresh};
use crate::payment::calls::{ApiCall, CallContext, CallOutcome};
use crate::payment::cards::Decline;
use crate::payment::effect_fields::noticed;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{Refused, doc_url, not_found, unexpected_state, unsupported_part};
use crate::payment::metadata::MetadataChange;
use crate::payment::objects::{
    Charge, Expandable, Intent, IntentStatus, LastPaymentError, NextAction, PaymentMethod, ShippingDetails,
};
use crate::payment::params::Params;
use crate::payment::source::{Instrument, declined};
use crate::payment::state::INITIAL_TIME;
use crate::service::Fields;

/// How an intent is confirmed.
#[derive(Debug)]
pub(crate) struct Confirmation {
    /// The page that the payer returns to.
    return_url: Option<String>,
    /// Whether the payer is present and can be asked to authenticate.
    can_authenticate: bool,
}

impl Confirmation {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, Refused> {
        let is_off_session = params.raw("off_session").is_some_and(|value| value != "false");
        let fails_on_action = params.boolean("error_on_requires_action")?.unwrap_or(false);
        Ok(Confirmation {
            return_url: params.owned("return_url")?,
            can_authenticate: !is_off_session && !fails_on_action,
        })
    }
}

/// A confirmation: the money is captured or authorized.
#[derive(Debug)]
pub(crate) struct ConfirmIntent {
    id: String,
    confirmation: Confirmation,
    method: Option<Instrument>,
    capture_method: Option<&'static str>,
    receipt_email: Option<String>,
    shipping: Option<Box<ShippingDetails>>,
    setup_future_usage: Option<&'static str>,
    expand: Expand,
}

impl ConfirmIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let known = [allowed::INTENT, allowed::INTENT_CONFIRM, allowed::COMMON];
        params.check_supported(
            &known,
            allowed::INTENT_UNSUPPORTED,
            "POST /v1/payment_intents/{id}/confirm",
        )?;
        fields.set("payment_intent", id.as_str());
        Ok(ConfirmIntent {
            id,
            confirmation: Confirmation::read(params)?,
            method: Instrument::of_method(params)?,
            capture_method: params.choice("capture_method", &["automatic", "automatic_async", "manual"])?,
            receipt_email: params.owned("receipt_email")?,
            shipping: ShippingDetails::read(params),
            setup_future_usage: params.choice("setup_future_usage", FUTURE_USAGE)?,
            expand: Expand::read::<Intent>(params)?,
        })
    }
}

impl ApiCall for ConfirmIntent {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = context.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        if old.status == IntentStatus::Succeeded {
            let message = "You cannot confirm this PaymentIntent because it has already succeeded after \
                           being previously confirmed.";
            return Err(unexpected_state(message, old));
        }
        if !old.status.is_open() {
            let message = format!(
                "You cannot confirm this PaymentIntent because it has a status of {}. Only a PaymentIntent \
                 with one of the \
                 following statuses may be confirmed: requires_confirmation, requires_payment_method, \
                 requires_action.",
                old.status.as_str()
            );
            return Err(unexpected_state(message, old));
        }
        let mut intent = Intent::clone(old);
        if let Some(method) = &self.method {
            set_payment_method(&mut intent, method, context)?;
        }
        intent.capture_method = self.capture_method.unwrap_or(intent.capture_method);
        intent.receipt_email = self.receipt_email.clone().or(intent.receipt_email);
        intent.shipping = self.shipping.clone().or(intent.shipping);
        intent.setup_future_usage = self.setup_future_usage.or(intent.setup_future_usage);
        confirmed(intent, &self.confirmation, &self.expand, context)
    }
}

/// Confirms an intent that can be confirmed: asks the bank, and captures or authorizes the money.
pub(crate) fn confirmed(
    mut intent: Intent,
    confirmation: &Confirmation,
    expand: &Expand,
    context: &CallContext<'_>,
) -> Result<CallOutcome, Refused> {
    // Without a payment method, the customer's default source is used.
    if intent.method.is_none()
        && let Some(wallet) =
            intent.customer().and_then(|customer| context.state.wallet(context.options, customer))
        && let Some((id, card)) = wallet.card
    {
        let known = context.state.methods.get(&id).cloned();
        let used_method = PaymentMethod {
            customer: intent.customer().map(Expandable::new),
            ..PaymentMethod::new(id, card, INITIAL_TIME)
        };
        intent.pay_with(known.unwrap_or_else(|| Arc::new(used_method)));
    }
    let Some(method) = intent.method.clone() else {
        let message = "You cannot confirm this PaymentIntent because it's missing a payment method. You can \
                       either update the \
                       PaymentIntent with a payment method and then confirm it again, or confirm it again \
                       directly with a payment \
                       method or ConfirmationToken.";
        let refusal = unexpected_state(message, &intent);
        // An intent that this call creates exists whatever the result of its confirmation.
        let is_new = context.state.intents.get(&intent.id).is_none();
        return Err(if is_new {
            Box::new(refusal.committing(vec![PaymentChange::IntentSaved(Arc::new(intent))]))
        } else {
            refusal
        });
    };
    match decline(method.card, intent.customer(), context) {
        None => {}
        Some(Decline::Authentication) if confirmation.can_authenticate => {
            let return_url = confirmation.return_url.as_deref();
            intent.next_action =
                Some(NextAction::authenticate(context.id("src_1", 23), &intent.client_secret, return_url));
            intent.status = IntentStatus::RequiresAction;
            return Ok(saved_intent(intent, expand, context));
        }
        Some(reason) => return Err(declined_refusal(intent, reason, &method, context)),
    }
    let mut charge = charge_of(&intent, &method, context);
    let hold = intent.capture_method == "manual";
    if hold {
        intent.status = IntentStatus::RequiresCapture;
        intent.amount_capturable = intent.amount;
    } else {
        intent.status = IntentStatus::Succeeded;
        intent.amount_received = intent.amount;
        charge.capture(intent.amount, context.id("txn_3", 23));
    }
    (intent.last_payment_error, intent.next_action) = (None, None);
    intent.latest_charge = Some(Expandable::new(&charge.id));
    Ok(charged(charge, intent, !hold, expand, context))
}

fn charged(
    charge: Charge,
    intent: Intent,
    money_moved: bool,
    expand: &Expand,
    context: &CallContext<'_>,
) -> CallOutcome {
    let (charge, intent) = (Arc::new(charge), Arc::new(intent));
    let fresh =
        Fresh { charge: Some(Arc::clone(&charge)), intent: Some(Arc::clone(&intent)), ..Fresh::default() };
    let answer = answers::created(Arc::clone(&intent).expanded(expand, context, &fresh));
    let charged =
        if money_moved { PaymentChange::Charged(charge) } else { PaymentChange::ChargeSaved(charge) };
    CallOutcome { answer, changes: vec![charged, PaymentChange::IntentSaved(intent)] }
}

/// The charge of an intent, authorized until it is captured.
fn charge_of(intent: &Intent, method: &PaymentMethod, context: &CallContext<'_>) -> Charge {
    Charge {
        application_fee_amount: intent.application_fee_amount,
        customer: intent.customer().map(Expandable::new),
        description: intent.description.clone(),
        metadata: intent.metadata.clone(),
        on_behalf_of: intent.on_behalf_of.clone(),
        payment_intent: Some(Expandable::new(&intent.id)),
        receipt_email: intent.receipt_email.clone(),
        shipping: intent.shipping.clone(),
        statement_descriptor: intent.statement_descriptor.clone(),
        statement_descriptor_suffix: intent.statement_descriptor_suffix.clone(),
        transfer_group: intent.transfer_group.clone(),
        receiving_account: intent.receiving_account.clone(),
        noticed: noticed(
            context,
            intent.customer(),
            (intent.receipt_email.as_deref(), &intent.shipping),
            intent.setup_future_usage,
        ),
        ..approved_charge(context, intent.amount, intent.currency, method.card, method.id.clone())
    }
}

/// The refusal of a declined card. Stripe keeps the intent, which can be confirmed with another card, and the
/// failed charge.
fn declined_refusal(
    mut intent: Intent,
    reason: Decline,
    method: &PaymentMethod,
    context: &CallContext<'_>,
) -> Refused {
    let charge = Arc::new(charge_of(&intent, method, context).failed(reason));
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
    intent.latest_charge = Some(Expandable::new(&charge.id));
    (intent.payment_method, intent.method, intent.next_action) = (None, None, None);
    intent.status = IntentStatus::RequiresPaymentMethod;
    let refusal = declined(reason).charge(&charge.id).intent(intent.clone()).method(method.clone());
    Box::new(
        refusal.committing(vec![
            PaymentChange::ChargeSaved(charge),
            PaymentChange::IntentSaved(Arc::new(intent)),
        ]),
    )
}

/// The capture of an authorized intent.
#[derive(Debug)]
pub(crate) struct CaptureIntent {
    id: String,
    amount: Option<i64>,
    fee: Option<i64>,
    receiving_account: Option<Box<str>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl CaptureIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_intents/{id}/capture";
        params.check_supported(
            &[allowed::INTENT_CAPTURE, allowed::COMMON],
            allowed::INTENT_UNSUPPORTED,
            ENDPOINT,
        )?;
        if params.boolean("final_capture")? == Some(false) {
            return Err(unsupported_part("`final_capture=false`", ENDPOINT, "final_capture"));
        }
        let (amount, metadata) = (params.integer("amount_to_capture")?, MetadataChange::read(params)?);
        fields.set("payment_intent", id.as_str());
        if let Some(amount) = amount {
            fields.set("amount", amount);
        }
        metadata.describe(fields);
        let (fee, receiving_account) = (fee(params)?, receiving_account(params));
        Ok(CaptureIntent {
            id,
            amount,
            fee,
            receiving_account,
            metadata,
            expand: Expand::read::<Intent>(params)?,
        })
    }
}

impl ApiCall for CaptureIntent {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = context.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        let held = old.latest_charge.as_ref().and_then(|charge| context.state.charges.get(charge.id()));
        let (IntentStatus::RequiresCapture, Some(held)) = (old.status, held) else {
            let why = if old.status == IntentStatus::Succeeded && old.capture_method == "manual" {
                "it has already been captured.".to_owned()
            } else {
                format!(
                    "it has a status of {}. Only a PaymentIntent with one of the following statuses may be \
                     captured: \
                     requires_capture.",
                    old.status.as_str()
                )
            };
            return Err(unexpected_state(
                format!("This PaymentIntent could not be captured because {why}"),
                old,
            ));
        };
        let amount = capture_amount(self.amount, old.amount_capturable, old.currency, "amount_to_capture")?;
        let (mut charge, mut intent) = (Charge::clone(held), Intent::clone(old));
        charge.capture(amount, context.id("txn_3", 23));
        charge.application_fee_amount = self.fee.or(charge.application_fee_amount);
        charge.receiving_account = self.receiving_account.clone().or(charge.receiving_account);
        intent.status = IntentStatus::Succeeded;
        intent.amount_capturable = 0;
        intent.amount_received = amount;
        intent.metadata = self.metadata.applied_to(&intent.metadata)?;
        let label_change = label_change(old, &intent);
        let mut outcome = charged(charge, intent, true, &self.expand, context);
        outcome.changes.extend(label_change);
        Ok(outcome)
    }
}

/// The cancellation of an intent.
#[derive(Debug)]
pub(crate) struct CancelIntent {
    id: String,
    reason: Option<&'static str>,
    expand: Expand,
}

impl CancelIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::INTENT_CANCEL, allowed::COMMON])?;
        fields.set("payment_intent", id.as_str());
        let reasons = &["duplicate", "fraudulent", "requested_by_customer", "abandoned"];
        Ok(CancelIntent {
            id,
            reason: params.choice("cancellation_reason", reasons)?,
            expand: Expand::read::<Intent>(params)?,
        })
    }
}

impl ApiCall for CancelIntent {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = context.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        if matches!(old.status, IntentStatus::Succeeded | IntentStatus::Canceled) {
            let message = format!(
                "You cannot cancel this PaymentIntent because it has a status of {}. Only a PaymentIntent \
                 with one of the \
                 following statuses may be canceled: requires_payment_method, requires_capture, \
                 requires_reauthorization, \
                 requires_confirmation, requires_action, processing.",
                old.status.as_str()
            );
            return Err(unexpected_state(message, old));
        }
        let mut intent = Intent::clone(old);
        intent.status = IntentStatus::Canceled;
        intent.next_action = None;
        intent.amount_capturable = 0;
        intent.canceled_at = Some(context.now());
        intent.cancellation_reason = self.reason;
        let held = old.latest_charge.as_ref().and_then(|charge| context.state.charges.get(charge.id()));
        let mut outcome = saved_intent(intent, &self.expand, context);
        if let Some(held) = held.filter(|held| held.paid && !held.captured) {
            let mut charge = Charge::clone(held);
            charge.refund(held.amount);
            outcome.changes.push(PaymentChange::ChargeSaved(Arc::new(charge)));
        }
        Ok(outcome)
    }
}
