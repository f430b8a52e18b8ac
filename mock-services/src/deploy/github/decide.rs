//! Decides a request to GitHub's API.

use super::objects::{deployment_object, status_object};
use super::read::{GithubFilter, NewStatus};
use super::{GithubAction, GithubCall, Page, RepositoryAddress, errors, repository};
use crate::deploy::deployment::{
    Deployment, DeploymentStatus, GithubRecord, GithubSource, Progress, RequestedDeployment, Stage,
};
use crate::deploy::state::{DeployChange, State};
use crate::service::{Answer, Context, Decision};

/// The states in which a deployment serves no users.
const RETIRED_STATES: [&str; 3] = ["inactive", "failure", "error"];

/// A deployment that was made over this API.
type GithubDeployment<'a> = (&'a Deployment, &'a GithubSource, &'a GithubRecord);

pub(crate) fn decide(state: &State, call: &GithubCall, context: &Context) -> Decision<DeployChange> {
    let repository = &call.repository;
    match &call.action {
        GithubAction::Repository => Decision::read(Answer::json(200, &repository::repository(repository))),
        GithubAction::Create(requested) => create(repository, requested, context),
        GithubAction::List(filter, page) => list(state, repository, filter, page),
        GithubAction::Get(number) => read(state, repository, *number, |(deployment, source, record)| {
            Some(Answer::json(200, &deployment_object(repository, deployment, source, record)))
        }),
        GithubAction::Statuses(number, page) => read(state, repository, *number, |(_, _, record)| {
            let newest_first: Vec<_> = record.statuses.iter().rev().collect();
            Some(page.answer(&newest_first, |status| status_object(repository, *number, status)))
        }),
        GithubAction::DeploymentStatus(number, id) => read(state, repository, *number, |(_, _, record)| {
            let status = record.statuses.iter().find(|status| status.number == *id)?;
            Some(Answer::json(200, &status_object(repository, *number, status)))
        }),
        GithubAction::Delete(number) => delete(state, repository, *number),
        GithubAction::NewStatus(number, new_status) => {
            post_status(state, repository, *number, new_status, context)
        }
    }
}

fn create(
    repository: &RepositoryAddress,
    requested: &RequestedDeployment,
    context: &Context,
) -> Decision<DeployChange> {
    let Some(source) = &requested.source else {
        return Decision::refuse(errors::not_found(errors::CREATE_DOCS));
    };
    let number = fresh_number(context, "deployment");
    let record = GithubRecord {
        number,
        node_id: context.ids.alphanumeric("DE_kwDO", 14),
        environment: requested.environment.clone(),
        updated_at: context.now,
        statuses: Vec::new(),
    };
    let deployment = Deployment {
        id: number.to_string(),
        requested: requested.clone(),
        created_at: context.now,
        stage: Stage::Live,
        progress: Progress::COMPLETE,
        record: Some(record.clone()),
    };
    let object = deployment_object(repository, &deployment, source, &record);
    let answer = Answer::json(201, &object).with_header("Location", object.url);
    Decision::accept(answer, vec![DeployChange::Deployed(Box::new(deployment))])
}

fn list(
    state: &State,
    repository: &RepositoryAddress,
    filter: &GithubFilter,
    page: &Page,
) -> Decision<DeployChange> {
    let newest_first: Vec<_> = deployments_of(state, repository)
        .rev()
        .filter(|(deployment, source, record)| filter.matches(deployment, source, record))
        .collect();
    Decision::read(page.answer(&newest_first, |(deployment, source, record)| {
        deployment_object(repository, deployment, source, record)
    }))
}

fn read<'a>(
    state: &'a State,
    repository: &RepositoryAddress,
    number: u64,
    view: impl FnOnce(GithubDeployment<'a>) -> Option<Answer>,
) -> Decision<DeployChange> {
    match find(state, repository, number).and_then(view) {
        Some(answer) => Decision::read(answer),
        None => Decision::refuse(errors::not_found(errors::GET_DOCS)),
    }
}

