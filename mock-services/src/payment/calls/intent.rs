//! `POST /v1/payment_intents` and `POST /v1/payment_intents/{id}`.

use std::sync::Arc;

use super::charge::{fee, paid_to, shown};
use super::expand::{Expand, Expands, Fresh};
use super::intent_steps::{Confirmation, confirmed};
use super::{Call, Outcome, World, set};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::described::{Labels, differs};
use crate::payment::effects::Change;
use crate::payment::errors::{Problem, Refused, no_such, not_found, unexpected_state};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{
    AutomaticPaymentMethods, Expandable, Intent, PaymentMethodOptions, Shipping, Status,
};
use crate::payment::operations::Op;
use crate::payment::params::{self, Params};
use crate::payment::source::Instrument;
use crate::service::Fields;

const CAPTURE: &[&str] = &["automatic", "automatic_async", "manual"];
const CONFIRMATION: &[&str] = &["automatic", "manual"];
const FUTURE: &[&str] = &["off_session", "on_session"];

/// An intent that is to be made, and perhaps confirmed at once.
#[derive(Debug)]
pub(crate) struct Create {
    amount: i64,
    currency: Currency,
    customer: Option<String>,
    description: Option<String>,
    metadata: MetadataChange,
    method: Option<Instrument>,
    confirm: bool,
    confirmation: Confirmation,
    automatic: Option<AutomaticPaymentMethods>,
    method_types: Vec<String>,
    capture_method: &'static str,
    confirmation_method: &'static str,
    setup_future_usage: Option<&'static str>,
    application_fee_amount: Option<i64>,
    on_behalf_of: Option<String>,
    receipt_email: Option<String>,
    shipping: Option<Box<Shipping>>,
    statement_descriptor: Option<String>,
    statement_descriptor_suffix: Option<String>,
    transfer_group: Option<String>,
    paid_to: Option<Box<str>>,
    expand: Expand,
}

