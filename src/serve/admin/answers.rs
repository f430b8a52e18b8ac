//! The response bodies of the admin API.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use mock_services::fault::{Fault, Fired};
use mock_services::ledger::Entry;
use mock_services::service::{Fields, Operation, OperationKind};
use serde::Serialize;
use yaml_reader::Problems;

#[derive(Serialize)]
pub(super) struct Services {
    pub(super) services: Vec<ServiceInfo>,
    /// The variables that point clients at the services, for the first caller.
    pub(super) environment: BTreeMap<String, String>,
}

#[derive(Serialize)]
pub(super) struct ServiceInfo {
    pub(super) name: String,
    /// The URL of each caller, in their order.
    pub(super) urls: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) smtp: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) smtps: Vec<String>,
    /// The certificate authority of its mail server, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ca: Option<&'static str>,
    pub(super) operations: Vec<OperationInfo>,
}

#[derive(Serialize)]
pub(super) struct OperationInfo {
    name: String,
    kind: &'static str,
    list: bool,
    identity: Vec<String>,
}

impl From<&Operation> for OperationInfo {
    fn from(operation: &Operation) -> Self {
        OperationInfo {
            name: operation.name.to_string(),
            kind: match operation.kind {
                OperationKind::Read => "read",
                OperationKind::Write => "write",
            },
            list: operation.list,
            identity: operation.identity.iter().map(ToString::to_string).collect(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Faults {
    pub(super) faults: Vec<FaultInfo>,
}

#[derive(Serialize)]
pub(super) struct FaultInfo {
    fault: Fault,
    /// The same as one line for `--fault`.
    line: String,
    /// The number of attempts that matched.
    seen: u32,
    /// The attempts that it was injected into.
    fired: Vec<u64>,
}

impl From<Fired> for FaultInfo {
    fn from(fired: Fired) -> Self {
        FaultInfo {
            line: fired.fault.to_string(),
            fault: fired.fault,
            seen: fired.seen,
            fired: fired.attempts,
        }
    }
}

#[derive(Serialize)]
pub(super) struct LedgerPage {
    pub(super) entries: Vec<Entry>,
    /// The number of all entries.
    pub(super) count: u64,
    /// How often the ledger was reset: entries of different numbers are of different ledgers.
    pub(super) resets: u64,
}

#[derive(Serialize)]
pub(super) struct Effects {
    pub(super) effects: Vec<EffectInfo>,
}

#[derive(Serialize)]
pub(super) struct EffectInfo {
    pub(super) effect: String,
    pub(super) identity: Fields,
    pub(super) times: usize,
    pub(super) attempts: Vec<u64>,
}

#[derive(Serialize)]
struct AdminError<'a> {
    error: &'a str,
    help: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemInfo>,
}

#[derive(Serialize)]
struct ProblemInfo {
    message: String,
    line: usize,
    column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The problem as the terminal shows it.
    text: String,
}

pub(super) fn refusal(status: StatusCode, error: &str, help: &str) -> Response {
    (status, Json(AdminError { error, help, problems: Vec::new() })).into_response()
}

/// The response with all problems of the faults that were sent.
pub(super) fn problems(found: &Problems) -> Response {
    let one = |problem: &yaml_reader::Problem| {
        let (line, column) = problem.position();
        let (message, help) = (problem.message.clone(), problem.help.clone());
        ProblemInfo { message, line, column, help, text: problem.render(false) }
    };
    let problems = found.iter().map(one).collect();
    let refusal = AdminError {
        error: "the faults have problems; none was armed",
        help: "fix the problems in `problems`",
        problems,
    };
    (StatusCode::UNPROCESSABLE_ENTITY, Json(refusal)).into_response()
}
