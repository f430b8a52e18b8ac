//! Every combination of commit and reply on every write for which it is valid, over sockets: what a raw
//! client receives, what is committed before and after the services settle, and what the ledger records.

use std::collections::BTreeSet;

use crate::kit::client::Transcript;
use crate::kit::connection::End;
use crate::kit::ledger::wait_for;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services};
use crate::kit::write::WriteCase;
use crate::kit::{ReplySample, write_replies};
use mock_services::fault::{Reply, ReplyContent, ReplyKind, Truncation};
use mock_services::ledger::{CommitTiming, Event};

/// The commit options: as a fault spells it, its name, and why an effect is then committed.
const COMMITS: [(&str, &str, CommitTiming); 8] = [
    ("now", "now", CommitTiming::Now),
    ("never", "never", CommitTiming::Now),
    ("{later: {requests: 2}}", "later", CommitTiming::Later),
    ("{later: 1ms}", "later", CommitTiming::Later),
    ("later", "later", CommitTiming::Later),
    ("twice", "twice", CommitTiming::Now),
    ("{part: 0.5}", "part", CommitTiming::Part),
    ("{reverts: {requests: 2}}", "reverts", CommitTiming::Now),
];

#[test]
fn every_service_has_a_write_that_faults_are_tested_on() {
    let tested: BTreeSet<&str> = WriteCase::ALL.iter().map(|write| write.facts().service).collect();
    assert_eq!(tested, mock_services::catalog::names().collect());
}

/// Checks what the client receives.
fn check_view(op: WriteCase, sample: &ReplySample, seen: &Transcript) {
    let ReplySample { reply, .. } = sample;
    let is_smtp = op == WriteCase::Smtp;
    let truth = op.facts().status;
    let status = match (reply.forced_status(), is_smtp) {
        (Some(500 | 504), true) => 451,
        (Some(502 | 503), true) => 421,
        (Some(429), true) => 450,
        (Some(404 | 409), true) => 550,
        (forced, _) => forced.unwrap_or(truth),
    };
    let parses = || serde_json::from_slice::<serde_json::Value>(seen.body()).is_ok();
    match sample.content() {
        ReplyContent::Nothing => {
            let end = if *reply == Reply::Reset { End::Reset } else { End::Fin };
            assert_eq!((seen.bytes.len(), seen.end), (0, end));
        }
        ReplyContent::Part => {
            assert_eq!((seen.status(), seen.end, seen.is_whole()), (Some(status), End::Fin, false));
            if *reply == Reply::Truncate(Truncation::Chunked) && !seen.body().is_empty() {
                assert_eq!(seen.header("transfer-encoding").as_deref(), Some("chunked"));
            }
        }
        // The line as a whole is garbled.
        ReplyContent::Unparsable if is_smtp => assert_eq!((seen.status(), seen.is_whole()), (None, true)),
        content => {
            assert_eq!((seen.status(), seen.is_whole()), (Some(status), true));
            // A response without a body is neither garbled nor padded.
            let has_body = !is_smtp && status != 204 && reply.forced_status().is_none();
            let is_empty = seen.body().is_empty();
            match content {
                ReplyContent::Unparsable => assert!(!has_body || !parses()),
                ReplyContent::TooLarge if has_body => assert_eq!(seen.body().len(), 20_000),
                ReplyContent::TooLarge if is_smtp => assert!(seen.bytes.len() >= 20_000),
                _ => assert!(!has_body || is_empty || parses()),
            }
        }
    }
    let is_answered = !matches!(sample.content(), ReplyContent::Nothing | ReplyContent::Part);
    if is_answered && reply.forced_status().is_none() {
        assert_eq!(seen.end, if is_smtp { End::Open } else { End::Fin });
    }
}

async fn check_combination(
    services: &TestServices,
    op: WriteCase,
    (commit, commit_word, timing): (&str, &str, CommitTiming),
    sample: &ReplySample,
) {
    let kind = sample.reply.kind();
    let facts = op.facts();
    services.mock.clear_faults();
    services.mock.reset("cell").await;
    let request = op.request(services, 1).await;
    let before = services.count();
    services.arm(&format!("{} commit={commit} reply={}", facts.name, sample.text));
    let seen = services.send(facts.service, &request).await;
    check_view(op, sample, &seen);

    let attempts = services.mock.fired().remove(0).attempts;
    let [attempt] = attempts[..] else { panic!("fired {attempts:?}") };
    let replied = wait_for(
        services.ledger(),
        |event| matches!(event, Event::Replied { attempt: have, .. } if *have == attempt),
    )
    .await;
    let Event::Replied { reply: word, status, bytes, whole, replay, .. } = replied else { unreachable!() };
    let sent = seen.bytes.len() as u64;
    let all = !matches!(sample.content(), ReplyContent::Nothing | ReplyContent::Part);
    assert_eq!((word, bytes, whole, replay), (kind, sent, all, false));
    // A garbled SMTP reply is recorded with its code, although the client does not receive it.
    let is_garbled = sample.content() == ReplyContent::Unparsable;
    let expected = if is_garbled { Some(facts.status) } else { seen.status() };
    assert_eq!(status, expected);

    let whole = facts.effects;
    let count = || services.effects().iter().filter(|effect| effect.attempt == attempt).count();
    let due = match commit {
        "now" | "{reverts: {requests: 2}}" => whole,
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

    let reverted = services
        .ledger()
        .entries()
        .iter()
        .filter(|entry| matches!(&entry.event, Event::Reverted { attempt: have, .. } if *have == attempt))
        .count();
    assert_eq!(reverted, if commit_word == "reverts" { finally } else { 0 });

    check_ledger(services, attempt, facts.name, (commit_word, kind));
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
fn check_ledger(services: &TestServices, attempt: u64, name: &str, (commit, reply): (&str, ReplyKind)) {
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
    let applied = entries.iter().find_map(|entry| match entry.event {
        Event::Fault { attempt, fault, commit, reply, drawn: None, .. } => {
            Some((attempt, fault, commit, reply))
        }
        _ => None,
    });
    assert_eq!(applied, Some((attempt, 0, commit.parse().unwrap(), reply)));
    let committed =
        places(&|event| matches!(event, Event::Committed { attempt: have, .. } if *have == attempt));
    if commit != "later" {
        assert!(committed.iter().all(|place| (fault..replied).contains(place)), "{committed:?}");
    }
}

/// Whether a combination is valid for an operation.
fn is_valid(op: WriteCase, commit: &str, reply: &ReplySample) -> bool {
    (op.is_list() || !commit.contains("part")) && !(commit.contains("later") && reply.is_kept())
}

async fn check_combinations(ops: &[WriteCase]) {
    let services = TestServices::start(all_services(7), &[]).await.unwrap();
    for op in ops {
        for commit in COMMITS {
            for reply in &write_replies() {
                if is_valid(*op, commit.0, reply) {
                    let cell = check_combination(&services, *op, commit, reply);
                    let label = format!("{op:?} {} {}", commit.0, reply.text);
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
