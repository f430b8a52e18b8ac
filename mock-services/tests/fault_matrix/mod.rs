//! Every combination of commit and reply on every write for which it is valid, over sockets: what a raw
//! client receives, what is committed before and after the services settle, and what the ledger records.

use crate::kit::client::Transcript;
use crate::kit::connection::End;
use crate::kit::ledger::wait_for;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services};
use crate::kit::write::WriteCase;
use mock_services::fault::{CommitKind, ReplyKind};
use mock_services::ledger::{CommitTiming, Event};

/// The commit options: as a fault spells it, its name, and why an effect is then committed.
const COMMITS: [(&str, &str, CommitTiming); 7] = [
    ("now", "now", CommitTiming::Now),
    ("never", "never", CommitTiming::Now),
    ("{later: {requests: 2}}", "later", CommitTiming::Later),
    ("{later: 1ms}", "later", CommitTiming::Later),
    ("later", "later", CommitTiming::Later),
    ("twice", "twice", CommitTiming::Now),
    ("{part: 0.5}", "part", CommitTiming::Part),
];

/// The reply options: as a fault spells it, and its name.
const REPLIES: [(&str, &str); 15] = [
    ("ok", "ok"),
    ("drop", "drop"),
    ("reset", "reset"),
    ("{hang: {release: 5ms}}", "hang"),
    ("truncate", "truncate"),
    ("{truncate: chunked}", "truncate"),
    ("garble", "garble"),
    ("{drip: 5ms}", "drip"),
    ("{delay: 5ms}", "delay"),
    ("{status: 500}", "status"),
    ("{status: 503}", "status"),
    ("{status: 429}", "status"),
    ("{status: 504}", "status"),
    ("{status: 202}", "status"),
    ("{status: 500, kept: true}", "status"),
];

/// Checks what the client receives.
fn check_view(op: WriteCase, reply: &str, seen: &Transcript) {
    let truth = op.facts().status;
    let is_smtp = op == WriteCase::Smtp;
    let left = if is_smtp { End::Open } else { End::Fin };
    let status = |wanted: u16| match (wanted, is_smtp) {
        (500 | 504, true) => 451,
        (503, true) => 421,
        (429, true) => 450,
        _ => wanted,
    };
    match reply {
        "ok" | "{drip: 5ms}" | "{delay: 5ms}" => {
            assert_eq!((seen.status(), seen.end, seen.is_whole()), (Some(truth), left, true));
            if !is_smtp && !seen.body().is_empty() {
                seen.json();
            }
        }
        "drop" | "{hang: {release: 5ms}}" => assert_eq!((seen.bytes.len(), seen.end), (0, End::Fin)),
        "reset" => assert_eq!((seen.bytes.len(), seen.end), (0, End::Reset)),
        "truncate" | "{truncate: chunked}" => {
            assert_eq!((seen.status(), seen.end, seen.is_whole()), (Some(truth), End::Fin, false));
            if reply == "{truncate: chunked}" && !seen.body().is_empty() {
                assert_eq!(seen.header("transfer-encoding").as_deref(), Some("chunked"));
            }
        }
        "garble" if is_smtp => assert_eq!((seen.status(), seen.end, seen.is_whole()), (None, left, true)),
        "garble" => {
            assert_eq!((seen.status(), seen.end, seen.is_whole()), (Some(truth), left, true));
            // A response without a body is not garbled.
            assert!(truth == 204 || serde_json::from_slice::<serde_json::Value>(seen.body()).is_err());
        }
        _ => {
            let wanted = reply.trim_start_matches("{status: ")[..3].parse().unwrap();
            assert_eq!((seen.status(), seen.is_whole()), (Some(status(wanted)), true));
        }
    }
}

