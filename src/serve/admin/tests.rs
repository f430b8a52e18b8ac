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
    open(Arc::new(services), token, BTreeMap::new(), Arc::default(), address).await.unwrap()
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
        "/v1/other",
    ] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let status = status(method, &format!("http://{address}{path}"), Some("a-token-of-sixteen")).await;
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
