//! `POST /v1/payment_intents` and `POST /v1/payment_intents/{id}`.

pub(crate) mod steps;

use std::sync::Arc;

use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::calls::charge::steps::shipping_text;
use crate::payment::calls::charge::{fee, receiving_account};
use crate::payment::calls::expand::{Expand, Expands, Fresh};
use crate::payment::calls::{ApiCall, CallContext, CallOutcome, set};
use crate::payment::effect_fields::{LabelUpdate, differs};
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, no_such, not_found, unexpected_state};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{
    AutomaticPaymentMethods, Expandable, Intent, IntentStatus, PaymentMethodOptions, ShippingDetails,
};
use crate::payment::operations::PaymentOperation;
use crate::payment::params::{self, Params};
use crate::payment::source::Instrument;
use crate::service::Fields;
use steps::{Confirmation, confirmed};

const CAPTURE_METHODS: &[&str] = &["automatic", "automatic_async", "manual"];
const CONFIRMATION_METHODS: &[&str] = &["automatic", "manual"];
const FUTURE_USAGE: &[&str] = &["off_session", "on_session"];

/// An intent to create, and perhaps to confirm at once.
#[derive(Debug)]
pub(crate) struct CreateIntent {
    amount: i64,
    currency: Currency,
    customer: Option<String>,
    description: Option<String>,
    metadata: MetadataChange,
    method: Option<Instrument>,
    confirm: bool,
    confirmation: Confirmation,
    automatic_methods: Option<AutomaticPaymentMethods>,
    method_types: Vec<String>,
    capture_method: &'static str,
    confirmation_method: &'static str,
    setup_future_usage: Option<&'static str>,
    application_fee_amount: Option<i64>,
    on_behalf_of: Option<String>,
    receipt_email: Option<String>,
    shipping: Option<Box<ShippingDetails>>,
    statement_descriptor: Option<String>,
    statement_descriptor_suffix: Option<String>,
    transfer_group: Option<String>,
    receiving_account: Option<Box<str>>,
    expand: Expand,
}

