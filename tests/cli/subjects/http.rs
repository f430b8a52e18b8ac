//! Agents over HTTP: those that are already running, and those that hapax starts.

use std::net::TcpListener;
use std::time::Duration;

use hapax::scenario::ClaimedOutcome;
use hapax::subject::{EndReason, HttpExchange, InterruptResult, Subject, SubjectKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::kit::subject::{NO_PROCESS, Rig, shell};
use crate::kit::workspace::free_port;

fn agent(port: u16, command: Option<&str>) -> Subject {
    let mut subject = shell("");
    let command = command.map(|what| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/subjects/agent.pl");
        ["perl", script, &port.to_string(), what].map(str::to_owned).to_vec()
    });
    let exchange = HttpExchange::default();
    subject.kind = SubjectKind::Http { url: format!("http://127.0.0.1:{port}/task"), command, exchange };
    subject
}

/// An agent that is already running: takes one request, and answers with these bytes.
async fn running(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = tokio::spawn(async move {
        let (mut line, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            assert_ne!(line.read_buf(&mut request).await.unwrap(), 0);
        }
        line.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    });
    (port, served)
}

#[tokio::test]
async fn a_running_agent_gets_its_task_and_answers_with_its_claim() {
    let rig = Rig::new();
    let (port, served) =
        running("HTTP/1.1 201 Created\r\n\r\n{\"outcome\": \"unknown\", \"message\": \"hm\"}").await;
    let ended = agent(port, None).start(rig.start()).await.ended().await;
    assert_eq!(ended.reason, EndReason::Answered(201));
    assert_eq!(
        (ended.claim.outcome, ended.claim.message.as_str(), ended.claim.origin),
        (Some(ClaimedOutcome::Unknown), "hm", Some(hapax::domain::ClaimOrigin::Answer))
    );
    let request = served.await.unwrap();
    assert!(request.starts_with("POST /task HTTP/1.1\r\n"), "{request}");
    let body: serde_json::Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&body).unwrap());
}

#[tokio::test]
async fn an_agent_whose_answer_is_malformed_makes_no_claim() {
    let rig = Rig::new();
    let (port, _served) = running("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops").await;
    let ended = agent(port, None).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Answered(500), None));
    assert!(ended.claim.problem.is_some());
}

#[tokio::test]
async fn an_unreachable_agent_is_unstartable_and_a_silent_one_makes_no_claim() {
    let rig = Rig::new();
    let port = free_port();
    let ended = agent(port, None).start(rig.start()).await.ended().await;
    let EndReason::Unstartable(missing) = ended.reason else { panic!("{:?}", ended.reason) };
    let (silent, _served) = running("").await;
    let ended = agent(silent, None).start(rig.start()).await.ended().await;
    let EndReason::NoAnswer(said_nothing) = ended.reason else { panic!("{:?}", ended.reason) };
    assert_eq!(ended.claim.outcome, None);
    let message = format!("{missing}\n{said_nothing}").replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(message);
}

#[tokio::test]
async fn killing_an_agent_that_hapax_did_not_start_is_an_error() {
    let rig = Rig::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = agent(listener.local_addr().unwrap().port(), None).start(rig.start()).await;
    let _line = listener.accept().await.unwrap();
    start.handle().kill().await;
    let ended = start.ended().await;
    assert!(
        matches!(&ended.reason, EndReason::Unstartable(why) if why.contains("cannot interrupt it")),
        "{:?}",
        ended.reason
    );
}

#[tokio::test]
async fn cancel_closes_our_side_of_the_connection() {
    let rig = Rig::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = agent(listener.local_addr().unwrap().port(), None).start(rig.start()).await;
    let (mut line, _) = listener.accept().await.unwrap();
    start.handle().cancel().await;
    let mut request = String::new();
    line.read_to_string(&mut request).await.unwrap();
    line.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"outcome\": \"not-done\"}").await.unwrap();
    drop(line);
    let ended = start.ended().await;
    assert_eq!(
        (ended.reason, ended.claim.outcome),
        (EndReason::Answered(200), Some(ClaimedOutcome::NotDone))
    );
}

/// Answers one request, and returns its first line.
async fn answer(listener: &tokio::net::TcpListener, bytes: &str) -> String {
    let (mut line, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"}") && !request.ends_with(b"\r\n\r\n") {
        assert_ne!(line.read_buf(&mut request).await.unwrap(), 0);
    }
    line.write_all(bytes.as_bytes()).await.unwrap();
    String::from_utf8(request).unwrap().lines().next().unwrap().to_owned()
}

