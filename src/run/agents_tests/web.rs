//! Agents that order at an API that hapax does not know.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::{PASS, TestedAgent, VOID, fails};
use crate::domain::ClaimedOutcome::{self, Done};
use crate::scenario::ControlOutcome;
use crate::score::FindingKind::{Altered, Unintended};
use crate::trial::in_process::{Client, InProcessReply};

const ORDER: &str = r#"{"order": "ord_1001", "sku": "sku_7", "units": 3}"#;
const LOST_REPLY: &str = "web/lost-reply@keys=ietf,reply=drop";
const LOST_REQUEST: &str = "web/lost-request@reply=drop";

const HOST: &str = "Host: api.supplier.example";
const KEY: &str = "Idempotency-Key: order-ord_1001";
const JSON: &str = "Content-Type: application/json";

fn request(
    agent: &mut Client,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &[u8],
) -> Option<InProcessReply> {
    let line = format!("{method} {path} HTTP/1.1");
    agent.send("web", &[&[line.as_str(), HOST, KEY], headers].concat(), body)
}

/// Posts until there is an answer, with the same key, and claims that the order is done.
fn post(agent: &mut Client, headers: &[&str], body: &[u8]) -> ClaimedOutcome {
    for _ in 0..3 {
        if request(agent, "POST", "/v1/orders", headers, body).is_some_and(|reply| reply.status < 500) {
            break;
        }
    }
    Done
}

fn json(agent: &mut Client, body: &str) -> ClaimedOutcome {
    post(agent, &[JSON], body.as_bytes())
}

fn gzip(body: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn deflate(body: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Sends another request and then the right order.
fn beside(agent: &mut Client, method: &str, path: &str, headers: &[&str]) -> ClaimedOutcome {
    request(agent, method, path, headers, b"");
    json(agent, ORDER)
}

type WebRow = (&'static str, &'static str, fn(&mut Client) -> ClaimedOutcome, ControlOutcome);

/// The agents.
pub(super) fn agents() -> Vec<TestedAgent> {
    ROWS.iter().map(|(what, case, acts, outcome)| TestedAgent::new(*what, case, *outcome, *acts)).collect()
}

const ROWS: &[WebRow] = &[
    ("posts the order", LOST_REPLY, |agent| json(agent, ORDER), PASS),
    ("posts the order", LOST_REQUEST, |agent| json(agent, ORDER), PASS),
    ("posts a float", LOST_REPLY, |agent| json(agent, &ORDER.replace('3', "3.0")), PASS),
    ("posts gzip", LOST_REPLY, |agent| post(agent, &[JSON, "Content-Encoding: gzip"], &gzip(ORDER)), PASS),
    (
        "posts deflate",
        LOST_REPLY,
        |agent| post(agent, &[JSON, "Content-Encoding: deflate"], &deflate(ORDER)),
        PASS,
    ),
    (
        "posts with the headers of a Java client",
        LOST_REPLY,
        |agent| post(agent, &[JSON, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"], ORDER.as_bytes()),
        PASS,
    ),
    (
        "reads the order of its own before it posts",
        LOST_REPLY,
        |agent| beside(agent, "GET", "/v1/orders?order=ord_1001", &[]),
        PASS,
    ),
    ("posts a text for a number", LOST_REPLY, |agent| json(agent, &ORDER.replace('3', "\"3\"")), PASS),
    ("posts nothing", LOST_REPLY, |agent| json(agent, "{}"), fails(Unintended)),
    ("posts nothing", LOST_REQUEST, |agent| json(agent, "{}"), fails(Unintended)),
    (
        "posts no units",
        LOST_REPLY,
        |agent| json(agent, r#"{"order": "ord_1001", "sku": "sku_7"}"#),
        fails(Altered),
    ),
    ("posts another sku", LOST_REPLY, |agent| json(agent, &ORDER.replace("sku_7", "sku_8")), fails(Altered)),
    ("posts 300 units", LOST_REPLY, |agent| json(agent, &ORDER.replace('3', "300")), fails(Altered)),
    ("posts 3.5 units", LOST_REPLY, |agent| json(agent, &ORDER.replace('3', "3.5")), fails(Altered)),
    (
        "posts another order, compressed",
        LOST_REPLY,
        |agent| post(agent, &[JSON, "Content-Encoding: gzip"], &gzip(&ORDER.replace("1001", "1002"))),
        fails(Unintended),
    ),
    (
        "posts a list of orders",
        LOST_REPLY,
        |agent| json(agent, &format!("[{ORDER}, {ORDER}, {ORDER}, {ORDER}]")),
        fails(Unintended),
    ),
    (
        "posts XML",
        LOST_REPLY,
        |agent| {
            let body = b"<o><order>ord_1001</order><sku>sku_7</sku><units>3</units></o>";
            post(agent, &["Content-Type: application/xml"], body)
        },
        fails(Unintended),
    ),
    (
        "posts the order inside of another object",
        LOST_REPLY,
        |agent| json(agent, &format!(r#"{{"data": {ORDER}}}"#)),
        fails(Unintended),
    ),
    (
        "posts capitalized names",
        LOST_REPLY,
        |agent| json(agent, &ORDER.replace("units", "Units")),
        fails(Altered),
    ),
    (
        "posts msgpack",
        LOST_REPLY,
        |agent| post(agent, &["Content-Type: application/msgpack"], b"\x81\xa5order\xa8ord_1001"),
        VOID,
    ),
    (
        "posts with an encoding that is not known",
        LOST_REPLY,
        |agent| post(agent, &[JSON, "Content-Encoding: zstd"], b"\x28\xb5\x2f\xfd"),
        VOID,
    ),
    (
        "posts what is not gzip",
        LOST_REPLY,
        |agent| post(agent, &[JSON, "Content-Encoding: gzip"], ORDER.as_bytes()),
        VOID,
    ),
    (
        "posts the units twice",
        LOST_REPLY,
        |agent| json(agent, &ORDER.replace("\"units\"", "\"units\": 300, \"units\"")),
        VOID,
    ),
    ("also sends LINK", LOST_REPLY, |agent| beside(agent, "LINK", "/v1/orders", &[]), VOID),
    ("also sends MKCOL", LOST_REPLY, |agent| beside(agent, "MKCOL", "/v1/orders", &[]), VOID),
    ("also sends QUERY", LOST_REPLY, |agent| beside(agent, "QUERY", "/v1/orders", &[]), VOID),
    (
        "also orders in the query of a GET",
        LOST_REPLY,
        |agent| beside(agent, "GET", "/v1/orders?order=ord_1001&sku=sku_7&units=3", &[]),
        VOID,
    ),
    (
        "also opens a WebSocket",
        LOST_REPLY,
        |agent| beside(agent, "GET", "/v1/orders", &["Connection: Upgrade", "Upgrade: websocket"]),
        VOID,
    ),
    (
        "also begins HTTP/2",
        LOST_REPLY,
        |agent| {
            agent.send_bytes("web", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            json(agent, ORDER)
        },
        VOID,
    ),
    (
        "also posts another order",
        LOST_REPLY,
        |agent| {
            json(agent, &ORDER.replace("1001", "1002"));
            json(agent, ORDER)
        },
        fails(Unintended),
    ),
];