impl CreateIntent {
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
        params.check_supported(&known, allowed::INTENT_UNSUPPORTED, "POST /v1/payment_intents")?;
        if !confirm {
            refuse_confirmation_only(params)?;
        }
        let amount = params.required("amount").and_then(|text| params::integer(text, "amount"))?;
        let currency = Currency::read(params.required("currency")?)?;
        currency.check(amount)?;
        let method_types: Vec<String> =
            params.inside("payment_method_types").map(|(_, _, kind)| kind.to_owned()).collect();
        let call = CreateIntent {
            amount,
            currency,
            customer: params.owned("customer")?,
            description: params.owned("description")?,
            metadata: MetadataChange::read(params)?,
            method: Instrument::of_method(params)?,
            confirm: params.boolean("confirm")?.unwrap_or(false),
            confirmation: Confirmation::read(params)?,
            automatic_methods: automatic_methods(params, &method_types)?,
            method_types: if method_types.is_empty() { vec!["card".to_owned()] } else { method_types },
            capture_method: params.choice("capture_method", CAPTURE_METHODS)?.unwrap_or("automatic_async"),
            confirmation_method: params
                .choice("confirmation_method", CONFIRMATION_METHODS)?
                .unwrap_or("automatic"),
            setup_future_usage: params.choice("setup_future_usage", FUTURE_USAGE)?,
            application_fee_amount: fee(params)?,
            receiving_account: receiving_account(params),
            on_behalf_of: params.owned("on_behalf_of")?,
            receipt_email: params.owned("receipt_email")?,
            shipping: ShippingDetails::read(params),
            statement_descriptor: params.owned("statement_descriptor")?,
            statement_descriptor_suffix: params.owned("statement_descriptor_suffix")?,
            transfer_group: params.owned("transfer_group")?,
            expand: Expand::read::<Intent>(params)?,
        };
        fields.set("amount", amount);
        fields.set("currency", currency.code);
        if let Some(customer) = &call.customer {
            fields.set("customer", customer.as_str());
        }
        if let Some(description) = &call.description {
            fields.set("description", description.as_str());
        }
        if call.operation() != PaymentOperation::Charge {
            fields.set("capture_method", call.capture_method);
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    /// The operation: creating only, or also confirming.
    pub(crate) fn operation(&self) -> PaymentOperation {
        match (self.confirm, self.capture_method) {
            (false, _) => PaymentOperation::Intent,
            (true, "manual") => PaymentOperation::Hold,
            (true, _) => PaymentOperation::Charge,
        }
    }

    fn intent(&self, context: &CallContext<'_>) -> Intent {
        let id = context.id("pi_3", 23);
        Intent {
            client_secret: format!("{id}{}", context.id("_secret_", 25)),
            id,
            object: "payment_intent",
            amount: self.amount,
            amount_capturable: 0,
            amount_details: Default::default(),
            amount_received: 0,
            application: (),
            application_fee_amount: self.application_fee_amount,
            automatic_payment_methods: self.automatic_methods,
            canceled_at: None,
            cancellation_reason: None,
            capture_method: self.capture_method,
            confirmation_method: self.confirmation_method,
            created: context.now(),
            currency: self.currency.code,
            customer: self.customer.as_deref().map(Expandable::new),
            customer_account: (),
            description: self.description.clone(),
            excluded_payment_method_types: (),
            last_payment_error: None,
            latest_charge: None,
            livemode: false,
            metadata: self.metadata.on_new_object(),
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
            status: IntentStatus::RequiresPaymentMethod,
            transfer_data: (),
            transfer_group: self.transfer_group.clone(),
            receiving_account: self.receiving_account.clone(),
            method: None,
        }
    }
}

/// Stripe refuses parameters of a confirmation when the request does not confirm.
fn refuse_confirmation_only(params: &Params<'_>) -> Result<(), Refused> {
    for name in ["off_session", "return_url", "mandate_data", "error_on_requires_action"] {
        if params.has(name) {
            let message = format!("You cannot provide `{name}` unless `confirm` is set to true.");
            return Err(Box::new(PaymentError::invalid(message).param(name)));
        }
    }
    Ok(())
}

/// Stripe chooses the payment methods unless the client names some or disables it.
fn automatic_methods(
    params: &Params<'_>,
    named: &[String],
) -> Result<Option<AutomaticPaymentMethods>, Refused> {
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
        return Err(Box::new(PaymentError::invalid(message)));
    }
    if !enabled || !named.is_empty() {
        return Ok(None);
    }
    let allow_redirects = if inside("allow_redirects") == Some("never") { "never" } else { "always" };
    Ok(Some(AutomaticPaymentMethods { allow_redirects, enabled: true }))
}

/// Sets the payment method of an intent.
pub(crate) fn set_payment_method(
    intent: &mut Intent,
    method: &Instrument,
    context: &CallContext<'_>,
) -> Result<(), Refused> {
    let method = context.method(method, intent.customer())?;
    intent.pay_with(method);
    Ok(())
}

impl ApiCall for CreateIntent {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        if let Some(customer) = &self.customer {
            context
                .state
                .wallet(context.options, customer)
                .ok_or_else(|| no_such("customer", customer, "customer"))?;
        }
        let mut intent = self.intent(context);
        if let Some(method) = &self.method {
            set_payment_method(&mut intent, method, context)?;
        }
        if self.confirm {
            confirmed(intent, &self.confirmation, &self.expand, context)
        } else {
            Ok(saved_intent(intent, &self.expand, context))
        }
    }
}

/// An intent that is stored without moving money.
pub(crate) fn saved_intent(intent: Intent, expand: &Expand, context: &CallContext<'_>) -> CallOutcome {
    let intent = Arc::new(intent);
    let answer = answers::created(Arc::clone(&intent).expanded(expand, context, &Fresh::default()));
    CallOutcome { answer, changes: vec![PaymentChange::IntentSaved(intent)] }
}

