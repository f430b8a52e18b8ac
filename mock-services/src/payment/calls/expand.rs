//! `expand[]`: replaces an id by its object, when the request asks for it and the object is available.

use std::sync::Arc;

use yaml_reader::shown;

use super::CallContext;
use crate::payment::errors::{PaymentError, Refused, unsupported_part};
use crate::payment::expandable::{self, PropertyContent};
use crate::payment::objects::{
    Charge, Customer, Expandable, Intent, Object, PaymentEvent, PaymentMethod, Price, Product, Refund,
    Subscription,
};
use crate::payment::params::Params;

/// Stripe's maximum depth.
const MAX_DEPTH: usize = 4;

/// The paths to expand, relative to the object: `latest_charge.customer`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expand(Vec<String>);

impl Expand {
    /// Reads the paths of a request that returns one object.
    pub(crate) fn read<T: Object>(params: &Params<'_>) -> Result<Self, Refused> {
        Expand::of_kind(params, T::KIND)
    }

    /// Reads the paths for a type of object that is not stored.
    pub(crate) fn of_kind(params: &Params<'_>, kind: &str) -> Result<Self, Refused> {
        let paths = params.expand();
        for path in &paths {
            check_path(path, path, kind, MAX_DEPTH)?;
        }
        Ok(Expand(paths))
    }

    /// Reads the paths of a request that returns a list: they start at the list.
    pub(crate) fn of_list<T: Object>(params: &Params<'_>) -> Result<Self, Refused> {
        let mut paths = params.expand();
        for path in &mut paths {
            match path.strip_prefix("data.") {
                Some(rest) => {
                    check_path(path, rest, T::KIND, MAX_DEPTH)?;
                    *path = rest.to_owned();
                }
                None if path == "total_count" => {}
                None if expandable::property(T::KIND, path.split('.').next().unwrap_or_default())
                    .is_some() =>
                {
                    let message = format!(
                        "This property cannot be expanded ({path}). You may want to try expanding \
                         'data.{path}' instead."
                    );
                    return Err(Box::new(PaymentError::invalid(message)));
                }
                None => return Err(cannot_be_expanded(path)),
            }
        }
        Ok(Expand(paths))
    }

    /// Whether this key is expanded.
    pub(crate) fn wants(&self, key: &str) -> bool {
        self.0.iter().any(|path| path.split('.').next() == Some(key))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths to expand in the object under this key.
    fn inside(&self, key: &str) -> Expand {
        let behind = |path: &String| path.strip_prefix(key)?.strip_prefix('.').map(str::to_owned);
        Expand(self.0.iter().filter_map(behind).collect())
    }
}

/// Refuses an invalid path; `rest` is its remainder in an object of this type.
fn check_path(path: &str, rest: &str, kind: &str, depth: usize) -> Result<(), Refused> {
    let (key, behind) = rest.split_once('.').map_or((rest, None), |(key, behind)| (key, Some(behind)));
    if depth == 0 {
        let message = format!("You cannot expand more than {MAX_DEPTH} levels of a property ({path}).");
        return Err(Box::new(PaymentError::invalid(message)));
    }
    match (expandable::property(kind, key), behind) {
        (Some(PropertyContent::To(kind)), Some(behind)) => check_path(path, behind, kind, depth - 1),
        (Some(PropertyContent::Lacking), _) => {
            Err(unsupported_part(&format!("`expand[]={}` of a {kind}", shown(path)), "", "expand"))
        }
        // Nothing can be expanded below a property that is always null.
        (Some(PropertyContent::To(_) | PropertyContent::Nothing | PropertyContent::Here), _) => Ok(()),
        (None, _) => Err(cannot_be_expanded(path)),
    }
}

fn cannot_be_expanded(path: &str) -> Refused {
    Box::new(PaymentError::invalid(format!("This property cannot be expanded ({path}).")))
}

/// An object whose references can be expanded.
pub(crate) trait Expands: Sized {
    /// The object with the requested expansions; `fresh` are the objects that this call created.
    fn expanded(self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self>;
}

/// Objects that a call created and that are not in the state yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fresh {
    pub(crate) charge: Option<Arc<Charge>>,
    pub(crate) intent: Option<Arc<Intent>>,
    pub(crate) product: Option<Arc<Product>>,
    pub(crate) price: Option<Arc<Price>>,
}

/// An object that can be looked up by its id.
trait Lookup: Expands + Object {
    fn find(id: &str, context: &CallContext<'_>, fresh: &Fresh) -> Option<Arc<Self>>;
}

impl Lookup for Customer {
    fn find(id: &str, context: &CallContext<'_>, _fresh: &Fresh) -> Option<Arc<Self>> {
        context.state.customer(context.options, id)
    }
}

impl Lookup for Charge {
    fn find(id: &str, context: &CallContext<'_>, fresh: &Fresh) -> Option<Arc<Self>> {
        fresh
            .charge
            .clone()
            .filter(|charge| charge.id == id)
            .or_else(|| context.state.charges.get(id).cloned())
    }
}

impl Lookup for Intent {
    fn find(id: &str, context: &CallContext<'_>, fresh: &Fresh) -> Option<Arc<Self>> {
        fresh
            .intent
            .clone()
            .filter(|intent| intent.id == id)
            .or_else(|| context.state.intents.get(id).cloned())
    }
}

impl Lookup for Product {
    fn find(id: &str, context: &CallContext<'_>, fresh: &Fresh) -> Option<Arc<Self>> {
        let fresh = fresh.product.clone().filter(|product| product.id == id);
        fresh.or_else(|| context.state.product(context.options, id))
    }
}

impl Lookup for Price {
    fn find(id: &str, context: &CallContext<'_>, fresh: &Fresh) -> Option<Arc<Self>> {
        let fresh = fresh.price.clone().filter(|price| price.id == id);
        fresh.or_else(|| context.state.price(context.options, id))
    }
}

impl Lookup for PaymentMethod {
    fn find(id: &str, context: &CallContext<'_>, _fresh: &Fresh) -> Option<Arc<Self>> {
        context.state.methods.get(id).cloned()
    }
}

/// Replaces the id under this key by its object, if the request asks for it.
fn fill<T: Lookup>(
    slot: Option<&mut Expandable<T>>,
    key: &str,
    expand: &Expand,
    context: &CallContext<'_>,
    fresh: &Fresh,
) {
    if let Some(slot) = slot.filter(|_| expand.wants(key))
        && let Some(object) = T::find(slot.id(), context, fresh)
    {
        *slot = Expandable::Whole(object.expanded(&expand.inside(key), context, fresh));
    }
}

impl Expands for Charge {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let charge = Arc::make_mut(&mut self);
            fill(charge.customer.as_mut(), "customer", expand, context, fresh);
            fill(charge.payment_intent.as_mut(), "payment_intent", expand, context, fresh);
        }
        self
    }
}

