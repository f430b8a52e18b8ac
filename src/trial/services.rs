//! The services of a case, before they are started.

use std::sync::Arc;

use mock_services::fault::{Fault, IntendedEffects};
use mock_services::service::Fields;
use mock_services::{Builder, MockServices, ServiceOptions};

use crate::fit::Rule;
use crate::scenario::{Case, Terms};

/// The services of a case. The terms define the effects that faults apply to, and the field names of the
/// subject; `seed` is for the ids of objects that exist before the first request.
pub(super) fn builder(case: &Case, terms: &Terms, seed: u64) -> Builder {
    let mut builder = MockServices::builder().callers(case.callers).intended(intended(terms));
    for setup in &case.services {
        let options = ServiceOptions { idempotency: setup.idempotency, ..ServiceOptions::default() };
        builder = setup.service.add_to(builder, seed, options);
    }
    if let Some(barrier) = &case.barrier {
        builder = builder.start_barrier(barrier.clone());
    }
    builder.faults(case.faults.iter().map(|fault| mapped(fault, &terms.fields)).collect())
}

/// Whether the case expects an effect, by the rule of the scorer.
fn intended(terms: &Terms) -> IntendedEffects {
    let terms = terms.clone();
    Arc::new(move |facts| Rule::new(&terms).is_intended(&facts.effect, &facts.fields))
}

fn mapped(fault: &Fault, fields: &[(String, String)]) -> Fault {
    let mut fault = fault.clone();
    let name_of = |name: &str| {
        fields.iter().find(|(known, _)| known == name).map_or(name, |(_, theirs)| theirs).to_owned()
    };
    let renamed = fault.trigger.fields.iter().map(|(name, value)| (name_of(name), value.clone()));
    fault.trigger.fields = renamed.fold(Fields::new(), |fields, (name, value)| fields.with(name, value));
    fault
}
