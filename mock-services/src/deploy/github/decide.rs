//! What a request to GitHub's API comes to.

use super::objects::{deployment_object, status_object};
use super::read::{Filter, Report};
use super::{Call, Page, Place, What, errors, repository};
use crate::deploy::deployment::{Deployment, Progress, Record, Source, Stage, Status, Wanted};
use crate::deploy::state::{Change, State};
use crate::service::{Answer, Context, Decision};

/// The states of a deployment that nobody is served by.
const OUT_OF_SERVICE: [&str; 3] = ["inactive", "failure", "error"];

/// A deployment that was made over this API.
type Made<'a> = (&'a Deployment, &'a Source, &'a Record);

pub(crate) fn decide(state: &State, call: &Call, context: &Context) -> Decision<Change> {
    let place = &call.place;
    match &call.what {
        What::Repository => Decision::read(Answer::json(200, &repository::repository(place))),
        What::Create(wanted) => create(place, wanted, context),
        What::List(filter, page) => list(state, place, filter, page),
        What::Get(number) => read(state, place, *number, |(deployment, source, record)| {
            Some(Answer::json(200, &deployment_object(place, deployment, source, record)))
        }),
        What::Statuses(number, page) => read(state, place, *number, |(_, _, record)| {
            let newest_first: Vec<_> = record.statuses.iter().rev().collect();
            Some(page.answer(&newest_first, |status| status_object(place, *number, status)))
        }),
        What::Status(number, id) => read(state, place, *number, |(_, _, record)| {
            let status = record.statuses.iter().find(|status| status.number == *id)?;
            Some(Answer::json(200, &status_object(place, *number, status)))
        }),
        What::Delete(number) => delete(state, place, *number),
        What::Report(number, report) => post_status(state, place, *number, report, context),
    }
}

fn create(place: &Place, wanted: &Wanted, context: &Context) -> Decision<Change> {
    let Some(source) = &wanted.source else {
        return Decision::refuse(errors::not_found(errors::CREATE_DOCS));
    };
    let number = fresh_number(context, "deployment");
    let record = Record {
        number,
        node_id: context.ids.alphanumeric("DE_kwDO", 14),
        environment: wanted.environment.clone(),
        updated_at: context.now,
        statuses: Vec::new(),
    };
    let deployment = Deployment {
        id: number.to_string(),
        wanted: wanted.clone(),
        created_at: context.now,
        stage: Stage::Live,
        progress: Progress::WHOLE,
        record: Some(record.clone()),
    };
    let object = deployment_object(place, &deployment, source, &record);
    let answer = Answer::json(201, &object).with_header("Location", object.url);
    Decision::accept(answer, vec![Change::Deployed(Box::new(deployment))])
}

fn list(state: &State, place: &Place, filter: &Filter, page: &Page) -> Decision<Change> {
    let newest_first: Vec<_> = of_place(state, place)
        .rev()
        .filter(|(deployment, source, record)| filter.fits(deployment, source, record))
        .collect();
    Decision::read(page.answer(&newest_first, |(deployment, source, record)| {
        deployment_object(place, deployment, source, record)
    }))
}

fn read<'a>(
    state: &'a State,
    place: &Place,
    number: u64,
    view: impl FnOnce(Made<'a>) -> Option<Answer>,
) -> Decision<Change> {
    match find(state, place, number).and_then(view) {
        Some(answer) => Decision::read(answer),
        None => Decision::refuse(errors::not_found(errors::GET_DOCS)),
    }
}

fn delete(state: &State, place: &Place, number: u64) -> Decision<Change> {
    let Some((deployment, _, record)) = find(state, place, number) else {
        return Decision::refuse(errors::not_found(errors::DELETE_DOCS));
    };
    let in_its_environment =
        of_place(state, place).filter(|(_, _, other)| other.environment == record.environment).count();
    if record.is_active() && in_its_environment > 1 {
        return Decision::refuse(errors::still_active());
    }
    Decision::accept(Answer::empty(204), vec![Change::Deleted(Box::new(deployment.clone()))])
}

fn post_status(
    state: &State,
    place: &Place,
    number: u64,
    report: &Report,
    context: &Context,
) -> Decision<Change> {
    let Some((deployment, _, record)) = find(state, place, number) else {
        return Decision::refuse(errors::not_found(errors::STATUS_DOCS));
    };
    let environment = report.environment.clone().unwrap_or_else(|| record.environment.clone());
    let status = Status {
        number: fresh_number(context, "status"),
        node_id: context.ids.alphanumeric("DES_kwDO", 16),
        state: report.state.clone(),
        description: report.description.clone(),
        environment,
        environment_url: report.environment_url.clone(),
        log_url: report.log_url.clone(),
        created_at: context.now,
    };
    let object = status_object(place, number, &status);
    let answer = Answer::json(201, &object).with_header("Location", object.url);
    let mut changes = Vec::new();
    if report.auto_inactive && report.state == "success" {
        changes.extend(retired(state, place, number, &status, context));
    }
    let is_elsewhere = status.environment != record.environment;
    if is_elsewhere || OUT_OF_SERVICE.contains(&status.state.as_str()) {
        changes.push(Change::Retired {
            deployment: Box::new(deployment.clone()),
            status: Box::new(status.clone()),
        });
    }
    changes.push(Change::Reported { id: deployment.id.clone(), status: Box::new(status) });
    Decision::accept(answer, changes)
}

/// A success retires the earlier successes of the environment, those in production and transient ones
/// excepted.
fn retired<'a>(
    state: &'a State,
    place: &'a Place,
    number: u64,
    status: &'a Status,
    context: &'a Context,
) -> impl Iterator<Item = Change> + 'a {
    let earlier = of_place(state, place).take_while(move |(_, _, record)| record.number != number);
    let retires = |(_, source, record): &Made<'_>| {
        record.is_active()
            && !source.transient
            && !source.production
            && record.environment == status.environment
    };
    earlier.filter(retires).map(|(deployment, _, record)| {
        let name = format!("inactive {}", deployment.id);
        let inactive = Status {
            number: fresh_number(context, &name),
            node_id: format!("DES_kwDO{}", context.ids.hex(&name, 16)),
            state: "inactive".to_owned(),
            description: String::new(),
            environment: record.environment.clone(),
            environment_url: String::new(),
            log_url: String::new(),
            created_at: context.now,
        };
        Change::Reported { id: deployment.id.clone(), status: Box::new(inactive) }
    })
}

/// The deployments of the repository, the oldest first.
fn of_place<'a>(state: &'a State, place: &'a Place) -> impl DoubleEndedIterator<Item = Made<'a>> {
    state.deployments.iter().filter_map(|deployment| {
        let source =
            deployment.wanted.source.as_ref().filter(|source| source.is_of(&place.owner, &place.repo))?;
        Some((deployment, source, deployment.record.as_ref()?))
    })
}

fn find<'a>(state: &'a State, place: &Place, number: u64) -> Option<Made<'a>> {
    state.deployments.iter().find_map(|deployment| {
        let record = deployment.record.as_ref().filter(|record| record.number == number)?;
        let source =
            deployment.wanted.source.as_ref().filter(|source| source.is_of(&place.owner, &place.repo))?;
        Some((deployment, source, record))
    })
}

/// An id of ten digits: beyond 32 bits, as GitHub's are, and within what JavaScript holds exactly.
fn fresh_number(context: &Context, name: &str) -> u64 {
    2_000_000_000 + context.ids.number(name, 7_999_999_999)
}
