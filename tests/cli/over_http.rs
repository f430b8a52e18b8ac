//! Agents that run already and take their tasks over HTTP.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::kit::workspace::{Workspace, charge, verdict};

/// An agent that takes one task: charges, answers that it is done and, once hapax has read the answer, calls
/// `afterwards`.
fn agent(afterwards: fn(&Value)) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let body = task(&mut connection);
        send_charge(&body);
        connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"outcome\": \"done\"}").unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
        // hapax closes its side of the connection when it has read the whole answer.
        assert_eq!(connection.read(&mut [0]).unwrap(), 0);
        afterwards(&body);
    });
    (port, served)
}

/// Reads a task from a connection.
pub(crate) fn task(connection: &mut TcpStream) -> Value {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        let mut more = [0; 4096];
        let count = connection.read(&mut more).unwrap();
        assert_ne!(count, 0);
        request.extend_from_slice(&more[..count]);
    }
    let request = String::from_utf8(request).unwrap();
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn send_charge(task: &Value) {
    let answer = charge_over(task);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// Sends the charge of a task, and returns the answer.
pub(crate) fn charge_over(task: &Value) -> String {
    request(task, "POST", "/v1/charges", "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001")
}

/// Sends a request to the payment service of a task, and returns the answer.
pub(crate) fn request(task: &Value, method: &str, path: &str, form: &str) -> String {
    let payment = &task["services"]["payment"];
    let host = payment["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(host).unwrap();
    let key = payment["key"].as_str().unwrap();
    let length = form.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
    );
    let request = format!(
        "{head}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
    );
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// An agent that takes one task and closes the connection without an answer, like one whose handler crashed.
fn crashing_agent(charges: bool) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let task = task(&mut connection);
        if charges {
            send_charge(&task);
        }
    });
    (port, served)
}

fn workspace(port: u16) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write(
        "hapax.yaml",
        &format!("subjects: {{ shop: {{ http: \"http://127.0.0.1:{port}/task\", watch: 3s }} }}\n"),
    );
    workspace
}

#[test]
fn a_running_agent_is_judged_by_what_it_did() {
    let (port, served) = agent(|_| {});
    workspace(port).call(&["run", "scenarios/plain.yaml"]).expect(0);
    served.join().unwrap();
}

#[test]
fn a_second_charge_after_the_answer_is_seen() {
    // Like an agent that retries in the background.
    let (port, served) = agent(send_charge);
    let workspace = workspace(port);
    workspace.call(&["run", "scenarios/plain.yaml"]).expect(1);
    served.join().unwrap();
    assert_eq!(verdict(&workspace.report(), "plain")["outcome"], "duplicated");
}

#[test]
fn an_agent_that_closes_the_connection_without_an_answer_is_judged_by_what_it_did() {
    let (port, served) = crashing_agent(false);
    let silent = workspace(port);
    silent.call(&["run", "scenarios/plain.yaml"]).expect(1);
    served.join().unwrap();
    assert_eq!(verdict(&silent.report(), "plain")["outcome"], "lost");
    let (port, served) = crashing_agent(true);
    let charging = workspace(port);
    charging.write("scenarios/plain.yaml", &format!("{}  claim: [done]\n", charge("")));
    let called = charging.call(&["run", "scenarios/plain.yaml"]).expect(1);
    served.join().unwrap();
    assert!(called.stdout.contains("no response"), "{}", called.stdout);
}
