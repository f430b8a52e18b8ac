//! `POST /v1/customers`, `POST /v1/customers/{id}` and `DELETE /v1/customers/{id}`. Making a customer is
//! bookkeeping; changing what a customer that was there before owes, gets or can see is not, and deleting one
//! never is.

use std::sync::Arc;

use super::expand::Expand;
use super::method::attached;
use super::{Call, Outcome, World, set, unsubscribe};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::described;
use crate::payment::effects::Change;
use crate::payment::errors::{Refused, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::objects::{Address, Customer, Shipping};
use crate::payment::params::Params;
use crate::payment::source::{self, Instrument, declined};
use crate::service::Fields;

/// A customer that is to be made or, with an id, changed.
#[derive(Debug)]
pub(crate) struct Save {
    id: Option<String>,
    balance: Option<i64>,
    description: Option<Option<String>>,
    email: Option<Option<String>>,
    name: Option<Option<String>>,
    phone: Option<Option<String>>,
    address: Option<Address>,
    shipping: Option<Box<Shipping>>,
    preferred_locales: Vec<String>,
    tax_exempt: Option<&'static str>,
    source: Option<Instrument>,
    default_source: Option<String>,
    default_method: Option<Instrument>,
    /// What it is to have, with the name that the request has for it.
    method: Option<(Instrument, String)>,
    metadata: MetadataChange,
}

impl Save {
    /// Reads the parameters.
    pub(crate) fn read(
        id: Option<String>,
        params: &Params<'_>,
        fields: &mut Fields,
    ) -> Result<Self, Refused> {
        let endpoint = if id.is_some() { "POST /v1/customers/{id}" } else { "POST /v1/customers" };
        params.check_done(&[allowed::CUSTOMER, allowed::COMMON], allowed::CUSTOMER_LACKING, endpoint)?;
        // Nothing that a customer refers to is at hand, but what cannot be expanded is refused all the same.
        Expand::of::<Customer>(params)?;
        let method = params.text("payment_method")?;
        let method = method
            .map(|id| Ok::<_, Refused>((source::method(id, "payment_method")?, id.to_owned())))
            .transpose()?;
        let invoices = params.inside("invoice_settings").find(|(name, ..)| *name == "default_payment_method");
        let default_method = invoices
            .filter(|(_, _, value)| !value.is_empty())
            .map(|(_, _, value)| source::method(value, "invoice_settings[default_payment_method]"))
            .transpose()?;
        let call = Save {
            id,
            balance: params.integer("balance")?,
            description: params.clearable("description")?,
            email: params.clearable("email")?,
            name: params.clearable("name")?,
            phone: params.clearable("phone")?,
            address: Address::read(params),
            shipping: Shipping::read(params),
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

    fn fill(&self, customer: &mut Customer, world: &World<'_>) -> Result<(), Refused> {
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
        customer.metadata = self.metadata.over(&customer.metadata)?;
        if let Some(method) = &self.default_method {
            let method = world.look_up(method)?;
            let id = method.id(&world.context.ids, "pm_1");
            customer.gain(&id, method.card);
            customer.invoice_settings.default_payment_method = Some(id);
        }
        if let Some(source) = &self.default_source {
            if !customer.cards.iter().any(|(id, _)| id == source) {
                return Err(no_such("source", source, "default_source"));
            }
            customer.default_source = Some(source.clone());
        }
        if let Some(source) = &self.source {
            let source = world.look_up(source)?;
            if let Some(reason) = source.card.unsavable() {
                return Err(Box::new(declined(reason)));
            }
            let id = source.id(&world.context.ids, "card_1");
            customer.cards.push((id.clone(), source.card));
            customer.default_source = Some(id);
        }
        Ok(())
    }
}

impl Call for Save {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = match &self.id {
            None => {
                Arc::new(Customer { made_here: true, ..Customer::bare(&world.id("cus_", 14), world.now()) })
            }
            Some(id) => present(id, world)?,
        };
        let mut customer = Customer::clone(&old);
        let mut more = Vec::new();
        if let Some((method, id)) = &self.method {
            let method = attached(method, id, &customer.id, world)?;
            customer.gain(&method.id, method.card);
            more.push(Change::MethodSaved(Arc::new(method)));
        }
        self.fill(&mut customer, world)?;
        more.extend(self.source.as_ref().and_then(|source| source.token_used(world.state)));
        let answer = answers::ok(&customer);
        // Whoever makes a customer fills it in as well; but a balance is money, whoever has it.
        let counts = !customer.made_here || customer.balance != old.balance;
        let changed = described::customer(&old, &customer).filter(|_| counts);
        let customer = Arc::new(customer);
        let change = match changed {
            Some(fields) => Change::CustomerChanged(customer, Arc::new(fields)),
            None => Change::CustomerSaved(customer),
        };
        Ok(Outcome { answer, changes: std::iter::once(change).chain(more).collect() })
    }
}

fn present(id: &str, world: &World<'_>) -> Result<Arc<Customer>, Refused> {
    let customer = world.state.customer(world.options, id).filter(|customer| !customer.deleted);
    customer.ok_or_else(|| not_found("customer", id))
}

/// A customer that is to go.
#[derive(Debug)]
pub(crate) struct Delete {
    id: String,
}

impl Delete {
    /// Reads the parameters, of which there are none.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[])?;
        fields.set("customer", id.as_str());
        Ok(Delete { id })
    }
}

impl Call for Delete {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let mut customer = present(&self.id, world)?;
        Arc::make_mut(&mut customer).deleted = true;
        let answer = answers::ok(&customer.view());
        // With the customer all of its subscriptions end at once.
        let running = world
            .state
            .subscriptions
            .rows()
            .iter()
            .filter(|subscription| subscription.customer.id() == self.id);
        let ended = running.filter_map(|subscription| unsubscribe::ended(subscription, Fields::new(), world));
        Ok(Outcome {
            answer,
            changes: std::iter::once(Change::CustomerDeleted(Arc::clone(&customer))).chain(ended).collect(),
        })
    }
}