/// An update of an intent.
#[derive(Debug)]
pub(crate) struct UpdateIntent {
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
    receiving_account: Option<Box<str>>,
    shipping: Option<Box<ShippingDetails>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl UpdateIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let known = [allowed::INTENT_WRITE, allowed::INTENT, allowed::COMMON];
        params.check_supported(&known, allowed::INTENT_UNSUPPORTED, "POST /v1/payment_intents/{id}")?;
        let call = UpdateIntent {
            amount: params.integer("amount")?,
            currency: params.text("currency")?.map(Currency::read).transpose()?,
            customer: params.owned("customer")?,
            method: Instrument::of_method(params)?,
            capture_method: params.choice("capture_method", CAPTURE_METHODS)?,
            setup_future_usage: params.choice("setup_future_usage", FUTURE_USAGE)?,
            description: params.clearable("description")?,
            receipt_email: params.clearable("receipt_email")?,
            transfer_group: params.clearable("transfer_group")?,
            fee: fee(params)?,
            receiving_account: receiving_account(params),
            shipping: ShippingDetails::read(params),
            metadata: MetadataChange::read(params)?,
            expand: Expand::read::<Intent>(params)?,
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

    /// A field in the request that can only be changed before the confirmation.
    fn field_fixed_by_confirmation(&self) -> Option<&'static str> {
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

impl ApiCall for UpdateIntent {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = context.state.intents.get(&self.id).ok_or_else(|| not_found("payment_intent", &self.id))?;
        if let Some(name) = self.field_fixed_by_confirmation().filter(|_| !old.status.is_open()) {
            let message = format!(
                "This PaymentIntent's {name} could not be updated because it has a status of {}. You may \
                 only update the {name} of \
                 a PaymentIntent with one of the following statuses: requires_payment_method, \
                 requires_confirmation, \
                 requires_action.",
                old.status.as_str()
            );
            return Err(unexpected_state(message, old));
        }
        let mut intent = Intent::clone(old);
        if let Some(customer) = &self.customer {
            context
                .state
                .wallet(context.options, customer)
                .ok_or_else(|| no_such("customer", customer, "customer"))?;
            intent.customer = Some(Expandable::new(customer));
        }
        intent.amount = self.amount.unwrap_or(intent.amount);
        intent.currency = self.currency.map_or(intent.currency, |currency| currency.code);
        Currency::known(intent.currency).check(intent.amount)?;
        if let Some(method) = &self.method {
            set_payment_method(&mut intent, method, context)?;
        }
        intent.capture_method = self.capture_method.unwrap_or(intent.capture_method);
        intent.setup_future_usage = self.setup_future_usage.or(intent.setup_future_usage);
        set(&mut intent.description, &self.description);
        set(&mut intent.receipt_email, &self.receipt_email);
        set(&mut intent.transfer_group, &self.transfer_group);
        intent.application_fee_amount = self.fee.or(intent.application_fee_amount);
        intent.receiving_account = self.receiving_account.clone().or(intent.receiving_account);
        intent.shipping = self.shipping.clone().or(intent.shipping);
        intent.metadata = self.metadata.applied_to(&intent.metadata)?;
        let label_change = label_change(old, &intent);
        let mut outcome = saved_intent(intent, &self.expand, context);
        outcome.changes.extend(label_change);
        Ok(outcome)
    }
}

/// The change of an intent's labels, if the update changes any; none for an intent that has not captured or
/// authorized money.
pub(crate) fn label_change(old: &Intent, new: &Intent) -> Option<PaymentChange> {
    let seen = [
        differs("description", old.description.as_ref(), new.description.as_ref()),
        differs("receipt_email", old.receipt_email.as_ref(), new.receipt_email.as_ref()),
        differs("shipping", shipping_text(&old.shipping).as_ref(), shipping_text(&new.shipping).as_ref()),
        differs(
            "setup_future_usage",
            old.setup_future_usage.map(str::to_owned).as_ref(),
            new.setup_future_usage.map(str::to_owned).as_ref(),
        ),
    ];
    let labels = LabelUpdate {
        object: "payment_intent",
        id: &old.id,
        customer: old.customer(),
        old: &old.metadata,
        new: &new.metadata,
        seen: seen.into_iter().flatten().collect(),
    };
    labels.change().filter(|_| matches!(old.status, IntentStatus::Succeeded | IntentStatus::RequiresCapture))
}
