//! `POST /v1/charges`, `POST /v1/charges/{id}` and `POST /v1/charges/{id}/capture`.

use std::sync::Arc;

use compact_str::CompactString;

use super::expand::{Expand, Expands, Fresh};
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::cards::{Card, Decline};
use crate::payment::described::{Labels, differs};
use crate::payment::effects::Change;
use crate::payment::errors::{Problem, Refused, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{
    BillingDetails, CardSource, Charge, Expandable, Outcome as BankOutcome, PaymentMethodDetails, ReceiptUrl,
    Shipping,
};
use crate::payment::params::Params;
use crate::payment::source::{Instrument, declined};
use crate::service::Fields;

/// A charge that is to be made.
#[derive(Debug)]
pub(crate) struct Create {
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
        params.check(&[allowed::CHARGE, allowed::COMMON])?;
        let amount =
            params.required("amount").and_then(|text| crate::payment::params::integer(text, "amount"))?;
        let currency = Currency::read(params.required("currency")?)?;
        currency.check(amount)?;
        let call = Create {
            amount,
            currency,
            customer: params.text("customer")?.map(CompactString::from),
            description: params.owned("description")?,
            metadata: MetadataChange::read(params)?,
            source: Instrument::of_source(params)?,
            capture: params.boolean("capture")?.unwrap_or(true),
            application_fee_amount: fee(params)?,
            paid_to: paid_to(params),
            on_behalf_of: params.owned("on_behalf_of")?,
            receipt_email: params.owned("receipt_email")?,
            shipping: Shipping::read(params),
            statement_descriptor: params.owned("statement_descriptor")?,
            statement_descriptor_suffix: params.owned("statement_descriptor_suffix")?,
            transfer_group: params.owned("transfer_group")?,
            expand: Expand::of::<Charge>(params)?,
        };
        if call.source.is_none() && call.customer.is_none() {
            return Err(Box::new(
                Problem::invalid("Must provide source or customer.").code("parameter_missing"),
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

    /// Whether the money is taken at once.
    pub(crate) fn captures(&self) -> bool {
        self.capture
    }

    /// The card that is charged.
    fn instrument(&self, world: &World<'_>) -> Result<Instrument, Refused> {
        let Some(customer) = &self.customer else {
            let source = self
                .source
                .as_ref()
                .ok_or_else(|| Box::new(Problem::invalid("Must provide source or customer.")))?;
            return world.look_up(source);
        };
        let wallet = world
            .state
            .wallet(world.options, customer)
            .ok_or_else(|| no_such("customer", customer, "customer"))?;
        if let Some(source) = &self.source {
            return world.look_up(source);
        }
        wallet.card.map(|(id, card)| Instrument::known(id, card)).ok_or_else(|| {
            let message = "Cannot charge a customer that has no active card";
            Box::new(Problem::new(402, "card_error", message).code("missing").param("card").begun())
        })
    }
}

/// What the platform keeps of a charge, under either name.
pub(crate) fn fee(params: &Params<'_>) -> Result<Option<i64>, Refused> {
    Ok(params.integer("application_fee_amount")?.or(params.integer("application_fee")?))
}

/// The account to which the money goes on, in the old way or the new one.
pub(crate) fn paid_to(params: &Params<'_>) -> Option<Box<str>> {
    let inside = |root: &'static str, wanted: &str| {
        params.inside(root).find(|(name, ..)| *name == wanted).map(|(_, _, account)| account)
    };
    let account = inside("transfer_data", "destination")
        .or(params.raw("destination"))
        .or(inside("destination", "account"));
    account.filter(|account| !account.is_empty()).map(Box::from)
}

/// Why this card is declined, if it is: by its bank, or because the customer's always are.
pub(crate) fn decline(card: Card, customer: Option<&str>, world: &World<'_>) -> Option<Decline> {
    let always = customer.is_some_and(|customer| world.options.declines(customer));
    card.decline.or(always.then_some(Decline::Generic))
}

/// A charge that the bank agreed to, with nothing in it yet but the money. Held until it is captured.
pub(crate) fn approved(
    world: &World<'_>,
    amount: i64,
    currency: &'static str,
    card: Card,
    method: String,
) -> Charge {
    Charge {
        id: world.id("ch_3", 23),
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
        created: world.now(),
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
        outcome: &BankOutcome::APPROVED,
        paid: true,
        payment_intent: None,
        payment_method: method,
        payment_method_details: PaymentMethodDetails { card, amount },
        radar_options: Default::default(),
        receipt_email: None,
        receipt_number: (),
        receipt_url: Some(ReceiptUrl(world.context.ids)),
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
        paid_to: None,
    }
}

impl Call for Create {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let instrument = self.instrument(world)?;
        let card = instrument.card;
        let method = instrument.into_id(&world.context.ids, "card_1");
        let source = CardSource { id: method.clone(), customer: self.customer.clone(), card };
        let mut charge = Charge {
            application_fee_amount: self.application_fee_amount,
            customer: self.customer.clone().map(Expandable::Id),
            description: self.description.clone(),
            metadata: self.metadata.fresh(),
            on_behalf_of: self.on_behalf_of.clone(),
            receipt_email: self.receipt_email.clone(),
            shipping: self.shipping.clone(),
            source: Some(source),
            statement_descriptor: self.statement_descriptor.clone(),
            statement_descriptor_suffix: self.statement_descriptor_suffix.clone(),
            transfer_group: self.transfer_group.clone(),
            paid_to: self.paid_to.clone(),
            ..approved(world, self.amount, self.currency.code, card, method)
        };
        if let Some(reason) = decline(card, self.customer.as_deref(), world) {
            let failed = Arc::new(charge.failed(reason));
            return Err(Box::new(
                declined(reason).charge(&failed.id).leaving(vec![Change::ChargeSaved(failed)]),
            ));
        }
        if self.capture {
            charge.capture(self.amount, world.id("txn_3", 23));
        }
        let mut outcome = saved(Arc::new(charge), self.capture, &self.expand, world);
        outcome.changes.extend(self.source.as_ref().and_then(|source| source.token_used(world.state)));
        Ok(outcome)
    }
}

fn saved(charge: Arc<Charge>, money_moved: bool, expand: &Expand, world: &World<'_>) -> Outcome {
    let answer = answers::made(Arc::clone(&charge).expanded(expand, world, &Fresh::default()));
    let change = if money_moved { Change::Charged(charge) } else { Change::ChargeSaved(charge) };
    Outcome { answer, changes: vec![change] }
}

/// Taking what an earlier charge holds.
#[derive(Debug)]
pub(crate) struct Capture {
    id: String,
    amount: Option<i64>,
    fee: Option<i64>,
    paid_to: Option<Box<str>>,
    expand: Expand,
}

impl Capture {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::CHARGE_CAPTURE, allowed::COMMON])?;
        let amount = params.integer("amount")?;
        fields.set("charge", id.as_str());
        if let Some(amount) = amount {
            fields.set("amount", amount);
        }
        Ok(Capture {
            id,
            amount,
            fee: fee(params)?,
            paid_to: paid_to(params),
            expand: Expand::of::<Charge>(params)?,
        })
    }
}

