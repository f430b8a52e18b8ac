//! `POST /v1/charges`; the later steps of a charge are in [`steps`].

pub(crate) mod steps;

use std::sync::Arc;

use compact_str::CompactString;

use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::calls::expand::{Expand, Expands, Fresh};
use crate::payment::calls::{ApiCall, CallContext, CallOutcome};
use crate::payment::cards::{Card, Decline};
use crate::payment::effect_fields;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, no_such};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{
    BillingDetails, CardSource, Charge, ChargeOutcome, Expandable, PaymentMethodDetails, ReceiptUrl,
    ShippingDetails,
};
use crate::payment::params::Params;
use crate::payment::source::{Instrument, declined};
use crate::service::Fields;

/// A charge to create.
#[derive(Debug)]
pub(crate) struct CreateCharge {
    amount: i64,
    currency: Currency,
    customer: Option<CompactString>,
    description: Option<String>,
    metadata: MetadataChange,
    source: Option<Instrument>,
    capture: bool,
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

impl CreateCharge {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::CHARGE, allowed::COMMON])?;
        let amount =
            params.required("amount").and_then(|text| crate::payment::params::integer(text, "amount"))?;
        let currency = Currency::read(params.required("currency")?)?;
        currency.check(amount)?;
        let call = CreateCharge {
            amount,
            currency,
            customer: params.text("customer")?.map(CompactString::from),
            description: params.owned("description")?,
            metadata: MetadataChange::read(params)?,
            source: Instrument::of_source(params)?,
            capture: params.boolean("capture")?.unwrap_or(true),
            application_fee_amount: fee(params)?,
            receiving_account: receiving_account(params),
            on_behalf_of: params.owned("on_behalf_of")?,
            receipt_email: params.owned("receipt_email")?,
            shipping: ShippingDetails::read(params),
            statement_descriptor: params.owned("statement_descriptor")?,
            statement_descriptor_suffix: params.owned("statement_descriptor_suffix")?,
            transfer_group: params.owned("transfer_group")?,
            expand: Expand::read::<Charge>(params)?,
        };
        if call.source.is_none() && call.customer.is_none() {
            return Err(Box::new(
                PaymentError::invalid("Must provide source or customer.").code("parameter_missing"),
            ));
        }
        fields.set("amount", amount);
        fields.set("currency", currency.code);
        if let Some(customer) = &call.customer {
            fields.set("customer", customer.as_str());
        }
        if let Some(description) = &call.description {
            fields.set("description", description.as_str());
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    /// Whether the money is captured at once.
    pub(crate) fn captures_at_once(&self) -> bool {
        self.capture
    }

    /// The card to charge.
    fn instrument(&self, context: &CallContext<'_>) -> Result<Instrument, Refused> {
        let Some(customer) = &self.customer else {
            let source = self
                .source
                .as_ref()
                .ok_or_else(|| Box::new(PaymentError::invalid("Must provide source or customer.")))?;
            return context.look_up(source);
        };
        let wallet = context
            .state
            .wallet(context.options, customer)
            .ok_or_else(|| no_such("customer", customer, "customer"))?;
        if let Some(source) = &self.source {
            return context.look_up(source);
        }
        wallet.card.map(|(id, card)| Instrument::known(id, card)).ok_or_else(|| {
            let message = "Cannot charge a customer that has no active card";
            Box::new(PaymentError::new(402, "card_error", message).code("missing").param("card").executed())
        })
    }
}

/// The platform's fee for a charge, under either name.
pub(crate) fn fee(params: &Params<'_>) -> Result<Option<i64>, Refused> {
    Ok(params.integer("application_fee_amount")?.or(params.integer("application_fee")?))
}

/// The account that receives the money, from the old or the new parameter.
pub(crate) fn receiving_account(params: &Params<'_>) -> Option<Box<str>> {
    let inside = |root: &'static str, wanted: &str| {
        params.inside(root).find(|(name, ..)| *name == wanted).map(|(_, _, account)| account)
    };
    let account = inside("transfer_data", "destination")
        .or(params.raw("destination"))
        .or(inside("destination", "account"));
    account.filter(|account| !account.is_empty()).map(Box::from)
}

