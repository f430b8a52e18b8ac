//! `/v1/payment_methods`: creating, updating, attaching and detaching payment methods, and reads. No money
//! moves. A customer's default payment method changes only when it is detached.

use std::sync::Arc;

use yaml_reader::shown;

use super::expand::{Expand, Expands, Fresh};
use super::read::SharedObject;
use super::{ApiCall, CallContext, CallOutcome};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effect_fields;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, missing, no_such, not_found, unsupported_part};
use crate::payment::list::{ListObject, PageRequest};
use crate::payment::metadata::MetadataChange;
use crate::payment::objects::{Billing, Customer, Expandable, Object, PaymentMethod};
use crate::payment::params::Params;
use crate::payment::source::{self, Instrument, declined};
use crate::service::Fields;

/// A payment method to create.
#[derive(Debug)]
pub(crate) struct CreatePaymentMethod {
    card: Instrument,
    method_fields: MethodFields,
    expand: Expand,
}

/// The fields of a payment method in addition to the card.
#[derive(Debug)]
struct MethodFields {
    billing: Option<Box<Billing>>,
    redisplay: Option<&'static str>,
    metadata: MetadataChange,
}

impl MethodFields {
    fn read(params: &Params<'_>) -> Result<Self, Refused> {
        let redisplay = params.choice("allow_redisplay", &["always", "limited", "unspecified"])?;
        Ok(MethodFields {
            billing: Billing::read(params),
            redisplay,
            metadata: MetadataChange::read(params)?,
        })
    }

    fn write(&self, method: &mut PaymentMethod) -> Result<(), Refused> {
        method.billing = self.billing.clone().or(method.billing.take());
        method.redisplay = self.redisplay.unwrap_or(method.redisplay);
        method.metadata = self.metadata.applied_to(&method.metadata)?;
        Ok(())
    }
}

impl CreatePaymentMethod {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_methods";
        params.check_supported(&[allowed::METHOD, allowed::COMMON], allowed::METHOD_UNSUPPORTED, ENDPOINT)?;
        match params.required("type")? {
            "card" => {}
            other => return Err(unsupported_part(&format!("the type `{}`", shown(other)), ENDPOINT, "type")),
        }
        let card = Instrument::of_card(params)?.ok_or_else(|| missing("card"))?;
        let method_fields = MethodFields::read(params)?;
        fields.set("type", "card");
        method_fields.metadata.describe(fields);
        Ok(CreatePaymentMethod { card, method_fields, expand: Expand::read::<PaymentMethod>(params)? })
    }
}

impl ApiCall for CreatePaymentMethod {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let card = context.look_up(&self.card)?;
        let mut method = PaymentMethod::new(context.id("pm_1", 23), card.card, context.now());
        self.method_fields.write(&mut method)?;
        let mut outcome = saved_method(method, &self.expand, context);
        outcome.changes.extend(self.card.token_used(context.state));
        Ok(outcome)
    }
}

fn saved_method(method: PaymentMethod, expand: &Expand, context: &CallContext<'_>) -> CallOutcome {
    let method = Arc::new(method);
    let answer = answers::created(Arc::clone(&method).expanded(expand, context, &Fresh::default()));
    CallOutcome { answer, changes: vec![PaymentChange::MethodSaved(method)] }
}

fn existing_method(id: &str, context: &CallContext<'_>) -> Result<Arc<PaymentMethod>, Refused> {
    context.state.methods.get(id).cloned().ok_or_else(|| not_existing(id))
}

fn not_existing(id: &str) -> Refused {
    Box::new(no_such("PaymentMethod", id, "payment_method").status(404))
}

/// An update of a payment method.
#[derive(Debug)]
pub(crate) struct UpdatePaymentMethod {
    id: String,
    method_fields: MethodFields,
    expand: Expand,
}

impl UpdatePaymentMethod {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_methods/{id}";
        params.check_supported(
            &[allowed::METHOD_UPDATE, allowed::COMMON],
            allowed::METHOD_UPDATE_UNSUPPORTED,
            ENDPOINT,
        )?;
        fields.set("payment_method", id.as_str());
        let method_fields = MethodFields::read(params)?;
        method_fields.metadata.describe(fields);
        Ok(UpdatePaymentMethod { id, method_fields, expand: Expand::read::<PaymentMethod>(params)? })
    }
}

impl ApiCall for UpdatePaymentMethod {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let mut method = PaymentMethod::clone(&*existing_method(&self.id, context)?);
        self.method_fields.write(&mut method)?;
        Ok(saved_method(method, &self.expand, context))
    }
}