impl Create {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let confirm = params.raw("confirm") == Some("true");
        let known = [
            allowed::INTENT_CREATE,
            allowed::INTENT_WRITE,
            allowed::INTENT,
            allowed::COMMON,
            allowed::INTENT_CONFIRM,
        ];
        params.check_done(&known, allowed::INTENT_LACKING, "POST /v1/payment_intents")?;
        if !confirm {
            refuse_confirmation_only(params)?;
        }
        let amount = params.required("amount").and_then(|text| params::integer(text, "amount"))?;
        let currency = Currency::read(params.required("currency")?)?;
        currency.check(amount)?;
        let method_types: Vec<String> =
            params.inside("payment_method_types").map(|(_, _, kind)| kind.to_owned()).collect();
        let call = Create {
            amount,
            currency,
            customer: params.owned("customer")?,
            description: params.owned("description")?,
            metadata: MetadataChange::read(params)?,
            method: Instrument::of_method(params)?,
            confirm: params.boolean("confirm")?.unwrap_or(false),
            confirmation: Confirmation::read(params)?,
            automatic: automatic(params, &method_types)?,
            method_types: if method_types.is_empty() { vec!["card".to_owned()] } else { method_types },
            capture_method: params.choice("capture_method", CAPTURE)?.unwrap_or("automatic_async"),
            confirmation_method: params.choice("confirmation_method", CONFIRMATION)?.unwrap_or("automatic"),
            setup_future_usage: params.choice("setup_future_usage", FUTURE)?,
            application_fee_amount: fee(params)?,
            paid_to: paid_to(params),
            on_behalf_of: params.owned("on_behalf_of")?,
            receipt_email: params.owned("receipt_email")?,
            shipping: Shipping::read(params),
            statement_descriptor: params.owned("statement_descriptor")?,
            statement_descriptor_suffix: params.owned("statement_descriptor_suffix")?,
            transfer_group: params.owned("transfer_group")?,
            expand: Expand::of::<Intent>(params)?,
        };
        fields.set("amount", amount);
        fields.set("currency", currency.code);
        if let Some(customer) = &call.customer {
            fields.set("customer", customer.as_str());
        }
        if let Some(description) = &call.description {
            fields.set("description", description.as_str());
        }
        if call.operation() != Op::Charge {
            fields.set("capture_method", call.capture_method);
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    /// What it does beside making the intent.
    pub(crate) fn operation(&self) -> Op {
        match (self.confirm, self.capture_method) {
            (false, _) => Op::Intent,
            (true, "manual") => Op::Hold,
            (true, _) => Op::Charge,
        }
    }

    fn intent(&self, world: &World<'_>) -> Intent {
        let id = world.id("pi_3", 23);
        Intent {
            client_secret: format!("{id}{}", world.id("_secret_", 25)),
            id,
            object: "payment_intent",
            amount: self.amount,
            amount_capturable: 0,
            amount_details: Default::default(),
            amount_received: 0,
            application: (),
            application_fee_amount: self.application_fee_amount,
            automatic_payment_methods: self.automatic,
            canceled_at: None,
            cancellation_reason: None,
            capture_method: self.capture_method,
            confirmation_method: self.confirmation_method,
            created: world.now(),
            currency: self.currency.code,
            customer: self.customer.as_deref().map(Expandable::of),
            customer_account: (),
            description: self.description.clone(),
            excluded_payment_method_types: (),
            last_payment_error: None,
            latest_charge: None,
            livemode: false,
            metadata: self.metadata.fresh(),
            next_action: None,
            on_behalf_of: self.on_behalf_of.clone(),
            payment_method: None,
            payment_method_configuration_details: (),
            payment_method_options: PaymentMethodOptions::default(),
            payment_method_types: self.method_types.clone(),
            processing: (),
            receipt_email: self.receipt_email.clone(),
            review: (),
            setup_future_usage: self.setup_future_usage,
            shipping: self.shipping.clone(),
            source: (),
            statement_descriptor: self.statement_descriptor.clone(),
            statement_descriptor_suffix: self.statement_descriptor_suffix.clone(),
            status: Status::RequiresPaymentMethod,
            transfer_data: (),
            transfer_group: self.transfer_group.clone(),
            paid_to: self.paid_to.clone(),
            method: None,
        }
    }
}

/// Stripe refuses what only a confirmation uses where nothing is confirmed.
fn refuse_confirmation_only(params: &Params<'_>) -> Result<(), Refused> {
    for name in ["off_session", "return_url", "mandate_data", "error_on_requires_action"] {
        if params.has(name) {
            let message = format!("You cannot provide `{name}` unless `confirm` is set to true.");
            return Err(Box::new(Problem::invalid(message).param(name)));
        }
    }
    Ok(())
}

/// Stripe chooses the payment methods unless the caller names some or asks it not to.
fn automatic(params: &Params<'_>, named: &[String]) -> Result<Option<AutomaticPaymentMethods>, Refused> {
    let inside = |wanted: &str| {
        params
            .inside("automatic_payment_methods")
            .find(|(name, ..)| *name == wanted)
            .map(|(_, _, value)| value)
    };
    let enabled = inside("enabled").unwrap_or("true") == "true";
    if enabled && inside("enabled").is_some() && !named.is_empty() {
        let message =
            "You may only specify one of these parameters: automatic_payment_methods, payment_method_types.";
        return Err(Box::new(Problem::invalid(message)));
    }
    if !enabled || !named.is_empty() {
        return Ok(None);
    }
    let allow_redirects = if inside("allow_redirects") == Some("never") { "never" } else { "always" };
    Ok(Some(AutomaticPaymentMethods { allow_redirects, enabled: true }))
}

/// Gives an intent a payment method.
pub(crate) fn attach(intent: &mut Intent, method: &Instrument, world: &World<'_>) -> Result<(), Refused> {
    let method = world.method(method, intent.customer())?;
    intent.pay_with(method);
    Ok(())
}

impl Call for Create {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        if let Some(customer) = &self.customer {
            world
                .state
                .wallet(world.options, customer)
                .ok_or_else(|| no_such("customer", customer, "customer"))?;
        }
        let mut intent = self.intent(world);
        if let Some(method) = &self.method {
            attach(&mut intent, method, world)?;
        }
        if self.confirm {
            confirmed(intent, &self.confirmation, &self.expand, world)
        } else {
            Ok(saved(intent, &self.expand, world))
        }
    }
}

/// An intent that was stored, and no money moved.
pub(crate) fn saved(intent: Intent, expand: &Expand, world: &World<'_>) -> Outcome {
    let intent = Arc::new(intent);
    let answer = answers::made(Arc::clone(&intent).expanded(expand, world, &Fresh::default()));
    Outcome { answer, changes: vec![Change::IntentSaved(intent)] }
}