/// Why this card is declined, if it is: by its bank, or because all cards of the customer are.
pub(crate) fn decline(card: Card, customer: Option<&str>, context: &CallContext<'_>) -> Option<Decline> {
    let always = customer.is_some_and(|customer| context.options.declines(customer));
    card.decline.or(always.then_some(Decline::Generic))
}

/// A charge that the bank approved, authorized until it is captured.
pub(crate) fn approved_charge(
    context: &CallContext<'_>,
    amount: i64,
    currency: &'static str,
    card: Card,
    method: String,
) -> Charge {
    Charge {
        id: context.id("ch_3", 23),
        object: "charge",
        amount,
        amount_captured: 0,
        amount_refunded: 0,
        application: (),
        application_fee: (),
        application_fee_amount: None,
        balance_transaction: None,
        billing_details: BillingDetails::default(),
        calculated_statement_descriptor: Some("Stripe"),
        captured: false,
        created: context.now(),
        currency,
        customer: None,
        description: None,
        destination: (),
        dispute: (),
        disputed: false,
        failure_balance_transaction: (),
        failure_code: None,
        failure_message: None,
        fraud_details: Default::default(),
        invoice: (),
        livemode: false,
        metadata: Default::default(),
        on_behalf_of: None,
        order: (),
        outcome: &ChargeOutcome::APPROVED,
        paid: true,
        payment_intent: None,
        payment_method: method,
        payment_method_details: PaymentMethodDetails { card, amount },
        radar_options: Default::default(),
        receipt_email: None,
        receipt_number: (),
        receipt_url: Some(ReceiptUrl(context.request.ids)),
        refunded: false,
        review: (),
        shipping: None,
        source: None,
        source_transfer: (),
        statement_descriptor: None,
        statement_descriptor_suffix: None,
        status: "succeeded",
        transfer_data: (),
        transfer_group: None,
        receiving_account: None,
        noticed: None,
    }
}

impl ApiCall for CreateCharge {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let instrument = self.instrument(context)?;
        let card = instrument.card;
        let method = instrument.into_id(&context.request.ids, "card_1");
        let source = CardSource { id: method.clone(), customer: self.customer.clone(), card };
        let mut charge = Charge {
            application_fee_amount: self.application_fee_amount,
            customer: self.customer.clone().map(Expandable::Id),
            description: self.description.clone(),
            metadata: self.metadata.on_new_object(),
            on_behalf_of: self.on_behalf_of.clone(),
            receipt_email: self.receipt_email.clone(),
            shipping: self.shipping.clone(),
            source: Some(source),
            statement_descriptor: self.statement_descriptor.clone(),
            statement_descriptor_suffix: self.statement_descriptor_suffix.clone(),
            transfer_group: self.transfer_group.clone(),
            receiving_account: self.receiving_account.clone(),
            noticed: effect_fields::noticed(
                context,
                self.customer.as_deref(),
                (self.receipt_email.as_deref(), &self.shipping),
                None,
            ),
            ..approved_charge(context, self.amount, self.currency.code, card, method)
        };
        if let Some(reason) = decline(card, self.customer.as_deref(), context) {
            let failed = Arc::new(charge.failed(reason));
            return Err(Box::new(
                declined(reason).charge(&failed.id).committing(vec![PaymentChange::ChargeSaved(failed)]),
            ));
        }
        if self.capture {
            charge.capture(self.amount, context.id("txn_3", 23));
        }
        let mut outcome = saved_charge(Arc::new(charge), self.capture, &self.expand, context);
        outcome.changes.extend(self.source.as_ref().and_then(|source| source.token_used(context.state)));
        Ok(outcome)
    }
}

fn saved_charge(
    charge: Arc<Charge>,
    money_moved: bool,
    expand: &Expand,
    context: &CallContext<'_>,
) -> CallOutcome {
    let answer = answers::created(Arc::clone(&charge).expanded(expand, context, &Fresh::default()));
    let change =
        if money_moved { PaymentChange::Charged(charge) } else { PaymentChange::ChargeSaved(charge) };
    CallOutcome { answer, changes: vec![change] }
}
