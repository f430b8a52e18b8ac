//! The services of a case, before they are started.

use std::sync::Arc;

use mock_services::catalog::{self, PlannedRequest, PlannedStep, PlannedTask};
use mock_services::fault::{Fault, IntendedEffects};
use mock_services::service::Fields;
use mock_services::{Builder, MockServices, ServiceOptions};

use super::person;
use crate::fit::Rule;
use crate::scenario::{Case, ServiceSetup, Terms, Then};

/// The services of a case for a subject with these tools. The terms define the effects that faults apply to,
/// and the field names of the subject; `seed` is for the ids of objects that exist before the first request.
pub(super) fn builder(case: &Case, terms: &Terms, tools: &[(String, String)], seed: u64) -> Builder {
    let mut builder = MockServices::builder().callers(case.callers).intended(intended(terms));
    let tasks = planned_tasks(case);
    let answers = person::answer_plan(case, terms);
    for setup in &case.services {
        let options = ServiceOptions { idempotency: setup.idempotency.clone(), ..ServiceOptions::default() };
        let service = setup.service.with_tasks(&tasks).unwrap_or_else(|| Arc::clone(&setup.service));
        let service = service.with_tools(tools).unwrap_or(service);
        let service = service.with_answers(&answers).unwrap_or(service);
        builder = service.add_to(builder, seed, options);
    }
    if !case.happens.is_empty() {
        builder = builder.scenario_port();
    }
    if let Some(barrier) = &case.barrier {
        builder = builder.start_barrier(barrier.clone());
    }
    builder.faults(case.faults.iter().map(|fault| mapped(fault, &terms.fields)).collect())
}

/// The tasks of a case, each once, for services that act on them.
fn planned_tasks(case: &Case) -> Vec<PlannedTask> {
    let restarts = case.interrupts.iter().filter_map(|interrupt| match &interrupt.then {
        Then::Restart { work, .. } => work.as_ref().filter(|work| !work.is_none()),
        Then::End => None,
    });
    let main = (case.each.is_empty() || !case.work.steps.is_empty()).then_some(&case.work);
    let works = main.into_iter().chain(&case.each).chain(&case.turns).chain(restarts);
    let are_used = case.services.iter().any(|setup| setup.service.with_tasks(&[]).is_some());
    let requests = if are_used { planned_requests(case) } else { Vec::new() };
    let mut tasks: Vec<PlannedTask> = Vec::new();
    for work in works {
        let steps = work.steps.iter().map(|step| {
            let (one, several) = catalog::nouns(&step.operation);
            PlannedStep {
                operation: step.operation.clone(),
                fields: step.with.clone(),
                nouns: vec![one, several],
            }
        });
        let task =
            PlannedTask { text: work.task.clone(), steps: steps.collect(), requests: requests.clone() };
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    tasks
}

/// The requests that the tools of the services make.
fn planned_requests(case: &Case) -> Vec<PlannedRequest> {
    let of_service = |setup: &ServiceSetup| {
        let description = setup.description()?;
        let chosen = setup.idempotency.as_ref();
        let requests = (description.tools)().into_iter().map(|tool| PlannedRequest {
            service: setup.name.clone(),
            takes_key: description.key_rules(&tool, chosen).is_some(),
            tool,
        });
        Some(requests.collect::<Vec<_>>())
    };
    case.services.iter().filter_map(of_service).flatten().collect()
}

/// Whether the case expects an effect, by the rule of the scorer. A case that expects none in particular is about every
/// effect.
fn intended(terms: &Terms) -> IntendedEffects {
    let terms = terms.clone();
    let names_none = terms.intents.is_empty() && !terms.expects_state();
    Arc::new(move |facts| names_none || Rule::new(&terms).is_intended(&facts.effect, &facts.fields))
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
