use std::fmt::Write as _;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use mock_services::fault::Fault;
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::{MockServices, MomentKind, ServiceOptions, catalog};
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::domain::{CancelSignal, KeyDescription, ToolHints};
use crate::mcp::client::HyperClient;

const SERVICES: [&str; 3] = ["payment", "email", "deploy"];

/// Services with a fault, and their tools.
struct Rig {
    services: MockServices,
    endpoint: McpEndpoint,
    /// The calls that the client canceled.
    canceled: Arc<Mutex<Vec<(String, CancelSignal)>>>,
}

impl Rig {
    async fn new(faults: &[&str]) -> Self {
        let mut builder = MockServices::builder().seed(7);
        for name in SERVICES {
            let options = ServiceOptions {
                idempotency: Some(Idempotency::new(Profile::Stripe)),
                ..ServiceOptions::default()
            };
            builder = catalog::find(name).unwrap().unconfigured().add_to(builder, 7, options);
        }
        let faults = faults.iter().map(|line| line.parse::<Fault>().unwrap());
        let services = builder.faults(faults.collect()).start().await.unwrap();
        let offered = SERVICES.map(|name| OfferedService {
            description: catalog::find(name).unwrap().clone(),
            idempotency: Some(Idempotency::new(Profile::Stripe)),
            address: services.address(name, 1).unwrap(),
            key: services.key(name).unwrap().to_owned(),
        });
        let canceled = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&canceled);
        let on_cancel = CancelListener::new(move |operation, signal| {
            list.lock().unwrap().push((operation.to_owned(), signal));
        });
        let endpoint = McpEndpoint::start(offered.to_vec(), ToolCards::default(), on_cancel).await.unwrap();
        Rig { services, endpoint, canceled }
    }

    /// Connects and sends one message, in the form of 2026-07-28.
    async fn send(&self, method: &str, mut params: Value) -> TcpStream {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        let mut headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
        if let Some(name) = params["name"].as_str() {
            write!(headers, "Mcp-Name: {name}\r\n").unwrap();
        }
        self.post(&headers, &json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})).await
    }

    async fn post(&self, headers: &str, message: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.endpoint.address()).await.unwrap();
        let body = message.to_string();
        let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
            Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
        let request = format!("{head}{headers}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// The bytes that a call comes to.
    async fn bytes(&self, name: &str, arguments: Value) -> io::Result<Vec<u8>> {
        let mut stream = self.send("tools/call", json!({"name": name, "arguments": arguments})).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;
        Ok(bytes)
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        message(&self.bytes(name, arguments).await.unwrap())["result"].clone()
    }

    fn charges(&self) -> usize {
        self.services.ledger().effects("payment.charge").count()
    }
}

