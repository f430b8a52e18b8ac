//! Which call a method and a path stand for.

use std::sync::LazyLock;

use super::calls::{
    Call, charge, customer, intent, intent_steps, method, read, refund, search, subscription, token,
    unsubscribe,
};
use super::errors::{Refused, foreign_url, lacking_endpoint, unknown_url};
use super::objects::{Charge, Customer, Intent, Refund, Subscription};
use super::operations::Op;
use super::params::Params;
use crate::endpoints::{Endpoints, Known};
use crate::service::{Fields, Request, percent_decoded};

/// All that Stripe has.
static STRIPE: LazyLock<Endpoints> = LazyLock::new(|| Endpoints::read(include_str!("endpoints.txt")));

/// A call with its operation and the fields of its request.
pub(crate) struct Routed {
    pub(crate) operation: Op,
    pub(crate) fields: Fields,
    pub(crate) call: Box<dyn Call>,
}

/// Reads a request.
pub(crate) fn route(request: &Request) -> Result<Routed, Refused> {
    let unknown = || unknown(request);
    let mut parts = request.path().strip_prefix("/v1/").ok_or_else(unknown)?.split('/');
    let path = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    // An empty part is a trailing slash, or an id that was left out.
    if parts.next().is_some() || path.1 == Some("") || path.2 == Some("") {
        return Err(unknown());
    }
    let id = || path.1.map(percent_decoded).unwrap_or_default();
    let mut fields = Fields::new();
    let (f, params) = (&mut fields, || Params::read(request));
    let (operation, call): (Op, Box<dyn Call>) = match (request.method(), path) {
        ("POST", ("charges", None, None)) => {
            let call = charge::Create::read(&params()?, f)?;
            (if call.captures() { Op::Charge } else { Op::Hold }, Box::new(call))
        }
        ("POST", ("charges", Some(_), None)) => {
            (Op::Relabel, Box::new(charge::Update::read(id(), &params()?, f)?))
        }
        ("POST", ("charges", Some(_), Some("capture"))) => {
            (Op::Capture, Box::new(charge::Capture::read(id(), &params()?, f)?))
        }
        ("GET", ("charges", None, None)) => {
            (Op::List, Box::new(read::Listing::<Charge>::read(&params()?, f)?))
        }
        ("GET", ("charges", Some("search"), None)) => {
            (Op::Search, Box::new(search::Search::<Charge>::read(&params()?, f)?))
        }
        ("GET", ("charges", Some(_), None)) => {
            (Op::Get, Box::new(read::Get::<Charge>::read(id(), &params()?, f)?))
        }

        ("POST", ("payment_intents", None, None)) => {
            let call = intent::Create::read(&params()?, f)?;
            (call.operation(), Box::new(call))
        }
        ("POST", ("payment_intents", Some(_), None)) => {
            (Op::Intent, Box::new(intent::Update::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_intents", Some(_), Some("confirm"))) => {
            (Op::Charge, Box::new(intent_steps::Confirm::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_intents", Some(_), Some("capture"))) => {
            (Op::Capture, Box::new(intent_steps::Capture::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_intents", Some(_), Some("cancel"))) => {
            (Op::Intent, Box::new(intent_steps::Cancel::read(id(), &params()?, f)?))
        }
        ("GET", ("payment_intents", None, None)) => {
            (Op::List, Box::new(read::Listing::<Intent>::read(&params()?, f)?))
        }
        ("GET", ("payment_intents", Some("search"), None)) => {
            (Op::Search, Box::new(search::Search::<Intent>::read(&params()?, f)?))
        }
        ("GET", ("payment_intents", Some(_), None)) => {
            (Op::Get, Box::new(read::Get::<Intent>::read(id(), &params()?, f)?))
        }

        ("POST", ("refunds", None, None)) => (Op::Refund, Box::new(refund::Create::read(&params()?, f)?)),
        ("POST", ("refunds", Some(_), None)) => {
            (Op::Relabel, Box::new(refund::Update::read(id(), &params()?, f)?))
        }
        ("POST", ("charges", Some(_), Some("refunds"))) => {
            (Op::Refund, Box::new(refund::Create::read_of_charge(id(), &params()?, f)?))
        }
        ("GET", ("charges", Some(_), Some("refunds"))) => {
            (Op::List, Box::new(refund::OfCharge::read(id(), &params()?, f)?))
        }
        ("GET", ("refunds", None, None)) => {
            (Op::List, Box::new(read::Listing::<Refund>::read(&params()?, f)?))
        }
        ("GET", ("refunds", Some(_), None)) => {
            (Op::Get, Box::new(read::Get::<Refund>::read(id(), &params()?, f)?))
        }

        ("POST", ("customers", None, None)) => {
            (Op::Customer, Box::new(customer::Save::read(None, &params()?, f)?))
        }
        ("POST", ("customers", Some(_), None)) => {
            (Op::Customer, Box::new(customer::Save::read(Some(id()), &params()?, f)?))
        }
        ("DELETE", ("customers", Some(_), None)) => {
            (Op::DeleteCustomer, Box::new(customer::Delete::read(id(), &params()?, f)?))
        }
        ("GET", ("customers", None, None)) => {
            (Op::Customers, Box::new(read::Listing::<Customer>::read(&params()?, f)?))
        }
        ("GET", ("customers", Some("search"), None)) => {
            (Op::Customers, Box::new(search::Search::<Customer>::read(&params()?, f)?))
        }
        ("GET", ("customers", Some(_), None)) => {
            (Op::Customers, Box::new(read::Get::<Customer>::read(id(), &params()?, f)?))
        }

        ("POST", ("subscriptions", None, None)) => {
            (Op::Subscribe, Box::new(subscription::Create::read(&params()?, f)?))
        }
        ("POST", ("subscriptions", Some(_), None)) => {
            (Op::Upgrade, Box::new(subscription::Update::read(id(), &params()?, f)?))
        }
        ("DELETE", ("subscriptions", Some(_), None)) => {
            (Op::Unsubscribe, Box::new(unsubscribe::Unsubscribe::read(id(), &params()?, f)?))
        }
        ("GET", ("subscriptions", None, None)) => {
            (Op::Subscriptions, Box::new(read::Listing::<Subscription>::read(&params()?, f)?))
        }
        ("GET", ("subscriptions", Some("search"), None)) => {
            (Op::Subscriptions, Box::new(search::Search::<Subscription>::read(&params()?, f)?))
        }
        ("GET", ("subscriptions", Some(_), None)) => {
            (Op::Subscriptions, Box::new(read::Get::<Subscription>::read(id(), &params()?, f)?))
        }

        ("POST", ("payment_methods", None, None)) => {
            (Op::Method, Box::new(method::Create::read(&params()?, f)?))
        }
        ("POST", ("payment_methods", Some(_), None)) => {
            (Op::Method, Box::new(method::Update::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_methods", Some(_), Some("attach"))) => {
            (Op::Method, Box::new(method::Attach::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_methods", Some(_), Some("detach"))) => {
            (Op::Method, Box::new(method::Detach::read(id(), &params()?, f)?))
        }
        ("GET", ("payment_methods", None, None)) => {
            (Op::Methods, Box::new(method::OfCustomer::read(None, &params()?, f)?))
        }
        ("GET", ("payment_methods", Some(_), None)) => {
            (Op::Methods, Box::new(method::Get::read(id(), &params()?, f)?))
        }
        ("GET", ("customers", Some(_), Some("payment_methods"))) => {
            (Op::Methods, Box::new(method::OfCustomer::read(Some(id()), &params()?, f)?))
        }
        ("POST", ("tokens", None, None)) => (Op::Method, Box::new(token::Create::read(&params()?, f)?)),
        ("GET", ("tokens", Some(_), None)) => (Op::Methods, Box::new(token::Get::read(id(), &params()?, f)?)),

        ("GET", ("balance", None, None)) => (Op::Get, Box::new(read::GetBalance::read(&params()?, f)?)),
        _ => return Err(unknown()),
    };
    Ok(Routed { operation, fields, call })
}

/// The refusal of a request that no call stands for.
fn unknown(request: &Request) -> Refused {
    let (method, path) = (request.method(), request.path());
    match STRIPE.find(method, path) {
        Known::Endpoint(endpoint) => lacking_endpoint(endpoint),
        Known::OtherMethods => unknown_url(method, path),
        Known::Nothing => nowhere(request).unwrap_or_else(|| unknown_url(method, path)),
    }
}

/// The refusal of a request for a path that Stripe does not have. One that only has an empty part too much is
/// meant for Stripe.
pub(crate) fn nowhere(request: &Request) -> Option<Refused> {
    let is_known = STRIPE.has_path(request.path().trim_end_matches('/'));
    (!is_known).then(|| foreign_url(request.method(), request.path()))
}
