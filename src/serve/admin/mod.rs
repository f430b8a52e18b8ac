//! The admin API: arms and clears faults, reads and resets the ledger, for tests in any language. It has its
//! own port and requires a token.

mod answers;
mod events;
mod page;
mod routes;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use mock_services::MockServices;
use tokio::net::TcpListener;

use super::{Interference, Outbox, ServeError};
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
    /// What is done over this API that changes what the ledger proves.
    interference: Arc<Interference>,
    /// The events that are sent.
    outbox: Arc<Outbox>,
}

/// Opens the admin API and serves it until the process ends.
pub(super) async fn open(
    services: Arc<MockServices>,
    token: String,
    environment: BTreeMap<String, String>,
    interference: Arc<Interference>,
    outbox: Arc<Outbox>,
    address: (IpAddr, Option<u16>),
) -> Result<SocketAddr, ServeError> {
    let (address, port) = address;
    let failed = |error| ServeError::Admin { port, error };
    let listener = TcpListener::bind((address, port.unwrap_or(0))).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let admin = Arc::new(Admin {
        services,
        token,
        environment,
        resets: AtomicU64::new(0),
        finished_resets: AtomicU64::new(0),
        interference,
        outbox,
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
        .route("/v1/events", get(events::list).post(events::send))
        .route("/v1/events/hold", post(events::hold).delete(events::release))
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
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Paths and methods of the description.
    fn described() -> BTreeSet<(String, String)> {
        let api: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
        let paths = api["paths"].as_object().unwrap();
        paths
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(move |method| (path.clone(), method.clone()))
            })
            .collect()
    }

    async fn status(method: &str, url: &str, token: Option<&str>) -> u16 {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut line = tokio::net::TcpStream::connect(host).await.unwrap();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{token}Content-Length: 2\r\nConnection: close\r\n\r\n[]"
        );
        line.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        line.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    async fn started() -> SocketAddr {
        let records = mock_services::records::Records::default();
        let services = MockServices::builder().service(records, Default::default()).start().await.unwrap();
        let token = "a-token-of-sixteen".to_owned();
        let address = ("127.0.0.1".parse().unwrap(), None);
        let services = Arc::new(services);
        let outbox = Arc::new(Outbox::new(Arc::clone(&services), &[], Vec::new()));
        open(services, token, BTreeMap::new(), Arc::default(), outbox, address).await.unwrap()
    }

    #[tokio::test]
    async fn every_described_path_exists_and_requires_the_token() {
        let address = started().await;
        for (path, method) in described() {
            let url = format!("http://{address}{path}");
            let method = method.to_uppercase();
            let with = status(&method, &url, Some("a-token-of-sixteen")).await;
            assert!((200..300).contains(&with), "{method} {path}: {with}");
            if path != "/openapi.json" {
                for token in [None, Some("a-token-of-sixteem"), Some("")] {
                    assert_eq!(status(&method, &url, token).await, 401, "{method} {path} {token:?}");
                }
            }
        }
    }

    #[tokio::test]
    async fn paths_that_are_not_described_do_not_exist() {
        let address = started().await;
        let described = described();
        for path in [
            "/openapi.json",
            "/v1/services",
            "/v1/faults",
            "/v1/ledger",
            "/v1/effects",
            "/v1/settle",
            "/v1/timeline",
            "/v1/events",
            "/v1/events/hold",
            "/v1/other",
        ] {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let status =
                    status(method, &format!("http://{address}{path}"), Some("a-token-of-sixteen")).await;
                let known = described.contains(&(path.to_owned(), method.to_lowercase()));
                assert_eq!((200..300).contains(&status), known, "{method} {path}: {status}");
            }
        }
    }

    #[tokio::test]
    async fn the_page_needs_no_token_and_has_none() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let address = started().await;
        let mut line = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        line.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        line.read_to_string(&mut answer).await.unwrap();
        let lower = answer.to_lowercase();
        assert!(answer.starts_with("HTTP/1.1 200") && lower.contains("content-type: text/html"), "{answer}");
        assert!(lower.contains("frame-ancestors 'none'") && lower.contains("cache-control: no-store"));
        assert!(!answer.contains("a-token-of-sixteen"));
    }

    #[tokio::test]
    async fn one_fault_is_cleared_by_its_line() {
        let address = started().await;
        let clear = |line: &str| format!("http://{address}/v1/faults?line={line}");
        let token = Some("a-token-of-sixteen");
        assert_eq!(status("DELETE", &clear("records.put%231%20commit=now%20reply=drop"), token).await, 404);
        assert_eq!(status("DELETE", &clear(""), None).await, 401);
    }
}
