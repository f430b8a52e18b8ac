//! Reads: one object by its id, lists, and the balance.

use std::sync::Arc;

use serde::Serialize;

use super::expand::{Expand, Expands, Fresh};
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::errors::{Refused, not_found};
use crate::payment::list::{List, Page};
use crate::payment::objects::{Balance, Charge, Customer, Intent, Object, Refund, Subscription};
use crate::payment::params::Params;
use crate::payment::state::{PaymentState, Table};
use crate::service::Fields;

/// An object that is kept in a table of its own.
pub(crate) trait Kept: Object + Expands + Serialize + Send + Sync + std::fmt::Debug + 'static {
    /// Its table.
    fn table(state: &PaymentState) -> &Table<Self>;
}

macro_rules! kept {
    ($($object:ty => $table:ident),* $(,)?) => {
        $(impl Kept for $object {
            fn table(state: &PaymentState) -> &Table<Self> {
                &state.$table
            }
        })*
    };
}

kept!(Charge => charges, Intent => intents, Refund => refunds, Subscription => subscriptions);

/// One object by its id.
#[derive(Debug)]
pub(crate) struct Get<T> {
    id: String,
    expand: Expand,
    kind: std::marker::PhantomData<T>,
}

impl<T: Object> Get<T> {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON, &["client_secret"]])?;
        fields.set("object", T::KIND);
        fields.set("id", id.as_str());
        Ok(Get { id, expand: Expand::of::<T>(params)?, kind: std::marker::PhantomData })
    }
}

impl<T: Kept> Call for Get<T> {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let object = T::table(world.state).get(&self.id).ok_or_else(|| not_found(T::KIND, &self.id))?;
        Ok(Outcome::read(answers::ok(&*Arc::clone(object).expanded(&self.expand, world, &Fresh::default()))))
    }
}

/// One customer by its id, given or made.
impl Call for Get<Customer> {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let customer =
            world.state.customer(world.options, &self.id).ok_or_else(|| not_found("customer", &self.id))?;
        Ok(Outcome::read(answers::ok(&customer.view())))
    }
}

/// A page of a list, with the filters that its kind knows.
#[derive(Debug)]
pub(crate) struct Listing<T> {
    page: Page,
    filters: Vec<(&'static str, String)>,
    expand: Expand,
    kind: std::marker::PhantomData<T>,
}

/// An object that can be listed.
pub(crate) trait Listed: Object {
    /// The filters of its list; those that nothing here depends on are known and keep everything.
    const FILTERS: &'static [&'static str];

    /// Whether a filter keeps it.
    fn passes(&self, filter: &str, value: &str) -> bool;

    /// Whether it is listed where no filter asks for it.
    fn is_listed(&self, _filters: &[(&'static str, String)]) -> bool {
        true
    }
}

impl<T: Listed> Listing<T> {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::LIST, T::FILTERS, allowed::COMMON])?;
        let mut filters = Vec::new();
        for name in T::FILTERS {
            if let Some(value) = params.raw(name).filter(|value| !value.is_empty()) {
                filters.push((*name, value.to_owned()));
            }
        }
        fields.set("object", T::KIND);
        for (name, value) in &filters {
            fields.set(*name, value.as_str());
        }
        Ok(Listing {
            page: Page::read(params)?,
            filters,
            expand: Expand::of_list::<T>(params)?,
            kind: std::marker::PhantomData,
        })
    }

    fn answer(&self, rows: &[Arc<T>], world: &World<'_>) -> Result<Outcome, Refused>
    where
        T: Expands + Serialize,
    {
        let keep = |row: &T| {
            row.is_listed(&self.filters) && self.filters.iter().all(|(name, value)| row.passes(name, value))
        };
        let (found, has_more) = self.page.of(rows, keep)?;
        let data =
            found.into_iter().map(|row| Arc::clone(row).expanded(&self.expand, world, &Fresh::default()));
        let data: Vec<_> = data.map(Shared).collect();
        Ok(Outcome::read(answers::ok(&List::new(T::URL, data, has_more))))
    }
}

/// A shared object that is written as the object.
pub(crate) struct Shared<T>(pub(crate) Arc<T>);

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<T: Kept + Listed> Call for Listing<T> {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        self.answer(T::table(world.state).rows(), world)
    }
}

impl Call for Listing<Customer> {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        self.answer(&world.state.all_customers(world.options), world)
    }
}

impl Listed for Charge {
    const FILTERS: &'static [&'static str] = &["customer", "payment_intent", "transfer_group"];

    fn passes(&self, filter: &str, value: &str) -> bool {
        match filter {
            "customer" => self.customer() == Some(value),
            "payment_intent" => self.payment_intent() == Some(value),
            "transfer_group" => self.transfer_group.as_deref() == Some(value),
            _ => true,
        }
    }
}

impl Listed for Intent {
    const FILTERS: &'static [&'static str] = &["customer", "customer_account"];

    fn passes(&self, filter: &str, value: &str) -> bool {
        filter == "customer" && self.customer() == Some(value)
    }
}

impl Listed for Refund {
    const FILTERS: &'static [&'static str] = &["charge", "payment_intent"];

    fn passes(&self, filter: &str, value: &str) -> bool {
        match filter {
            "charge" => self.charge.id() == value,
            "payment_intent" => self.payment_intent() == Some(value),
            _ => true,
        }
    }
}

impl Listed for Customer {
    const FILTERS: &'static [&'static str] = &["email", "test_clock"];

    fn passes(&self, filter: &str, value: &str) -> bool {
        filter == "email" && self.email.as_deref() == Some(value)
    }
}

impl Listed for Subscription {
    const FILTERS: &'static [&'static str] = &[
        "customer",
        "price",
        "plan",
        "status",
        "collection_method",
        "automatic_tax",
        "current_period_end",
        "current_period_start",
        "customer_account",
        "test_clock",
    ];

    fn passes(&self, filter: &str, value: &str) -> bool {
        match (filter, value) {
            ("customer", id) => self.customer.id() == id,
            ("price" | "plan", id) => self.items.iter().any(|item| item.price == id),
            ("status", "all") => true,
            ("status", "ended") => self.status == "canceled",
            ("status", word) => self.status == word,
            ("collection_method", word) => self.collection_method == word,
            _ => true,
        }
    }

    /// Those that have ended are shown only to those who ask for a status.
    fn is_listed(&self, filters: &[(&'static str, String)]) -> bool {
        self.status != "canceled" || filters.iter().any(|(name, _)| *name == "status")
    }
}

/// The account's balance.
#[derive(Debug)]
pub(crate) struct GetBalance;

impl GetBalance {
    /// Reads the parameters, of which there are none.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        Expand::of_kind(params, "balance")?;
        fields.set("object", "balance");
        Ok(GetBalance)
    }
}

impl Call for GetBalance {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        Ok(Outcome::read(answers::ok(&Balance::of(
            world.state.charges.rows().iter().map(|charge| &**charge),
        ))))
    }
}