const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\nLocation: /runs/1\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn an_accepted_task_cannot_be_canceled_and_is_followed_to_its_result() {
    let rig = Rig::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = agent(listener.local_addr().unwrap().port(), None).start(rig.start()).await;
    assert_eq!(answer(&listener, ACCEPTED).await, "POST /task HTTP/1.1");
    let moved = "HTTP/1.1 303 See Other\r\nLocation: result/1\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answer(&listener, moved).await, "GET /runs/1 HTTP/1.1");
    // It asks for its status, so it has read that the task is accepted.
    let canceled = start.handle().cancel().await;
    assert!(matches!(&canceled, InterruptResult::Missed(why) if why.contains("202")), "{canceled:?}");
    let result = "HTTP/1.1 200 OK\r\n\r\n{\"outcome\": \"done\"}";
    assert_eq!(answer(&listener, result).await, "GET /runs/result/1 HTTP/1.1");
    let ended = start.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Answered(200), Some(ClaimedOutcome::Done)));
}

#[tokio::test]
async fn a_task_that_stays_accepted_ends_at_its_time_limit() {
    let mut rig = Rig::new();
    rig.limits.time = Duration::from_millis(500);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = agent(listener.local_addr().unwrap().port(), None).start(rig.start()).await;
    let serving = tokio::spawn(async move {
        loop {
            let _ = answer(&listener, ACCEPTED).await;
        }
    });
    let ended = start.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::TimeUp, None));
    serving.abort();
}

#[tokio::test]
async fn a_running_agent_has_a_time_limit() {
    let mut rig = Rig::new();
    rig.limits.time = Duration::from_millis(100);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = agent(listener.local_addr().unwrap().port(), None).start(rig.start()).await;
    assert_eq!(start.ended().await.reason, EndReason::TimeUp);
}

#[tokio::test]
async fn an_agent_that_hapax_starts_is_ended_after_its_answer() {
    let rig = Rig::new();
    let ended = agent(free_port(), Some("answer")).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Answered(200), Some(ClaimedOutcome::Done)));
    assert!(ended.output.stdout.contains("Charge cus_42."), "{}", ended.output.stdout);
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn an_agent_that_goes_on_after_its_answer_is_watched_before_it_is_ended() {
    let rig = Rig::new();
    let mut agent = agent(free_port(), Some("go on"));
    // The agent ends by itself long before.
    agent.settings.watch = Duration::from_secs(60);
    let ended = agent.start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Answered(200), Some(ClaimedOutcome::Done)));
    assert_eq!(std::fs::read_to_string(rig.file("afterwards")).unwrap(), "done\n");
}

#[tokio::test]
async fn the_exit_status_of_an_agent_that_ends_without_an_answer_is_recorded() {
    let rig = Rig::new();
    let ended = agent(free_port(), Some("exit")).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Exited(3), None));
}

#[tokio::test]
async fn interrupts_reach_the_agent_that_hapax_started() {
    let rig = Rig::new();
    let start = agent(free_port(), Some("hang")).start(rig.start()).await;
    start.handle().kill().await;
    assert_eq!(rig.left(), NO_PROCESS);
    assert_eq!(start.ended().await.reason, EndReason::Signaled(9));
}

#[tokio::test]
async fn an_agent_that_hapax_started_has_a_time_limit() {
    let mut rig = Rig::new();
    // It has to listen before.
    rig.limits.time = Duration::from_secs(5);
    let ended = agent(free_port(), Some("hang")).start(rig.start()).await.ended().await;
    assert_eq!(ended.reason, EndReason::TimeUp);
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn an_agent_that_never_listens_is_unstartable() {
    let mut rig = Rig::new();
    rig.limits.time = Duration::from_millis(500);
    let mut silent = agent(free_port(), None);
    let SubjectKind::Http { command, .. } = &mut silent.kind else { panic!("{:?}", silent.kind) };
    *command = Some(["sleep", "1000"].map(str::to_owned).to_vec());
    let EndReason::Unstartable(why) = silent.start(rig.start()).await.ended().await.reason else { panic!() };
    assert!(why.starts_with("the agent did not listen at 127.0.0.1:"), "{why}");
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn an_agent_is_not_started_at_a_port_that_is_in_use() {
    let rig = Rig::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ended =
        agent(listener.local_addr().unwrap().port(), Some("answer")).start(rig.start()).await.ended().await;
    assert!(
        matches!(&ended.reason, EndReason::Unstartable(why) if why.contains("another process listens there")),
        "{:?}",
        ended.reason
    );
}