/// A change of an intent.
#[derive(Debug)]
pub(crate) struct Update {
    id: String,
    amount: Option<i64>,
    currency: Option<Currency>,
    customer: Option<String>,
    method: Option<Instrument>,
    capture_method: Option<&'static str>,
    setup_future_usage: Option<&'static str>,
    description: Option<Option<String>>,
    receipt_email: Option<Option<String>>,
    transfer_group: Option<Option<String>>,
    fee: Option<i64>,
    paid_to: Option<Box<str>>,
    shipping: Option<Box<Shipping>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl Update {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let known = [allowed::INTENT_WRITE, allowed::INTENT, allowed::COMMON];
        params.check_done(&known, allowed::INTENT_LACKING, "POST /v1/payment_intents/{id}")?;
        let call = Update {
            amount: params.integer("amount")?,
            currency: params.text("currency")?.map(Currency::read).transpose()?,
            customer: params.owned("customer")?,
            method: Instrument::of_method(params)?,
            capture_method: params.choice("capture_method", CAPTURE)?,
            setup_future_usage: params.choice("setup_future_usage", FUTURE)?,
            description: params.clearable("description")?,
            receipt_email: params.clearable("receipt_email")?,
            transfer_group: params.clearable("transfer_group")?,
            fee: fee(params)?,
            paid_to: paid_to(params),
            shipping: Shipping::read(params),
            metadata: MetadataChange::read(params)?,
            expand: Expand::of::<Intent>(params)?,
            id,
        };
        fields.set("payment_intent", call.id.as_str());
        if let Some(amount) = call.amount {
            fields.set("amount", amount);
        }
        if let Some(currency) = call.currency {
            fields.set("currency", currency.code);
        }
        if let Some(customer) = &call.customer {
            fields.set("customer", customer.as_str());
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    /// What can be changed only as long as nothing was confirmed, if the request changes it.
    fn closed_field(&self) -> Option<&'static str> {
        let asked = [
            (self.amount.is_some(), "amount"),
            (self.currency.is_some(), "currency"),
            (self.customer.is_some(), "customer"),
            (self.method.is_some(), "payment_method"),
            (self.capture_method.is_some(), "capture_method"),
        ];
        asked.into_iter().find(|(asked, _)| *asked).map(|(_, name)| name)
    }
}

impl Call for Update {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        if let Some(name) = self.closed_field().filter(|_| !old.status.is_open()) {
            let message = format!(
                "This PaymentIntent's {name} could not be updated because it has a status of {}. You may only update the {name} of \
                 a PaymentIntent with one of the following statuses: requires_payment_method, requires_confirmation, \
                 requires_action.",
                old.status.word()
            );
            return Err(unexpected_state(message, old));
        }
        let mut intent = Intent::clone(old);
        if let Some(customer) = &self.customer {
            world
                .state
                .wallet(world.options, customer)
                .ok_or_else(|| no_such("customer", customer, "customer"))?;
            intent.customer = Some(Expandable::of(customer));
        }
        intent.amount = self.amount.unwrap_or(intent.amount);
        intent.currency = self.currency.map_or(intent.currency, |currency| currency.code);
        Currency::known(intent.currency).check(intent.amount)?;
        if let Some(method) = &self.method {
            attach(&mut intent, method, world)?;
        }
        intent.capture_method = self.capture_method.unwrap_or(intent.capture_method);
        intent.setup_future_usage = self.setup_future_usage.or(intent.setup_future_usage);
        set(&mut intent.description, &self.description);
        set(&mut intent.receipt_email, &self.receipt_email);
        set(&mut intent.transfer_group, &self.transfer_group);
        intent.application_fee_amount = self.fee.or(intent.application_fee_amount);
        intent.paid_to = self.paid_to.clone().or(intent.paid_to);
        intent.shipping = self.shipping.clone().or(intent.shipping);
        intent.metadata = self.metadata.over(&intent.metadata)?;
        let relabelled = relabelled(old, &intent);
        let mut outcome = saved(intent, &self.expand, world);
        outcome.changes.extend(relabelled);
        Ok(outcome)
    }
}

/// What a change of an intent's papers says of it that was not said before; nothing of one by which no money
/// was taken or held.
pub(crate) fn relabelled(old: &Intent, new: &Intent) -> Option<Change> {
    let seen = [
        differs("description", old.description.as_ref(), new.description.as_ref()),
        differs("receipt_email", old.receipt_email.as_ref(), new.receipt_email.as_ref()),
        differs("shipping", shown(&old.shipping).as_ref(), shown(&new.shipping).as_ref()),
    ];
    let labels = Labels {
        object: "payment_intent",
        id: &old.id,
        customer: old.customer(),
        old: &old.metadata,
        new: &new.metadata,
        seen: seen.into_iter().flatten().collect(),
    };
    labels.relabelled().filter(|_| matches!(old.status, Status::Succeeded | Status::RequiresCapture))
}
