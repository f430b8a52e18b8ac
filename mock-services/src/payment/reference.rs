//! The endpoints of the payment service, for its reference. A test compares them with the router.

use super::allowed::*;
use super::calls::read::Listable;
use super::objects::{Charge, Customer, Intent, PaymentEvent, Price, Product, Refund, Subscription};
use super::route::STRIPE;
use crate::description::{EndpointDescription, RealEndpoint};

const METADATA: &[&str] = &["metadata"];
const SECRET: &[&str] = &["client_secret"];

/// All endpoints of Stripe.
pub(super) fn real_endpoints() -> Vec<RealEndpoint> {
    STRIPE.all().into_iter().map(RealEndpoint::from).collect()
}

/// All endpoints of the service.
pub(super) fn endpoints() -> Vec<EndpointDescription> {
    let mut all = charges();
    all.extend(intents());
    all.extend(refunds());
    all.extend(customers());
    all.extend(subscriptions());
    all.extend(methods());
    all.extend(products());
    all.push(list::<PaymentEvent>("payment.list"));
    all.push(one("/v1/events/{id}", "payment.get"));
    all.push(get("/v1/balance", "payment.get", &[COMMON]));
    all
}

fn get(path: &str, operation: &str, parameters: &[&[&str]]) -> EndpointDescription {
    EndpointDescription::new("GET", path, &[operation], parameters)
}

fn post(path: &str, operations: &[&str], parameters: &[&[&str]]) -> EndpointDescription {
    EndpointDescription::new("POST", path, operations, parameters)
}

fn delete(path: &str, operation: &str, parameters: &[&[&str]]) -> EndpointDescription {
    EndpointDescription::new("DELETE", path, &[operation], parameters)
}

fn list<T: Listable>(operation: &str) -> EndpointDescription {
    get(T::URL, operation, &[LIST, T::FILTERS, T::NESTED_FILTERS, COMMON])
}

fn one(path: &str, operation: &str) -> EndpointDescription {
    get(path, operation, &[COMMON, SECRET])
}

fn search(path: &str, operation: &str) -> EndpointDescription {
    get(path, operation, &[SEARCH, COMMON])
}

fn charges() -> Vec<EndpointDescription> {
    vec![
        post("/v1/charges", &["payment.charge", "payment.hold"], &[CHARGE, COMMON]),
        list::<Charge>("payment.list"),
        search("/v1/charges/search", "payment.search"),
        one("/v1/charges/{id}", "payment.get"),
        post("/v1/charges/{id}", &["payment.relabel"], &[CHARGE_UPDATE, COMMON]),
        post("/v1/charges/{id}/capture", &["payment.capture"], &[CHARGE_CAPTURE, COMMON]),
        post("/v1/charges/{id}/refunds", &["payment.refund", "payment.intent"], &[CHARGE_REFUND, COMMON]),
        get("/v1/charges/{id}/refunds", "payment.list", &[LIST, COMMON]),
    ]
}

fn intents() -> Vec<EndpointDescription> {
    let create = [INTENT_CREATE, INTENT_WRITE, INTENT, COMMON, INTENT_CONFIRM];
    let charges = &["payment.charge", "payment.hold", "payment.intent"];
    vec![
        post("/v1/payment_intents", charges, &create).without(INTENT_UNSUPPORTED),
        list::<Intent>("payment.list"),
        search("/v1/payment_intents/search", "payment.search"),
        one("/v1/payment_intents/{id}", "payment.get"),
        post(
            "/v1/payment_intents/{id}",
            &["payment.intent", "payment.relabel"],
            &[INTENT_WRITE, INTENT, COMMON],
        )
        .without(INTENT_UNSUPPORTED),
        post("/v1/payment_intents/{id}/confirm", charges, &[INTENT, INTENT_CONFIRM, COMMON])
            .without(INTENT_UNSUPPORTED),
        post("/v1/payment_intents/{id}/capture", &["payment.capture"], &[INTENT_CAPTURE, COMMON])
            .without(INTENT_UNSUPPORTED),
        post("/v1/payment_intents/{id}/cancel", &["payment.intent"], &[INTENT_CANCEL, COMMON]),
    ]
}

fn refunds() -> Vec<EndpointDescription> {
    vec![
        post("/v1/refunds", &["payment.refund", "payment.intent"], &[REFUND, COMMON]),
        list::<Refund>("payment.list"),
        one("/v1/refunds/{id}", "payment.get"),
        post("/v1/refunds/{id}", &["payment.relabel"], &[METADATA, COMMON]),
    ]
}

fn customers() -> Vec<EndpointDescription> {
    let save = |path| post(path, &["payment.customer"], &[CUSTOMER, COMMON]).without(CUSTOMER_UNSUPPORTED);
    vec![
        save("/v1/customers"),
        list::<Customer>("payment.customers"),
        search("/v1/customers/search", "payment.customers"),
        one("/v1/customers/{id}", "payment.customers"),
        save("/v1/customers/{id}"),
        delete("/v1/customers/{id}", "payment.delete-customer", &[]),
        get(
            "/v1/customers/{id}/payment_methods",
            "payment.methods",
            &[LIST, &["type", "allow_redisplay"], COMMON],
        ),
        get("/v1/customers/{id}/payment_methods/{id}", "payment.methods", &[COMMON]),
    ]
}