impl Call for Capture {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let held = world.state.charges.get(&self.id).ok_or_else(|| not_found("charge", &self.id))?;
        if !held.paid {
            let message = format!("Charge {} cannot be captured because it failed.", held.id);
            return Err(Box::new(Problem::invalid(message).begun()));
        }
        if let Some(intent) = held.payment_intent() {
            let message = format!(
                "This charge was created by the PaymentIntent {intent} and cannot be captured directly. Capture the PaymentIntent \
                 instead."
            );
            return Err(Box::new(Problem::invalid(message).begun()));
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
            return Err(Box::new(Problem::invalid(message).code(code).begun()));
        }
        let amount = capturable(self.amount, held.amount, held.currency, "amount")?;
        let mut charge = Charge::clone(held);
        charge.capture(amount, world.id("txn_3", 23));
        charge.application_fee_amount = self.fee.or(charge.application_fee_amount);
        charge.paid_to = self.paid_to.clone().or(charge.paid_to);
        Ok(saved(Arc::new(charge), true, &self.expand, world))
    }
}

/// How much is captured of what is held.
pub(crate) fn capturable(
    asked: Option<i64>,
    held: i64,
    currency: &'static str,
    param: &'static str,
) -> Result<i64, Refused> {
    match asked {
        None => Ok(held),
        Some(amount) if amount < 1 => Err(Box::new(crate::payment::money::at_least_one(param))),
        Some(amount) if amount > held => {
            let currency = Currency::known(currency);
            let message = format!(
                "The requested capture amount ({}) is greater than the amount that was authorized ({}).",
                currency.show(amount),
                currency.show(held)
            );
            Err(Box::new(Problem::invalid(message).code("amount_too_large").param(param).begun()))
        }
        Some(amount) => Ok(amount),
    }
}

