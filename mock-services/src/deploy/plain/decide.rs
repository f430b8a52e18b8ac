//! What a request to the plain API comes to.

use super::views::{DeploymentList, EnvironmentList, Nothing, Outcome, deployment_view, environment_view};
use super::{Call, Deploy, What, locks, problem, rollout};
use crate::deploy::deployment::{Deployment, Progress, Stage};
use crate::deploy::facts::operation;
use crate::deploy::options::DeployOptions;
use crate::deploy::state::{Change, Environment, State};
use crate::service::{Accepted, Answer, Context, Decision};

pub(crate) fn decide(
    options: &DeployOptions,
    state: &State,
    call: &Call,
    context: &Context,
) -> Decision<Change> {
    match &call.what {
        What::Deploy(deploy) => deploy_decision(options, state, &call.base, deploy, context),
        What::List(filter) => {
            let mut fitting = state.deployments.iter().rev().filter(|deployment| filter.fits(deployment));
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
        What::Get(id) => match state.find(id) {
            Some(deployment) => Decision::read(Answer::json(200, &deployment_view(&call.base, deployment))),
            None => Decision::refuse(problem::not_found("There is no deployment with this id.")),
        },
        What::Environments => {
            let view = |name, environment| environment_view(name, environment, context.now);
            let environments =
                state.environments.iter().map(|(name, environment)| view(name, environment)).collect();
            Decision::read(Answer::json(200, &EnvironmentList { environments }))
        }
        What::Environment(name) => match state.environments.get(name) {
            Some(environment) => {
                Decision::read(Answer::json(200, &environment_view(name, environment, context.now)))
            }
            None => Decision::refuse(problem::not_found("There is no environment with this name.")),
        },
        What::Lock { environment, holder, ttl } => locks::lock(state, environment, holder, *ttl, context),
        What::Unlock { environment, holder } => locks::unlock(state, environment, holder, context),
    }
}

fn deploy_decision(
    options: &DeployOptions,
    state: &State,
    base: &str,
    deploy: &Deploy,
    context: &Context,
) -> Decision<Change> {
    let wanted = &deploy.wanted;
    let fresh = Environment::default();
    let environment = state.environments.get(&wanted.environment).unwrap_or(&fresh);
    let track = environment.track(wanted.service.as_deref());
    let rolling = environment.rolling();
    let held = environment.lock_at(context.now);
    let lock = held.filter(|lock| deploy.holder.as_ref() != Some(&lock.holder));
    // A whole deployment also brings back the services that have gone their own way, so only then is it done
    // already.
    let own_ways =
        wanted.service.is_none() && environment.services.values().any(|own| own.version != track.version);
    let done = rolling.is_none() && !own_ways && track.version.as_ref() == Some(&wanted.version);
    if done || deploy.dry_run {
        let answer = Nothing {
            effect: if done { "noop" } else { "would_deploy" },
            dry_run: deploy.dry_run,
            environment: &wanted.environment,
            version: &wanted.version,
            service: wanted.service.as_deref(),
            current_version: track.version.as_deref(),
            id: track.deployment.as_deref().filter(|_| done),
            locked_by: lock.map(|lock| lock.holder.as_str()).filter(|_| !done),
        };
        let decision = Decision::read(Answer::json(200, &answer));
        // Nothing comes of it, so that no fault of a deployment may be used up by it.
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
    let mut accepted = accepted(options, base, deploy, context);
    // Whoever gets past a lock here has named its holder.
    accepted.effects.splice(0..0, locks::taken(held, &wanted.environment, "deploy", context));
    Decision::Accept(accepted)
}

fn accepted(options: &DeployOptions, base: &str, deploy: &Deploy, context: &Context) -> Accepted<Change> {
    let (progress, further) = rollout::steps(options.rollout, options.asynchronous);
    let id = context.ids.alphanumeric("dep_", 20);
    let deployed = Deployment {
        id: id.clone(),
        wanted: deploy.wanted.clone(),
        created_at: context.now,
        stage: progress.stage(),
        progress,
        record: None,
    };
    let further =
        further.into_iter().map(|(after, progress)| (after, Change::Advanced { id: id.clone(), progress }));
    match options.asynchronous {
        None => {
            let effect = if progress.is_whole() { "deployed" } else { "rolling_out" };
            let answer = told(201, effect, base, &deployed);
            Accepted {
                operation: None,
                effects: vec![Change::Deployed(Box::new(deployed))],
                afterwards: further.collect(),
                answer,
            }
        }
        Some(begin) => {
            let waiting = Progress { done: 0, of: progress.of };
            let queued = Deployment { stage: Stage::Queued, progress: waiting, ..deployed.clone() };
            let answer = told(202, "queued", base, &queued).with_header("Retry-After", "1");
            let first = (begin, Change::Deployed(Box::new(deployed)));
            let afterwards = std::iter::once(first).chain(further).collect();
            Accepted { operation: None, effects: vec![Change::Queued(Box::new(queued))], afterwards, answer }
        }
    }
}

fn told(status: u16, effect: &'static str, base: &str, deployment: &Deployment) -> Answer {
    let outcome = Outcome { effect, deployment: deployment_view(base, deployment) };
    Answer::json(status, &outcome).with_header("Location", outcome.deployment.status_url)
}
