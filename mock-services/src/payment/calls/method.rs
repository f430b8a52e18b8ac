//! `/v1/payment_methods`: making one, changing its papers, attaching it to a customer and detaching it, and
//! reads. No money moves; what a customer pays with by default changes only where the default is detached.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::read::Shared;
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::described;
use crate::payment::effects::Change;
use crate::payment::errors::{Problem, Refused, lacking_part, missing, no_such, not_found};
use crate::payment::list::{List, Page};
use crate::payment::metadata::MetadataChange;
use crate::payment::objects::{Billing, Customer, Expandable, Object, PaymentMethod};
use crate::payment::params::Params;
use crate::payment::source::{self, Instrument, declined};
use crate::service::Fields;
use crate::yaml::shown;

/// A payment method that is to be made.
#[derive(Debug)]
pub(crate) struct Create {
    card: Instrument,
    papers: Papers,
    expand: Expand,
}

/// What stands on a payment method beside the card.
#[derive(Debug)]
struct Papers {
    billing: Option<Box<Billing>>,
    redisplay: Option<&'static str>,
    metadata: MetadataChange,
}

impl Papers {
    fn read(params: &Params<'_>) -> Result<Self, Refused> {
        let redisplay = params.choice("allow_redisplay", &["always", "limited", "unspecified"])?;
        Ok(Papers { billing: Billing::read(params), redisplay, metadata: MetadataChange::read(params)? })
    }

    fn write(&self, method: &mut PaymentMethod) -> Result<(), Refused> {
        method.billing = self.billing.clone().or(method.billing.take());
        method.redisplay = self.redisplay.unwrap_or(method.redisplay);
        method.metadata = self.metadata.over(&method.metadata)?;
        Ok(())
    }
}

impl Create {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_methods";
        params.check_done(&[allowed::METHOD, allowed::COMMON], allowed::METHOD_LACKING, ENDPOINT)?;
        match params.required("type")? {
            "card" => {}
            other => return Err(lacking_part(&format!("the type `{}`", shown(other)), ENDPOINT, "type")),
        }
        let card = Instrument::of_card(params)?.ok_or_else(|| missing("card"))?;
        let papers = Papers::read(params)?;
        fields.set("type", "card");
        papers.metadata.describe(fields);
        Ok(Create { card, papers, expand: Expand::of::<PaymentMethod>(params)? })
    }
}

impl Call for Create {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let card = world.look_up(&self.card)?;
        let mut method = PaymentMethod::new(world.id("pm_1", 23), card.card, world.now());
        self.papers.write(&mut method)?;
        let mut outcome = saved(method, &self.expand, world);
        outcome.changes.extend(self.card.token_used(world.state));
        Ok(outcome)
    }
}

fn saved(method: PaymentMethod, expand: &Expand, world: &World<'_>) -> Outcome {
    let method = Arc::new(method);
    let answer = answers::made(Arc::clone(&method).expanded(expand, world, &Fresh::default()));
    Outcome { answer, changes: vec![Change::MethodSaved(method)] }
}

fn present(id: &str, world: &World<'_>) -> Result<Arc<PaymentMethod>, Refused> {
    world
        .state
        .methods
        .get(id)
        .cloned()
        .ok_or_else(|| Box::new(no_such("PaymentMethod", id, "payment_method").status(404)))
}

/// A change of a payment method's papers.
#[derive(Debug)]
pub(crate) struct Update {
    id: String,
    papers: Papers,
    expand: Expand,
}

impl Update {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_methods/{id}";
        params.check_done(
            &[allowed::METHOD_UPDATE, allowed::COMMON],
            allowed::METHOD_UPDATE_LACKING,
            ENDPOINT,
        )?;
        fields.set("payment_method", id.as_str());
        let papers = Papers::read(params)?;
        papers.metadata.describe(fields);
        Ok(Update { id, papers, expand: Expand::of::<PaymentMethod>(params)? })
    }
}

impl Call for Update {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let mut method = PaymentMethod::clone(&*present(&self.id, world)?);
        self.papers.write(&mut method)?;
        Ok(saved(method, &self.expand, world))
    }
}

/// A payment method that a customer is to have.
#[derive(Debug)]
pub(crate) struct Attach {
    method: Instrument,
    id: String,
    customer: String,
    expand: Expand,
}

impl Attach {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/payment_methods/{id}/attach";
        params.check_done(
            &[allowed::METHOD_ATTACH, allowed::COMMON],
            allowed::METHOD_ATTACH_LACKING,
            ENDPOINT,
        )?;
        let customer = params.required("customer")?.to_owned();
        fields.set("payment_method", id.as_str());
        fields.set("customer", customer.as_str());
        Ok(Attach {
            method: source::method(&id, "payment_method")?,
            id,
            customer,
            expand: Expand::of::<PaymentMethod>(params)?,
        })
    }
}

impl Call for Attach {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let known = world.state.wallet(world.options, &self.customer);
        known.ok_or_else(|| no_such("customer", &self.customer, "customer"))?;
        let method = attached(&self.method, &self.id, &self.customer, world)?;
        Ok(saved(method, &self.expand, world))
    }
}