fn delete(state: &State, repository: &RepositoryAddress, number: u64) -> Decision<DeployChange> {
    let Some((deployment, _, record)) = find(state, repository, number) else {
        return Decision::refuse(errors::not_found(errors::DELETE_DOCS));
    };
    let in_its_environment = deployments_of(state, repository)
        .filter(|(_, _, other)| other.environment == record.environment)
        .count();
    if record.is_active() && in_its_environment > 1 {
        return Decision::refuse(errors::still_active());
    }
    Decision::accept(Answer::empty(204), vec![DeployChange::Deleted(Box::new(deployment.clone()))])
}

fn post_status(
    state: &State,
    repository: &RepositoryAddress,
    number: u64,
    new_status: &NewStatus,
    context: &Context,
) -> Decision<DeployChange> {
    let Some((deployment, _, record)) = find(state, repository, number) else {
        return Decision::refuse(errors::not_found(errors::STATUS_DOCS));
    };
    let environment = new_status.environment.clone().unwrap_or_else(|| record.environment.clone());
    let status = DeploymentStatus {
        number: fresh_number(context, "status"),
        node_id: context.ids.alphanumeric("DES_kwDO", 16),
        state: new_status.state.clone(),
        description: new_status.description.clone(),
        environment,
        environment_url: new_status.environment_url.clone(),
        log_url: new_status.log_url.clone(),
        created_at: context.now,
    };
    let object = status_object(repository, number, &status);
    let answer = Answer::json(201, &object).with_header("Location", object.url);
    let mut changes = Vec::new();
    if new_status.auto_inactive && new_status.state == "success" {
        changes.extend(retired_deployments(state, repository, number, &status, context));
    }
    let is_elsewhere = status.environment != record.environment;
    if is_elsewhere || RETIRED_STATES.contains(&status.state.as_str()) {
        changes.push(DeployChange::Retired {
            deployment: Box::new(deployment.clone()),
            status: Box::new(status.clone()),
        });
    }
    changes.push(DeployChange::Reported { id: deployment.id.clone(), status: Box::new(status) });
    Decision::accept(answer, changes)
}

/// A success retires the earlier successful deployments of the environment, except production and transient
/// ones.
fn retired_deployments<'a>(
    state: &'a State,
    repository: &'a RepositoryAddress,
    number: u64,
    status: &'a DeploymentStatus,
    context: &'a Context,
) -> impl Iterator<Item = DeployChange> + 'a {
    let earlier = deployments_of(state, repository).take_while(move |(_, _, record)| record.number != number);
    let retires = |(_, source, record): &GithubDeployment<'_>| {
        record.is_active()
            && !source.transient
            && !source.production
            && record.environment == status.environment
    };
    earlier.filter(retires).map(|(deployment, _, record)| {
        let name = format!("inactive {}", deployment.id);
        let inactive = DeploymentStatus {
            number: fresh_number(context, &name),
            node_id: format!("DES_kwDO{}", context.ids.hex(&name, 16)),
            state: "inactive".to_owned(),
            description: String::new(),
            environment: record.environment.clone(),
            environment_url: String::new(),
            log_url: String::new(),
            created_at: context.now,
        };
        DeployChange::Reported { id: deployment.id.clone(), status: Box::new(inactive) }
    })
}

/// The deployments of the repository, oldest first.
fn deployments_of<'a>(
    state: &'a State,
    repository: &'a RepositoryAddress,
) -> impl DoubleEndedIterator<Item = GithubDeployment<'a>> {
    state.deployments.iter().filter_map(|deployment| {
        let source = deployment
            .requested
            .source
            .as_ref()
            .filter(|source| source.is_of(&repository.owner, &repository.repo))?;
        Some((deployment, source, deployment.record.as_ref()?))
    })
}

fn find<'a>(state: &'a State, repository: &RepositoryAddress, number: u64) -> Option<GithubDeployment<'a>> {
    state.deployments.iter().find_map(|deployment| {
        let record = deployment.record.as_ref().filter(|record| record.number == number)?;
        let source = deployment
            .requested
            .source
            .as_ref()
            .filter(|source| source.is_of(&repository.owner, &repository.repo))?;
        Some((deployment, source, record))
    })
}

/// An id of ten digits: more than 32 bits, as GitHub's ids are, and exact in JavaScript.
fn fresh_number(context: &Context, name: &str) -> u64 {
    2_000_000_000 + context.ids.number(name, 7_999_999_999)
}
