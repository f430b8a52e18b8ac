//! The handlers of the admin API.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::rejection::StringRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use mock_services::fault::{Fired, read_faults};
use serde::Deserialize;
use yaml_reader::Source;

use super::answers::{EffectInfo, Effects, Faults, LedgerPage, ServiceInfo, Services, problems, refusal};
use super::{Admin, MAX_BODY_BYTES};
use crate::report::plain_timeline;
use crate::serve::expected::must_still_fire;
use crate::serve::{TRIAL, show};

pub(super) type AdminState = State<Arc<Admin>>;

/// The maximum number of entries in one response.
const MAX_ENTRIES: usize = 10_000;
/// The maximum number of lines of a timeline.
const MAX_TIMELINE: usize = 60;

pub(super) async fn services(State(admin): AdminState) -> Json<Services> {
    let services = &admin.services;
    let operations = services.operations();
    let one = |name: &str| ServiceInfo {
        name: name.to_owned(),
        urls: (1..).map_while(|caller| services.url(name, caller)).collect(),
        smtp: (1..)
            .map_while(|caller| services.smtp_address(name, caller))
            .map(|address| format!("smtp://{address}"))
            .collect(),
        smtps: (1..)
            .map_while(|caller| services.smtps_address(name, caller))
            .map(|address| format!("smtps://{address}"))
            .collect(),
        ca: services.smtps_address(name, 1).and_then(|_| mock_services::certificate_authority()),
        operations: operations
            .iter()
            .filter(|operation| operation.name.split('.').next() == Some(name))
            .map(Into::into)
            .collect(),
    };
    Json(Services { services: services.names().map(one).collect(), environment: admin.environment.clone() })
}

pub(super) async fn faults(State(admin): AdminState) -> Json<Faults> {
    Json(Faults { faults: admin.services.fired().into_iter().map(Into::into).collect() })
}

/// Arms the faults of the body, after those that are armed already: a list of faults, or `{"faults": […]}`,
/// as JSON or YAML.
pub(super) async fn arm(State(admin): AdminState, body: Result<String, StringRejection>) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return unreadable(&rejection),
    };
    let services = &admin.services;
    let callers =
        (1..).map_while(|caller| services.names().next().and_then(|name| services.url(name, caller))).count();
    let source = Source::new("body", body);
    match read_faults(&source, &services.operations(), u32::try_from(callers).ok()) {
        Ok(read) => {
            let lines: Vec<String> = read.iter().map(ToString::to_string).collect();
            match services.arm(read) {
                Ok(()) => {
                    admin.interference.armed().extend(lines);
                    (StatusCode::CREATED, faults(State(admin)).await).into_response()
                }
                Err(objections) => refusal(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    &objections.to_string(),
                    "change the faults that are named",
                ),
            }
        }
        Err(found) => problems(&found),
    }
}

fn unreadable(rejection: &StringRejection) -> Response {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let error = format!("the body has more than {MAX_BODY_BYTES} bytes");
            refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                &error,
                "arm fewer faults, or arm them in several requests",
            )
        }
        status => refusal(
            status,
            "the body cannot be read as text",
            "send a list of faults as JSON or YAML, in UTF-8",
        ),
    }
}

#[derive(Deserialize)]
pub(super) struct ClearQuery {
    /// The one-line form of the fault to remove; all faults without it.
    line: Option<String>,
}

/// Removes all faults, or the one with the given line.
pub(super) async fn clear(State(admin): AdminState, query: Query<ClearQuery>) -> Response {
    let line = query.0.line;
    let is_meant = |fired: &Fired| line.as_ref().is_none_or(|line| fired.fault.to_string() == *line);
    if admin.services.fired().iter().any(|fired| is_meant(fired) && must_still_fire(fired)) {
        admin.interference.evidence_removed.store(true, Ordering::SeqCst);
    }
    match &line {
        None => admin.services.clear_faults(),
        Some(line) if admin.services.clear_fault(line) => {}
        Some(line) => {
            let error = format!("no fault `{}` is armed", yaml_reader::shown(line));
            return refusal(StatusCode::NOT_FOUND, &error, "GET /v1/faults lists the lines of the faults");
        }
    }
    StatusCode::NO_CONTENT.into_response()
}

#[derive(Deserialize)]
pub(super) struct PageQuery {
    /// Only entries with a higher number are returned.
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
}

pub(super) async fn ledger(
    State(admin): AdminState,
    page: Result<Query<PageQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(page)) = page else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "`after` and `limit` must be whole numbers",
            "for example /v1/ledger?after=20&limit=10",
        );
    };
    let limit = page.limit.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
    // Read first: entries of a new ledger with the number of the old one are noticed with the next number.
    let resets = admin.finished_resets.load(Ordering::SeqCst);
    let all = admin.services.ledger().entries();
    let count = all.len() as u64;
    let entries = all.into_iter().filter(|entry| entry.n > page.after).take(limit).collect();
    Json(LedgerPage { entries, count, resets }).into_response()
}

/// Resets the services and starts a new ledger; the faults stay armed and count from 1 again.
pub(super) async fn reset(State(admin): AdminState) -> StatusCode {
    admin.interference.evidence_removed.store(true, Ordering::SeqCst);
    let number = admin.resets.fetch_add(1, Ordering::SeqCst) + 2;
    admin.outbox.during_reset(admin.services.reset(&format!("{TRIAL}-{number}"))).await;
    admin.finished_resets.fetch_add(1, Ordering::SeqCst);
    StatusCode::NO_CONTENT
}

pub(super) async fn effects(State(admin): AdminState) -> Json<Effects> {
    let groups = show::groups(&admin.services.ledger().entries(), &admin.services.operations());
    let one = |group: show::EffectGroup| EffectInfo {
        effect: group.effect,
        identity: group.identity,
        times: group.times,
        attempts: group.attempts,
    };
    Json(Effects { effects: groups.into_iter().map(one).collect() })
}

/// The ledger as a picture in text, for the message of a failed test.
pub(super) async fn timeline(State(admin): AdminState) -> String {
    plain_timeline(&admin.services.ledger().entries(), &[], MAX_TIMELINE)
}

pub(super) async fn settle(State(admin): AdminState) -> StatusCode {
    admin.services.settle().await;
    StatusCode::NO_CONTENT
}