/// The payment method as it is once the customer has it. A name of a test card stands for a new one.
pub(crate) fn attached(
    named: &Instrument,
    id: &str,
    customer: &str,
    world: &World<'_>,
) -> Result<PaymentMethod, Refused> {
    let is_test_card = id.starts_with("pm_card_");
    let mut method =
        PaymentMethod::clone(&*if is_test_card { world.method(named, None)? } else { present(id, world)? });
    match &method.customer {
        Some(owner) if method.attached && owner.id() != customer => {
            let message = "The payment method you provided has already been attached to a customer.";
            return Err(Box::new(Problem::invalid(message).code("payment_method_unexpected_state").begun()));
        }
        _ => {}
    }
    if let Some(reason) = method.card.unsavable() {
        return Err(Box::new(declined(reason)));
    }
    method.customer = Some(Expandable::of(customer));
    method.attached = true;
    Ok(method)
}

/// A payment method that its customer is to lose.
#[derive(Debug)]
pub(crate) struct Detach {
    id: String,
    expand: Expand,
}

impl Detach {
    /// Reads the parameters, of which there are none.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        fields.set("payment_method", id.as_str());
        Ok(Detach { id, expand: Expand::of::<PaymentMethod>(params)? })
    }
}

impl Call for Detach {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = present(&self.id, world)?;
        let Some(owner) = old.customer.as_ref().filter(|_| old.attached).map(|owner| owner.id().to_owned())
        else {
            let message =
                "The payment method you provided is not attached to a customer so detachment is impossible.";
            return Err(Box::new(Problem::invalid(message).code("payment_method_unexpected_state").begun()));
        };
        let mut method = PaymentMethod::clone(&old);
        (method.customer, method.attached) = (None, false);
        let mut outcome = saved(method, &self.expand, world);
        if let Some(before) = world.state.customer(world.options, &owner) {
            let mut customer = Customer::clone(&before);
            customer.lose(&self.id);
            // Who had it as their default pays with something else now, or with nothing.
            match described::customer(&before, &customer).filter(|_| !customer.made_here) {
                Some(fields) => {
                    outcome.changes.push(Change::CustomerChanged(Arc::new(customer), Arc::new(fields)))
                }
                None if customer.cards.len() < before.cards.len() => {
                    outcome.changes.push(Change::CustomerSaved(Arc::new(customer)));
                }
                None => {}
            }
        }
        Ok(outcome)
    }
}

/// One payment method by its id.
#[derive(Debug)]
pub(crate) struct Get {
    id: String,
    expand: Expand,
}

impl Get {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        fields.set("object", PaymentMethod::KIND);
        fields.set("id", id.as_str());
        Ok(Get { id, expand: Expand::of::<PaymentMethod>(params)? })
    }
}

impl Call for Get {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let method = present(&self.id, world)?;
        Ok(Outcome::read(answers::ok(&*method.expanded(&self.expand, world, &Fresh::default()))))
    }
}

/// The payment methods of a customer.
#[derive(Debug)]
pub(crate) struct OfCustomer {
    /// Nobody, where the list is asked for without a customer.
    customer: Option<String>,
    is_of_path: bool,
    kind: Option<String>,
    page: Page,
    expand: Expand,
}

impl OfCustomer {
    /// Reads the parameters; `customer` is that of the path.
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
        let (kind, page) = (params.owned("type")?, Page::read(params)?);
        Ok(OfCustomer { customer, is_of_path, kind, page, expand: Expand::of_list::<PaymentMethod>(params)? })
    }
}

impl Call for OfCustomer {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let rows = match &self.customer {
            Some(customer) => of_customer(customer, world)?,
            None => Vec::new(),
        };
        let is_wanted = |_: &PaymentMethod| self.kind.as_deref().is_none_or(|kind| kind == "card");
        let (found, has_more) = self.page.of(&rows, is_wanted)?;
        let data = found
            .into_iter()
            .map(|row| Shared(Arc::clone(row).expanded(&self.expand, world, &Fresh::default())));
        let url = match (&self.customer, self.is_of_path) {
            (Some(customer), true) => format!("/v1/customers/{customer}/payment_methods"),
            _ => PaymentMethod::URL.to_owned(),
        };
        Ok(Outcome::read(answers::ok(&List::new(url, data.collect(), has_more))))
    }
}

/// All that a customer can pay with, oldest first: the cards that it was given, and what was attached.
fn of_customer(id: &str, world: &World<'_>) -> Result<Vec<Arc<PaymentMethod>>, Refused> {
    let customer = world.state.customer(world.options, id).filter(|customer| !customer.deleted);
    let customer = customer.ok_or_else(|| not_found("customer", id))?;
    let given = customer.cards.iter().map(|(card_id, card)| {
        let made = PaymentMethod::new(card_id.clone(), *card, customer.created);
        world.state.methods.get(card_id).cloned().unwrap_or_else(|| Arc::new(made.of_customer(id)))
    });
    let mut methods: Vec<Arc<PaymentMethod>> = Vec::new();
    let attached = world.state.methods.rows().iter().filter(|method| method.attached).cloned();
    let attached = attached.filter(|method| method.customer.as_ref().is_some_and(|owner| owner.id() == id));
    for method in given.chain(attached) {
        if !methods.iter().any(|have| have.id == method.id) {
            methods.push(method);
        }
    }
    Ok(methods)
}