impl Expands for Intent {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let intent = Arc::make_mut(&mut self);
            fill(intent.customer.as_mut(), "customer", expand, context, fresh);
            fill(intent.latest_charge.as_mut(), "latest_charge", expand, context, fresh);
            if let Some(method) = intent.method.clone().filter(|_| expand.wants("payment_method")) {
                let method = method.expanded(&expand.inside("payment_method"), context, fresh);
                intent.payment_method = Some(Expandable::Whole(method));
            }
        }
        self
    }
}

/// An event shows its object as it was then.
impl Expands for PaymentEvent {
    fn expanded(self: Arc<Self>, _: &Expand, _: &CallContext<'_>, _: &Fresh) -> Arc<Self> {
        self
    }
}

impl Expands for PaymentMethod {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            fill(Arc::make_mut(&mut self).customer.as_mut(), "customer", expand, context, fresh);
        }
        self
    }
}

impl Expands for Refund {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let refund = Arc::make_mut(&mut self);
            fill(Some(&mut refund.charge), "charge", expand, context, fresh);
            fill(refund.payment_intent.as_mut(), "payment_intent", expand, context, fresh);
        }
        self
    }
}

impl Expands for Subscription {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let subscription = Arc::make_mut(&mut self);
            fill(Some(&mut subscription.customer), "customer", expand, context, fresh);
            let of_price = expand.inside("items").inside("data").inside("price");
            for item in subscription.items.iter_mut().filter(|_| !of_price.is_empty()) {
                item.price = Arc::clone(&item.price).expanded(&of_price, context, fresh);
            }
        }
        self
    }
}

impl Expands for Customer {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let method = Arc::make_mut(&mut self).invoice_settings.default_payment_method.as_mut();
            let inside = expand.inside("invoice_settings");
            fill(method, "default_payment_method", &inside, context, fresh);
        }
        self
    }
}

impl Expands for Product {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let price = Arc::make_mut(&mut self).default_price.as_mut();
            fill(price, "default_price", expand, context, fresh);
        }
        self
    }
}

impl Expands for Price {
    fn expanded(mut self: Arc<Self>, expand: &Expand, context: &CallContext<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            fill(Some(&mut Arc::make_mut(&mut self).product), "product", expand, context, fresh);
        }
        self
    }
}
