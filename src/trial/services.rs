//! The services of a case, ready to be started.

use std::sync::Arc;

use mock_services::fault::{Fault, IntendedEffects};
use mock_services::service::Fields;
use mock_services::{Builder, MockServices, ServiceOptions};

use crate::fit::Rule;
use crate::scenario::{Case, Terms};

/// Describes the services of a case. The terms say which effects faults are about, and where the subject
/// keeps a field, so that a fault that asks for it looks there; `seed` is where the ids of what exists before
/// the first request come from.
pub(super) fn builder(case: &Case, terms: &Terms, seed: u64) -> Builder {
    let mut builder = MockServices::builder().callers(case.callers).intended(intended(terms));
    for setup in &case.services {
        let options = ServiceOptions { idempotency: setup.idempotency, ..ServiceOptions::default() };
        builder = setup.service.add_to(builder, seed, options);
    }
    if let Some(door) = &case.door {
        builder = builder.start_barrier(door.clone());
    }
    builder.faults(case.faults.iter().map(|fault| mapped(fault, &terms.fields)).collect())
}

/// Whether the case asks for an effect, by the scorer's own rule.
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
