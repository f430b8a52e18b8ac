//! The admin API: arms and clears faults, reads and resets the ledger, for tests in any language. It has its
//! own port and requires a token.

mod answers;
mod page;
mod routes;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use mock_services::MockServices;
use tokio::net::TcpListener;

use super::ServeError;
use answers::refusal;

/// The description of this API, which is served and is part of the documentation.
const OPENAPI: &str = include_str!("../../../docs/openapi.json");
/// The largest body of a request, in bytes: a list of faults is small.
const MAX_BODY_BYTES: usize = 1024 * 1024;

struct Admin {
    services: Arc<MockServices>,
    token: String,
    /// The variables that point clients at the services.
    environment: BTreeMap<String, String>,
    /// The number of resets; it is part of the name of each ledger.
    resets: AtomicU64,
    /// The number of resets that are done.
    finished_resets: AtomicU64,
    /// Whether the ledger was reset, or a fault was cleared before it fired.
    evidence_removed: Arc<AtomicBool>,
}

/// Opens the admin API and serves it until the process ends.
pub(super) async fn open(
    services: Arc<MockServices>,
    token: String,
    environment: BTreeMap<String, String>,
    evidence_removed: Arc<AtomicBool>,
    address: (IpAddr, Option<u16>),
) -> Result<SocketAddr, ServeError> {
    let (address, port) = address;
    let listener = TcpListener::bind((address, port.unwrap_or(0))).await.map_err(ServeError::Admin)?;
    let bound = listener.local_addr().map_err(ServeError::Admin)?;
    let admin = Arc::new(Admin {
        services,
        token,
        environment,
        resets: AtomicU64::new(0),
        finished_resets: AtomicU64::new(0),
        evidence_removed,
    });
    tokio::spawn(async move { axum::serve(listener, router(admin)).await });
    Ok(bound)
}

fn router(admin: Arc<Admin>) -> Router {
    let guarded = Router::new()
        .route("/v1/services", get(routes::services))
        .route("/v1/faults", get(routes::faults).post(routes::arm).delete(routes::clear))
        .route("/v1/ledger", get(routes::ledger).delete(routes::reset))
        .route("/v1/effects", get(routes::effects))
        .route("/v1/timeline", get(routes::timeline))
        .route("/v1/settle", post(routes::settle))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&admin), guard));
    Router::new()
        .route("/openapi.json", get(|| async { ([(header::CONTENT_TYPE, "application/json")], OPENAPI) }))
        .route("/", get(page::live))
        .merge(guarded)
        .fallback(|| async {
            refusal(StatusCode::NOT_FOUND, "there is no such path", "GET /openapi.json lists the paths")
        })
        .method_not_allowed_fallback(|| async {
            refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "this path does not support that method",
                "GET /openapi.json lists the paths",
            )
        })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(admin)
}

/// Refuses requests without the token.
async fn guard(State(admin): State<Arc<Admin>>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = shown.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if same(token.as_bytes(), admin.token.as_bytes()) {
        return next.run(request).await;
    }
    refusal(
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong",
        "send `Authorization: Bearer TOKEN` with the token that `hapax serve` shows when it starts",
    )
}

/// Compares in constant time.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests;