async fn check_combination(
    services: &TestServices,
    op: WriteCase,
    (commit, commit_word, timing): (&str, &str, CommitTiming),
    (reply, reply_word): (&str, &str),
) {
    let facts = op.facts();
    services.mock.clear_faults();
    services.mock.reset("cell").await;
    let request = op.request(services, 1).await;
    let before = services.count();
    services.arm(&format!("{} commit={commit} reply={reply}", facts.name));
    let seen = services.send(facts.service, &request).await;
    check_view(op, reply, &seen);

    let attempts = services.mock.fired().remove(0).attempts;
    let [attempt] = attempts[..] else { panic!("fired {attempts:?}") };
    let replied = wait_for(
        services.ledger(),
        |event| matches!(event, Event::Replied { attempt: have, .. } if *have == attempt),
    )
    .await;
    let Event::Replied { reply: word, status, bytes, whole, replay, .. } = replied else { unreachable!() };
    let sent = seen.bytes.len() as u64;
    let all = !matches!(reply_word, "drop" | "reset" | "hang" | "truncate");
    assert_eq!((word.as_str(), bytes, whole, replay), (reply_word, sent, all, false));
    // A garbled SMTP reply is recorded with its code, although the client does not receive it.
    let expected = if reply_word == "garble" { Some(facts.status) } else { seen.status() };
    assert_eq!(status, expected);

    let whole = facts.effects;
    let count = || services.effects().iter().filter(|effect| effect.attempt == attempt).count();
    let due = match commit {
        "now" => whole,
        "twice" => whole + facts.again,
        "{part: 0.5}" => whole / 2,
        _ => 0,
    };
    match commit {
        "{later: 1ms}" => services.wait_for_effects(before + whole).await,
        "{later: {requests: 2}}" => {
            assert_eq!(count(), 0, "at once");
            services.send(facts.service, &TestRequest::get(facts.read)).await;
            assert_eq!(count(), 0, "after one request");
            services.send(facts.service, &TestRequest::get(facts.read)).await;
            assert_eq!(count(), whole, "after two requests");
        }
        _ => assert_eq!(count(), due, "before it settles"),
    }
    services.settle().await;
    let finally = if commit_word == "later" { whole } else { due };
    assert_eq!(count(), finally, "when it has settled");
    assert_eq!(services.count(), before + finally, "nothing else was committed");
    services.settle().await;
    assert_eq!(count(), finally, "settling again changes nothing");

    check_ledger(services, attempt, facts.name, (commit_word, reply_word));
    let timings: Vec<CommitTiming> = services
        .effects()
        .iter()
        .filter(|effect| effect.attempt == attempt)
        .map(|effect| effect.timing)
        .collect();
    let expected: Vec<CommitTiming> =
        (0..finally).map(|place| if place < whole { timing } else { CommitTiming::Twice }).collect();
    assert_eq!(timings, expected);
}

/// One attempt, one fault and one reply, in this order, with the immediate commits between the last two.
fn check_ledger(services: &TestServices, attempt: u64, name: &str, (commit, reply): (&str, &str)) {
    let entries = services.ledger().entries();
    let places = |like: &dyn Fn(&Event) -> bool| -> Vec<u64> {
        entries.iter().filter(|entry| like(&entry.event)).map(|entry| entry.n).collect()
    };
    let received = places(
        &|event| matches!(event, Event::Received(it) if it.attempt == attempt && it.operation == name),
    );
    let faults = places(&|event| matches!(event, Event::Fault { .. }));
    let replied = places(&|event| matches!(event, Event::Replied { attempt: have, .. } if *have == attempt));
    let (&[received], &[fault], &[replied]) = (&received[..], &faults[..], &replied[..]) else {
        panic!("{received:?} {faults:?} {replied:?}")
    };
    assert!(received < fault && fault < replied);
    let (commit_kind, reply_kind) =
        (commit.parse::<CommitKind>().unwrap(), reply.parse::<ReplyKind>().unwrap());
    let applied = entries.iter().find_map(|entry| match entry.event {
        Event::Fault { attempt, fault, commit, reply, drawn: None, .. } => {
            Some((attempt, fault, commit, reply))
        }
        _ => None,
    });
    assert_eq!(applied, Some((attempt, 0, commit_kind, reply_kind)));
    let committed =
        places(&|event| matches!(event, Event::Committed { attempt: have, .. } if *have == attempt));
    if commit != "later" {
        assert!(committed.iter().all(|place| (fault..replied).contains(place)), "{committed:?}");
    }
}

/// Whether a combination is valid for an operation.
fn is_valid(op: WriteCase, commit: &str, reply: &str) -> bool {
    (op.is_list() || !commit.contains("part")) && !(commit.contains("later") && reply.contains("kept"))
}

async fn check_combinations(ops: &[WriteCase]) {
    let services = TestServices::start(all_services(7), &[]).await.unwrap();
    for op in ops {
        for commit in COMMITS {
            for reply in REPLIES {
                if is_valid(*op, commit.0, reply.0) {
                    let cell = check_combination(&services, *op, commit, reply);
                    let label = format!("{op:?} {} {}", commit.0, reply.0);
                    // When it panics, print the name of the combination.
                    let caught = FailureLabel(Some(label));
                    cell.await;
                    caught.done();
                }
            }
        }
    }
}

/// Prints which combination failed.
struct FailureLabel(Option<String>);