fn message(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (_, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no body in {text}"));
    serde_json::from_str(body).unwrap_or_else(|_| panic!("not a message: {text}"))
}

fn charge() -> Value {
    json!({"amount": 4999, "currency": "usd", "customer": "cus_42", "metadata": {"order": "ord_1"}})
}

#[tokio::test]
async fn a_call_is_one_request_that_the_ledger_counts() {
    let rig = Rig::new(&[]).await;
    let result = rig.call("payment_create_charge", charge()).await;
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(result["structuredContent"]["body"]["amount"], 4999);
    assert_eq!(rig.charges(), 1);
    let list = rig.call("payment_list_charges", json!({"customer": "cus_42"})).await;
    assert_eq!(list["structuredContent"]["body"]["data"][0]["metadata"]["order"], "ord_1", "{list}");
    let keyed = json!({"from": "a@x.example", "to": ["b@x.example"], "subject": "x", "text": "y",
        "idempotency_key": "k"});
    for _ in 0..2 {
        let sent = rig.call("email_send", keyed.clone()).await;
        assert_eq!(sent["isError"], false, "{sent}");
    }
    assert_eq!(rig.services.ledger().effects("email.send").count(), 1, "the key reaches the service");
    let deployed = rig.call("deploy_create", json!({"environment": "production", "version": "v1"})).await;
    assert_eq!(deployed["isError"], false, "{deployed}");
}

#[tokio::test]
async fn an_error_of_the_service_is_an_error_of_the_tool() {
    let rig = Rig::new(&["payment.charge#1 commit=never reply={status: 429, retry_after: 3s}"]).await;
    let limited = rig.call("payment_create_charge", charge()).await;
    assert_eq!(limited["isError"], true);
    assert_eq!(limited["structuredContent"]["status"], 429, "{limited}");
    assert_eq!(limited["structuredContent"]["headers"]["retry-after"], "3");
    let missing = rig.call("payment_get_charge", json!({"charge": "ch_none"})).await;
    assert_eq!(missing["structuredContent"]["status"], 404, "{missing}");
    let unknown = rig.call("payment_create_charge", json!({"amout": 1})).await;
    assert!(
        unknown["content"][0]["text"].as_str().unwrap().contains("unknown argument `amout`"),
        "{unknown}"
    );
    assert_eq!(rig.charges(), 0);
}

#[tokio::test]
async fn an_error_after_the_commit_is_the_same_error() {
    let rig = Rig::new(&["payment.charge#1 commit=now reply={status: 500}"]).await;
    let failed = rig.call("payment_create_charge", charge()).await;
    assert_eq!((failed["structuredContent"]["status"].as_u64(), rig.charges()), (Some(500), 1), "{failed}");
}

#[tokio::test]
async fn a_lost_reply_is_a_lost_connection_of_the_client() {
    for (reply, is_reset) in [("drop", false), ("reset", true)] {
        let rig = Rig::new(&[&format!("payment.charge#1 commit=now reply={reply}")]).await;
        let got = rig.bytes("payment_create_charge", charge()).await;
        match got {
            Ok(bytes) => {
                assert!(bytes.is_empty() && !is_reset, "{reply}: {}", String::from_utf8_lossy(&bytes))
            }
            Err(error) => assert!(is_reset && error.kind() == io::ErrorKind::ConnectionReset, "{error}"),
        }
        assert_eq!(rig.charges(), 1, "{reply}");
        rig.endpoint.client_left().await;
    }
}

#[tokio::test]
async fn a_partial_reply_is_partial_and_a_garbled_one_does_not_parse() {
    let rig =
        Rig::new(&["payment.charge#1 commit=now reply=truncate", "payment.charge#2 commit=now reply=garble"])
            .await;
    for is_whole in [false, true] {
        let bytes = rig.bytes("payment_create_charge", charge()).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        let body = &bytes[head.len() + 4..];
        assert_eq!(length.parse::<usize>().unwrap() == body.len(), is_whole, "{text}");
        assert!(serde_json::from_slice::<Value>(body).is_err(), "{text}");
    }
    assert_eq!(rig.charges(), 2);
}

/// The answer to a message of 2025-06-18 in a session: its status, its session and its text.
async fn in_session(rig: &Rig, session: &str, message: Value) -> (u16, Option<String>, String) {
    let headers = match session {
        "" => String::new(),
        id => format!("MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: {id}\r\n"),
    };
    let mut text = String::new();
    rig.post(&headers, &message).await.read_to_string(&mut text).await.unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let session = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: ").map(str::to_owned));
    (status, session, text)
}

#[tokio::test]
async fn a_lost_session_is_not_found_until_the_client_begins_another() {
    let rig = Rig::new(&["payment.charge#1 commit=now reply=session-lost"]).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "payment_create_charge", "arguments": charge()}});
    let (_, first, _) = in_session(&rig, "", initialize.clone()).await;
    let first = first.unwrap();
    for made in 0..2 {
        let (status, _, text) = in_session(&rig, &first, call.clone()).await;
        assert_eq!((status, text.contains("Session not found")), (404, true), "call {made}: {text}");
    }
    assert_eq!(rig.charges(), 1, "the second call came in a session that does not exist");
    let (_, second, _) = in_session(&rig, "", initialize).await;
    let second = second.unwrap();
    assert_ne!(first, second);
    let (status, _, text) = in_session(&rig, &second, call).await;
    assert_eq!((status, rig.charges()), (200, 2), "{text}");
}

#[tokio::test]
async fn a_client_that_leaves_a_silent_call_leaves_the_service() {
    let rig = Rig::new(&["payment.charge#1 commit=now reply={hang: {release: 30s}}"]).await;
    let stream =
        rig.send("tools/call", json!({"name": "payment_create_charge", "arguments": charge()})).await;
    let mut committed = rig.services.ledger().reader();
    while rig.charges() == 0 {
        tokio::time::timeout(Duration::from_secs(20), committed.grown()).await.unwrap();
    }
    drop(stream);
    rig.endpoint.client_left().await;
    rig.services.caller_left(1).await;
}