/// A payment method to attach to a customer.
#[derive(Debug)]
pub(crate) struct AttachPaymentMethod {
    method: Instrument,
    id: String,
    customer: String,
    expand: Expand,
}

impl AttachPaymentMethod {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_methods/{id}/attach";
        params.check_supported(
            &[allowed::METHOD_ATTACH, allowed::COMMON],
            allowed::METHOD_ATTACH_UNSUPPORTED,
            ENDPOINT,
        )?;
        let customer = params.required("customer")?.to_owned();
        fields.set("payment_method", id.as_str());
        fields.set("customer", customer.as_str());
        Ok(AttachPaymentMethod {
            method: source::method(&id, "payment_method")?,
            id,
            customer,
            expand: Expand::read::<PaymentMethod>(params)?,
        })
    }
}

impl ApiCall for AttachPaymentMethod {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let known = context.state.wallet(context.options, &self.customer);
        known.ok_or_else(|| no_such("customer", &self.customer, "customer"))?;
        let method = attached(&self.method, &self.id, &self.customer, context)?;
        let mut outcome = saved_method(method, &self.expand, context);
        // A customer that a request created is an effect already.
        let owner = context.state.customer(context.options, &self.customer);
        let is_new = owner.is_some_and(|owner| owner.created_by_request);
        for change in outcome.changes.iter_mut().filter(|_| !is_new) {
            if let PaymentChange::MethodSaved(method) = change {
                *change = PaymentChange::MethodAttached(Arc::clone(method));
            }
        }
        Ok(outcome)
    }
}

/// The payment method after it is attached. The name of a test card stands for a new one.
pub(crate) fn attached(
    named: &Instrument,
    id: &str,
    customer: &str,
    context: &CallContext<'_>,
) -> Result<PaymentMethod, Refused> {
    let is_test_card = id.starts_with("pm_card_");
    let mut method = PaymentMethod::clone(&*if is_test_card {
        context.method(named, None)?
    } else {
        existing_method(id, context)?
    });
    match &method.customer {
        Some(owner) if method.attached && owner.id() != customer => {
            let message = "The payment method you provided has already been attached to a customer.";
            return Err(Box::new(
                PaymentError::invalid(message).code("payment_method_unexpected_state").executed(),
            ));
        }
        _ => {}
    }
    if let Some(reason) = method.card.save_decline() {
        return Err(Box::new(declined(reason)));
    }
    method.customer = Some(Expandable::new(customer));
    method.attached = true;
    Ok(method)
}

/// A payment method to detach.
#[derive(Debug)]
pub(crate) struct DetachPaymentMethod {
    id: String,
    expand: Expand,
}

impl DetachPaymentMethod {
    /// Reads the parameters; there are none.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        fields.set("payment_method", id.as_str());
        Ok(DetachPaymentMethod { id, expand: Expand::read::<PaymentMethod>(params)? })
    }
}

impl ApiCall for DetachPaymentMethod {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = existing_method(&self.id, context)?;
        let Some(owner) = old.customer.as_ref().filter(|_| old.attached).map(|owner| owner.id().to_owned())
        else {
            let message =
                "The payment method you provided is not attached to a customer so detachment is impossible.";
            return Err(Box::new(
                PaymentError::invalid(message).code("payment_method_unexpected_state").executed(),
            ));
        };
        let mut method = PaymentMethod::clone(&old);
        (method.customer, method.attached) = (None, false);
        let mut outcome = saved_method(method, &self.expand, context);
        if let Some(before) = context.state.customer(context.options, &owner) {
            let mut customer = Customer::clone(&before);
            customer.remove_card(&self.id);
            // The customer's default changes when it was the default.
            match effect_fields::customer(&before, &customer).filter(|_| !customer.created_by_request) {
                Some(fields) => {
                    outcome.changes.push(PaymentChange::CustomerChanged(Arc::new(customer), Arc::new(fields)))
                }
                None => {
                    // What a customer has that a request created is part of that effect.
                    for change in outcome.changes.iter_mut().filter(|_| !customer.created_by_request) {
                        if let PaymentChange::MethodSaved(method) = change {
                            *change =
                                PaymentChange::MethodDetached(Arc::clone(method), owner.as_str().into());
                        }
                    }
                    if customer.cards.len() < before.cards.len() {
                        outcome.changes.push(PaymentChange::CustomerSaved(Arc::new(customer)));
                    }
                }
            }
        }
        Ok(outcome)
    }
}

