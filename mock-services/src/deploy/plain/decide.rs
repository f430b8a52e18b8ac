//! Decides a request to the plain API.

use super::views::{
    DeploymentList, DeploymentOutcome, EnvironmentList, UnchangedOutcome, deployment_view, environment_view,
};
use super::{DeployRequest, PlainAction, PlainCall, locks, problem, rollout};
use crate::deploy::deployment::{Deployment, Progress, Stage};
use crate::deploy::facts::operation;
use crate::deploy::options::DeployOptions;
use crate::deploy::state::{DeployChange, Environment, State};
use crate::service::{Accepted, Answer, Context, Decision};

pub(crate) fn decide(
    options: &DeployOptions,
    state: &State,
    call: &PlainCall,
    context: &Context,
) -> Decision<DeployChange> {
    match &call.action {
        PlainAction::DeployRequest(deploy) => deploy_decision(options, state, &call.base, deploy, context),
        PlainAction::List(filter) => {
            let mut fitting = state.deployments.iter().rev().filter(|deployment| filter.matches(deployment));
            let deployments = fitting
                .by_ref()
                .take(filter.limit)
                .map(|deployment| deployment_view(&call.base, deployment))
                .collect();
            Decision::read(Answer::json(
                200,
                &DeploymentList { deployments, has_more: fitting.next().is_some() },
            ))
        }
        PlainAction::Get(id) => match state.find(id) {
            Some(deployment) => Decision::read(Answer::json(200, &deployment_view(&call.base, deployment))),
            None => Decision::refuse(problem::not_found("There is no deployment with this id.")),
        },
        PlainAction::Environments => {
            let view = |name, environment| environment_view(name, environment, context.now);
            let environments =
                state.environments.iter().map(|(name, environment)| view(name, environment)).collect();
            Decision::read(Answer::json(200, &EnvironmentList { environments }))
        }
        PlainAction::Environment(name) => match state.environments.get(name) {
            Some(environment) => {
                Decision::read(Answer::json(200, &environment_view(name, environment, context.now)))
            }
            None => Decision::refuse(problem::not_found("There is no environment with this name.")),
        },
        PlainAction::Lock { environment, holder, ttl } => {
            locks::lock(state, environment, holder, *ttl, context)
        }
        PlainAction::Unlock { environment, holder } => locks::unlock(state, environment, holder, context),
    }
}

fn deploy_decision(
    options: &DeployOptions,
    state: &State,
    base: &str,
    deploy: &DeployRequest,
    context: &Context,
) -> Decision<DeployChange> {
    let requested = &deploy.requested;
    let empty = Environment::default();
    let environment = state.environments.get(&requested.environment).unwrap_or(&empty);
    let track = environment.track(requested.service.as_deref());
    let rolling = environment.rolling();
    let held = environment.lock_at(context.now);
    let lock = held.filter(|lock| deploy.holder.as_ref() != Some(&lock.holder));
    // A deployment of the whole environment also replaces the versions of single services, so it is only a
    // no-op when there are none.
    let replaces_services =
        requested.service.is_none() && environment.services.values().any(|own| own.version != track.version);
    let done = rolling.is_none() && !replaces_services && track.version.as_ref() == Some(&requested.version);
    if done || deploy.dry_run {
        let answer = UnchangedOutcome {
            effect: if done { "noop" } else { "would_deploy" },
            dry_run: deploy.dry_run,
            environment: &requested.environment,
            version: &requested.version,
            service: requested.service.as_deref(),
            current_version: track.version.as_deref(),
            id: track.deployment.as_deref().filter(|_| done),
            locked_by: lock.map(|lock| lock.holder.as_str()).filter(|_| !done),
        };
        let decision = Decision::read(Answer::json(200, &answer));
        // A no-op deploys nothing, so it must not use up a fault on deploying.
        let operation = if deploy.dry_run { None } else { Some(operation::NO_CHANGE) };
        return match decision {
            Decision::Accept(accepted) => Decision::Accept(Accepted { operation, ..accepted }),
            refusal => refusal,
        };
    }
    if let Some(lock) = lock {
        return Decision::refuse(locks::refusal(lock, context.now));
    }
    if let Some(rolling) = rolling {
        let answer =
            problem::in_progress(rolling.deployment.as_deref(), rolling.version.as_deref(), rolling.progress);
        return Decision::refuse(answer);
    }
    let mut accepted = accept_deployment(options, base, deploy, context);
    // A caller that gets past a lock here has named its holder.
    accepted.effects.splice(0..0, locks::lock_use(held, &requested.environment, "deploy", context));
    Decision::Accept(accepted)
}

fn accept_deployment(
    options: &DeployOptions,
    base: &str,
    deploy: &DeployRequest,
    context: &Context,
) -> Accepted<DeployChange> {
    let (progress, later_steps) = rollout::steps(options.rollout, options.asynchronous);
    let id = context.ids.alphanumeric("dep_", 20);
    let deployed = Deployment {
        id: id.clone(),
        requested: deploy.requested.clone(),
        created_at: context.now,
        stage: progress.stage(),
        progress,
        record: None,
    };
    let later_steps = later_steps
        .into_iter()
        .map(|(after, progress)| (after, DeployChange::Advanced { id: id.clone(), progress }));
    match options.asynchronous {
        None => {
            let effect = if progress.is_complete() { "deployed" } else { "rolling_out" };
            let answer = deployment_answer(201, effect, base, &deployed);
            Accepted {
                operation: None,
                effects: vec![DeployChange::Deployed(Box::new(deployed))],
                afterwards: later_steps.collect(),
                answer,
            }
        }
        Some(start) => {
            let waiting = Progress { done: 0, of: progress.of };
            let queued = Deployment { stage: Stage::Queued, progress: waiting, ..deployed.clone() };
            let answer = deployment_answer(202, "queued", base, &queued).with_header("Retry-After", "1");
            let first = (start, DeployChange::Deployed(Box::new(deployed)));
            let afterwards = std::iter::once(first).chain(later_steps).collect();
            Accepted {
                operation: None,
                effects: vec![DeployChange::Queued(Box::new(queued))],
                afterwards,
                answer,
            }
        }
    }
}

fn deployment_answer(status: u16, effect: &'static str, base: &str, deployment: &Deployment) -> Answer {
    let outcome = DeploymentOutcome { effect, deployment: deployment_view(base, deployment) };
    Answer::json(status, &outcome).with_header("Location", outcome.deployment.status_url)
}