#[tokio::test]
async fn a_cancel_is_a_notification_and_since_2026_07_28_also_a_closed_connection() {
    let hang = "payment.charge#1 commit=now reply={hang: {release: 30s}}";
    let call = json!({"jsonrpc": "2.0", "id": "c1", "method": "tools/call",
        "params": {"name": "payment_create_charge", "arguments": charge()}});
    let cancel = |id: &str| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let expected = |signal| vec![("payment.charge".to_owned(), signal)];
    for (version, tells, told) in [
        ("2025-11-25", true, expected(CancelSignal::Notification)),
        ("2025-11-25", false, Vec::new()),
        ("2026-07-28", false, expected(CancelSignal::Disconnect)),
    ] {
        let rig = Rig::new(&[hang]).await;
        let stream = if version == "2026-07-28" {
            rig.send("tools/call", json!({"name": "payment_create_charge", "arguments": charge()})).await
        } else {
            rig.post(&format!("MCP-Protocol-Version: {version}\r\n"), &call).await
        };
        let mut committed = rig.services.ledger().reader();
        while rig.charges() == 0 {
            tokio::time::timeout(Duration::from_secs(20), committed.grown()).await.unwrap();
        }
        drop(stream);
        for id in ["unknown", "c1"].iter().filter(|_| tells) {
            let mut reply = String::new();
            rig.post("", &cancel(id)).await.read_to_string(&mut reply).await.unwrap();
            assert!(reply.starts_with("HTTP/1.1 202"), "{reply}");
        }
        rig.endpoint.client_left().await;
        assert_eq!(*rig.canceled.lock().unwrap(), told, "{version} {tells}");
    }
}

#[tokio::test]
async fn a_call_is_made_also_where_the_client_does_not_wait() {
    let rig = Rig::new(&[]).await;
    let stream =
        rig.send("tools/call", json!({"name": "payment_create_charge", "arguments": charge()})).await;
    drop(stream);
    // The endpoint may not have accepted the connection yet: a later one is accepted after it.
    rig.call("payment_list_charges", json!({})).await;
    rig.endpoint.client_left().await;
    rig.services.caller_left(1).await;
    assert_eq!(rig.charges(), 1);
}

#[tokio::test]
async fn a_call_is_open_until_the_whole_reply_is_in_the_socket_of_the_client() {
    for reply in ["ok", "{status: 503}", "garble"] {
        let rig = Rig::new(&[&format!("payment.charge#1 commit=now reply={reply}")]).await;
        let calls = rig.endpoint.calls();
        let mut last_byte = rig.services.listen("payment", MomentKind::LastByte).unwrap();
        let stream =
            rig.send("tools/call", json!({"name": "payment_create_charge", "arguments": charge()})).await;
        let held = last_byte.recv().await.unwrap();
        assert!(calls.any(), "{reply}");
        drop(held);
        assert!(calls.replied().await, "{reply}");
        // Without waiting: the bytes are there.
        stream.readable().await.unwrap();
        let mut bytes = vec![0; 1 << 16];
        let count = stream.try_read(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.to_lowercase().contains(&format!("content-length: {}", body.len())), "{reply}: {text}");
        assert!(!calls.any());
    }
}

#[tokio::test]
async fn a_call_whose_client_left_is_closed_without_a_reply() {
    let rig = Rig::new(&[]).await;
    let calls = rig.endpoint.calls();
    let mut last_byte = rig.services.listen("payment", MomentKind::LastByte).unwrap();
    let stream =
        rig.send("tools/call", json!({"name": "payment_create_charge", "arguments": charge()})).await;
    let held = last_byte.recv().await.unwrap();
    drop(stream);
    assert!(!calls.replied().await);
    drop(held);
}

#[tokio::test]
async fn clients_that_initialize_and_clients_that_do_not_are_served() {
    let rig = Rig::new(&[]).await;
    let reply = async |mut stream: TcpStream| {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        bytes
    };
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let agreed = message(&reply(rig.post("", &initialize).await).await);
        assert_eq!(agreed["result"]["protocolVersion"], version, "{agreed}");
        let headers = format!("MCP-Protocol-Version: {version}\r\n");
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let accepted = reply(rig.post(&headers, &initialized).await).await;
        assert!(accepted.starts_with(b"HTTP/1.1 202"), "{}", String::from_utf8_lossy(&accepted));
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let listed = message(&reply(rig.post(&headers, &list).await).await);
        assert!(listed["result"]["tools"].as_array().unwrap().len() > 10, "{listed}");
    }
    let discovered = message(&reply(rig.send("server/discover", json!({})).await).await);
    let versions = discovered["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28"), "{discovered}");
    let listed = message(&reply(rig.send("tools/list", json!({})).await).await);
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 10, "{listed}");
}

/// Calls a tool twice over rmcp's client, on one session: what each call came to.
async fn called_twice(rig: &Rig, mode: ClientLifecycleMode, key: Option<&str>) -> [Option<Value>; 2] {
    let config = StreamableHttpClientTransportConfig::with_uri(rig.endpoint.url());
    let transport = StreamableHttpClientTransport::with_client(HyperClient, config);
    let mut client = ().serve_with_lifecycle(transport, mode).await.unwrap();
    let listed = client.peer().list_all_tools().await.unwrap();
    assert!(listed.iter().any(|tool| tool.name == "payment_create_charge"), "{listed:?}");
    let mut arguments = charge().as_object().unwrap().clone();
    arguments.extend(key.map(|key| ("idempotency_key".to_owned(), key.into())));
    let mut results = [None, None];
    for result in &mut results {
        let params = CallToolRequestParams::new("payment_create_charge").with_arguments(arguments.clone());
        *result = client.peer().call_tool(params).await.ok().and_then(|result| result.structured_content);
    }
    client.close().await.unwrap();
    results
}

