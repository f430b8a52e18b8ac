//! `expand[]`: an object in place of its id, where the caller asked for it and it is at hand.

use std::sync::Arc;

use super::World;
use crate::payment::errors::{Problem, Refused, lacking_part};
use crate::payment::expandable::{self, Leads};
use crate::payment::objects::{
    Charge, Customer, Expandable, Intent, Object, PaymentMethod, Refund, Subscription,
};
use crate::payment::params::Params;
use crate::yaml::shown;

/// How deep Stripe goes.
const DEEPEST: usize = 4;

/// What is to be expanded, seen from the object itself: `latest_charge.customer`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expand(Vec<String>);

impl Expand {
    /// Reads the paths of a request that answers with one object.
    pub(crate) fn of<T: Object>(params: &Params<'_>) -> Result<Self, Refused> {
        Expand::of_kind(params, T::KIND)
    }

    /// The same, where the kind is not one that is stored.
    pub(crate) fn of_kind(params: &Params<'_>, kind: &str) -> Result<Self, Refused> {
        let paths = params.expand();
        for path in &paths {
            check(path, path, kind, DEEPEST)?;
        }
        Ok(Expand(paths))
    }

    /// Reads the paths of a request that answers with a list: they begin at the list.
    pub(crate) fn of_list<T: Object>(params: &Params<'_>) -> Result<Self, Refused> {
        let mut paths = params.expand();
        for path in &mut paths {
            match path.strip_prefix("data.") {
                Some(rest) => {
                    check(path, rest, T::KIND, DEEPEST)?;
                    *path = rest.to_owned();
                }
                None if path == "total_count" => {}
                None if expandable::property(T::KIND, path.split('.').next().unwrap_or_default())
                    .is_some() =>
                {
                    let message = format!(
                        "This property cannot be expanded ({path}). You may want to try expanding 'data.{path}' instead."
                    );
                    return Err(Box::new(Problem::invalid(message)));
                }
                None => return Err(cannot_be_expanded(path)),
            }
        }
        Ok(Expand(paths))
    }

    /// Whether this key is to be expanded.
    pub(crate) fn wants(&self, key: &str) -> bool {
        self.0.iter().any(|path| path.split('.').next() == Some(key))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is to be expanded in the object under this key.
    fn inside(&self, key: &str) -> Expand {
        let behind = |path: &String| path.strip_prefix(key)?.strip_prefix('.').map(str::to_owned);
        Expand(self.0.iter().filter_map(behind).collect())
    }
}

/// Refuses a path that leads nowhere; `rest` is what is left of it in an object of this kind.
fn check(path: &str, rest: &str, kind: &str, depth: usize) -> Result<(), Refused> {
    let (key, behind) = rest.split_once('.').map_or((rest, None), |(key, behind)| (key, Some(behind)));
    if depth == 0 {
        let message = format!("You cannot expand more than {DEEPEST} levels of a property ({path}).");
        return Err(Box::new(Problem::invalid(message)));
    }
    match (expandable::property(kind, key), behind) {
        (Some(Leads::To(kind)), Some(behind)) => check(path, behind, kind, depth - 1),
        (Some(Leads::Lacking), _) => {
            Err(lacking_part(&format!("`expand[]={}` of a {kind}", shown(path)), "", "expand"))
        }
        // What is behind nothing is nothing.
        (Some(Leads::To(_) | Leads::Nothing | Leads::Here), _) => Ok(()),
        (None, _) => Err(cannot_be_expanded(path)),
    }
}

fn cannot_be_expanded(path: &str) -> Refused {
    Box::new(Problem::invalid(format!("This property cannot be expanded ({path}).")))
}

/// An object whose references can be expanded.
pub(crate) trait Expands: Sized {
    /// The object with what was asked for; `fresh` is what this very call made.
    fn expanded(self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self>;
}

/// Objects that a call made and that are not in the state yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fresh {
    pub(crate) charge: Option<Arc<Charge>>,
    pub(crate) intent: Option<Arc<Intent>>,
}

/// An object that can be found by its id.
trait Found: Expands + Object {
    fn find(id: &str, world: &World<'_>, fresh: &Fresh) -> Option<Arc<Self>>;
}

impl Found for Customer {
    fn find(id: &str, world: &World<'_>, _fresh: &Fresh) -> Option<Arc<Self>> {
        world.state.customer(world.options, id)
    }
}

impl Found for Charge {
    fn find(id: &str, world: &World<'_>, fresh: &Fresh) -> Option<Arc<Self>> {
        fresh.charge.clone().filter(|charge| charge.id == id).or_else(|| world.state.charges.get(id).cloned())
    }
}

impl Found for Intent {
    fn find(id: &str, world: &World<'_>, fresh: &Fresh) -> Option<Arc<Self>> {
        fresh.intent.clone().filter(|intent| intent.id == id).or_else(|| world.state.intents.get(id).cloned())
    }
}

/// Puts the object in the place of its id, if the caller asked for what is under this key.
fn fill<T: Found>(
    slot: Option<&mut Expandable<T>>,
    key: &str,
    expand: &Expand,
    world: &World<'_>,
    fresh: &Fresh,
) {
    if let Some(slot) = slot.filter(|_| expand.wants(key))
        && let Some(object) = T::find(slot.id(), world, fresh)
    {
        *slot = Expandable::Whole(object.expanded(&expand.inside(key), world, fresh));
    }
}

impl Expands for Charge {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let charge = Arc::make_mut(&mut self);
            fill(charge.customer.as_mut(), "customer", expand, world, fresh);
            fill(charge.payment_intent.as_mut(), "payment_intent", expand, world, fresh);
        }
        self
    }
}

impl Expands for Intent {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let intent = Arc::make_mut(&mut self);
            fill(intent.customer.as_mut(), "customer", expand, world, fresh);
            fill(intent.latest_charge.as_mut(), "latest_charge", expand, world, fresh);
            if let Some(method) = intent.method.clone().filter(|_| expand.wants("payment_method")) {
                let method = method.expanded(&expand.inside("payment_method"), world, fresh);
                intent.payment_method = Some(Expandable::Whole(method));
            }
        }
        self
    }
}

impl Expands for PaymentMethod {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            fill(Arc::make_mut(&mut self).customer.as_mut(), "customer", expand, world, fresh);
        }
        self
    }
}

impl Expands for Refund {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let refund = Arc::make_mut(&mut self);
            fill(Some(&mut refund.charge), "charge", expand, world, fresh);
            fill(refund.payment_intent.as_mut(), "payment_intent", expand, world, fresh);
        }
        self
    }
}

impl Expands for Subscription {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            fill(Some(&mut Arc::make_mut(&mut self).customer), "customer", expand, world, fresh);
        }
        self
    }
}

impl Expands for Customer {
    fn expanded(self: Arc<Self>, _expand: &Expand, _world: &World<'_>, _fresh: &Fresh) -> Arc<Self> {
        self
    }
}