impl FailureLabel {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for FailureLabel {
    fn drop(&mut self) {
        if let Some(label) = &self.0 {
            eprintln!("in the combination {label}");
        }
    }
}

#[tokio::test]
async fn every_combination_works_on_charges_and_intents() {
    check_combinations(&[WriteCase::Charge, WriteCase::Intent, WriteCase::Confirm]).await;
}

#[tokio::test]
async fn every_combination_works_on_refunds_and_captures() {
    check_combinations(&[WriteCase::Refund, WriteCase::Capture]).await;
}

#[tokio::test]
async fn every_combination_works_on_subscriptions() {
    check_combinations(&[WriteCase::Subscribe, WriteCase::Upgrade, WriteCase::Unsubscribe]).await;
}

#[tokio::test]
async fn every_combination_works_on_mail_over_resend() {
    check_combinations(&[WriteCase::Resend, WriteCase::Batch]).await;
}

#[tokio::test]
async fn every_combination_works_on_mail_over_sendgrid_and_smtp() {
    check_combinations(&[WriteCase::SendGrid, WriteCase::Smtp]).await;
}

#[tokio::test]
async fn every_combination_works_on_deployments() {
    check_combinations(&[WriteCase::Github, WriteCase::Plain]).await;
}

#[tokio::test]
async fn every_combination_works_on_records() {
    check_combinations(&[WriteCase::Put, WriteCase::Delete, WriteCase::Increment]).await;
}

#[tokio::test]
async fn every_combination_works_on_any_api() {
    check_combinations(&[WriteCase::WebPost, WriteCase::WebPut, WriteCase::WebDelete]).await;
}

#[tokio::test]
async fn every_combination_works_on_generations() {
    check_combinations(&[WriteCase::Generate]).await;
}

#[tokio::test]
async fn every_combination_works_on_a_declared_service() {
    check_combinations(&[WriteCase::OpenTicket, WriteCase::Notify]).await;
}

#[tokio::test]
async fn an_invalid_combination_is_refused_with_the_reason() {
    let services = TestServices::with(&[]).await;
    for (yaml, reason) in [
        ("{on: payment.charge, commit: {part: 0.5}}", "no part of it can be committed"),
        ("{on: records.put, commit: {part: 0.5}, reply: drop}", "no part of it can be committed"),
        ("{on: email.send, commit: {part: 1.0}}", "less than all"),
        ("{on: email.send, commit: {part: 0.0}}", "more than nothing"),
        ("{on: payment.list, commit: twice}", "is a read"),
        ("{on: payment.get, commit: never, reply: drop}", "is a read"),
        ("{on: email.list, commit: later}", "is a read"),
        ("{on: deploy.get, reply: {status: 500, kept: true}}", "kept under no key"),
        ("{on: payment.charge, reply: {stale: {reads: 1}}}", "only a read can be `stale`"),
        ("{on: email.send, reply: {stale: 1s}}", "only a read can be `stale`"),
        ("{on: payment.list, reply: {stale: {reads: 0}}}", "not stale"),
        ("{on: payment.charge, commit: later, reply: {status: 500, kept: true}}", "contradict each other"),
        (
            "{on: payment.charge, commit: {later: 1s}, reply: {status: 500, kept: true}}",
            "contradict each other",
        ),
        ("{on: payment.charge, commit: {later: {requests: 0}}}", "not later but now"),
        ("{on: payment.charge, reply: {status: 100}}", "not a final status"),
        ("{on: payment.charge, reply: {status: 600}}", "not a final status"),
        ("{on: payment.charge, reply: {status: 204, body: \"x\"}}", "has no body"),
        ("{on: payment.charge, reply: {status: 500, headers: {Content-Length: 3}}}", "set by the wire"),
        ("{on: payment.charge, reply: {delay: 11m}}", "too long"),
        ("{on: payment.charge, attempt: 0, reply: drop}", "no attempt 0"),
        ("{on: payment.charge, reply: drop, caller: 4}", "no caller 4"),
        ("{on: payment.charge, reply: drop, where: {colour: red}}", "no field `colour`"),
        ("{on: payment.pay, reply: drop}", "no operation `payment.pay`"),
    ] {
        let unchecked = crate::kit::services::unchecked(yaml);
        let error = services.mock.arm(vec![unchecked.clone()]).unwrap_err().to_string();
        assert!(error.contains(reason), "{yaml}: {error}");
        let start_error =
            all_services(1).faults(vec![unchecked]).start().await.map(|_| ()).unwrap_err().to_string();
        assert!(start_error.contains(reason), "{yaml}: {start_error}");
    }
    let both =
        ["payment.charge#every reply=drop", "payment.charge#2 reply=reset"].map(crate::kit::fault).to_vec();
    let error = services.mock.arm(both).unwrap_err().to_string();
    assert!(error.contains("can never fire"), "{error}");
    assert!(services.mock.fired().is_empty(), "nothing is armed of a plan that is refused");
}
