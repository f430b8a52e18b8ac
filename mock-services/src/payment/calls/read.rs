//! Reads: one object by its id, lists, and the balance.

use std::sync::Arc;

use serde::Serialize;

use super::expand::{Expand, Expands, Fresh};
use super::{ApiCall, CallContext, CallOutcome};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::errors::{Refused, not_found};
use crate::payment::list::{ListObject, PageRequest};
use crate::payment::objects::{
    Balance, Charge, Customer, Intent, Object, PaymentEvent, Price, Product, Refund, Subscription,
};
use crate::payment::params::Params;
use crate::payment::state::{PaymentState, Table};
use crate::service::Fields;

/// An object with its own table.
pub(crate) trait Stored:
    Object + Expands + Serialize + Send + Sync + std::fmt::Debug + 'static
{
    /// Its table.
    fn table(state: &PaymentState) -> &Table<Self>;
}

macro_rules! kept {
    ($($object:ty => $table:ident),* $(,)?) => {
        $(impl Stored for $object {
            fn table(state: &PaymentState) -> &Table<Self> {
                &state.$table
            }
        })*
    };
}

kept!(Charge => charges, PaymentEvent => events, Intent => intents, Refund => refunds, Subscription => subscriptions);

/// One object by its id.
#[derive(Debug)]
pub(crate) struct GetObject<T> {
    id: String,
    expand: Expand,
    kind: std::marker::PhantomData<T>,
}

impl<T: Object> GetObject<T> {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON, &["client_secret"]])?;
        fields.set("object", T::KIND);
        fields.set("id", id.as_str());
        Ok(GetObject { id, expand: Expand::read::<T>(params)?, kind: std::marker::PhantomData })
    }
}

impl<T: Stored> ApiCall for GetObject<T> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let object = T::table(context.state).get(&self.id).ok_or_else(|| not_found(T::KIND, &self.id))?;
        Ok(CallOutcome::read(answers::ok(&*Arc::clone(object).expanded(
            &self.expand,
            context,
            &Fresh::default(),
        ))))
    }
}

/// Reads one customer by its id, initial or created.
impl ApiCall for GetObject<Customer> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let customer = context
            .state
            .customer(context.options, &self.id)
            .ok_or_else(|| not_found("customer", &self.id))?;
        if customer.deleted {
            return Ok(CallOutcome::read(answers::ok(&customer.view())));
        }
        let customer = customer.expanded(&self.expand, context, &Fresh::default());
        Ok(CallOutcome::read(answers::ok(&*customer)))
    }
}

/// Reads one product by its id, initial or created.
impl ApiCall for GetObject<Product> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let product = context.state.product(context.options, &self.id);
        let product = product.ok_or_else(|| not_found("product", &self.id))?;
        Ok(CallOutcome::read(answers::ok(&*product.expanded(&self.expand, context, &Fresh::default()))))
    }
}

/// Reads one price by its id, initial or created.
impl ApiCall for GetObject<Price> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let price = context.state.price(context.options, &self.id);
        let price = price.ok_or_else(|| not_found("price", &self.id))?;
        Ok(CallOutcome::read(answers::ok(&*price.expanded(&self.expand, context, &Fresh::default()))))
    }
}

/// A page of a list, with the filters of its type.
#[derive(Debug)]
pub(crate) struct ListObjects<T> {
    page: PageRequest,
    filters: Vec<(&'static str, String)>,
    expand: Expand,
    kind: std::marker::PhantomData<T>,
}

/// An object that can be listed.
pub(crate) trait Listable: Object {
    /// The filters of its list. Filters without an effect here are accepted and match everything.
    const FILTERS: &'static [&'static str];
    /// Filters with brackets: lists, `ids[0]=…`, and objects, `recurring[interval]=…`.
    const NESTED_FILTERS: &'static [&'static str] = &[];

    /// Whether it matches a filter. The values of a list are separated by commas; a value of an object is
    /// `name=value`.
    fn matches_filter(&self, filter: &str, value: &str) -> bool;

    /// Whether it is listed without a filter for it.
    fn is_listed(&self, _filters: &[(&'static str, String)]) -> bool {
        true
    }
}

impl<T: Listable> ListObjects<T> {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::LIST, T::FILTERS, T::NESTED_FILTERS, allowed::COMMON])?;
        let mut filters = Vec::new();
        for name in T::NESTED_FILTERS {
            let is_place = |first: &str| first.bytes().all(|byte| byte.is_ascii_digit());
            let value = |(first, _, value): (&str, &str, &str)| {
                if is_place(first) { value.to_owned() } else { format!("{first}={value}") }
            };
            let values: Vec<String> = params.inside(name).map(value).collect();
            if !values.is_empty() {
                filters.push((*name, values.join(",")));
            }
        }
        for name in T::FILTERS {
            if let Some(value) = params.raw(name).filter(|value| !value.is_empty()) {
                filters.push((*name, value.to_owned()));
            }
        }
        fields.set("object", T::KIND);
        for (name, value) in &filters {
            fields.set(*name, value.as_str());
        }
        Ok(ListObjects {
            page: PageRequest::read(params)?,
            filters,
            expand: Expand::of_list::<T>(params)?,
            kind: std::marker::PhantomData,
        })
    }

    fn answer(&self, rows: &[Arc<T>], context: &CallContext<'_>) -> Result<CallOutcome, Refused>
    where
        T: Expands + Serialize,
    {
        let keep = |row: &T| {
            row.is_listed(&self.filters)
                && self.filters.iter().all(|(name, value)| row.matches_filter(name, value))
        };
        let (found, has_more) = self.page.of(rows, keep)?;
        let data =
            found.into_iter().map(|row| Arc::clone(row).expanded(&self.expand, context, &Fresh::default()));
        let data: Vec<_> = data.map(SharedObject).collect();
        Ok(CallOutcome::read(answers::ok(&ListObject::new(T::URL, data, has_more))))
    }
}

