//! The errors of curl, Python's requests and Node's fetch for each fault on the wire, and of smtplib for the
//! same faults over SMTP with `STARTTLS`. Each makes one attempt, and its effect is committed.

use insta::assert_snapshot;
use mock_services::email::Email;
use mock_services::fault::read_line;
use mock_services::ledger::Event;
use mock_services::records::Records;
use mock_services::{MockServices, ServiceOptions};
use yaml_reader::Source;

use crate::kit::needs::{Test, tests};
use crate::kit::program::last_line;

/// Each reply, and the client's timeout in seconds: long, except where the client has to give up.
const REPLIES: [(&str, &str, &str); 9] = [
    ("ok", "ok", "100"),
    ("drop", "drop", "100"),
    ("reset", "reset", "100"),
    ("hang", "{hang: {release: 10m}}", "3"),
    ("truncate", "truncate", "100"),
    ("truncate, chunked", "{truncate: chunked}", "100"),
    ("garble", "garble", "100"),
    ("drip", "{drip: 300ms}", "100"),
    ("delay", "{delay: 300ms}", "100"),
];

/// One row for each reply to the first attempt of the operation: what the client says.
async fn table(script: &'static str, operation: &'static str) -> String {
    let runs = REPLIES.map(|(name, reply, seconds)| {
        (name, tokio::spawn(run_with_fault(script, operation, reply, seconds)))
    });
    let mut table = String::new();
    for (name, run) in runs {
        table += &format!("{name:18}{}\n", run.await.expect("the run should not panic"));
    }
    table
}

async fn run_with_fault(
    script: &'static str,
    operation: &'static str,
    reply: &'static str,
    seconds: &'static str,
) -> String {
    let options = ServiceOptions::default;
    let builder =
        MockServices::builder().service(Email::default(), options()).service(Records::default(), options());
    let services = builder.start().await.expect("the services should start");
    let line = Source::new("fault", format!("{operation}#1 commit=now reply={reply}"));
    let fault = read_line(&line, &services.operations(), Some(1)).expect("the fault should be read");
    services.arm(vec![fault]).expect("the fault should make sense");
    let answer = last_line(script, &[seconds], &services).await;
    // A client that gave up may have ended before the service has read its request.
    let mut reader = services.ledger().reader();
    while !reader.grown().await.iter().any(|entry| matches!(entry.event, Event::Replied { .. })) {}
    let events: Vec<_> = services.ledger().entries().into_iter().map(|entry| entry.event).collect();
    let attempts = events.iter().filter(|event| matches!(event, Event::Received(_))).count();
    let effects = events.iter().filter(|event| matches!(event, Event::Committed { .. })).count();
    assert_eq!((attempts, effects), (1, 1), "{script} under {reply}: {events:#?}");
    services.stop().await;
    answer
}

async fn curl_ends_with_its_own_status_for_each_fault() {
    assert_snapshot!(table("wire.sh", "records.put").await, @r"
    ok                exit 0, status 201
    drop              exit 52, status 000
    reset             exit 56, status 000
    hang              exit 28, status 000
    truncate          exit 18, status 201
    truncate, chunked exit 18, status 201
    garble            exit 0, status 201
    drip              exit 0, status 201
    delay             exit 0, status 201
    ");
}

async fn requests_has_an_error_for_each_fault() {
    assert_snapshot!(table("python/wire.py", "records.put").await, @r"
    ok                201 a
    drop              ConnectionError of ProtocolError of RemoteDisconnected
    reset             ConnectionError of ProtocolError of ConnectionResetError
    hang              ReadTimeout of ReadTimeoutError
    truncate          ChunkedEncodingError of ProtocolError of IncompleteRead
    truncate, chunked ChunkedEncodingError of ProtocolError of IncompleteRead
    garble            JSONDecodeError
    drip              201 a
    delay             201 a
    ");
}

async fn fetch_of_node_has_an_error_for_each_fault() {
    assert_snapshot!(table("node/wire.mjs", "records.put").await, @r"
    ok                201 a
    drop              fetch failed of UND_ERR_SOCKET
    reset             fetch failed of ECONNRESET
    hang              TimeoutError
    truncate          terminated of UND_ERR_SOCKET
    truncate, chunked terminated of UND_ERR_SOCKET
    garble            SyntaxError
    drip              201 a
    delay             201 a
    ");
}

async fn smtplib_has_an_error_for_each_fault_behind_starttls() {
    assert_snapshot!(table("python/starttls.py", "email.send").await, @r"
    ok                ok over TLSv1.3
    drop              SMTPServerDisconnected over TLSv1.3
    reset             SMTPServerDisconnected over TLSv1.3
    hang              SMTPServerDisconnected over TLSv1.3
    truncate          SMTPServerDisconnected over TLSv1.3
    truncate, chunked SMTPServerDisconnected over TLSv1.3
    garble            SMTPDataError -1 over TLSv1.3
    drip              ok over TLSv1.3
    delay             ok over TLSv1.3
    ");
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        curl_ends_with_its_own_status_for_each_fault,
        requests_has_an_error_for_each_fault,
        fetch_of_node_has_an_error_for_each_fault,
        smtplib_has_an_error_for_each_fault_behind_starttls,
    ]
}