#[tokio::test]
async fn the_client_of_rmcp_meets_the_same_faults_with_and_without_initialize() {
    let discover =
        || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for mode in [|| ClientLifecycleMode::Initialize, discover] {
        for reply in ["drop", "reset", "truncate", "garble"] {
            let fault = format!("payment.charge#1 commit=now reply={reply}");
            for (key, charges) in [(Some("ord_1"), 1), (None, 2)] {
                let rig = Rig::new(&[&fault]).await;
                let [lost, second] = called_twice(&rig, mode(), key).await;
                assert_eq!(lost, None, "{reply}");
                assert_eq!(second.unwrap()["status"], 200, "{reply}");
                assert_eq!(rig.charges(), charges, "{reply}");
                rig.endpoint.client_left().await;
            }
        }
        let limited = "payment.charge#1 commit=never reply={status: 429}";
        let rig = Rig::new(&[limited]).await;
        let [first, second] = called_twice(&rig, mode(), None).await;
        assert_eq!(
            [first.unwrap()["status"].as_u64(), second.unwrap()["status"].as_u64()],
            [Some(429), Some(200)]
        );
        assert_eq!(rig.charges(), 1);
    }
}

fn cards(service: &str, profile: Option<Profile>, cards: ToolCards) -> Vec<Value> {
    let offered = OfferedService {
        description: catalog::find(service).unwrap().clone(),
        idempotency: profile.map(Idempotency::new),
        address: ([127, 0, 0, 1], 1).into(),
        key: String::new(),
    };
    let tools = super::cards::tools(&[offered], cards);
    tools.iter().map(|tool| serde_json::to_value(&tool.card).unwrap()).collect()
}

#[test]
fn the_tools_match_the_snapshot() {
    for service in SERVICES {
        let all = cards(service, None, ToolCards::default());
        insta::assert_snapshot!(format!("tools_of_{service}"), format!("{:#}", Value::Array(all)));
    }
}

#[test]
fn hints_are_right_absent_or_wrong() {
    let hints = |hints: ToolHints| {
        let all = cards("payment", None, ToolCards { hints, ..ToolCards::default() });
        let of = |name: &str| all.iter().find(|card| card["name"] == name).unwrap()["annotations"].clone();
        (of("payment_create_refund"), of("payment_list_refunds"))
    };
    let (write, read) = hints(ToolHints::Right);
    assert_eq!((&write["readOnlyHint"], &write["idempotentHint"]), (&json!(false), &json!(false)));
    assert_eq!(read["readOnlyHint"], true);
    assert_eq!(hints(ToolHints::Absent), (Value::Null, Value::Null));
    let (write, read) = hints(ToolHints::Wrong);
    assert_eq!((&write["readOnlyHint"], &write["idempotentHint"]), (&json!(true), &json!(true)));
    assert_eq!(read["readOnlyHint"], false);
}

#[test]
fn the_key_is_described_as_the_scenario_says_and_offered_where_the_service_takes_it() {
    let key = |profile: Option<Profile>, key_description: KeyDescription| {
        let all = cards("payment", profile, ToolCards { key_description, ..ToolCards::default() });
        let card = all.into_iter().find(|card| card["name"] == "payment_create_refund").unwrap();
        card["inputSchema"].clone()
    };
    let described = |schema: &Value| schema["properties"]["idempotency_key"]["description"].to_string();
    let right = key(None, KeyDescription::PerOperation);
    assert!(described(&right).contains("Repeat the same key"), "{right}");
    let wrong = key(None, KeyDescription::PerRequest);
    assert!(described(&wrong).contains("new random UUID for every call"), "{wrong}");
    let none = key(Some(Profile::None), KeyDescription::PerOperation);
    assert_eq!(none["properties"]["idempotency_key"], Value::Null);
    let required = key(Some(Profile::Ietf), KeyDescription::PerOperation);
    assert!(required["required"].to_string().contains("idempotency_key"), "{required}");
}

#[test]
fn every_tool_of_every_service_has_a_valid_schema_and_a_name_of_its_own() {
    let mut names = Vec::new();
    for service in catalog::names() {
        for card in cards(service, None, ToolCards::default()) {
            let name = card["name"].as_str().unwrap().to_owned();
            assert!(name.contains(service), "{name}");
            jsonschema::validator_for(&card["inputSchema"]).unwrap_or_else(|error| panic!("{name}: {error}"));
            names.push(name);
        }
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
