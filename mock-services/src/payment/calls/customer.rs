//! `POST /v1/customers`, `POST /v1/customers/{id}` and `DELETE /v1/customers/{id}`. Creating a customer is
//! not an effect; changing what an existing customer owes, receives or sees is one, and so is deleting a
//! customer.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::method::attached;
use super::subscription::cancel::end_subscription;
use super::{ApiCall, CallContext, CallOutcome, set};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effect_fields;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{Refused, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::objects::{Customer, Expandable, PostalAddress, ShippingDetails};
use crate::payment::params::Params;
use crate::payment::source::{self, Instrument, declined};
use crate::service::Fields;

/// A customer to create or, with an id, to update.
#[derive(Debug)]
pub(crate) struct SaveCustomer {
    id: Option<String>,
    balance: Option<i64>,
    description: Option<Option<String>>,
    email: Option<Option<String>>,
    name: Option<Option<String>>,
    phone: Option<Option<String>>,
    address: Option<PostalAddress>,
    shipping: Option<Box<ShippingDetails>>,
    preferred_locales: Vec<String>,
    tax_exempt: Option<&'static str>,
    source: Option<Instrument>,
    default_source: Option<String>,
    default_method: Option<Instrument>,
    /// The payment method to set as default, with the name of its parameter.
    method: Option<(Instrument, String)>,
    metadata: MetadataChange,
    expand: Expand,
}

impl SaveCustomer {
    /// Reads the parameters.
    pub(crate) fn read(
        id: Option<String>,
        params: &Params<'_>,
        fields: &mut Fields,
    ) -> Result<Self, Refused> {
        let endpoint = if id.is_some() { "POST /v1/customers/{id}" } else { "POST /v1/customers" };
        params.check_supported(
            &[allowed::CUSTOMER, allowed::COMMON],
            allowed::CUSTOMER_UNSUPPORTED,
            endpoint,
        )?;
        let method = params.text("payment_method")?;
        let method = method
            .map(|id| Ok::<_, Refused>((source::method(id, "payment_method")?, id.to_owned())))
            .transpose()?;
        let invoices = params.inside("invoice_settings").find(|(name, ..)| *name == "default_payment_method");
        let default_method = invoices
            .filter(|(_, _, value)| !value.is_empty())
            .map(|(_, _, value)| source::method(value, "invoice_settings[default_payment_method]"))
            .transpose()?;
        let call = SaveCustomer {
            id,
            balance: params.integer("balance")?,
            description: params.clearable("description")?,
            email: params.clearable("email")?,
            name: params.clearable("name")?,
            phone: params.clearable("phone")?,
            address: PostalAddress::read(params),
            shipping: ShippingDetails::read(params),
            preferred_locales: params
                .inside("preferred_locales")
                .map(|(_, _, locale)| locale.to_owned())
                .collect(),
            tax_exempt: params.choice("tax_exempt", &["none", "exempt", "reverse"])?,
            source: Instrument::of_source(params)?,
            default_source: params.owned("default_source")?,
            default_method,
            method,
            metadata: MetadataChange::read(params)?,
            expand: Expand::read::<Customer>(params)?,
        };
        if let Some(id) = &call.id {
            fields.set("customer", id.as_str());
        }
        for (name, value) in
            [("email", &call.email), ("name", &call.name), ("description", &call.description)]
        {
            if let Some(Some(value)) = value {
                fields.set(name, value.as_str());
            }
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    fn fill(&self, customer: &mut Customer, context: &CallContext<'_>) -> Result<(), Refused> {
        customer.balance = self.balance.unwrap_or(customer.balance);
        set(&mut customer.description, &self.description);
        set(&mut customer.email, &self.email);
        set(&mut customer.name, &self.name);
        set(&mut customer.phone, &self.phone);
        customer.address = self.address.clone().or(customer.address.take());
        customer.shipping = self.shipping.clone().or(customer.shipping.take());
        if !self.preferred_locales.is_empty() {
            customer.preferred_locales.clone_from(&self.preferred_locales);
        }
        customer.tax_exempt = self.tax_exempt.unwrap_or(customer.tax_exempt);
        customer.metadata = self.metadata.applied_to(&customer.metadata)?;
        if let Some(method) = &self.default_method {
            let method = context.look_up(method)?;
            let id = method.id(&context.request.ids, "pm_1");
            customer.add_card(&id, method.card);
            customer.invoice_settings.default_payment_method = Some(Expandable::new(&id));
        }
        if let Some(source) = &self.default_source {
            if !customer.cards.iter().any(|(id, _)| id == source) {
                return Err(no_such("source", source, "default_source"));
            }
            customer.default_source = Some(source.clone());
        }
        if let Some(source) = &self.source {
            let source = context.look_up(source)?;
            if let Some(reason) = source.card.save_decline() {
                return Err(Box::new(declined(reason)));
            }
            let id = source.id(&context.request.ids, "card_1");
            customer.cards.push((id.clone(), source.card));
            customer.default_source = Some(id);
        }
        Ok(())
    }
}

impl ApiCall for SaveCustomer {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = match &self.id {
            None => Arc::new(Customer {
                created_by_request: true,
                ..Customer::bare(&context.id("cus_", 14), context.now())
            }),
            Some(id) => existing_customer(id, context)?,
        };
        let mut customer = Customer::clone(&old);
        let mut more = Vec::new();
        if let Some((method, id)) = &self.method {
            let method = attached(method, id, &customer.id, context)?;
            customer.add_card(&method.id, method.card);
            let method = Arc::new(method);
            more.push(match old.created_by_request {
                true => PaymentChange::MethodSaved(method),
                false => PaymentChange::MethodAttached(method),
            });
        }
        self.fill(&mut customer, context)?;
        more.extend(self.source.as_ref().and_then(|source| source.token_used(context.state)));
        // Filling in a customer that a request created is not an effect, but a balance is money in every
        // case.
        let counts = !customer.created_by_request || customer.balance != old.balance;
        let changed = effect_fields::customer(&old, &customer).filter(|_| counts);
        let customer = Arc::new(customer);
        let answer = answers::ok(&*Arc::clone(&customer).expanded(&self.expand, context, &Fresh::default()));
        let change = match changed {
            Some(fields) => PaymentChange::CustomerChanged(customer, Arc::new(fields)),
            None if self.id.is_none() => PaymentChange::CustomerCreated(customer),
            None => PaymentChange::CustomerSaved(customer),
        };
        Ok(CallOutcome { answer, changes: std::iter::once(change).chain(more).collect() })
    }
}

fn existing_customer(id: &str, context: &CallContext<'_>) -> Result<Arc<Customer>, Refused> {
    let customer = context.state.customer(context.options, id).filter(|customer| !customer.deleted);
    customer.ok_or_else(|| not_found("customer", id))
}

/// A customer to delete.
#[derive(Debug)]
pub(crate) struct DeleteCustomer {
    id: String,
}

impl DeleteCustomer {
    /// Reads the parameters; there are none.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[])?;
        fields.set("customer", id.as_str());
        Ok(DeleteCustomer { id })
    }
}

impl ApiCall for DeleteCustomer {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let mut customer = existing_customer(&self.id, context)?;
        Arc::make_mut(&mut customer).deleted = true;
        let answer = answers::ok(&customer.view());
        // All subscriptions of the customer end at once.
        let running = context
            .state
            .subscriptions
            .rows()
            .iter()
            .filter(|subscription| subscription.customer.id() == self.id);
        let ended = running.filter_map(|subscription| end_subscription(subscription, Fields::new(), context));
        Ok(CallOutcome {
            answer,
            changes: std::iter::once(PaymentChange::CustomerDeleted(Arc::clone(&customer)))
                .chain(ended)
                .collect(),
        })
    }
}
