//! Compares the endpoints of a reference with what a service answers.

use super::*;
use crate::catalog::services;
use crate::service::{Context, Ids, Request, Service};

fn answer_status<S: Service>(service: &S, method: &str, path: &str) -> (Option<u16>, bool) {
    let context = Context {
        now: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
        ids: Ids::new(1, "service", 1, 1, 0),
    };
    let request = Request::new(method, path).header("User-Agent", "test");
    let refusal = service.recognize(&request, &context).err();
    let is_lacking = refusal.as_ref().is_some_and(|answer| answer.missing_feature().is_some());
    (refusal.map(|answer| answer.status), is_lacking)
}

/// Asserts that a service has all endpoints of its reference, and lacks all others of the real APIs.
pub(crate) fn listed_like_routed<S: Service>(
    service: &S,
    endpoints: &[EndpointDescription],
    real: &[RealEndpoint],
) {
    for endpoint in endpoints {
        let (status, is_lacking) = answer_status(service, &endpoint.method, &endpoint.example_path("1"));
        // The object with the id 1 can be missing where the endpoint exists.
        let is_found = status != Some(404) || endpoint.path.contains('{');
        assert!(
            !is_lacking && is_found && status != Some(405),
            "{} {}: {status:?}",
            endpoint.method,
            endpoint.path
        );
        let is_real = real.is_empty() || real.iter().any(|real| endpoint.is(real));
        assert!(is_real, "the real API does not have {} {}", endpoint.method, endpoint.path);
    }
    for real in real {
        let path = EndpointDescription::new(&real.method, &real.path, &[], &[]).example_path("1");
        let (status, is_lacking) = answer_status(service, &real.method, &path);
        let is_listed = endpoints.iter().any(|endpoint| endpoint.is(real));
        assert!(is_listed || is_lacking || matches!(status, Some(404 | 405)), "{real:?}: {status:?}");
    }
}

#[test]
fn the_endpoints_of_a_service_have_all_its_operations() {
    for service in services() {
        let endpoints = (service.endpoints)();
        for operation in &service.operations {
            let is_listed =
                endpoints.iter().any(|one| one.operations.iter().any(|name| *name == operation.name));
            assert!(is_listed, "no endpoint of the reference has {}", operation.name);
        }
        for name in endpoints.iter().flat_map(|endpoint| &endpoint.operations) {
            assert!(service.operations.iter().any(|one| one.name == *name), "there is no {name}");
        }
        assert!(!service.about.is_empty(), "{}", service.name);
    }
}

#[test]
fn the_reference_of_a_service_has_a_section_for_each_part() {
    let payment = reference(crate::catalog::find("payment").unwrap());
    for part in [
        "## Clients",
        "## Endpoints",
        "## Operations",
        "## Effects",
        "## Faults",
        "## Options",
        "## What is not there",
    ] {
        assert!(payment.contains(part), "{part}");
    }
    assert!(payment.contains("| `POST /v1/products` | `payment.product` |"), "{payment}");
    assert!(payment.contains("`/v1/invoices` "), "{payment}");
    let tickets = reference(crate::catalog::find("tickets").unwrap());
    assert!(tickets.contains("| `POST /tickets/{id}/close` | `tickets.close` |"), "{tickets}");
}