/// A shared object, serialized as the object.
pub(crate) struct SharedObject<T>(pub(crate) Arc<T>);

impl<T: Serialize> Serialize for SharedObject<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<T: Stored + Listable> ApiCall for ListObjects<T> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(T::table(context.state).rows(), context)
    }
}

impl ApiCall for ListObjects<Customer> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(&context.state.all_customers(context.options), context)
    }
}

impl ApiCall for ListObjects<Product> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(&context.state.all_products(context.options), context)
    }
}

impl ApiCall for ListObjects<Price> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(&context.state.all_prices(context.options), context)
    }
}

impl Listable for Product {
    const FILTERS: &'static [&'static str] = &["active", "shippable", "type", "url"];
    const NESTED_FILTERS: &'static [&'static str] = &["ids"];

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        match filter {
            "active" => self.active == (value == "true"),
            "shippable" => self.shippable.unwrap_or(false) == (value == "true"),
            "type" => self.r#type == value,
            "url" => self.url.as_deref() == Some(value),
            "ids" => value.split(',').any(|id| id == self.id),
            _ => true,
        }
    }
}

impl Listable for Price {
    const FILTERS: &'static [&'static str] = &["active", "currency", "product", "type"];
    const NESTED_FILTERS: &'static [&'static str] = &["lookup_keys", "recurring"];

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        match filter {
            "active" => self.active == (value == "true"),
            "currency" => self.currency == value,
            "product" => self.product.id() == value,
            "type" => self.r#type == value,
            "lookup_keys" => value.split(',').any(|key| self.lookup_key.as_deref() == Some(key)),
            "recurring" => value.split(',').all(|part| {
                let recurring = self.recurring.as_ref();
                let is = |name: &str, have: fn(&crate::payment::objects::Recurring) -> &'static str| {
                    let wanted = part.strip_prefix(name)?.strip_prefix('=')?;
                    Some(recurring.is_some_and(|recurring| have(recurring) == wanted))
                };
                is("interval", |recurring| recurring.interval)
                    .or_else(|| is("usage_type", |recurring| recurring.usage_type))
                    .unwrap_or(true)
            }),
            _ => true,
        }
    }
}

impl Listable for Charge {
    const FILTERS: &'static [&'static str] = &["customer", "payment_intent", "transfer_group"];

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        match filter {
            "customer" => self.customer() == Some(value),
            "payment_intent" => self.payment_intent() == Some(value),
            "transfer_group" => self.transfer_group.as_deref() == Some(value),
            _ => true,
        }
    }
}

impl Listable for Intent {
    const FILTERS: &'static [&'static str] = &["customer", "customer_account"];

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        filter == "customer" && self.customer() == Some(value)
    }
}

impl Listable for PaymentEvent {
    const FILTERS: &'static [&'static str] = &["type", "delivery_success", "related_object"];
    const NESTED_FILTERS: &'static [&'static str] = &["types"];

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        match filter {
            "type" => match value.strip_suffix('*') {
                Some(stem) => self.kind.starts_with(stem),
                None => self.kind == value,
            },
            "types" => value.split(',').any(|kind| kind == self.kind),
            _ => true,
        }
    }
}

impl Listable for Refund {
    const FILTERS: &'static [&'static str] = &["charge", "payment_intent"];

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        match filter {
            "charge" => self.charge.id() == value,
            "payment_intent" => self.payment_intent() == Some(value),
            _ => true,
        }
    }
}

impl Listable for Customer {
    const FILTERS: &'static [&'static str] = &["email", "test_clock"];

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        filter == "email" && self.email.as_deref() == Some(value)
    }
}

impl Listable for Subscription {
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

    fn matches_filter(&self, filter: &str, value: &str) -> bool {
        match (filter, value) {
            ("customer", id) => self.customer.id() == id,
            ("price" | "plan", id) => self.items.iter().any(|item| item.price.id == id),
            ("status", "all") => true,
            ("status", "ended") => self.status == "canceled",
            ("status", word) => self.status == word,
            ("collection_method", word) => self.collection_method == word,
            _ => true,
        }
    }

    /// Ended subscriptions are listed only when the request names a status.
    fn is_listed(&self, filters: &[(&'static str, String)]) -> bool {
        self.status != "canceled" || filters.iter().any(|(name, _)| *name == "status")
    }
}

/// The account's balance.
#[derive(Debug)]
pub(crate) struct GetBalance;

impl GetBalance {
    /// Reads the parameters; there are none.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        Expand::of_kind(params, "balance")?;
        fields.set("object", "balance");
        Ok(GetBalance)
    }
}

impl ApiCall for GetBalance {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        Ok(CallOutcome::read(answers::ok(&Balance::new(
            context.state.charges.rows().iter().map(|charge| &**charge),
        ))))
    }
}