/// A change of a charge's papers.
#[derive(Debug)]
pub(crate) struct Update {
    id: String,
    customer: Option<String>,
    description: Option<Option<String>>,
    receipt_email: Option<Option<String>>,
    transfer_group: Option<Option<String>>,
    shipping: Option<Box<Shipping>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl Update {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::CHARGE_UPDATE, allowed::COMMON])?;
        let call = Update {
            customer: params.owned("customer")?,
            description: params.clearable("description")?,
            receipt_email: params.clearable("receipt_email")?,
            transfer_group: params.clearable("transfer_group")?,
            shipping: Shipping::read(params),
            metadata: MetadataChange::read(params)?,
            expand: Expand::of::<Charge>(params)?,
            id,
        };
        fields.set("charge", call.id.as_str());
        call.metadata.describe(fields);
        Ok(call)
    }
}

impl Call for Update {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.charges.get(&self.id).ok_or_else(|| not_found("charge", &self.id))?;
        let mut charge = Charge::clone(old);
        if let Some(customer) = &self.customer {
            world
                .state
                .wallet(world.options, customer)
                .ok_or_else(|| no_such("customer", customer, "customer"))?;
            charge.customer = Some(Expandable::of(customer));
        }
        super::set(&mut charge.description, &self.description);
        super::set(&mut charge.receipt_email, &self.receipt_email);
        super::set(&mut charge.transfer_group, &self.transfer_group);
        charge.shipping = self.shipping.clone().or(charge.shipping);
        charge.metadata = self.metadata.over(&charge.metadata)?;
        let relabelled = relabelled(old, &charge);
        let mut outcome = saved(Arc::new(charge), false, &self.expand, world);
        outcome.changes.extend(relabelled);
        Ok(outcome)
    }
}

/// What a change of a charge's papers says of it that was not said before; nothing of one that failed.
fn relabelled(old: &Charge, new: &Charge) -> Option<Change> {
    let customer = |charge: &Charge| charge.customer().map(str::to_owned);
    let seen = [
        differs("new_customer", customer(old).as_ref(), customer(new).as_ref()),
        differs("description", old.description.as_ref(), new.description.as_ref()),
        differs("receipt_email", old.receipt_email.as_ref(), new.receipt_email.as_ref()),
        differs("shipping", shown(&old.shipping).as_ref(), shown(&new.shipping).as_ref()),
    ];
    let labels = Labels {
        object: "charge",
        id: &old.id,
        customer: old.customer(),
        old: &old.metadata,
        new: &new.metadata,
        seen: seen.into_iter().flatten().collect(),
    };
    labels.relabelled().filter(|_| old.paid)
}

/// Where goods are sent, in one text.
pub(crate) fn shown(shipping: &Option<Box<Shipping>>) -> Option<String> {
    shipping.as_ref().and_then(|shipping| serde_json::to_string(shipping).ok())
}