/// One payment method by its id, of any customer or of one.
#[derive(Debug)]
pub(crate) struct GetPaymentMethod {
    customer: Option<String>,
    id: String,
    expand: Expand,
}

impl GetPaymentMethod {
    /// Reads the parameters; `customer` is the one in the path.
    pub(crate) fn read(
        customer: Option<String>,
        id: String,
        params: &Params<'_>,
        fields: &mut Fields,
    ) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        fields.set("object", PaymentMethod::KIND);
        fields.set("id", id.as_str());
        if let Some(customer) = &customer {
            fields.set("customer", customer.as_str());
        }
        Ok(GetPaymentMethod { customer, id, expand: Expand::read::<PaymentMethod>(params)? })
    }
}

impl ApiCall for GetPaymentMethod {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let method = match &self.customer {
            Some(customer) => of_customer(customer, context)?
                .into_iter()
                .find(|method| method.id == self.id)
                .ok_or_else(|| not_existing(&self.id))?,
            // The name of a test card stands for a new payment method.
            None if self.id.starts_with("pm_card_") => {
                context.method(&source::method(&self.id, "payment_method")?, None)?
            }
            None => existing_method(&self.id, context)?,
        };
        Ok(CallOutcome::read(answers::ok(&*method.expanded(&self.expand, context, &Fresh::default()))))
    }
}

/// The payment methods of a customer.
#[derive(Debug)]
pub(crate) struct ListCustomerMethods {
    /// `None` when the list is requested without a customer.
    customer: Option<String>,
    is_of_path: bool,
    kind: Option<String>,
    page: PageRequest,
    expand: Expand,
}

impl ListCustomerMethods {
    /// Reads the parameters; `customer` is the one in the path.
    pub(crate) fn read(
        customer: Option<String>,
        params: &Params<'_>,
        fields: &mut Fields,
    ) -> Result<Self, Refused> {
        let is_of_path = customer.is_some();
        let filters: &[&str] =
            if is_of_path { &["type", "allow_redisplay"] } else { &["type", "allow_redisplay", "customer"] };
        params.check(&[allowed::LIST, filters, allowed::COMMON])?;
        let customer = match customer {
            None => params.owned("customer")?,
            customer => customer,
        };
        fields.set("object", PaymentMethod::KIND);
        if let Some(customer) = &customer {
            fields.set("customer", customer.as_str());
        }
        let (kind, page) = (params.owned("type")?, PageRequest::read(params)?);
        Ok(ListCustomerMethods {
            customer,
            is_of_path,
            kind,
            page,
            expand: Expand::of_list::<PaymentMethod>(params)?,
        })
    }
}

impl ApiCall for ListCustomerMethods {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let rows = match &self.customer {
            Some(customer) => of_customer(customer, context)?,
            None => Vec::new(),
        };
        let is_wanted = |_: &PaymentMethod| self.kind.as_deref().is_none_or(|kind| kind == "card");
        let (found, has_more) = self.page.of(&rows, is_wanted)?;
        let data = found
            .into_iter()
            .map(|row| SharedObject(Arc::clone(row).expanded(&self.expand, context, &Fresh::default())));
        let url = match (&self.customer, self.is_of_path) {
            (Some(customer), true) => format!("/v1/customers/{customer}/payment_methods"),
            _ => PaymentMethod::URL.to_owned(),
        };
        Ok(CallOutcome::read(answers::ok(&ListObject::new(url, data.collect(), has_more))))
    }
}

/// All payment methods of a customer, oldest first: its initial cards, and the attached ones.
fn of_customer(id: &str, context: &CallContext<'_>) -> Result<Vec<Arc<PaymentMethod>>, Refused> {
    let customer = context.state.customer(context.options, id).filter(|customer| !customer.deleted);
    let customer = customer.ok_or_else(|| not_found("customer", id))?;
    let given = customer.cards.iter().map(|(card_id, card)| {
        let method = PaymentMethod::new(card_id.clone(), *card, customer.created);
        context.state.methods.get(card_id).cloned().unwrap_or_else(|| Arc::new(method.of_customer(id)))
    });
    let mut methods: Vec<Arc<PaymentMethod>> = Vec::new();
    let attached = context.state.methods.rows().iter().filter(|method| method.attached).cloned();
    let attached = attached.filter(|method| method.customer.as_ref().is_some_and(|owner| owner.id() == id));
    for method in given.chain(attached) {
        if !methods.iter().any(|other| other.id == method.id) {
            methods.push(method);
        }
    }
    Ok(methods)
}
