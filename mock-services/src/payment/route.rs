//! Finds the call of a method and a path.

use std::sync::LazyLock;

use super::calls::{
    ApiCall, charge, customer, intent, method, price, product, read, refund, search, subscription, token,
};
use super::errors::{Refused, unknown_url, unsupported_endpoint, url_of_another_service};
use super::objects::{Charge, Customer, Intent, PaymentEvent, Price, Product, Refund, Subscription};
use super::operations::PaymentOperation;
use super::params::Params;
use crate::endpoints::{Endpoints, Known};
use crate::service::{Fields, Request, percent_decoded};

/// All endpoints of Stripe.
pub(crate) static STRIPE: LazyLock<Endpoints> =
    LazyLock::new(|| Endpoints::read(include_str!("endpoints.txt")));

/// A call with its operation and the fields of its request.
pub(crate) struct Routed {
    pub(crate) operation: PaymentOperation,
    pub(crate) fields: Fields,
    pub(crate) call: Box<dyn ApiCall>,
}

/// Reads a request.
pub(crate) fn route(request: &Request) -> Result<Routed, Refused> {
    let unknown = || unknown(request);
    let mut parts = request.path().strip_prefix("/v1/").ok_or_else(unknown)?.split('/');
    let path = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let last = parts.next();
    // An empty segment is a trailing slash, or an id that is missing.
    if parts.next().is_some() || [path.1, path.2, last].contains(&Some("")) {
        return Err(unknown());
    }
    let id = || path.1.map(percent_decoded).unwrap_or_default();
    let mut fields = Fields::new();
    let (f, params) = (&mut fields, || Params::read(request));
    if let Some(method) = last {
        let ("GET", ("customers", Some(_), Some("payment_methods"))) = (request.method(), path) else {
            return Err(unknown());
        };
        let method = percent_decoded(method);
        let call = method::GetPaymentMethod::read(Some(id()), method, &params()?, f)?;
        return Ok(Routed { operation: PaymentOperation::Methods, fields, call: Box::new(call) });
    }
    let (operation, call): (PaymentOperation, Box<dyn ApiCall>) = match (request.method(), path) {
        ("POST", ("charges", None, None)) => {
            let call = charge::CreateCharge::read(&params()?, f)?;
            (
                if call.captures_at_once() { PaymentOperation::Charge } else { PaymentOperation::Hold },
                Box::new(call),
            )
        }
        ("POST", ("charges", Some(_), None)) => {
            (PaymentOperation::Relabel, Box::new(charge::steps::UpdateCharge::read(id(), &params()?, f)?))
        }
        ("POST", ("charges", Some(_), Some("capture"))) => {
            (PaymentOperation::Capture, Box::new(charge::steps::CaptureCharge::read(id(), &params()?, f)?))
        }
        ("GET", ("charges", None, None)) => {
            (PaymentOperation::List, Box::new(read::ListObjects::<Charge>::read(&params()?, f)?))
        }
        ("GET", ("charges", Some("search"), None)) => {
            (PaymentOperation::Search, Box::new(search::SearchObjects::<Charge>::read(&params()?, f)?))
        }
        ("GET", ("charges", Some(_), None)) => {
            (PaymentOperation::Get, Box::new(read::GetObject::<Charge>::read(id(), &params()?, f)?))
        }

        ("POST", ("payment_intents", None, None)) => {
            let call = intent::CreateIntent::read(&params()?, f)?;
            (call.operation(), Box::new(call))
        }
        ("POST", ("payment_intents", Some(_), None)) => {
            (PaymentOperation::Intent, Box::new(intent::UpdateIntent::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_intents", Some(_), Some("confirm"))) => {
            (PaymentOperation::Charge, Box::new(intent::steps::ConfirmIntent::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_intents", Some(_), Some("capture"))) => {
            (PaymentOperation::Capture, Box::new(intent::steps::CaptureIntent::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_intents", Some(_), Some("cancel"))) => {
            (PaymentOperation::Intent, Box::new(intent::steps::CancelIntent::read(id(), &params()?, f)?))
        }
        ("GET", ("payment_intents", None, None)) => {
            (PaymentOperation::List, Box::new(read::ListObjects::<Intent>::read(&params()?, f)?))
        }
        ("GET", ("payment_intents", Some("search"), None)) => {
            (PaymentOperation::Search, Box::new(search::SearchObjects::<Intent>::read(&params()?, f)?))
        }
        ("GET", ("payment_intents", Some(_), None)) => {
            (PaymentOperation::Get, Box::new(read::GetObject::<Intent>::read(id(), &params()?, f)?))
        }

        ("POST", ("refunds", None, None)) => {
            (PaymentOperation::Refund, Box::new(refund::CreateRefund::read(&params()?, f)?))
        }
        ("POST", ("refunds", Some(_), None)) => {
            (PaymentOperation::Relabel, Box::new(refund::UpdateRefund::read(id(), &params()?, f)?))
        }
        ("POST", ("charges", Some(_), Some("refunds"))) => {
            (PaymentOperation::Refund, Box::new(refund::CreateRefund::read_of_charge(id(), &params()?, f)?))
        }
        ("GET", ("charges", Some(_), Some("refunds"))) => {
            (PaymentOperation::List, Box::new(refund::ListChargeRefunds::read(id(), &params()?, f)?))
        }
        ("GET", ("refunds", None, None)) => {
            (PaymentOperation::List, Box::new(read::ListObjects::<Refund>::read(&params()?, f)?))
        }
        ("GET", ("refunds", Some(_), None)) => {
            (PaymentOperation::Get, Box::new(read::GetObject::<Refund>::read(id(), &params()?, f)?))
        }

        ("POST", ("customers", None, None)) => {
            (PaymentOperation::Customer, Box::new(customer::SaveCustomer::read(None, &params()?, f)?))
        }
        ("POST", ("customers", Some(_), None)) => {
            (PaymentOperation::Customer, Box::new(customer::SaveCustomer::read(Some(id()), &params()?, f)?))
        }
        ("DELETE", ("customers", Some(_), None)) => {
            (PaymentOperation::DeleteCustomer, Box::new(customer::DeleteCustomer::read(id(), &params()?, f)?))
        }
        ("GET", ("customers", None, None)) => {
            (PaymentOperation::Customers, Box::new(read::ListObjects::<Customer>::read(&params()?, f)?))
        }
        ("GET", ("customers", Some("search"), None)) => {
            (PaymentOperation::Customers, Box::new(search::SearchObjects::<Customer>::read(&params()?, f)?))
        }
        ("GET", ("customers", Some(_), None)) => {
            (PaymentOperation::Customers, Box::new(read::GetObject::<Customer>::read(id(), &params()?, f)?))
        }

        ("POST", ("subscriptions", None, None)) => {
            (PaymentOperation::Subscribe, Box::new(subscription::CreateSubscription::read(&params()?, f)?))
        }
        ("POST", ("subscriptions", Some(_), None)) => (
            PaymentOperation::Upgrade,
            Box::new(subscription::UpdateSubscription::read(id(), &params()?, f)?),
        ),
        ("DELETE", ("subscriptions", Some(_), None)) => (
            PaymentOperation::Unsubscribe,
            Box::new(subscription::cancel::CancelSubscription::read(id(), &params()?, f)?),
        ),
        ("GET", ("subscriptions", None, None)) => (
            PaymentOperation::Subscriptions,
            Box::new(read::ListObjects::<Subscription>::read(&params()?, f)?),
        ),
        ("GET", ("subscriptions", Some("search"), None)) => (
            PaymentOperation::Subscriptions,
            Box::new(search::SearchObjects::<Subscription>::read(&params()?, f)?),
        ),
        ("GET", ("subscriptions", Some(_), None)) => (
            PaymentOperation::Subscriptions,
            Box::new(read::GetObject::<Subscription>::read(id(), &params()?, f)?),
        ),

        ("POST", ("payment_methods", None, None)) => {
            (PaymentOperation::Method, Box::new(method::CreatePaymentMethod::read(&params()?, f)?))
        }
        ("POST", ("payment_methods", Some(_), None)) => {
            (PaymentOperation::Method, Box::new(method::UpdatePaymentMethod::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_methods", Some(_), Some("attach"))) => {
            (PaymentOperation::Method, Box::new(method::AttachPaymentMethod::read(id(), &params()?, f)?))
        }
        ("POST", ("payment_methods", Some(_), Some("detach"))) => {
            (PaymentOperation::Method, Box::new(method::DetachPaymentMethod::read(id(), &params()?, f)?))
        }
        ("GET", ("payment_methods", None, None)) => {
            (PaymentOperation::Methods, Box::new(method::ListCustomerMethods::read(None, &params()?, f)?))
        }
        ("GET", ("payment_methods", Some(_), None)) => {
            (PaymentOperation::Methods, Box::new(method::GetPaymentMethod::read(None, id(), &params()?, f)?))
        }
        ("GET", ("customers", Some(_), Some("payment_methods"))) => (
            PaymentOperation::Methods,
            Box::new(method::ListCustomerMethods::read(Some(id()), &params()?, f)?),
        ),
        ("POST", ("tokens", None, None)) => {
            (PaymentOperation::Method, Box::new(token::CreateToken::read(&params()?, f)?))
        }
        ("GET", ("tokens", Some(_), None)) => {
            (PaymentOperation::Methods, Box::new(token::GetToken::read(id(), &params()?, f)?))
        }

        ("POST", ("products", None, None)) => {
            (PaymentOperation::Product, Box::new(product::SaveProduct::read(None, &params()?, f)?))
        }
        ("POST", ("products", Some(_), None)) => (
            PaymentOperation::UpdateProduct,
            Box::new(product::SaveProduct::read(Some(id()), &params()?, f)?),
        ),
        ("DELETE", ("products", Some(_), None)) => {
            (PaymentOperation::DeleteProduct, Box::new(product::DeleteProduct::read(id(), &params()?, f)?))
        }
        ("GET", ("products", None, None)) => {
            (PaymentOperation::Products, Box::new(read::ListObjects::<Product>::read(&params()?, f)?))
        }
        ("GET", ("products", Some("search"), None)) => {
            (PaymentOperation::Products, Box::new(search::SearchObjects::<Product>::read(&params()?, f)?))
        }
        ("GET", ("products", Some(_), None)) => {
            (PaymentOperation::Products, Box::new(read::GetObject::<Product>::read(id(), &params()?, f)?))
        }

        ("POST", ("prices", None, None)) => {
            (PaymentOperation::Price, Box::new(price::CreatePrice::read(&params()?, f)?))
        }
        ("POST", ("prices", Some(_), None)) => {
            (PaymentOperation::UpdatePrice, Box::new(price::UpdatePrice::read(id(), &params()?, f)?))
        }
        ("GET", ("prices", None, None)) => {
            (PaymentOperation::Prices, Box::new(read::ListObjects::<Price>::read(&params()?, f)?))
        }
        ("GET", ("prices", Some("search"), None)) => {
            (PaymentOperation::Prices, Box::new(search::SearchObjects::<Price>::read(&params()?, f)?))
        }
        ("GET", ("prices", Some(_), None)) => {
            (PaymentOperation::Prices, Box::new(read::GetObject::<Price>::read(id(), &params()?, f)?))
        }

        ("GET", ("events", None, None)) => {
            (PaymentOperation::List, Box::new(read::ListObjects::<PaymentEvent>::read(&params()?, f)?))
        }
        ("GET", ("events", Some(_), None)) => {
            (PaymentOperation::Get, Box::new(read::GetObject::<PaymentEvent>::read(id(), &params()?, f)?))
        }

        ("GET", ("balance", None, None)) => {
            (PaymentOperation::Get, Box::new(read::GetBalance::read(&params()?, f)?))
        }
        _ => return Err(unknown()),
    };
    Ok(Routed { operation, fields, call })
}

/// The refusal of a request that the service does not support.
fn unknown(request: &Request) -> Refused {
    let (method, path) = (request.method(), request.path());
    match STRIPE.find(method, path) {
        Known::Endpoint(endpoint) => unsupported_endpoint(endpoint),
        Known::OtherMethods => unknown_url(method, path),
        Known::Nothing => unknown_path(request).unwrap_or_else(|| unknown_url(method, path)),
    }
}

/// The refusal of a request for a path that Stripe does not have. A path with only an empty segment too many
/// is meant for Stripe.
pub(crate) fn unknown_path(request: &Request) -> Option<Refused> {
    let is_known = STRIPE.has_path(request.path().trim_end_matches('/'));
    (!is_known).then(|| url_of_another_service(request.method(), request.path()))
}