fn subscriptions() -> Vec<EndpointDescription> {
    let update = &["payment.upgrade", "payment.amend", "payment.relabel", "payment.no-change"];
    vec![
        post(
            "/v1/subscriptions",
            &["payment.subscribe", "payment.intent"],
            &[SUBSCRIPTION, SUBSCRIPTION_CREATE, COMMON],
        )
        .without(SUBSCRIPTION_UNSUPPORTED),
        list::<Subscription>("payment.subscriptions"),
        search("/v1/subscriptions/search", "payment.subscriptions"),
        one("/v1/subscriptions/{id}", "payment.subscriptions"),
        post("/v1/subscriptions/{id}", update, &[SUBSCRIPTION, COMMON]).without(SUBSCRIPTION_UNSUPPORTED),
        delete("/v1/subscriptions/{id}", "payment.unsubscribe", &[UNSUBSCRIBE, COMMON]),
    ]
}

fn methods() -> Vec<EndpointDescription> {
    const WRITE: &[&str] = &["payment.method"];
    vec![
        post("/v1/payment_methods", WRITE, &[METHOD, COMMON]).without(METHOD_UNSUPPORTED),
        get(
            "/v1/payment_methods",
            "payment.methods",
            &[LIST, &["type", "allow_redisplay", "customer"], COMMON],
        ),
        get("/v1/payment_methods/{id}", "payment.methods", &[COMMON]),
        post("/v1/payment_methods/{id}", WRITE, &[METHOD_UPDATE, COMMON]).without(METHOD_UPDATE_UNSUPPORTED),
        post("/v1/payment_methods/{id}/attach", WRITE, &[METHOD_ATTACH, COMMON])
            .without(METHOD_ATTACH_UNSUPPORTED),
        post("/v1/payment_methods/{id}/detach", WRITE, &[COMMON]),
        post("/v1/tokens", WRITE, &[TOKEN, COMMON]).without(TOKEN_UNSUPPORTED),
        get("/v1/tokens/{id}", "payment.methods", &[COMMON]),
    ]
}

fn products() -> Vec<EndpointDescription> {
    vec![
        post("/v1/products", &["payment.product"], &[PRODUCT, PRODUCT_CREATE, COMMON])
            .without(PRODUCT_UNSUPPORTED),
        list::<Product>("payment.products"),
        search("/v1/products/search", "payment.products"),
        one("/v1/products/{id}", "payment.products"),
        post("/v1/products/{id}", &["payment.update-product"], &[PRODUCT, PRODUCT_UPDATE, COMMON])
            .without(PRODUCT_UNSUPPORTED),
        delete("/v1/products/{id}", "payment.delete-product", &[]),
        post("/v1/prices", &["payment.price"], &[PRICE, COMMON]).without(PRICE_UNSUPPORTED),
        list::<Price>("payment.prices"),
        search("/v1/prices/search", "payment.prices"),
        one("/v1/prices/{id}", "payment.prices"),
        post("/v1/prices/{id}", &["payment.update-price"], &[PRICE_UPDATE, COMMON])
            .without(PRICE_UPDATE_UNSUPPORTED),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::route::route;
    use crate::service::Request;

    /// The error of a request with this one parameter; `None` if the request is accepted.
    fn error(endpoint: &EndpointDescription, parameter: &str) -> Option<serde_json::Value> {
        let path = endpoint.example_path("x1");
        let request = match endpoint.method.as_str() {
            "POST" => Request::new("POST", &path).body(parameter.to_owned()),
            method => Request::new(method, &format!("{path}?{parameter}")),
        };
        let context = crate::service::Context {
            now: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
            ids: crate::service::Ids::new(1, "payment", 1, 1, 0),
        };
        let refused = route(&request).err()?;
        serde_json::from_slice(&refused.answer(&context).written().body).ok()
    }

    #[test]
    fn the_reference_lists_exactly_the_endpoints_that_the_router_has() {
        let endpoints = endpoints();
        for real in real_endpoints() {
            let as_endpoint = EndpointDescription::new(&real.method, &real.path, &[], &[]);
            let path = as_endpoint.example_path("x1");
            let refused = route(&Request::new(&real.method, &path)).err();
            let is_lacking = refused.is_some_and(|problem| problem.is_unsupported_endpoint());
            let is_listed = endpoints.iter().any(|endpoint| endpoint.is(&real));
            assert_eq!(is_listed, !is_lacking, "{real:?}");
        }
        for endpoint in &endpoints {
            let is_real = real_endpoints().iter().any(|real| endpoint.is(real));
            assert!(is_real, "Stripe does not have {} {}", endpoint.method, endpoint.path);
        }
    }

    #[test]
    fn the_reference_lists_the_parameters_that_an_endpoint_accepts() {
        for endpoint in endpoints() {
            let code = |parameter: &str| {
                let error = error(&endpoint, parameter)?;
                error["error"]["code"].as_str().map(str::to_owned)
            };
            let at = format!("{} {}", endpoint.method, endpoint.path);
            for parameter in &endpoint.parameters {
                assert_ne!(
                    code(&format!("{parameter}=")).as_deref(),
                    Some("parameter_unknown"),
                    "{at} {parameter}"
                );
            }
            assert_eq!(code("no_parameter=1").as_deref(), Some("parameter_unknown"), "{at}");
            for parameter in &endpoint.unsupported {
                let error = error(&endpoint, &format!("{parameter}=1")).unwrap();
                let message = error["error"]["message"].as_str().unwrap();
                assert!(
                    message.starts_with("hapax does not have the parameter"),
                    "{at} {parameter}: {message}"
                );
            }
        }
    }
}
